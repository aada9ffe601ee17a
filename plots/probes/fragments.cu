// Which thread holds which element: asked of mma.sync, wgmma, ldmatrix and stmatrix themselves.
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

static void write(Report &report, const Fragment &fragment) {
    report.begin(fragment.name);
    report.number("threads", fragment.threads);
    report.number("registers", fragment.registers);
    report.number("halves", fragment.halves);
    report.number("rows", fragment.rows);
    report.number("columns", fragment.columns);
    report.numbers("elements", fragment.elements);
    report.end();
}

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

// Loads both operands as the Ampere rungs do, by ldmatrix: a [32][4], b [32][2].
__global__ void load_operands(const uint16_t *from_a, const uint16_t *from_b, uint32_t *a,
                              uint32_t *b) {
    WarpOperands &smem = dynamic_smem<WarpOperands>();
    const int lane = threadIdx.x;
    for (int i = lane; i < M * K; i += WARP_THREADS)
        smem.a[i] = from_a[i];
    for (int i = lane; i < N * K; i += WARP_THREADS)
        smem.b[i] = from_b[i];
    __syncwarp();
    uint32_t part_a[A_REGISTERS], part_b[B_REGISTERS];
    ldmatrix_x4(part_a, &smem.a[lane % 16 * K + lane / 16 * 8]);
    ldmatrix_x2(part_b, &smem.b[lane % 8 * K + lane / 8 % 2 * 8]);
    for (int i = 0; i < A_REGISTERS; ++i)
        a[lane * A_REGISTERS + i] = part_a[i];
    for (int i = 0; i < B_REGISTERS; ++i)
        b[lane * B_REGISTERS + i] = part_b[i];
}

// The products of `count` pairs of fragments, with fp32 sums d [count][32][4] and with fp16 sums
// d_fp16 [count][32][2].
__global__ void multiply_warp(const uint32_t *a, const uint32_t *b, float *d, uint32_t *d_fp16,
                              int count) {
    const int lane = threadIdx.x;
    for (int step = 0; step < count; ++step) {
        const int at = step * WARP_THREADS + lane;
        uint32_t part_a[A_REGISTERS], part_b[B_REGISTERS], fp16_sums[D_REGISTERS / 2] = {};
        float sums[D_REGISTERS] = {};
        for (int i = 0; i < A_REGISTERS; ++i)
            part_a[i] = a[at * A_REGISTERS + i];
        for (int i = 0; i < B_REGISTERS; ++i)
            part_b[i] = b[at * B_REGISTERS + i];
        mma_m16n8k16(sums, part_a, part_b);
        mma_m16n8k16(fp16_sums, part_a, part_b);
        for (int i = 0; i < D_REGISTERS; ++i)
            d[at * D_REGISTERS + i] = sums[i];
        for (int i = 0; i < D_REGISTERS / 2; ++i)
            d_fp16[at * D_REGISTERS / 2 + i] = fp16_sums[i];
    }
}

using Registers = std::vector<uint32_t>; // of the whole warp, lane by lane

struct Sums {
    std::vector<float> fp32;
    Registers fp16;
};

// A has a(i, k) at row i, column k, and B b(k, j): their fragments.
template <typename OfA, typename OfB>
static std::pair<Registers, Registers> loaded(OfA a, OfB b) {
    std::vector<uint16_t> from_a, from_b;
    for (int i = 0; i < M * K; ++i)
        from_a.push_back(fp16_bits(a(i / K, i % K)));
    for (int i = 0; i < N * K; ++i)
        from_b.push_back(fp16_bits(b(i % K, i / K)));
    const Array<uint16_t> on_a(from_a), on_b(from_b);
    const Array<uint32_t> part_a(WARP_THREADS * A_REGISTERS), part_b(WARP_THREADS * B_REGISTERS);
    run_cta(load_operands, WARP_THREADS, sizeof(WarpOperands), on_a.device, on_b.device,
            part_a.device, part_b.device);
    return {part_a.read(), part_b.read()};
}

static Sums product(const Registers &a, const Registers &b, int count) {
    const Array<uint32_t> on_a(a), on_b(b), fp16_sums(count * WARP_THREADS * D_REGISTERS / 2);
    const Array<float> sums(count * WARP_THREADS * D_REGISTERS);
    run_cta(multiply_warp, WARP_THREADS, 0, on_a.device, on_b.device, sums.device, fp16_sums.device,
            count);
    return {sums.read(), fp16_sums.read()};
}

// All fragments with 1 in one slot and 0 elsewhere, slot after slot.
static Registers one_hot(int slots) {
    Registers all;
    for (int slot = 0; slot < slots; ++slot)
        for (int i = 0; i < slots / 2; ++i)
            all.push_back(i == slot / 2 ? uint32_t(fp16_bits(1)) << 16 * (slot % 2) : 0);
    return all;
}

static Registers repeated(const Registers &registers, int times) {
    Registers all;
    for (int i = 0; i < times; ++i)
        all.insert(all.end(), registers.begin(), registers.end());
    return all;
}

// D = I * B, and B has a number of its own in every element: what a slot holds says which it is.
static std::vector<Fragment> mma_sums() {
    const auto [a, b] =
        loaded([](int i, int k) { return int(i == k); }, [](int k, int j) { return k * N + j; });
    const Sums sums = product(a, b, 1);
    std::vector<int> fp32(sums.fp32.begin(), sums.fp32.end()), fp16;
    for (const int half : halves_of(sums.fp16))
        fp16.push_back(of_fp16_bits(uint32_t(half)));
    return {{"mma d, fp32 sums", WARP_THREADS, D_REGISTERS, 1, M, N, fp32},
            {"mma d, fp16 sums", WARP_THREADS, D_REGISTERS / 2, 2, M, N, fp16}};
}

// The element of D that is not 0 and has the lowest number, and its value.
static std::pair<int, int> first_of(const float *sums, const std::vector<int> &elements) {
    std::pair<int, int> first = {M * N, 0};
    for (size_t i = 0; i < elements.size(); ++i)
        if (sums[i] != 0 && elements[i] < first.first)
            first = {elements[i], int(sums[i])};
    if (first.first == M * N)
        give_up("mma.m16n8k16: a slot of an operand has no effect on the product");
    return first;
}

// A 1 in one slot of A, at (i, k), makes row k of B row i of D. B's numbers begin at 1.
static Fragment mma_a(const std::vector<int> &d) {
    constexpr int SLOTS = WARP_THREADS * A_REGISTERS * 2;
    const Registers b =
        loaded([](int, int) { return 0; }, [](int k, int j) { return k * N + j + 1; }).second;
    const Sums sums = product(one_hot(SLOTS), repeated(b, SLOTS), SLOTS);
    std::vector<int> elements;
    for (int slot = 0; slot < SLOTS; ++slot) {
        const auto [element, value] = first_of(&sums.fp32[slot * d.size()], d);
        elements.push_back(element / N * K + (value - 1) / N);
    }
    return {"mma a", WARP_THREADS, A_REGISTERS, 2, M, K, elements};
}

// A 1 in one slot of B, at (k, j), makes column k of A column j of D.
static Fragment mma_b(const std::vector<int> &d) {
    constexpr int SLOTS = WARP_THREADS * B_REGISTERS * 2;
    const Registers a =
        loaded([](int i, int k) { return i * K + k + 1; }, [](int, int) { return 0; }).first;
    const Sums sums = product(repeated(a, SLOTS), one_hot(SLOTS), SLOTS);
    std::vector<int> elements;
    for (int slot = 0; slot < SLOTS; ++slot) {
        const auto [element, value] = first_of(&sums.fp32[slot * d.size()], d);
        elements.push_back((value - 1) % K * N + element % N);
    }
    return {"mma b", WARP_THREADS, B_REGISTERS, 2, K, N, elements};
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
    for (int i = 0; i < COLUMNS / 2; ++i)
        d[thread * (COLUMNS / 2) + i] = acc[i];
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
    for (int i = 0; i < MATRIX_REGISTERS; ++i)
        out[lane * MATRIX_REGISTERS + i] = registers[i];
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
    std::vector<Fragment> fragments = mma_sums();
    const std::vector<int> d = fragments[0].elements;
    fragments.push_back(mma_a(d));
    fragments.push_back(mma_b(d));
    fragments.push_back(wgmma_sums<64>());
    fragments.push_back(wgmma_sums<128>());
    fragments.push_back(wgmma_sums<256>());
    fragments.push_back(matrices_loaded<false>("ldmatrix_x4"));
    fragments.push_back(matrices_loaded<true>("ldmatrix_x4_trans"));
    fragments.push_back(matrices_stored("stmatrix_x4"));
    Report report(argv[1]);
    for (const Fragment &fragment : fragments)
        write(report, fragment);
    report.finish();
    return 0;
}
