// Which thread holds which element: asked of mma.sync, wgmma, ldmatrix and stmatrix themselves.
// What mma.sync wants of its operands is what ldmatrix gives it.
//
//   fragments OUT.json
//
// A slot is a thread's register, or half of one where elements have 16 bits. Each fragment is
// written as the number (row * columns + column) of the element in every slot: thread by thread,
// register by register, lower half first.
#include "probe.cuh"

#include "device/fp16.cuh"
#include "device/ldmatrix.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

struct Fragment {
    std::string name;
    int threads, registers, halves, rows, columns;
    std::vector<int> elements;
};

// fp16 as its bits. Whole numbers up to 2048 are exact.
static uint16_t fp16_bits(int value) {
    const fp16 rounded = __float2half(float(value));
    return *reinterpret_cast<const uint16_t *>(&rounded);
}

static int of_fp16_bits(uint32_t bits) {
    const uint16_t low = uint16_t(bits);
    return int(__half2float(*reinterpret_cast<const fp16 *>(&low)));
}

// The 16-bit halves of registers, the lower one first.
static std::vector<int> halves_of(const std::vector<uint32_t> &registers) {
    std::vector<int> halves;
    for (const uint32_t both : registers) {
        halves.push_back(int(both & 0xffff));
        halves.push_back(int(both >> 16));
    }
    return halves;
}

// ---------------------------------------------------------------------------- mma.m16n8k16

constexpr int M = 16;
constexpr int N = 8;
constexpr int K = 16;
constexpr int A_REGISTERS = 4; // of a lane
constexpr int B_REGISTERS = 2;
constexpr int D_REGISTERS = 4; // of fp32; half as many of fp16

struct WarpOperands {
    alignas(16) uint16_t a[M * K];
    alignas(16) uint16_t b[N * K]; // column by column
};

// Loads both operands as the Ampere rungs do, by ldmatrix: a [32][4], b [32][2]. Their product with
// fp32 sums is d [32][4], with fp16 sums d_fp16 [32][2].
__global__ void multiply_warp(const uint16_t *from_a, const uint16_t *from_b, uint32_t *a,
                              uint32_t *b, float *d, uint32_t *d_fp16) {
    WarpOperands &smem = dynamic_smem<WarpOperands>();
    const int lane = threadIdx.x;
    for (int i = lane; i < M * K; i += WARP_THREADS)
        smem.a[i] = from_a[i];
    for (int i = lane; i < N * K; i += WARP_THREADS)
        smem.b[i] = from_b[i];
    __syncwarp();
    uint32_t part_a[A_REGISTERS], part_b[B_REGISTERS], fp16_sums[D_REGISTERS / 2] = {};
    float sums[D_REGISTERS] = {};
    ldmatrix_x4(part_a, &smem.a[lane % 16 * K + lane / 16 * 8]);
    ldmatrix_x2(part_b, &smem.b[lane % 8 * K + lane / 8 % 2 * 8]);
    mma_m16n8k16(sums, part_a, part_b);
    mma_m16n8k16(fp16_sums, part_a, part_b);
    std::copy_n(part_a, A_REGISTERS, a + lane * A_REGISTERS);
    std::copy_n(part_b, B_REGISTERS, b + lane * B_REGISTERS);
    std::copy_n(sums, D_REGISTERS, d + lane * D_REGISTERS);
    std::copy_n(fp16_sums, D_REGISTERS / 2, d_fp16 + lane * D_REGISTERS / 2);
}

struct Registers { // of the whole warp, lane by lane
    std::vector<uint32_t> a, b;
    std::vector<float> d;
    std::vector<uint32_t> d_fp16;
};

static Registers multiplied(const std::vector<uint16_t> &from_a,
                            const std::vector<uint16_t> &from_b) {
    const Array<uint16_t> on_a(from_a), on_b(from_b);
    const Array<uint32_t> a(WARP_THREADS * A_REGISTERS), b(WARP_THREADS * B_REGISTERS);
    const Array<float> d(WARP_THREADS * D_REGISTERS);
    const Array<uint32_t> d_fp16(WARP_THREADS * D_REGISTERS / 2);
    run_cta(multiply_warp, WARP_THREADS, sizeof(WarpOperands), on_a.device, on_b.device, a.device,
            b.device, d.device, d_fp16.device);
    return {a.read(), b.read(), d.read(), d_fp16.read()};
}

// Operands that hold the numbers of their elements, as bits, say what ldmatrix gives to each slot.
// Of D = I * B, where B holds the numbers of D's elements, each slot says which of them it is.
static std::vector<Fragment> mma_fragments() {
    std::vector<uint16_t> numbers_a(M * K), numbers_b, unit(M * K), numbers_d;
    std::iota(numbers_a.begin(), numbers_a.end(), 0);
    for (int i = 0; i < N * K; ++i) {
        numbers_b.push_back(uint16_t(i % K * N + i / K));
        numbers_d.push_back(fp16_bits(numbers_b[i]));
    }
    for (int i = 0; i < K; ++i)
        unit[i * K + i] = fp16_bits(1);
    const Registers operands = multiplied(numbers_a, numbers_b);
    const Registers sums = multiplied(unit, numbers_d);
    std::vector<int> fp32(sums.d.begin(), sums.d.end()), fp16;
    for (const int half : halves_of(sums.d_fp16))
        fp16.push_back(of_fp16_bits(uint32_t(half)));
    return {{"mma d, fp32 sums", WARP_THREADS, D_REGISTERS, 1, M, N, fp32},
            {"mma d, fp16 sums", WARP_THREADS, D_REGISTERS / 2, 2, M, N, fp16},
            {"mma a", WARP_THREADS, A_REGISTERS, 2, M, K, halves_of(operands.a)},
            {"mma b", WARP_THREADS, B_REGISTERS, 2, K, N, halves_of(operands.b)}};
}

// ---------------------------------------------------------------------------- wgmma.m64nN

constexpr int WGMMA_M = 64;
constexpr int WGMMA_DEPTH = 64; // four wgmmas of k = 16

template <int COLUMNS>
struct GroupOperands {
    alignas(1024) bf16 a[WGMMA_M * WGMMA_DEPTH];
    alignas(1024) bf16 b[COLUMNS * WGMMA_DEPTH];
};

// d [128][COLUMNS / 2]: the accumulators of I * B^T, where row j of B holds j, or else 0, 1, 2, ...
template <int COLUMNS>
__global__ void multiply_by_unit(bool numbers_rows, float *d) {
    auto &smem = dynamic_smem<GroupOperands<COLUMNS>>();
    const int thread = threadIdx.x;
    for (int i = thread; i < WGMMA_M * WGMMA_DEPTH; i += WARPGROUP_THREADS) {
        const int row = i / WGMMA_DEPTH, column = i % WGMMA_DEPTH;
        smem.a[swizzle_128b(row, column)] = __float2bfloat16(row == column ? 1.0f : 0.0f);
    }
    for (int i = thread; i < COLUMNS * WGMMA_DEPTH; i += WARPGROUP_THREADS) {
        const int row = i / WGMMA_DEPTH, column = i % WGMMA_DEPTH;
        smem.b[swizzle_128b(row, column)] = __float2bfloat16(float(numbers_rows ? row : column));
    }
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote
    float acc[COLUMNS / 2] = {};
    wgmma_fence();
    for (int k = 0; k < WGMMA_DEPTH; k += 16)
        wgmma<COLUMNS>(acc, advance_k(matrix_descriptor(smem.a), k),
                       advance_k(matrix_descriptor(smem.b), k));
    wgmma_commit();
    wgmma_wait<0>(acc);
    std::copy_n(acc, COLUMNS / 2, d + thread * (COLUMNS / 2));
}

// D[i][j] = B[j][i]: its column if the rows of B are numbered, else its row.
template <int COLUMNS>
static Fragment wgmma_sums() {
    std::vector<float> found[2];
    for (const bool numbers_rows : {false, true}) {
        const Array<float> d(WARPGROUP_THREADS * COLUMNS / 2);
        run_cta(multiply_by_unit<COLUMNS>, WARPGROUP_THREADS, sizeof(GroupOperands<COLUMNS>),
                numbers_rows, d.device);
        found[numbers_rows] = d.read();
    }
    std::vector<int> elements;
    for (size_t i = 0; i < found[0].size(); ++i)
        elements.push_back(int(found[0][i]) * COLUMNS + int(found[1][i]));
    const std::string name = "wgmma d, n = " + std::to_string(COLUMNS);
    return {name, WARPGROUP_THREADS, COLUMNS / 2, 1, WGMMA_M, COLUMNS, elements};
}

// ---------------------------------------------------------------------------- ldmatrix, stmatrix

constexpr int SIDE = 8; // of a matrix
constexpr int MATRIX_REGISTERS = 4;

struct Rows {
    alignas(16) uint16_t row[WARP_THREADS][SIDE]; // each lane passes the address of its own
};

// out [32][4]: what each lane gets of 32 rows whose elements are numbered.
template <bool TRANSPOSED>
__global__ void load_matrices(uint32_t *out) {
    Rows &smem = dynamic_smem<Rows>();
    const int lane = threadIdx.x;
    for (int i = 0; i < SIDE; ++i)
        smem.row[lane][i] = uint16_t(lane * SIDE + i);
    __syncwarp();
    uint32_t registers[MATRIX_REGISTERS];
    if constexpr (TRANSPOSED)
        ldmatrix_x4_trans(registers, smem.row[lane]);
    else
        ldmatrix_x4(registers, smem.row[lane]);
    std::copy_n(registers, MATRIX_REGISTERS, out + lane * MATRIX_REGISTERS);
}

// out [32][8]: the rows, after every lane stored the numbers of its own eight slots.
__global__ void store_matrices(float *out) {
    Rows &smem = dynamic_smem<Rows>();
    const int lane = threadIdx.x;
    bf16 *row = reinterpret_cast<bf16 *>(smem.row[lane]);
    float values[2 * MATRIX_REGISTERS];
    for (int i = 0; i < 2 * MATRIX_REGISTERS; ++i)
        values[i] = float(lane * 2 * MATRIX_REGISTERS + i); // up to 255: exact in bf16
    stmatrix_x4(row, values);
    __syncwarp();
    for (int i = 0; i < SIDE; ++i)
        out[lane * SIDE + i] = __bfloat162float(row[i]);
}

template <bool TRANSPOSED>
static Fragment matrices_loaded(const char *name) {
    const Array<uint32_t> out(WARP_THREADS * MATRIX_REGISTERS);
    run_cta(load_matrices<TRANSPOSED>, WARP_THREADS, sizeof(Rows), out.device);
    return {name, WARP_THREADS, MATRIX_REGISTERS, 2, WARP_THREADS, SIDE, halves_of(out.read())};
}

static Fragment matrices_stored(const char *name) {
    const Array<float> out(WARP_THREADS * SIDE);
    run_cta(store_matrices, WARP_THREADS, sizeof(Rows), out.device);
    const std::vector<float> slots = out.read();
    std::vector<int> elements(slots.size());
    for (size_t element = 0; element < slots.size(); ++element)
        elements[size_t(slots[element])] = int(element);
    return {name, WARP_THREADS, MATRIX_REGISTERS, 2, WARP_THREADS, SIDE, elements};
}

int main(int argc, char **argv) {
    if (argc != 2)
        give_up("usage: fragments OUT.json");
    std::vector<Fragment> fragments = mma_fragments();
    fragments.insert(fragments.end(),
                     {wgmma_sums<64>(), wgmma_sums<128>(), wgmma_sums<256>(),
                      matrices_loaded<false>("ldmatrix_x4"),
                      matrices_loaded<true>("ldmatrix_x4_trans"), matrices_stored("stmatrix_x4")});
    Report report(argv[1]);
    for (const Fragment &fragment : fragments) {
        report.begin(fragment.name);
        report.number("threads", fragment.threads);
        report.number("registers", fragment.registers);
        report.number("halves", fragment.halves);
        report.number("rows", fragment.rows);
        report.number("columns", fragment.columns);
        report.numbers("elements", fragment.elements);
        report.end();
    }
    report.finish();
    return 0;
}
