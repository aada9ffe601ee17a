// Which thread holds which element of a fragment, and where TMA puts the 16-byte chunks of a tile's
// rows: asked of mma.sync, wgmma, ldmatrix, stmatrix and TMA themselves. And what a matrix
// descriptor is.
//
// A slot is a thread's register, or half of one where elements have 16 bits. Each fragment is
// written as the number (row * columns + column) of the element in every slot: thread by thread,
// register by register, lower half first.
#include "probe.cuh"

#include "device/fp16.cuh"
#include "device/ldmatrix.cuh"
#include "device/mbarrier.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

// Writes down which numbers, in fp16, are in the halves of a thread's registers.
template <int COUNT>
DEVICE void tell(const uint32_t (&registers)[COUNT], int *out) {
    const fp16 *halves = reinterpret_cast<const fp16 *>(registers);
    for (int i = 0; i < 2 * COUNT; ++i)
        out[threadIdx.x * 2 * COUNT + i] = int(__half2float(halves[i]));
}

// ---------------------------------------------------------------------------- mma.m16n8k16

constexpr int M = 16;
constexpr int N = 8;
constexpr int K = 16;

struct WarpOperands {
    alignas(16) fp16 a[M * K];
    alignas(16) fp16 unit[M * K];
    alignas(16) fp16 b[N * K]; // column by column
};

// The operands that mma.sync takes are what ldmatrix gives it in the Ampere rungs: of A [32][8]
// and B [32][4] that hold the numbers of their elements. Of D = I * B [32][4], each slot has the
// number of its element too.
__global__ void multiply_warp(int *a, int *b, int *d) {
    WarpOperands &smem = dynamic_smem<WarpOperands>();
    const int lane = threadIdx.x;
    for (int i = lane; i < M * K; i += WARP_THREADS) {
        smem.a[i] = __float2half(float(i)); // whole numbers up to 2048 are exact
        smem.unit[i] = __float2half(i / K == i % K ? 1.0f : 0.0f);
    }
    for (int i = lane; i < N * K; i += WARP_THREADS)
        smem.b[i] = __float2half(float(i % K * N + i / K));
    __syncwarp();
    uint32_t part_a[4], part_unit[4], part_b[2];
    float sums[4] = {};
    ldmatrix_x4(part_a, &smem.a[lane % 16 * K + lane / 16 * 8]);
    ldmatrix_x4(part_unit, &smem.unit[lane % 16 * K + lane / 16 * 8]);
    ldmatrix_x2(part_b, &smem.b[lane % 8 * K + lane / 8 % 2 * 8]);
    mma_m16n8k16(sums, part_unit, part_b);
    tell(part_a, a);
    tell(part_b, b);
    std::copy_n(sums, 4, d + lane * 4);
}

// ---------------------------------------------------------------------------- wgmma.m64nN

constexpr int WGMMA_M = 64;
constexpr int WGMMA_DEPTH = 64; // four wgmmas of k = 16

template <int COLUMNS>
struct GroupOperands {
    alignas(1024) bf16 unit[WGMMA_M * WGMMA_DEPTH];
    alignas(1024) bf16 b[2][COLUMNS * WGMMA_DEPTH];
};

// out [128][COLUMNS / 2]: of D = I * B^T, D[i][j] is B[j][i], so an accumulator holds the row of
// its element if the columns of B are numbered, and its column if the rows are.
template <int COLUMNS>
__global__ void multiply_group(int *out) {
    auto &smem = dynamic_smem<GroupOperands<COLUMNS>>();
    const int thread = threadIdx.x;
    for (int i = thread; i < std::max(WGMMA_M, COLUMNS) * WGMMA_DEPTH; i += WARPGROUP_THREADS) {
        const int row = i / WGMMA_DEPTH, column = i % WGMMA_DEPTH;
        const int place = swizzle_128b(row, column);
        if (row < WGMMA_M)
            smem.unit[place] = __float2bfloat16(row == column ? 1.0f : 0.0f);
        smem.b[0][place] = __float2bfloat16(float(column));
        smem.b[1][place] = __float2bfloat16(float(row));
    }
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote
    float acc[2][COLUMNS / 2] = {};
    wgmma_fence();
    for (int i = 0; i < 2; ++i)
        for (int k = 0; k < WGMMA_DEPTH; k += 16)
            wgmma<COLUMNS>(acc[i], advance_k(matrix_descriptor(smem.unit), k),
                           advance_k(matrix_descriptor(smem.b[i]), k));
    wgmma_commit();
    wgmma_wait<0>(acc);
    for (int i = 0; i < COLUMNS / 2; ++i)
        out[thread * COLUMNS / 2 + i] = int(acc[0][i]) * COLUMNS + int(acc[1][i]);
}

// ---------------------------------------------------------------------------- ldmatrix, stmatrix

constexpr int SIDE = 8; // of a matrix

struct Rows {
    alignas(16) uint16_t row[WARP_THREADS][SIDE]; // each lane passes the address of its own
};

// out [32][8]: what each lane gets of 32 rows whose elements are numbered.
template <bool TRANSPOSED>
__global__ void load_matrices(int *out) {
    Rows &smem = dynamic_smem<Rows>();
    const int lane = threadIdx.x;
    fp16 *row = reinterpret_cast<fp16 *>(smem.row[lane]);
    for (int i = 0; i < SIDE; ++i)
        row[i] = __float2half(float(lane * SIDE + i));
    __syncwarp();
    uint32_t registers[4];
    if constexpr (TRANSPOSED)
        ldmatrix_x4_trans(registers, row);
    else
        ldmatrix_x4(registers, row);
    tell(registers, out);
}

// out [32][8]: where the rows have the numbers of each lane's eight slots, which it stored.
__global__ void store_matrices(int *out) {
    Rows &smem = dynamic_smem<Rows>();
    const int lane = threadIdx.x;
    bf16 *row = reinterpret_cast<bf16 *>(smem.row[lane]);
    float values[8];
    std::iota(values, values + 8, float(lane * 8)); // up to 255: exact in bf16
    stmatrix_x4(row, values);
    __syncwarp();
    for (int i = 0; i < SIDE; ++i)
        out[int(__bfloat162float(row[i]))] = lane * SIDE + i;
}

// ---------------------------------------------------------------------------- TMA's swizzles

constexpr int TILE_BYTES = 1024;
constexpr int CHUNK_BYTES = 16;
constexpr int ELEMENTS = TILE_BYTES / int(sizeof(bf16));

struct Tile {
    alignas(1024) uint16_t elements[ELEMENTS];
    uint64_t full;
};

// out: in bytes, where each chunk of the tile lies in shared memory. The elements are numbered.
__global__ void load_tile(const __grid_constant__ TensorMap map, int *out) {
    Tile &smem = dynamic_smem<Tile>();
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1);
        mbarrier_init_fence();
        mbarrier_arrive_expect_tx(&smem.full, TILE_BYTES);
        tma_load_2d(smem.elements, &map, 0, 0, &smem.full);
    }
    __syncthreads(); // the barrier is ready
    mbarrier_wait(&smem.full, 0);
    constexpr int CHUNK = CHUNK_BYTES / sizeof(bf16);
    for (int i = threadIdx.x * CHUNK; i < ELEMENTS; i += WARP_THREADS * CHUNK)
        out[smem.elements[i] / CHUNK] = i * int(sizeof(bf16));
}

static void write_swizzle(Answer &answer, const std::string &name, CUtensorMapSwizzle swizzle,
                          int row_bytes) {
    const int rows = TILE_BYTES / row_bytes, columns = row_bytes / int(sizeof(bf16));
    std::vector<uint16_t> numbers(ELEMENTS);
    std::iota(numbers.begin(), numbers.end(), 0);
    const Array<uint16_t> matrix(numbers);
    const Array<int> offsets(TILE_BYTES / CHUNK_BYTES);
    TensorMap map;
    if (make_tensor_map_2d(&map, matrix.device, rows, columns, rows, columns, swizzle))
        exit(1);
    run_cta(load_tile, WARP_THREADS, sizeof(Tile), map, offsets.device);
    answer.begin(name);
    answer.number("row_bytes", row_bytes);
    answer.numbers("offsets", offsets.read());
    answer.end();
}

// ---------------------------------------------------------------------------- the answer

static void write_fragment(Answer &answer, const char *name, int threads, int halves, int rows,
                           int columns, const Array<int> &elements) {
    answer.begin(name);
    answer.number("threads", threads);
    answer.number("registers", elements.count / (threads * halves));
    answer.number("halves", halves);
    answer.number("rows", rows);
    answer.number("columns", columns);
    answer.numbers("elements", elements.read());
    answer.end();
}

template <int COLUMNS>
static void write_wgmma(Answer &answer) {
    const Array<int> d(WGMMA_M * COLUMNS);
    const std::string name = "wgmma d, n = " + std::to_string(COLUMNS);
    run_cta(multiply_group<COLUMNS>, WARPGROUP_THREADS, sizeof(GroupOperands<COLUMNS>), d.device);
    write_fragment(answer, name.c_str(), WARPGROUP_THREADS, 1, WGMMA_M, COLUMNS, d);
}

static void write_matrices(Answer &answer, const char *name, void (*kernel)(int *)) {
    const Array<int> elements(WARP_THREADS * SIDE);
    run_cta(kernel, WARP_THREADS, sizeof(Rows), elements.device);
    write_fragment(answer, name, WARP_THREADS, 2, WARP_THREADS, SIDE, elements);
}

// The descriptors of a tile, for each step of a wgmma along its rows.
static void write_descriptor(Answer &answer) {
    const uint32_t address = 33 * 1024;
    std::vector<uint64_t> steps;
    for (int k = 0; k < WGMMA_DEPTH; k += 16)
        steps.push_back(advance_k(descriptor_of_address(address), k));
    answer.begin("descriptor");
    answer.number("address", address);
    answer.numbers("steps", steps);
    answer.end();
}

int main() {
    Answer answer;
    const Array<int> a(M * K), b(N * K), d(M * N);
    run_cta(multiply_warp, WARP_THREADS, sizeof(WarpOperands), a.device, b.device, d.device);
    write_fragment(answer, "mma a", WARP_THREADS, 2, M, K, a);
    write_fragment(answer, "mma b", WARP_THREADS, 2, K, N, b);
    write_fragment(answer, "mma d", WARP_THREADS, 1, M, N, d);
    write_wgmma<64>(answer);
    write_wgmma<128>(answer);
    write_wgmma<256>(answer);
    write_matrices(answer, "ldmatrix_x4", load_matrices<false>);
    write_matrices(answer, "ldmatrix_x4_trans", load_matrices<true>);
    write_matrices(answer, "stmatrix_x4", store_matrices);
    const CUtensorMapSwizzle swizzles[] = {CU_TENSOR_MAP_SWIZZLE_32B, CU_TENSOR_MAP_SWIZZLE_64B,
                                           CU_TENSOR_MAP_SWIZZLE_128B};
    for (int i = 0; i < 3; ++i) {
        const std::string bytes = std::to_string(32 << i) + "-byte ";
        write_swizzle(answer, bytes + "rows, no swizzle", CU_TENSOR_MAP_SWIZZLE_NONE, 32 << i);
        write_swizzle(answer, bytes + "swizzle", swizzles[i], 32 << i);
    }
    write_descriptor(answer);
    return 0;
}
