// The device headers' instructions on a GPU, each against its definition. Matrices hold different
// bits in every element, so that one in the wrong place is seen; what must not be written holds
// UNWRITTEN. Without a GPU of compute capability 9.0 every case is skipped.
#include "../unit/test.h"
#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/fragment.cuh"
#include "device/launch.cuh"
#include "device/mbarrier.cuh"
#include "device/stmatrix.cuh"
#include "device/tma.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"
#include "fragment_map.h"

#include <math.h>
#include <vector>

constexpr uint16_t UNWRITTEN = 0xffff;

// ---------------------------------------------------------------------------- frame

// An array on the device, and what the host put there.
template <typename T>
struct DeviceArray {
    T *device;
    size_t count;

    explicit DeviceArray(const std::vector<T> &host)
        : device(upload_array(host.data(), host.size())), count(host.size()) {}
    DeviceArray(size_t size, T value) : DeviceArray(std::vector<T>(size, value)) {}
    DeviceArray(const DeviceArray &) = delete;
    ~DeviceArray() { release_array(device); }

    bf16 *as_bf16() const { return reinterpret_cast<bf16 *>(device); }

    // What it holds now that the kernels are done.
    std::vector<T> read() const {
        std::vector<T> host(count);
        const cudaError_t status =
            cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
        EXPECT(status == cudaSuccess, "%s", cudaGetErrorString(status));
        return host;
    }
};

// Launches on the default stream and waits.
template <typename... Parameters, typename... Arguments>
static void run(void (*kernel)(Parameters...), int grid, int block, int cluster, size_t smem,
                const Arguments &...arguments) {
    const int failed =
        allow_dynamic_smem(kernel, smem) || launch(kernel, dim3(grid), dim3(block), dim3(cluster),
                                                   smem, cudaStream_t(nullptr), arguments...);
    const cudaError_t status = cudaDeviceSynchronize();
    EXPECT(!failed && status == cudaSuccess, "%s", cudaGetErrorString(status));
}

template <typename T>
static void expect_equal(const std::vector<T> &got, const std::vector<T> &expected, int columns,
                         const char *what) {
    for (size_t i = 0; i < expected.size(); ++i)
        EXPECT(got[i] == expected[i], "%s: [%zu][%zu] is %g, not %g", what, i / columns,
               i % columns, double(got[i]), double(expected[i]));
}

static uint16_t bits_of(float value) {
    const bf16 rounded = __float2bfloat16(value);
    return *reinterpret_cast<const uint16_t *>(&rounded);
}

// A matrix [rows][columns] whose elements are the numbers from 1 on, as bits.
static std::vector<uint16_t> numbered(int rows, int columns) {
    std::vector<uint16_t> matrix(rows * columns);
    for (int i = 0; i < rows * columns; ++i)
        matrix[i] = uint16_t(i + 1);
    return matrix;
}

// ---------------------------------------------------------------------------- TMA loads

constexpr int BOX_ROWS = 16;
constexpr int LOAD_THREADS = 128;
enum LoadHow { LOAD_2D, LOAD_2D_TOKEN, LOAD_3D, LOAD_3D_MULTICAST };

struct LoadStorage {
    alignas(1024) bf16 tile[BOX_ROWS * 2 * SWIZZLE_COLUMNS];
    Barrier barrier;
};

// Loads the box at (column, row) and copies its `elements` elements as they lie in shared memory to
// out[blockIdx.x][elements]. A multicast is for clusters of two: each CTA loads its half of the
// box's rows into both.
template <LoadHow HOW>
__global__ void load_box(const __grid_constant__ TensorMap map, int column, int row, int elements,
                         bf16 *out) {
    LoadStorage &smem = dynamic_smem<LoadStorage>();
    const int bytes = elements * int(sizeof(bf16));
    uint64_t *barrier = &smem.barrier.word;
    for (int i = threadIdx.x; i < elements; i += LOAD_THREADS)
        reinterpret_cast<uint16_t *>(smem.tile)[i] = UNWRITTEN;
    fence_proxy_async(); // the copies overwrite what this thread wrote
    if (threadIdx.x == 0) {
        smem.barrier.init(HOW == LOAD_2D_TOKEN ? LOAD_THREADS : 1);
        mbarrier_init_fence();
    }
    cluster_sync(); // a CTA without a cluster is a cluster of one

    if (HOW == LOAD_2D_TOKEN) {
        if (threadIdx.x == 0)
            tma_load_2d(smem.tile, &map, column, row, barrier);
        smem.barrier.wait(threadIdx.x == 0 ? smem.barrier.arrive_tx(bytes) : smem.barrier.arrive());
    } else {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(barrier, bytes);
            if (HOW == LOAD_2D)
                tma_load_2d(smem.tile, &map, column, row, barrier);
            if (HOW == LOAD_3D)
                tma_load_3d(smem.tile, &map, column, row, barrier);
            const int half = cluster_cta_rank() * (BOX_ROWS / 2);
            if (HOW == LOAD_3D_MULTICAST)
                tma_load_3d_multicast(&smem.tile[half * SWIZZLE_COLUMNS], &map, column, row + half,
                                      barrier, 3);
        }
        mbarrier_wait(barrier, 0);
    }
    for (int i = threadIdx.x; i < elements; i += LOAD_THREADS)
        out[blockIdx.x * elements + i] = smem.tile[i];
    cluster_sync(); // no CTA leaves while its peer's copies may still come here
}

// Loads boxes of [BOX_ROWS][slices * 64] from the numbered matrix [rows][columns] at and past its
// edges, and expects each slice swizzled, zeros outside.
template <LoadHow HOW>
static void expect_loads(int rows, int columns, int slices) {
    const int ctas = HOW == LOAD_3D_MULTICAST ? 2 : 1;
    const int elements = BOX_ROWS * slices * SWIZZLE_COLUMNS;
    const std::vector<uint16_t> matrix = numbered(rows, columns);
    const DeviceArray<uint16_t> in(matrix);
    TensorMap map;
    const int failed =
        HOW == LOAD_2D || HOW == LOAD_2D_TOKEN
            ? make_tensor_map_2d(&map, in.device, rows, columns, BOX_ROWS, SWIZZLE_COLUMNS)
            : make_tensor_map_3d(&map, in.device, rows, columns, BOX_ROWS / ctas,
                                 slices * SWIZZLE_COLUMNS);
    EXPECT(!failed, "no tensor map");
    if (failed)
        return;
    const int past_m = rows / BOX_ROWS * BOX_ROWS;
    const int past_n = columns / (slices * SWIZZLE_COLUMNS) * (slices * SWIZZLE_COLUMNS);
    const int corners[][2] = {{0, 0}, {3, 8}, {past_m, 0}, {0, past_n}, {past_m, past_n}};
    for (const auto &[row, column] : corners) {
        if (slices > 1 && column % (slices * SWIZZLE_COLUMNS) != 0)
            continue; // these boxes are for whole stages
        std::vector<uint16_t> expected(ctas * elements);
        for (int i = 0; i < ctas * elements; ++i) {
            const int slice = i % elements / (BOX_ROWS * SWIZZLE_COLUMNS);
            const int m = i % elements / SWIZZLE_COLUMNS % BOX_ROWS;
            const int n = i % SWIZZLE_COLUMNS;
            const int from_m = row + m;
            const int from_n = column + slice * SWIZZLE_COLUMNS + n;
            const int to = i / (BOX_ROWS * SWIZZLE_COLUMNS) * (BOX_ROWS * SWIZZLE_COLUMNS) +
                           swizzle_128b(m, n);
            const bool inside = from_m < rows && from_n < columns;
            expected[to] = inside ? matrix[from_m * columns + from_n] : 0;
        }
        const DeviceArray<uint16_t> out(ctas * elements, UNWRITTEN);
        run(load_box<HOW>, ctas, LOAD_THREADS, ctas, sizeof(LoadStorage), map, column, row,
            elements, out.as_bf16());
        char what[64];
        snprintf(what, sizeof what, "box at (%d, %d)", row, column);
        expect_equal(out.read(), expected, SWIZZLE_COLUMNS, what);
    }
}

static void load_2d() { expect_loads<LOAD_2D>(100, 72, 1); }

static void load_2d_token() { expect_loads<LOAD_2D_TOKEN>(100, 72, 1); }

static void load_3d() {
    expect_loads<LOAD_3D>(100, 72, 1);
    expect_loads<LOAD_3D>(100, 256, 2);
}

static void load_3d_multicast() { expect_loads<LOAD_3D_MULTICAST>(100, 72, 1); }

// ---------------------------------------------------------------------------- TMA store

// Stores a numbered box [BOX_ROWS][64] at (column, row) of the map's matrix.
__global__ void store_box(const __grid_constant__ TensorMap map, int column, int row) {
    LoadStorage &smem = dynamic_smem<LoadStorage>();
    uint16_t *tile = reinterpret_cast<uint16_t *>(smem.tile);
    for (int i = threadIdx.x; i < BOX_ROWS * SWIZZLE_COLUMNS; i += LOAD_THREADS)
        tile[swizzle_128b(i / SWIZZLE_COLUMNS, i % SWIZZLE_COLUMNS)] = uint16_t(i + 1);
    fence_proxy_async(); // TMA sees what this thread wrote ...
    __syncthreads();     // ... and all wrote
    if (threadIdx.x == 0) {
        tma_store_2d(&map, smem.tile, column, row);
        bulk_commit();
        bulk_wait_read<0>();
        bulk_wait<0>();
    }
}

static void store_2d() {
    const int rows = 100, columns = 72, guard = 1024; // elements before and behind the matrix
    const std::vector<uint16_t> box = numbered(BOX_ROWS, SWIZZLE_COLUMNS);
    const int corners[][2] = {{0, 0}, {3, 8}, {96, 0}, {0, 64}, {96, 64}};
    for (const auto &[row, column] : corners) {
        const DeviceArray<uint16_t> d(guard + rows * columns + guard, UNWRITTEN);
        TensorMap map;
        const int failed =
            make_tensor_map_2d(&map, d.device + guard, rows, columns, BOX_ROWS, SWIZZLE_COLUMNS);
        EXPECT(!failed, "no tensor map");
        if (failed)
            return;
        std::vector<uint16_t> expected(d.count, UNWRITTEN);
        for (int m = row; m < rows && m < row + BOX_ROWS; ++m)
            for (int n = column; n < columns && n < column + SWIZZLE_COLUMNS; ++n)
                expected[guard + m * columns + n] = box[(m - row) * SWIZZLE_COLUMNS + n - column];
        run(store_box, 1, LOAD_THREADS, 1, sizeof(LoadStorage), map, column, row);
        char what[64];
        snprintf(what, sizeof what, "box at (%d, %d), from the guard on", row, column);
        expect_equal(d.read(), expected, columns, what);
    }
}

// ---------------------------------------------------------------------------- wgmma

constexpr int K = 64;

template <int N>
struct Operands {
    alignas(1024) bf16 a[64 * K];
    alignas(1024) bf16 b[N * K];
};

// D [64][N] = A [64][64] * B [N][64]^T, plus `before` in every element if `accumulate`.
template <int N>
__global__ void multiply(const bf16 *a, const bf16 *b, float before, bool accumulate, float *d) {
    Operands<N> &smem = dynamic_smem<Operands<N>>();
    for (int i = threadIdx.x; i < 64 * K; i += WARPGROUP_THREADS)
        smem.a[swizzle_128b(i / K, i % K)] = a[i];
    for (int i = threadIdx.x; i < N * K; i += WARPGROUP_THREADS)
        smem.b[swizzle_128b(i / K, i % K)] = b[i];
    fence_proxy_async(); // wgmma sees what this thread wrote ...
    __syncthreads();     // ... and all wrote

    float acc[N / 2];
    for (float &value : acc)
        value = before;
    wgmma_wait<0>(acc); // waits for nothing, and keeps the lines above before the fence
    wgmma_fence();
    for (int kk = 0; kk < K; kk += 16)
        wgmma<N>(acc, matrix_descriptor(&smem.a[kk]), matrix_descriptor(&smem.b[kk]),
                 accumulate || kk > 0);
    wgmma_commit();
    wgmma_wait<0>(acc);
    for (int i = 0; i < N / 2; ++i)
        d[fragment_row(threadIdx.x, i) * N + fragment_column(threadIdx.x, i)] = acc[i];
}

template <int N>
static void expect_product(const std::vector<float> &a, const std::vector<float> &b, float before,
                           bool accumulate, const char *what) {
    std::vector<uint16_t> a_bits, b_bits;
    for (float value : a)
        a_bits.push_back(bits_of(value));
    for (float value : b)
        b_bits.push_back(bits_of(value));
    std::vector<float> expected(64 * N, accumulate ? before : 0.0f);
    for (int i = 0; i < 64 * N; ++i)
        for (int k = 0; k < K; ++k)
            expected[i] += a[i / N * K + k] * b[i % N * K + k];
    const DeviceArray<uint16_t> on_a(a_bits), on_b(b_bits);
    const DeviceArray<float> d(64 * N, NAN);
    run(multiply<N>, 1, WARPGROUP_THREADS, 1, sizeof(Operands<N>), on_a.as_bf16(), on_b.as_bf16(),
        before, accumulate, d.device);
    expect_equal(d.read(), expected, N, what);
}

template <int N>
static void multiply_case() {
    std::vector<float> identity(64 * K), integers_a(64 * K), b(N * K);
    for (int i = 0; i < 64 * K; ++i) {
        identity[i] = i / K == i % K;
        integers_a[i] = float(i * 37 % 101 % 9 - 4);
    }
    for (int i = 0; i < N * K; ++i)
        b[i] = float(i % 257 - 128); // 257 is prime: rows and columns differ
    // A NaN that were not overwritten would be seen.
    expect_product<N>(identity, b, NAN, false, "one-hot A");
    expect_product<N>(integers_a, b, NAN, false, "integers");
    expect_product<N>(integers_a, b, 1000, true, "integers on top of 1000");
}

// ---------------------------------------------------------------------------- fragments

// Matrix i of stmatrix_x4 goes to rows 8 i to 8 i + 7 of out [32][24]: columns 0, 8, 16, 8 on.
__global__ void write_matrices(bf16 *out) {
    __shared__ __align__(16) bf16 tile[32 * 24];
    const int lane = threadIdx.x;
    for (int i = lane; i < 32 * 24; i += 32)
        reinterpret_cast<uint16_t *>(tile)[i] = UNWRITTEN;
    float values[8];
    for (int i = 0; i < 8; ++i)
        values[i] = float(i / 2 * 64 + lane / 4 * 8 + lane % 4 * 2 + i % 2);
    __syncwarp();
    stmatrix_x4(&tile[lane * 24 + (lane < 24 ? lane / 8 : 1) * 8], values);
    __syncwarp();
    for (int i = lane; i < 32 * 24; i += 32)
        out[i] = tile[i];
}

static void stmatrix() {
    std::vector<uint16_t> expected(32 * 24, UNWRITTEN);
    for (int i = 0; i < 4 * 64; ++i) {
        const int first = (i < 192 ? i / 64 : 1) * 8;
        expected[i / 8 * 24 + first + i % 8] = bits_of(float(i));
    }
    const DeviceArray<uint16_t> out(32 * 24, 0);
    run(write_matrices, 1, 32, 1, 0, out.as_bf16());
    expect_equal(out.read(), expected, 24, "tile");
}

// One warp writes its 8 rows of 16 columns to out [8][32], columns 16 on.
template <bool WRITE_THROUGH>
__global__ void write_rows(bf16 *out) {
    const int row = threadIdx.x / 4;
    const float left = float(row * 16 + threadIdx.x % 4 * 2);
    bf16 *to = &out[row * 32 + 16];
    if (WRITE_THROUGH)
        store_fragment_row_write_through(to, left, left + 1, left + 8, left + 9);
    else
        store_fragment_row(to, left, left + 1, left + 8, left + 9);
}

static void fragment_rows() {
    std::vector<uint16_t> expected(8 * 32, UNWRITTEN);
    for (int i = 0; i < 8 * 16; ++i)
        expected[i / 16 * 32 + 16 + i % 16] = bits_of(float(i));
    for (auto kernel : {write_rows<false>, write_rows<true>}) {
        const DeviceArray<uint16_t> out(8 * 32, UNWRITTEN);
        run(kernel, 1, 32, 1, 0, out.as_bf16());
        expect_equal(out.read(), expected, 32, "rows");
    }
}

// ---------------------------------------------------------------------------- barriers

constexpr int ROUNDS = 9;

// Three warps' first threads hand one number each per round, at different times, to warp 0's, which
// adds them up: out [ROUNDS].
__global__ void hand_over(int *out) {
    __shared__ uint64_t full, empty;
    __shared__ int slots[3];
    const int producer = warp_index() - 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 3);
        mbarrier_init(&empty, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    for (int round = 0; threadIdx.x % WARP_THREADS == 0 && round < ROUNDS; ++round) {
        const int parity = round % 2;
        if (producer < 0) {
            mbarrier_wait(&full, parity); // the round's three numbers are there
            out[round] = slots[0] + slots[1] + slots[2];
            mbarrier_arrive(&empty); // and have been read
        } else {
            mbarrier_wait(&empty, parity ^ 1); // the consumer has read the round before
            __nanosleep(2000 * producer);
            slots[producer] = (round + 1) * (producer == 0 ? 1 : producer == 1 ? 100 : 10000);
            mbarrier_arrive(&full);
        }
    }
}

static void mbarrier_phases() {
    std::vector<int> expected(ROUNDS);
    for (int round = 0; round < ROUNDS; ++round)
        expected[round] = (round + 1) * 10101;
    const DeviceArray<int> out(ROUNDS, -1);
    run(hand_over, 1, 4 * WARP_THREADS, 1, 0, out.device);
    expect_equal(out.read(), expected, ROUNDS, "sums");
}

// Every thread writes its slot, and after the phase it arrived in reads another warp's:
// out[threadIdx.x] counts the rounds in which that was there.
__global__ void exchange_slots(int *out) {
    __shared__ Barrier written, read;
    __shared__ int slots[WARPGROUP_THREADS];
    if (threadIdx.x == 0) {
        written.init(WARPGROUP_THREADS);
        read.init(WARPGROUP_THREADS);
        mbarrier_init_fence();
    }
    __syncthreads();
    const int other = (threadIdx.x + 33) % WARPGROUP_THREADS;
    int right = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        __nanosleep(500 * (threadIdx.x / WARP_THREADS));
        slots[threadIdx.x] = round * 1000 + int(threadIdx.x);
        written.wait(written.arrive());
        right += slots[other] == round * 1000 + other;
        read.wait(read.arrive()); // nobody overwrites a slot that is still to be read
    }
    out[threadIdx.x] = right;
}

static void barrier_tokens() {
    const DeviceArray<int> out(WARPGROUP_THREADS, -1);
    run(exchange_slots, 1, WARPGROUP_THREADS, 1, 0, out.device);
    expect_equal(out.read(), std::vector<int>(WARPGROUP_THREADS, ROUNDS), WARPGROUP_THREADS,
                 "rounds");
}

// Each CTA of a cluster of two arrives on both CTAs' barriers, ROUNDS times; out[blockIdx.x] says
// who it is.
__global__ void arrive_on_peers(int4 *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        mbarrier_init(&barrier, 2);
        mbarrier_init_fence();
    }
    cluster_sync();
    int round = 0;
    for (; round < ROUNDS; ++round) {
        if (threadIdx.x < 2)
            mbarrier_arrive_cluster(&barrier, threadIdx.x);
        mbarrier_wait(&barrier, round % 2);
        cluster_sync(); // both have seen this phase before the next begins
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = make_int4(cluster_cta_rank(), cluster_index(), cluster_count(), round);
    cluster_sync();
}

static void clusters() {
    int most = 0;
    EXPECT(max_active_clusters(&most, arrive_on_peers, dim3(32), dim3(2), 0) == 0 && most > 0,
           "%d clusters fit", most);
    const DeviceArray<int4> out(8, make_int4(-1, -1, -1, -1));
    run(arrive_on_peers, 8, 32, 2, 0, out.device);
    const std::vector<int4> got = out.read();
    for (int cta = 0; cta < 8; ++cta)
        EXPECT(got[cta].x == cta % 2 && got[cta].y == cta / 2 && got[cta].z == 4 &&
                   got[cta].w == ROUNDS,
               "CTA %d: rank %d of cluster %d of %d, %d rounds", cta, got[cta].x, got[cta].y,
               got[cta].z, got[cta].w);
}

// ----------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*body)();
} CASES[] = {
    {"tma_load_2d: swizzled, zeros past the edges", load_2d},
    {"tma_load_2d: a Barrier's tokens wait for its bytes", load_2d_token},
    {"tma_load_3d: one and two slices", load_3d},
    {"tma_load_3d_multicast: halves to both CTAs", load_3d_multicast},
    {"tma_store_2d: clipped at the edges", store_2d},
    {"wgmma<64>: exact, documented fragment", multiply_case<64>},
    {"wgmma<128>: exact, documented fragment", multiply_case<128>},
    {"wgmma<256>: exact, documented fragment", multiply_case<256>},
    {"stmatrix_x4: rows where the lanes say", stmatrix},
    {"store_fragment_row, plain and write-through", fragment_rows},
    {"mbarrier: phases and parities", mbarrier_phases},
    {"Barrier: tokens", barrier_tokens},
    {"clusters: ranks, arrivals on peers", clusters},
};

// Whether device 0 can run these kernels.
static bool gpu_fits() {
    int major = 0;
    int minor = 0;
    return cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
           cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0) == cudaSuccess &&
           major == 9 && minor == 0;
}

int main() {
    const bool fits = gpu_fits();
    for (const auto &[name, body] : CASES) {
        if (fits)
            run_case(name, body);
        else
            skip_case(name, "it needs a GPU of compute capability 9.0");
    }
    return test_result();
}
