// What no run of a rung shows of device headers: where SMs are, by latencies that are made up, and
// that measuring again says the same; a tensor map that cannot be made; chunks of the longest rows.
#include "../tools/test.h"
#include "device/placement.cuh"
#include "device/tensor_map.cuh"
#include "device/tile_chunks.cuh"

#include <random>

// Four GPCs of 16 SMs in turn, two beside each half: the others' lines take 1400 cycles longer, the
// first GPC is nearer to all, some lines are farther from all, and there is noise.
static void halves_from_latencies() {
    constexpr int SMS = 64;
    std::mt19937 random(1);
    std::normal_distribution<double> noise(0, 300);
    std::vector<int> took(SMS * PROBED_LINES), gpc(SMS);
    for (int sm = 0; sm < SMS; ++sm) {
        gpc[sm] = sm % 4;
        for (int line = 0; line < PROBED_LINES; ++line)
            took[sm * PROBED_LINES + line] =
                int(2500 + 1400 * ((gpc[sm] / 2 + line * 7 / 3) % 2) - 500 * (gpc[sm] == 0) +
                    20 * (line % 8) + noise(random));
    }
    const std::vector<bool> other = other_half(took, gpc);
    for (int sm = 0; sm < SMS; ++sm)
        EXPECT(other[sm] == (sm % 4 >= 2), "SM %d of GPC %d is in the wrong half", sm, gpc[sm]);
}

static void measured_twice() {
    std::vector<int> place, again;
    EXPECT(place_sms(&place) == 0 && place_sms(&again) == 0, "could not measure");
    EXPECT(place == again, "another measurement says something else");
    std::sort(place.begin(), place.end());
    for (size_t i = 0; i < place.size(); ++i)
        EXPECT(place[i] == int(i), "no SM has place %zu", i);
}

// Rungs take that for an error: the line on stderr is not all.
static void map_refused() {
    TensorMap map;
    float *matrix = nullptr;
    EXPECT(allocate_array(&matrix, 64) == 0, "no memory");
    EXPECT(make_tensor_map_2d<float>(&map, matrix, 8, 8, 8, 512, UNSWIZZLED) != 0, "512");
    release_array(matrix);
}

constexpr int COPY_THREADS = 64;
using Chunks = TileChunks<256, SWIZZLE_COLUMNS, COPY_THREADS>;

// Each thread writes where it finds its chunks of the second tile of 256 rows, in bytes from the
// matrix's first element: out [threads][COUNT]. Nothing is read from there.
__global__ void locate_chunks(const fp16 *matrix, int k, uint64_t *out) {
    Chunks chunks(matrix, 256, 512, k);
    for (int i = 0; i < chunks.COUNT; ++i)
        out[threadIdx.x * chunks.COUNT + i] = uint64_t(static_cast<const char *>(chunks.from(i)) -
                                                       reinterpret_cast<const char *>(matrix));
}

static void chunks_of_the_longest_rows() {
    constexpr int K = TILE_CHUNKS_LARGEST_K, IN_A_ROW = SWIZZLE_COLUMNS / CHUNK;
    std::vector<uint64_t> got(COPY_THREADS * Chunks::COUNT);
    uint64_t *out = upload_array(got.data(), got.size());
    launch(locate_chunks, dim3(1), dim3(COPY_THREADS), dim3(1), 0, cudaStream_t(nullptr),
           static_cast<const fp16 *>(nullptr), K, out);
    cudaMemcpy(got.data(), out, got.size() * sizeof got[0], cudaMemcpyDeviceToHost);
    for (int i = 0; i < int(got.size()); ++i) {
        const int thread = i / Chunks::COUNT;
        const int row = 256 + thread / IN_A_ROW + i % Chunks::COUNT * Chunks::STEP;
        EXPECT(got[i] == (uint64_t(row) * K + thread % IN_A_ROW * CHUNK) * sizeof(fp16),
               "thread %d, chunk %d", thread, i % Chunks::COUNT);
    }
    release_array(out);
}

int main() {
    run_case("places: halves of the L2 from latencies with noise", halves_from_latencies);
    run_case("places: measuring again says the same", measured_twice);
    run_case("tensor map: a box that is too wide is an error", map_refused);
    run_case("TileChunks: the longest rows", chunks_of_the_longest_rows);
    return test_result();
}
