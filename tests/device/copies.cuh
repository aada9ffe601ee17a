// TMA's copies and cp.async's, against their definitions.
#pragma once

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/tile_chunks.cuh"
#include "device/tma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- TMA loads

constexpr int BOX_ROWS = 16;
constexpr int LOAD_THREADS = 128;
enum LoadHow { LOAD_2D, LOAD_2D_TOKEN, LOAD_2D_HINT, LOAD_2D_MULTICAST };

struct LoadStorage {
    alignas(1024) bf16 tile[BOX_ROWS * SWIZZLE_COLUMNS];
    Barrier barrier;
};

constexpr int BOX_ELEMENTS = BOX_ROWS * SWIZZLE_COLUMNS;

// Loads the box at (column, row) and copies its elements as they lie in shared memory to
// out[blockIdx.x][BOX_ELEMENTS]. A multicast is for clusters of two: each CTA loads its half of the
// box's rows into both.
template <LoadHow HOW>
__global__ void load_box(const __grid_constant__ TensorMap map, int column, int row, bf16 *out) {
    LoadStorage &smem = dynamic_smem<LoadStorage>();
    const int bytes = BOX_ELEMENTS * int(sizeof(bf16));
    uint64_t *barrier = &smem.barrier.word;
    for (int i = threadIdx.x; i < BOX_ELEMENTS; i += LOAD_THREADS)
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
            if (HOW == LOAD_2D_HINT)
                tma_load_2d_hint(smem.tile, &map, column, row, barrier, evict_first_policy());
            const int half = cluster_cta_rank() * (BOX_ROWS / 2);
            if (HOW == LOAD_2D_MULTICAST)
                tma_load_2d_multicast(&smem.tile[half * SWIZZLE_COLUMNS], &map, column, row + half,
                                      barrier, 3);
        }
        mbarrier_wait(barrier, 0);
    }
    for (int i = threadIdx.x; i < BOX_ELEMENTS; i += LOAD_THREADS)
        out[blockIdx.x * BOX_ELEMENTS + i] = smem.tile[i];
    cluster_sync(); // no CTA leaves while its peer's copies may still come here
}

// Loads boxes from the numbered matrix [rows][columns] at and past its edges, negative coordinates
// included, and expects them swizzled, zeros outside.
template <LoadHow HOW>
static void loads() {
    const int rows = 100, columns = 72;
    const int ctas = HOW == LOAD_2D_MULTICAST ? 2 : 1;
    const std::vector<uint16_t> matrix = numbered(rows, columns);
    const DeviceArray<uint16_t> in(matrix);
    TensorMap map;
    const int failed = make_tensor_map_2d(
        &map, in.device, rows, columns, BOX_ROWS / ctas, SWIZZLE_COLUMNS, SWIZZLED_128B,
        HOW == LOAD_2D_HINT ? PROMOTED_256B : l2_promotion<bf16>());
    EXPECT(!failed, "no tensor map");
    if (failed)
        return;
    const int corners[][2] = {{0, 0},   {3, 8},  {96, 0}, {0, 64},
                              {96, 64}, {-5, 0}, {0, -8}, {-3, -24}};
    for (const auto &[row, column] : corners) {
        std::vector<uint16_t> expected(ctas * BOX_ELEMENTS);
        for (int i = 0; i < ctas * BOX_ELEMENTS; ++i) {
            const int m = i % BOX_ELEMENTS / SWIZZLE_COLUMNS;
            const int n = i % SWIZZLE_COLUMNS;
            const int from_m = row + m, from_n = column + n;
            const bool inside = from_m >= 0 && from_m < rows && from_n >= 0 && from_n < columns;
            expected[i / BOX_ELEMENTS * BOX_ELEMENTS + swizzle_128b(m, n)] =
                inside ? matrix[from_m * columns + from_n] : 0;
        }
        const DeviceArray<uint16_t> out(ctas * BOX_ELEMENTS, UNWRITTEN);
        run(load_box<HOW>, ctas, LOAD_THREADS, ctas, sizeof(LoadStorage), map, column, row,
            out.as_bf16());
        expect_equal(out.read(), expected, SWIZZLE_COLUMNS, box_at(row, column));
    }
}

// ---------------------------------------------------------------------------- TMA store

// Stores a numbered box [BOX_ROWS][64] at (column, row) of the map's matrix.
template <bool HINT>
__global__ void store_box(const __grid_constant__ TensorMap map, int column, int row) {
    LoadStorage &smem = dynamic_smem<LoadStorage>();
    uint16_t *tile = reinterpret_cast<uint16_t *>(smem.tile);
    for (int i = threadIdx.x; i < BOX_ROWS * SWIZZLE_COLUMNS; i += LOAD_THREADS)
        tile[swizzle_128b(i / SWIZZLE_COLUMNS, i % SWIZZLE_COLUMNS)] = uint16_t(i + 1);
    fence_proxy_async(); // TMA sees what this thread wrote ...
    __syncthreads();     // ... and all wrote
    if (threadIdx.x == 0) {
        if (HINT)
            tma_store_2d_hint(&map, smem.tile, column, row, evict_first_policy());
        else
            tma_store_2d(&map, smem.tile, column, row);
        bulk_commit();
        bulk_wait_read<0>();
        bulk_wait<0>();
    }
}

template <bool HINT>
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
        run(store_box<HINT>, 1, LOAD_THREADS, 1, sizeof(LoadStorage), map, column, row);
        expect_equal(d.read(), expected, columns, box_at(row, column) + ", from the guard on");
    }
}

// ---------------------------------------------------------------------------- cp.async

constexpr int COPY_THREADS = 64;

// Each thread copies 16 bytes of `in` to shared memory: of them only the first thread % 17 come
// from there. Out are all bytes.
__global__ void copy_parts(const unsigned char *in, unsigned char *out) {
    __shared__ __align__(16) unsigned char staged[COPY_THREADS * 16];
    const int first = threadIdx.x * 16;
    for (int i = 0; i < 16; ++i)
        staged[first + i] = 0xee;
    __syncwarp();
    cp_async_cg(&staged[first], &in[first], threadIdx.x % 17);
    cp_async_commit();
    cp_async_wait<0>();
    __syncthreads(); // the other threads' copies are there, too
    const int other = (threadIdx.x + 33) % COPY_THREADS * 16;
    for (int i = 0; i < 16; ++i)
        out[other + i] = staged[other + i];
}

static void copies_of_all_lengths() {
    std::vector<unsigned char> bytes(COPY_THREADS * 16);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = (unsigned char)(1 + i % 251);
    const DeviceArray<unsigned char> in(bytes), out(bytes.size(), 0xff);
    for (int i = 0; i < int(bytes.size()); ++i)
        if (i % 16 >= i / 16 % 17)
            bytes[i] = 0;
    run(copy_parts, 1, COPY_THREADS, 1, 0, in.device, out.device);
    expect_equal(out.read(), bytes, 16, "bytes");
}

// Each thread copies 16 bytes of every row of in [rows][threads], with two groups in flight, and
// reads what its neighbour copied.
__global__ void copy_rows(const uint4 *in, int rows, uint4 *out) {
    __shared__ uint4 ring[3][COPY_THREADS];
    const int thread = threadIdx.x;
    const int neighbour = (thread + 1) % COPY_THREADS;
    for (int row = 0; row < 2; ++row) {
        cp_async_cg(&ring[row][thread], &in[row * COPY_THREADS + thread]);
        cp_async_commit();
    }
    for (int row = 0; row < rows; ++row) {
        if (row + 2 < rows)
            cp_async_cg(&ring[(row + 2) % 3][thread], &in[(row + 2) * COPY_THREADS + thread]);
        cp_async_commit();  // perhaps an empty group
        cp_async_wait<2>(); // this row has landed, two groups are in flight
        __syncthreads();    // for everybody
        out[row * COPY_THREADS + neighbour] = ring[row % 3][neighbour];
        __syncthreads(); // all have read the slot that the next copies go to
    }
}

static void copies_in_groups() {
    const int rows = 7;
    std::vector<uint16_t> matrix = numbered(rows, COPY_THREADS * 8);
    const DeviceArray<uint16_t> in(matrix), out(matrix.size(), UNWRITTEN);
    run(copy_rows, 1, COPY_THREADS, 1, 0, reinterpret_cast<uint4 *>(in.device), rows,
        reinterpret_cast<uint4 *>(out.device));
    expect_equal(out.read(), matrix, COPY_THREADS * 8, "rows");
}

// Each thread writes where TileChunks finds its chunks of the second tile of 256 rows, in bytes
// from the matrix's first element: out [threads][COUNT]. Nothing is read from there.
__global__ void locate_chunks(const fp16 *matrix, int k, uint64_t *out) {
    TileChunks<256, SWIZZLE_COLUMNS, COPY_THREADS> chunks(matrix, 256, 512, k);
    for (int i = 0; i < chunks.COUNT; ++i)
        out[threadIdx.x * chunks.COUNT + i] = uint64_t(static_cast<const char *>(chunks.from(i)) -
                                                       reinterpret_cast<const char *>(matrix));
}

static void chunks_of_the_longest_rows() {
    constexpr int K = TILE_CHUNKS_LARGEST_K, IN_A_ROW = SWIZZLE_COLUMNS / CHUNK;
    constexpr int STEP = COPY_THREADS / IN_A_ROW, COUNT = 256 / STEP;
    std::vector<uint64_t> expected;
    for (int thread = 0; thread < COPY_THREADS; ++thread)
        for (int i = 0; i < COUNT; ++i)
            expected.push_back(
                (uint64_t(256 + thread / IN_A_ROW + i * STEP) * K + thread % IN_A_ROW * CHUNK) *
                sizeof(fp16));
    const DeviceArray<fp16> matrix(16, fp16(0.0f));
    const DeviceArray<uint64_t> out(expected.size(), 0);
    run(locate_chunks, 1, COPY_THREADS, 1, 0, matrix.device, K, out.device);
    expect_equal(out.read(), expected, COUNT, "bytes");
}
