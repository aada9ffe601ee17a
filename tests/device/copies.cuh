// TMA's copies and cp.async's, against their definitions.
#pragma once

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/tma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- TMA loads

constexpr int BOX_ROWS = 16;
constexpr int LOAD_THREADS = 128;
enum LoadHow { LOAD_2D, LOAD_2D_TOKEN, LOAD_3D, LOAD_3D_EVICT_FIRST, LOAD_3D_MULTICAST };

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
            if (HOW == LOAD_3D_EVICT_FIRST)
                tma_load_3d_evict_first(smem.tile, &map, column, row, barrier);
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
// edges, negative coordinates included, and expects each slice swizzled, zeros outside.
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
                                 slices * SWIZZLE_COLUMNS,
                                 HOW == LOAD_3D_EVICT_FIRST ? PROMOTED_256B : l2_promotion<bf16>());
    EXPECT(!failed, "no tensor map");
    if (failed)
        return;
    const int past_m = rows / BOX_ROWS * BOX_ROWS;
    const int past_n = columns / (slices * SWIZZLE_COLUMNS) * (slices * SWIZZLE_COLUMNS);
    const int corners[][2] = {{0, 0},           {3, 8},  {past_m, 0}, {0, past_n},
                              {past_m, past_n}, {-5, 0}, {0, -8},     {-3, -24}};
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
            const bool inside = from_m >= 0 && from_m < rows && from_n >= 0 && from_n < columns;
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

static void load_3d_evict_first() {
    expect_loads<LOAD_3D_EVICT_FIRST>(100, 72, 1);
    expect_loads<LOAD_3D_EVICT_FIRST>(100, 256, 2);
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

// ---------------------------------------------------------------------------- maps in memory

// Loads the box at (0, 0) with a map that lies in global memory.
__global__ void load_with_map_in_memory(const TensorMap *map, bf16 *out) {
    LoadStorage &smem = dynamic_smem<LoadStorage>();
    uint64_t *barrier = &smem.barrier.word;
    if (threadIdx.x == 0) {
        mbarrier_init(barrier, 1);
        mbarrier_init_fence();
        tensor_map_acquire(map);
        mbarrier_arrive_expect_tx(barrier, BOX_ROWS * SWIZZLE_BYTES);
        tma_load_2d(smem.tile, map, 0, 0, barrier);
    }
    __syncthreads(); // the barrier is ready
    mbarrier_wait(barrier, 0);
    for (int i = threadIdx.x; i < BOX_ROWS * SWIZZLE_COLUMNS; i += LOAD_THREADS)
        out[i] = smem.tile[swizzle_128b(i / SWIZZLE_COLUMNS, i % SWIZZLE_COLUMNS)];
}

static void map_in_memory() {
    const std::vector<uint16_t> matrix = numbered(BOX_ROWS, SWIZZLE_COLUMNS);
    const DeviceArray<uint16_t> in(matrix);
    TensorMap map;
    if (make_tensor_map_2d(&map, in.device, BOX_ROWS, SWIZZLE_COLUMNS, BOX_ROWS, SWIZZLE_COLUMNS))
        EXPECT(false, "no tensor map");
    TensorMap *uploaded = upload_array(&map, 1);
    const DeviceArray<uint16_t> out(matrix.size(), UNWRITTEN);
    run(load_with_map_in_memory, 1, LOAD_THREADS, 1, sizeof(LoadStorage), uploaded, out.as_bf16());
    release_array(uploaded);
    expect_equal(out.read(), matrix, SWIZZLE_COLUMNS, "box");
}

// ---------------------------------------------------------------------------- cp.async

constexpr int COPY_THREADS = 64;

// Each thread copies its 16 bytes of `in` to shared memory, in pieces of `bytes`: of the piece only
// the first (thread + piece) % (bytes + 1) bytes come from there. Out are all bytes.
__global__ void copy_pieces(const unsigned char *in, int bytes, unsigned char *out) {
    __shared__ __align__(16) unsigned char staged[COPY_THREADS * 16];
    const int first = threadIdx.x * 16;
    for (int i = 0; i < 16; ++i)
        staged[first + i] = 0xee;
    __syncwarp();
    for (int at = 0; at < 16; at += bytes) {
        const int taken = (threadIdx.x + at / bytes) % (bytes + 1);
        if (bytes == 4)
            cp_async_ca<4>(&staged[first + at], &in[first + at], taken);
        if (bytes == 8)
            cp_async_ca<8>(&staged[first + at], &in[first + at], taken);
        if (bytes == 16 && threadIdx.x % 2 == 0)
            cp_async_ca<16>(&staged[first + at], &in[first + at], taken);
        if (bytes == 16 && threadIdx.x % 2 == 1)
            cp_async_cg(&staged[first + at], &in[first + at], taken);
    }
    cp_async_wait_all();
    __syncthreads(); // the other threads' copies are there, too
    const int other = (threadIdx.x + 33) % COPY_THREADS * 16;
    for (int i = 0; i < 16; ++i)
        out[other + i] = staged[other + i];
}

static void copies_of_all_sizes() {
    std::vector<unsigned char> bytes(COPY_THREADS * 16);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = (unsigned char)(1 + i % 251);
    const DeviceArray<unsigned char> in(bytes);
    for (int size : {4, 8, 16}) {
        std::vector<unsigned char> expected(bytes);
        for (int i = 0; i < int(expected.size()); ++i)
            if (i % size >= (i / 16 + i % 16 / size) % (size + 1))
                expected[i] = 0;
        const DeviceArray<unsigned char> out(bytes.size(), 0xff);
        run(copy_pieces, 1, COPY_THREADS, 1, 0, in.device, size, out.device);
        expect_equal(out.read(), expected, 16, size == 16 ? "16 bytes" : size == 8 ? "8" : "4");
    }
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
