// Where TMA puts the 16-byte chunks of a tile's rows under each swizzle, and how many passes over
// the banks it takes to read a column of them.
//
//   swizzles OUT.json
//
// A tile fills 1024 bytes. `offsets` has the place of every chunk in it, row by row; `column` what
// the eight lanes touch that read the first chunk of eight rows with ldmatrix.
#include "probe.cuh"

#include "device/ldmatrix.cuh"
#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "emulator/accesses.h"

constexpr int TILE_BYTES = 1024;
constexpr int CHUNK_BYTES = 16;
constexpr int CHUNKS = TILE_BYTES / CHUNK_BYTES;
constexpr int ELEMENTS = TILE_BYTES / int(sizeof(bf16));
constexpr int ROWS_READ = 8; // a matrix of ldmatrix

struct Storage {
    alignas(1024) uint16_t tile[ELEMENTS];
    uint64_t full;
};

// Loads the whole tile. The warp calls it.
__device__ inline void load_whole(Storage &smem, const TensorMap *map) {
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&smem.full, sizeof(smem.tile));
        tma_load_2d(smem.tile, map, 0, 0, &smem.full);
    }
    __syncthreads(); // the barrier is ready
    mbarrier_wait(&smem.full, 0);
}

// out: the tile, as it lies in shared memory.
__global__ void copy_tile(const __grid_constant__ TensorMap map, uint16_t *out) {
    Storage &smem = dynamic_smem<Storage>();
    load_whole(smem, &map);
    for (int i = threadIdx.x; i < ELEMENTS; i += WARP_THREADS)
        out[i] = smem.tile[i];
}

// Reads the rows that begin at these bytes of the tile, and nothing else.
__global__ void read_rows(const __grid_constant__ TensorMap map, const int *offsets,
                          uint32_t *out) {
    Storage &smem = dynamic_smem<Storage>();
    load_whole(smem, &map);
    const char *tile = reinterpret_cast<const char *>(smem.tile);
    uint32_t registers[1];
    ldmatrix_x1(registers, tile + offsets[threadIdx.x % ROWS_READ]);
    out[threadIdx.x] = registers[0];
}

struct Layout {
    const char *name;
    CUtensorMapSwizzle swizzle;
    int row_bytes;
};

// The only access to shared memory that read_rows makes by itself.
static emulator::AccessSite matrix_read() {
    for (const emulator::AccessSite &site : emulator::access_sites())
        if (!site.is_write && site.bytes == CHUNK_BYTES)
            return site;
    give_up("the emulator counted no ldmatrix");
}

static void write(Report &report, const Layout &layout) {
    const int element = sizeof(bf16);
    const int rows = TILE_BYTES / layout.row_bytes, columns = layout.row_bytes / element;
    std::vector<uint16_t> numbered(ELEMENTS);
    std::iota(numbered.begin(), numbered.end(), 0);
    const Array<uint16_t> matrix(numbered), copy(ELEMENTS);
    TensorMap map;
    if (make_tensor_map_2d(&map, matrix.device, rows, columns, rows, columns, layout.swizzle))
        exit(1);

    // Where each chunk of the tile lies, in bytes.
    run_cta(copy_tile, WARP_THREADS, sizeof(Storage), map, copy.device);
    const std::vector<uint16_t> tile = copy.read();
    std::vector<int> offsets(CHUNKS, -1);
    for (int i = 0; i < ELEMENTS; i += CHUNK_BYTES / element)
        offsets[tile[i] * element / CHUNK_BYTES] = i * element;

    std::vector<int> first_chunks;
    for (int row = 0; row < ROWS_READ; ++row)
        first_chunks.push_back(offsets[row * layout.row_bytes / CHUNK_BYTES]);
    const Array<int> starts(first_chunks);
    const Array<uint32_t> out(WARP_THREADS);
    run_cta(read_rows, WARP_THREADS, sizeof(Storage), map, starts.device, out.device);
    const emulator::AccessSite site = matrix_read();

    report.begin(layout.name);
    report.number("row_bytes", layout.row_bytes);
    report.numbers("offsets", offsets);
    // The tile begins where the shared memory does, whose offsets the emulator tells.
    report.numbers("column",
                   std::vector<uint32_t>(site.worst.offsets, site.worst.offsets + ROWS_READ));
    report.number("passes", site.wavefronts);
    report.number("passes_needed", site.ideal);
    report.end();
}

int main(int argc, char **argv) {
    if (argc != 2)
        give_up("usage: swizzles OUT.json");
    const Layout layouts[] = {
        {"32-byte rows, no swizzle", CU_TENSOR_MAP_SWIZZLE_NONE, 32},
        {"64-byte rows, no swizzle", CU_TENSOR_MAP_SWIZZLE_NONE, 64},
        {"128-byte rows, no swizzle", CU_TENSOR_MAP_SWIZZLE_NONE, 128},
        {"32-byte swizzle", CU_TENSOR_MAP_SWIZZLE_32B, 32},
        {"64-byte swizzle", CU_TENSOR_MAP_SWIZZLE_64B, 64},
        {"128-byte swizzle", CU_TENSOR_MAP_SWIZZLE_128B, 128},
    };
    Report report(argv[1]);
    for (const Layout &layout : layouts)
        write(report, layout);
    report.finish();
    return 0;
}
