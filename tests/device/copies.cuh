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
        Barrier loaded;
    };

    static bool has(int row, int column) {
        return row >= 0 && row < ROWS && column >= 0 && column < COLUMNS;
    }

    // Where element i of a box lies in shared memory, and which one lies at i: swizzling twice
    // changes nothing.
    __host__ __device__ static int place(int i, CUtensorMapSwizzle swizzle) {
        return swizzle == UNSWIZZLED ? i : swizzle_128b<T>(i / WIDTH, i % WIDTH);
    }
};

// Loads the box at (column, row) and copies its elements as they lie in shared memory to
// out[blockIdx.x]. A multicast is for clusters of two: each CTA loads its half of the box's rows
// into both.
template <typename T, LoadHow HOW>
__global__ void load_box(const __grid_constant__ TensorMap map, int column, int row,
                         typename Boxes<T>::Bits *out) {
    auto &[tile, loaded] = dynamic_smem<typename Boxes<T>::Storage>();
    uint64_t *barrier = &loaded.word;
    for (int i = threadIdx.x; i < Boxes<T>::ELEMENTS; i += BOX_THREADS)
        tile[i] = UNWRITTEN;
    fence_proxy_async(); // the copies overwrite what this thread wrote
    if (threadIdx.x == 0) {
        loaded.init(BOX_THREADS);
        mbarrier_init_fence();
    }
    cluster_sync(); // a CTA without a cluster is a cluster of one

    if (threadIdx.x == 0 && HOW == LOAD_2D_HINT) {
        tma_load_2d_hint(tile, &map, column, row, barrier, evict_first_policy());
    } else if (threadIdx.x == 0 && HOW == LOAD_2D_MULTICAST) {
        const int half = cluster_cta_rank() * (BOX_ROWS / 2);
        tma_load_2d_multicast(&tile[half * Boxes<T>::WIDTH], &map, column, row + half, barrier, 3);
    } else if (threadIdx.x == 0) {
        tma_load_2d(tile, &map, column, row, barrier);
    }
    const uint64_t token = threadIdx.x == 0 ? loaded.arrive_tx(sizeof tile) : loaded.arrive();
    if (HOW == LOAD_2D_TOKEN)
        loaded.wait(token);
    else
        mbarrier_wait(barrier, 0);
    for (int i = threadIdx.x; i < Boxes<T>::ELEMENTS; i += BOX_THREADS)
        out[blockIdx.x * Boxes<T>::ELEMENTS + i] = tile[i];
    cluster_sync(); // no CTA leaves while its peer's copies may still come here
}

// Where boxes begin: at and past the edges.
constexpr int CORNERS[][2] = {{0, 0},   {3, 8},  {96, 0}, {0, 64},
                              {96, 64}, {-5, 0}, {0, -8}, {-3, -24}};

static std::string box_at(int row, int column) {
    return "box at (" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

// Outside of the matrix are zeros.
template <typename T, LoadHow HOW, CUtensorMapSwizzle SWIZZLE = SWIZZLED_128B>
static void loads() {
    using B = Boxes<T>;
    using Bits = typename B::Bits;
    const int ctas = HOW == LOAD_2D_MULTICAST ? 2 : 1;
    const auto matrix = numbered<Bits>(B::ROWS * B::COLUMNS);
    const DeviceArray in(matrix);
    TensorMap map{};
    EXPECT(!make_tensor_map_2d<T>(&map, in, B::ROWS, B::COLUMNS, BOX_ROWS / ctas, B::WIDTH, SWIZZLE,
                                  HOW == LOAD_2D_HINT ? PROMOTED_256B : l2_promotion<T>()),
           "no tensor map");
    for (const auto &[row, column] : CORNERS) {
        const auto expected = each<Bits>(ctas * B::ELEMENTS, [&](int i) {
            const int place = B::place(i % B::ELEMENTS, SWIZZLE);
            const int m = row + place / B::WIDTH, n = column + place % B::WIDTH;
            return B::has(m, n) ? matrix[m * B::COLUMNS + n] : 0;
        });
        expect_output(box_at(row, column), expected, load_box<T, HOW>,
                      {ctas, BOX_THREADS, ctas, sizeof(typename B::Storage)}, map, column, row);
    }
}

// Stores a numbered box at (column, row) of the map's matrix.
template <typename T, bool HINT, CUtensorMapSwizzle SWIZZLE>
__global__ void store_box(const __grid_constant__ TensorMap map, int column, int row) {
    using B = Boxes<T>;
    auto &tile = dynamic_smem<typename B::Storage>().tile;
    for (int i = threadIdx.x; i < B::ELEMENTS; i += BOX_THREADS)
        tile[B::place(i, SWIZZLE)] = i + 1;
    fence_proxy_async(); // TMA sees what this thread wrote ...
    __syncthreads();     // ... and all wrote
    if (threadIdx.x == 0) {
        if (HINT)
            tma_store_2d_hint(&map, tile, column, row, evict_first_policy());
        else
            tma_store_2d(&map, tile, column, row);
        bulk_commit();
        bulk_wait_read<0>();
        bulk_wait<0>();
    }
}

// The coordinates of stores are not negative. What is outside of the matrix is not written.
template <typename T, bool HINT, CUtensorMapSwizzle SWIZZLE = SWIZZLED_128B>
static void stores() {
    using B = Boxes<T>;
    const int guard = 1024; // elements before and behind the matrix
    for (const auto &[row, column] : CORNERS) {
        if (row < 0 || column < 0)
            continue;
        const DeviceArray<typename B::Bits> d(guard + B::ROWS * B::COLUMNS + guard, UNWRITTEN);
        TensorMap map{};
        EXPECT(!make_tensor_map_2d<T>(&map, d.device + guard, B::ROWS, B::COLUMNS, BOX_ROWS,
                                      B::WIDTH, SWIZZLE),
               "no tensor map");
        std::vector<typename B::Bits> expected(d.count, UNWRITTEN);
        for (int i = 0; i < B::ELEMENTS; ++i) {
            const int m = row + i / B::WIDTH, n = column + i % B::WIDTH;
            if (B::has(m, n))
                expected[guard + m * B::COLUMNS + n] = i + 1;
        }
        run(store_box<T, HINT, SWIZZLE>, {1, BOX_THREADS, 1, sizeof(typename B::Storage)}, map,
            column, row);
        d.expect(box_at(row, column) + ", from the guard on", expected);
    }
}

template <typename T>
static void words() {
    loads<T, LOAD_2D, UNSWIZZLED>();
    loads<T, LOAD_2D>();
    stores<T, false, UNSWIZZLED>();
    stores<T, false>();
}

// Rungs take that for an error: the line on stderr is not all.
static void map_refused() {
    TensorMap map;
    const DeviceArray<float> matrix(64, 0.0f);
    EXPECT(make_tensor_map_2d<float>(&map, matrix, 8, 8, 8, 512, UNSWIZZLED) != 0, "512");
}

// ---------------------------------------------------------------------------- cp.async

constexpr int COPY_THREADS = 64;

// Each thread copies 16 bytes of `in` to shared memory: of them only the first thread % 17 come
// from there. Out are all bytes.
__global__ void copy_parts(const uint8_t *in, uint8_t *out) {
    __shared__ __align__(16) uint8_t staged[COPY_THREADS * 16];
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
    const auto bytes = each<uint8_t>(COPY_THREADS * 16, [](int i) { return 1 + i % 251; });
    const auto expected =
        each<uint8_t>(bytes.size(), [&](int i) { return i % 16 < i / 16 % 17 ? bytes[i] : 0; });
    expect_output("bytes", expected, copy_parts, {1, COPY_THREADS}, DeviceArray(bytes));
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
    const int rows = 7, columns = COPY_THREADS * 8;
    const auto matrix = numbered(rows * columns);
    expect_output("rows", matrix, copy_rows, {1, COPY_THREADS}, DeviceArray(matrix), rows);
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
    const auto expected = each<uint64_t>(COPY_THREADS * COUNT, [](int i) {
        const int thread = i / COUNT, row = 256 + thread / IN_A_ROW + i % COUNT * STEP;
        return (uint64_t(row) * K + thread % IN_A_ROW * CHUNK) * sizeof(fp16);
    });
    expect_output("bytes", expected, locate_chunks, {1, COPY_THREADS},
                  DeviceArray<fp16>(16, fp16(0.0f)), K);
}

static const std::vector<Case> COPY_CASES = {
    {"tma_load_2d: swizzled, zeros past the edges", loads<bf16, LOAD_2D>},
    {"tma_load_2d: a Barrier's tokens wait for its bytes", loads<bf16, LOAD_2D_TOKEN>},
    {"tma_load_2d_hint: the same, with an L2 policy and promotion", loads<bf16, LOAD_2D_HINT>},
    {"tma_load_2d_multicast: halves to both CTAs", loads<bf16, LOAD_2D_MULTICAST>},
    {"tma_store_2d: clipped at the edges", stores<bf16, false>},
    {"tma_store_2d_hint: the same, with an L2 policy", stores<bf16, true>},
    {"TMA: words of fp32, in and out, clipped at the edges", words<float>},
    {"TMA: words of int32, in and out, clipped at the edges", words<int32_t>},
    {"TMA: a tensor map with a box that is too wide is an error", map_refused},
    {"cp.async: 16 bytes, zeros behind the source", copies_of_all_lengths},
    {"cp.async: two groups in flight", copies_in_groups},
    {"TileChunks: the longest rows", chunks_of_the_longest_rows},
};
