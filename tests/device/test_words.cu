// TMA copies of 4-byte words, fp32 and int32, swizzled and not, against their definition: on a GPU
// or on the emulator. Without a GPU of compute capability 9.0 every case is skipped.
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "frame.cuh"

constexpr int BOX = 32; // rows and columns: a row is 128 bytes
constexpr int THREADS = 128;
constexpr int ROWS = 52;
constexpr int COLUMNS = 76;
constexpr uint32_t UNTOUCHED = 0xdeadbeef;

struct Storage {
    alignas(1024) uint32_t tile[BOX * BOX];
    uint64_t full;
};

// Loads the box at (column, row) of map_a, gives out how it lies in shared memory, and stores it to
// the box at the same place of map_d.
__global__ void move_box(const __grid_constant__ TensorMap map_a,
                         const __grid_constant__ TensorMap map_d, int column, int row,
                         uint32_t *out) {
    Storage &smem = dynamic_smem<Storage>();
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&smem.full, sizeof(smem.tile));
        tma_load_2d(smem.tile, &map_a, column, row, &smem.full);
    }
    __syncthreads();              // the barrier is ready
    mbarrier_wait(&smem.full, 0); // the tile has landed
    for (int i = threadIdx.x; i < BOX * BOX; i += THREADS)
        out[i] = smem.tile[i];
    __syncthreads(); // all have read it
    if (threadIdx.x == 0) {
        tma_store_2d(&map_d, smem.tile, column, row);
        bulk_commit();
        bulk_wait<0>();
    }
}

// Where element (i, j) of a box lies.
static int place_of(int i, int j, CUtensorMapSwizzle swizzle) {
    return swizzle == UNSWIZZLED ? i * BOX + j : swizzle_128b<float>(i, j);
}

template <typename T>
static void expect_moved(int column, int row, CUtensorMapSwizzle swizzle) {
    std::vector<uint32_t> matrix(ROWS * COLUMNS);
    for (size_t i = 0; i < matrix.size(); ++i)
        matrix[i] = 0x7f800001u + uint32_t(i) * 0x01000193u; // NaNs among them: bits are bits
    std::vector<uint32_t> tile(BOX * BOX, 0);                // zeros past the edges
    std::vector<uint32_t> moved(matrix.size(), UNTOUCHED);
    for (int i = 0; i < BOX && row + i < ROWS; ++i)
        for (int j = 0; j < BOX && column + j < COLUMNS; ++j) {
            const int from = (row + i) * COLUMNS + column + j;
            tile[place_of(i, j, swizzle)] = moved[from] = matrix[from];
        }
    const DeviceArray<uint32_t> a(matrix);
    const DeviceArray<uint32_t> d(matrix.size(), UNTOUCHED);
    const DeviceArray<uint32_t> out(tile.size(), UNTOUCHED);
    TensorMap maps[2];
    const bool made =
        make_tensor_map_2d<T>(&maps[0], a.device, ROWS, COLUMNS, BOX, BOX, swizzle) == 0 &&
        make_tensor_map_2d<T>(&maps[1], d.device, ROWS, COLUMNS, BOX, BOX, swizzle) == 0;
    EXPECT(made, "no tensor map");
    if (!made)
        return;
    run(move_box, 1, THREADS, 1, sizeof(Storage), maps[0], maps[1], column, row, out.device);
    expect_equal(out.read(), tile, BOX, box_at(row, column));
    expect_equal(d.read(), moved, COLUMNS, box_at(row, column));
}

template <typename T>
static void words() {
    for (const CUtensorMapSwizzle swizzle : {UNSWIZZLED, SWIZZLED_128B})
        for (const int row : {0, 7, 32})
            for (const int column : {0, 4, 64})
                expect_moved<T>(column, row, swizzle);
}

static const Case CASES[] = {
    {"TMA: words of fp32, in and out, clipped at the edges", words<float>},
    {"TMA: words of int32, in and out, clipped at the edges", words<int32_t>},
};

int main() {
    run_cases(CASES);
    return test_result();
}
