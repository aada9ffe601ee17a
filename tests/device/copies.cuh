// TMA's copies and cp.async's, against their definitions.
#pragma once

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/tile_chunks.cuh"
#include "device/tma.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- TMA

constexpr int BOX_ROWS = 16; // of 128 bytes
constexpr int BOX_THREADS = 128;
enum LoadHow { LOAD_2D, LOAD_2D_TOKEN, LOAD_2D_HINT, LOAD_2D_MULTICAST };

// A matrix of T, as bits, and its boxes.
template <typename T>
struct Boxes {
    using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>;
    static constexpr int ROWS = 100, COLUMNS = 72; // of the matrix
    static constexpr int WIDTH = SWIZZLE_BYTES / int(sizeof(T));
    static constexpr int ELEMENTS = BOX_ROWS * WIDTH;

    struct Storage {
        alignas(1024) Bits tile[ELEMENTS];
        Barrier barrier;
    };

    // Where element (row, column) of a box lies in shared memory.
    __host__ __device__ static int place(int row, int column, CUtensorMapSwizzle swizzle) {
        return swizzle == UNSWIZZLED ? row * WIDTH + column : swizzle_128b<T>(row, column);
    }
};

// Loads the box at (column, row) and copies its elements as they lie in shared memory to
// out[blockIdx.x]. A multicast is for clusters of two: each CTA loads its half of the box's rows
// into both.
template <typename T, LoadHow HOW>
__global__ void load_box(const __grid_constant__ TensorMap map, int column, int row,
                         typename Boxes<T>::Bits *out) {
    typename Boxes<T>::Storage &smem = dynamic_smem<typename Boxes<T>::Storage>();
    uint64_t *barrier = &smem.barrier.word;
    for (int i = threadIdx.x; i < Boxes<T>::ELEMENTS; i += BOX_THREADS)
        smem.tile[i] = UNWRITTEN;
    fence_proxy_async(); // the copies overwrite what this thread wrote
    if (threadIdx.x == 0) {
        smem.barrier.init(HOW == LOAD_2D_TOKEN ? BOX_THREADS : 1);
        mbarrier_init_fence();
    }
    cluster_sync(); // a CTA without a cluster is a cluster of one

    if (HOW == LOAD_2D_TOKEN) {
        if (threadIdx.x == 0)
            tma_load_2d(smem.tile, &map, column, row, barrier);
        smem.barrier.wait(threadIdx.x == 0 ? smem.barrier.arrive_tx(sizeof smem.tile)
                                           : smem.barrier.arrive());
    } else {
        if (threadIdx.x == 0) {
            mbarrier_arrive_expect_tx(barrier, sizeof smem.tile);
            if (HOW == LOAD_2D)
                tma_load_2d(smem.tile, &map, column, row, barrier);
            if (HOW == LOAD_2D_HINT)
                tma_load_2d_hint(smem.tile, &map, column, row, barrier, evict_first_policy());
            const int half = cluster_cta_rank() * (BOX_ROWS / 2);
            if (HOW == LOAD_2D_MULTICAST)
                tma_load_2d_multicast(&smem.tile[half * Boxes<T>::WIDTH], &map, column, row + half,
                                      barrier, 3);
        }
        mbarrier_wait(barrier, 0);
    }
    for (int i = threadIdx.x; i < Boxes<T>::ELEMENTS; i += BOX_THREADS)
        out[blockIdx.x * Boxes<T>::ELEMENTS + i] = smem.tile[i];
    cluster_sync(); // no CTA leaves while its peer's copies may still come here
}

// Loads boxes at and past the edges, negative coordinates included, and expects zeros outside.
template <typename T, LoadHow HOW, CUtensorMapSwizzle SWIZZLE = SWIZZLED_128B>
static void loads() {
    using B = Boxes<T>;
    const int ctas = HOW == LOAD_2D_MULTICAST ? 2 : 1;
    const auto matrix = numbered<typename B::Bits>(B::ROWS, B::COLUMNS);
    const DeviceArray<typename B::Bits> in(matrix);
    TensorMap map;
    const int failed =
        make_tensor_map_2d<T>(&map, in.device, B::ROWS, B::COLUMNS, BOX_ROWS / ctas, B::WIDTH,
                              SWIZZLE, HOW == LOAD_2D_HINT ? PROMOTED_256B : l2_promotion<T>());
    EXPECT(!failed, "no tensor map");
    if (failed)
        return;
    const int corners[][2] = {{0, 0},   {3, 8},  {96, 0}, {0, 64},
                              {96, 64}, {-5, 0}, {0, -8}, {-3, -24}};
    for (const auto &[row, column] : corners) {
        std::vector<typename B::Bits> expected(ctas * B::ELEMENTS);
        for (int i = 0; i < ctas * B::ELEMENTS; ++i) {
            const int m = i % B::ELEMENTS / B::WIDTH, n = i % B::WIDTH;
            const int from_m = row + m, from_n = column + n;
            const bool inside =
                from_m >= 0 && from_m < B::ROWS && from_n >= 0 && from_n < B::COLUMNS;
            expected[i / B::ELEMENTS * B::ELEMENTS + B::place(m, n, SWIZZLE)] =
                inside ? matrix[from_m * B::COLUMNS + from_n] : 0;
        }
        expect_output<typename B::Bits>(
            expected, UNWRITTEN, B::WIDTH, box_at(row, column), load_box<T, HOW>,
            {ctas, BOX_THREADS, ctas, sizeof(typename B::Storage)}, map, column, row);
    }
}

// Stores a numbered box at (column, row) of the map's matrix.
template <typename T, bool HINT, CUtensorMapSwizzle SWIZZLE>
__global__ void store_box(const __grid_constant__ TensorMap map, int column, int row) {
    using B = Boxes<T>;
    typename B::Storage &smem = dynamic_smem<typename B::Storage>();
    for (int i = threadIdx.x; i < B::ELEMENTS; i += BOX_THREADS)
        smem.tile[B::place(i / B::WIDTH, i % B::WIDTH, SWIZZLE)] = i + 1;
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

template <typename T, bool HINT, CUtensorMapSwizzle SWIZZLE = SWIZZLED_128B>
static void stores() {
    using B = Boxes<T>;
    const int guard = 1024; // elements before and behind the matrix
    const int corners[][2] = {{0, 0}, {3, 8}, {96, 0}, {0, 64}, {96, 64}};
    for (const auto &[row, column] : corners) {
        const DeviceArray<typename B::Bits> d(guard + B::ROWS * B::COLUMNS + guard, UNWRITTEN);
        TensorMap map;
        const int failed = make_tensor_map_2d<T>(&map, d.device + guard, B::ROWS, B::COLUMNS,
                                                 BOX_ROWS, B::WIDTH, SWIZZLE);
        EXPECT(!failed, "no tensor map");
        if (failed)
            return;
        std::vector<typename B::Bits> expected(d.count, UNWRITTEN);
        for (int m = 0; m < BOX_ROWS && row + m < B::ROWS; ++m)
            for (int n = 0; n < B::WIDTH && column + n < B::COLUMNS; ++n)
                expected[guard + (row + m) * B::COLUMNS + column + n] = m * B::WIDTH + n + 1;
        run(store_box<T, HINT, SWIZZLE>, {1, BOX_THREADS, 1, sizeof(typename B::Storage)}, map,
            column, row);
        expect_equal(d.read(), expected, B::COLUMNS, box_at(row, column) + ", from the guard on");
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

inline void copies_of_all_lengths() {
    std::vector<unsigned char> bytes(COPY_THREADS * 16);
    for (size_t i = 0; i < bytes.size(); ++i)
        bytes[i] = (unsigned char)(1 + i % 251);
    const DeviceArray<unsigned char> in(bytes);
    for (int i = 0; i < int(bytes.size()); ++i)
        if (i % 16 >= i / 16 % 17)
            bytes[i] = 0;
    expect_output<unsigned char>(bytes, 0xff, 16, "bytes", copy_parts, {1, COPY_THREADS},
                                 in.device);
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

inline void copies_in_groups() {
    const int rows = 7;
    const std::vector<uint16_t> matrix = numbered(rows, COPY_THREADS * 8);
    const DeviceArray<uint16_t> in(matrix);
    expect_output(matrix, UNWRITTEN, COPY_THREADS * 8, "rows", copy_rows, {1, COPY_THREADS},
                  in.device, rows);
}

// Each thread writes where TileChunks finds its chunks of the second tile of 256 rows, in bytes
// from the matrix's first element: out [threads][COUNT]. Nothing is read from there.
__global__ void locate_chunks(const fp16 *matrix, int k, uint64_t *out) {
    TileChunks<256, SWIZZLE_COLUMNS, COPY_THREADS> chunks(matrix, 256, 512, k);
    for (int i = 0; i < chunks.COUNT; ++i)
        out[threadIdx.x * chunks.COUNT + i] = uint64_t(static_cast<const char *>(chunks.from(i)) -
                                                       reinterpret_cast<const char *>(matrix));
}

inline void chunks_of_the_longest_rows() {
    constexpr int K = TILE_CHUNKS_LARGEST_K, IN_A_ROW = SWIZZLE_COLUMNS / CHUNK;
    constexpr int STEP = COPY_THREADS / IN_A_ROW, COUNT = 256 / STEP;
    std::vector<uint64_t> expected;
    for (int thread = 0; thread < COPY_THREADS; ++thread)
        for (int i = 0; i < COUNT; ++i)
            expected.push_back(
                (uint64_t(256 + thread / IN_A_ROW + i * STEP) * K + thread % IN_A_ROW * CHUNK) *
                sizeof(fp16));
    const DeviceArray<fp16> matrix(16, fp16(0.0f));
    expect_output<uint64_t>(expected, 0, COUNT, "bytes", locate_chunks, {1, COPY_THREADS},
                            matrix.device, K);
}
