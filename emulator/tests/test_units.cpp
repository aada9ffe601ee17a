// wgmma, the matrix moves, cp.async, TMA and the 16-bit formats: the mistakes and orders that
// tests/device/ cannot ask about, as it uses the device headers alone and has to be right on a GPU
// too. What these units compute is tested there.
#include "units.h"

#include "emulator/cp_async.h"
#include "formats/half.h"
#include "emulator/runtime.h"
#include "strictness.h"
#include "emulator/tensor_core.h"
#include "emulator/tma.h"

#include <cmath>
#include <cuda.h>

constexpr std::size_t TILE = 1024; // offset in shared memory; mbarriers are at 0

// ---------------------------------------------------------------------------------------- wgmma

constexpr int WARPGROUP = 128;

static std::uint64_t descriptor() {
    const std::uint64_t start = shared_address(shared_at<unsigned char>(0), here());
    const std::uint64_t stride = 1024, swizzle_128b = 1;
    return start >> 4 | std::uint64_t(1) << 16 | (stride >> 4) << 32 | swizzle_128b << 62;
}

// Two wgmmas on a tile of zeros, the second after the fences that there are; A's descriptor is
// changed by what the calling thread adds to it.
static void multiply_twice(bool fence, bool fence_again, std::uint64_t added = 0,
                           bool accumulate = true) {
    for (int i = thread_number(); i < 8192 / 4; i += WARPGROUP)
        *shared_at<std::uint32_t>(std::size_t(i) * 4) = 0;
    shared().publish(*current);
    syncthreads(here());
    volatile float acc[32] = {};
    if (fence)
        wgmma_fence(here());
    for (int step = 0; step < 2; ++step) {
        wgmma(const_cast<float *>(acc), 64, descriptor() + added, descriptor(), accumulate, here());
        wgmma_commit(here());
        wgmma_wait(0, here());
        [[maybe_unused]] const float touched = acc[3];
        if (fence_again)
            wgmma_fence(here());
    }
}

// --------------------------------------------------------------------------------- matrix moves

// A generic-proxy write of the lane that named the row: no other thread's fence publishes it.
static void stmatrix_and_fence(bool all_fence) {
    const std::uint32_t registers[4] = {};
    stmatrix(shared_at<unsigned char>(std::size_t(thread_number()) * 16), registers, 4, false,
             here());
    if (all_fence || thread_number() == 0)
        shared().publish(*current);
    syncthreads(here());
    shared().check_published(0, 512, "TMA store", here());
}

static void stmatrix_proxy() {
    run_kernel(1, WARP_LANES, 1024, [] { stmatrix_and_fence(true); });
}

static void ldmatrix_at(const void *row, int matrices) {
    std::uint32_t registers[4];
    ldmatrix(registers, matrices, false, row, here());
}

// ------------------------------------------------------------------------------------- cp.async

static unsigned char *const COPIED = static_cast<unsigned char *>(global_allocate(72));

static void copy(int to, int first, int source_bytes = 16) {
    cp_async(shared_at<unsigned char>(0) + to, COPIED + first, source_bytes, here());
    cp_async_commit(here());
    cp_async_wait(0, here());
}

// ----------------------------------------------------------------------------------------- TMA

// A matrix of 20 rows of 100 bf16 and a map of its boxes, 8 rows of 64 each.
constexpr cuuint64_t SIZE[] = {100, 20}, STRIDE[] = {208};
constexpr cuuint32_t BOX[] = {64, 8}, ONES[] = {1, 1};
constexpr std::size_t BOX_BYTES = 1024;

static CUresult encode(CUtensorMap *map, void *base, const cuuint64_t *size = SIZE,
                       const cuuint64_t *stride = STRIDE, const cuuint32_t *box = BOX,
                       const cuuint32_t *element_strides = ONES, cuuint32_t rank = 2) {
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, base, size, stride,
                                  box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static unsigned char *const MATRIX = static_cast<unsigned char *>(global_allocate(20 * 208));
static CUtensorMap map_of(const cuuint64_t *size = SIZE, const cuuint32_t *box = BOX) {
    CUtensorMap map;
    EXPECT(encode(&map, MATRIX, size, STRIDE, box) == CUDA_SUCCESS, "no map");
    return map;
}
static const CUtensorMap MAP = map_of();

static void map_arguments() {
    CUtensorMap map;
    const cuuint64_t odd_stride[] = {200}, empty[] = {0, 20};
    const cuuint32_t high[] = {64, 257}, wide[] = {128, 8}, narrow[] = {4, 8}, steps[] = {1, 2};
    const auto refused = [](CUresult result) { return result == CUDA_ERROR_INVALID_VALUE; };
    EXPECT(refused(encode(&map, MATRIX + 8)), "an address that is not aligned");
    EXPECT(refused(encode(&map, nullptr)), "no address");
    EXPECT(refused(encode(&map, MATRIX, SIZE, odd_stride)), "a stride that is no multiple of 16");
    EXPECT(refused(encode(&map, MATRIX, empty)), "an empty dimension");
    EXPECT(refused(encode(&map, MATRIX, SIZE, STRIDE, high)), "a box of 257");
    EXPECT(refused(encode(&map, MATRIX, SIZE, STRIDE, wide)), "rows wider than the swizzle");
    EXPECT(refused(encode(&map, MATRIX, SIZE, STRIDE, narrow)), "rows of 8 bytes");
    EXPECT(encode(&map, MATRIX, SIZE, STRIDE, BOX, steps) == CUDA_ERROR_NOT_SUPPORTED,
           "element strides");
    EXPECT(refused(encode(&map, MATRIX, SIZE, STRIDE, BOX, ONES, 6)), "six dimensions");
}

static void load(const CUtensorMap &map, std::size_t tile, int row = 0, bool ready = true) {
    std::uint64_t *barrier = shared_at<std::uint64_t>(0);
    if (ready) {
        mbarrier_init(barrier, 1, here());
        mbarrier_init_fence(here());
    }
    tma_load(shared_at<unsigned char>(tile), &map, 0, row, barrier, 0, here());
}

static void wait_for_stores(int pending, bool read);

static void load_from_narrow_rows() {
    const cuuint32_t narrow[] = {32, 8};
    load(map_of(SIZE, narrow), TILE);
}

// A box of 16 x 2 x 2 from (8, 1, 1) of a tensor of 20 x 3 x 2 bytes: what lies outside of it is
// loaded as zeros, and not stored.
static void three_dimensions() {
    constexpr cuuint64_t sizes[] = {20, 3, 2}, strides[] = {32, 96};
    constexpr cuuint32_t box[] = {16, 2, 2}, ones[] = {1, 1, 1};
    constexpr std::size_t BYTES = 16 * 2 * 2, TENSOR = 192;
    unsigned char *tensor = static_cast<unsigned char *>(global_allocate(TENSOR));
    for (std::size_t i = 0; i < TENSOR; ++i)
        tensor[i] = (unsigned char)(i + 1);
    CUtensorMap map;
    EXPECT(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, tensor, sizes, strides,
                                  box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS,
           "no map");
    in_one_thread([&] {
        std::uint64_t *barrier = shared_at<std::uint64_t>(0);
        mbarrier_init(barrier, 1, here());
        mbarrier_init_fence(here());
        const Coordinates at{3, {8, 1, 1}};
        unsigned char *tile = shared_at<unsigned char>(TILE);
        tma_load(tile, &map, at, barrier, 0, here());
        mbarrier_arrive(barrier, BYTES, here());
        mbarrier_wait_parity(barrier, 0, here());
        for (std::size_t i = 0; i < BYTES; ++i) {
            const std::size_t x = 8 + i % 16, y = 1 + i / 16 % 2, z = 1 + i / 32;
            const unsigned char from = x < 20 && z < 2 ? tensor[x + 32 * y + 96 * z] : 0;
            EXPECT(tile[i] == from, "byte %zu is %d, not %d", i, tile[i], from);
            tile[i] = 0;
        }
        shared().publish(*current);
        tma_store(&map, tile, at, here());
        wait_for_stores(0, false);
    });
    for (std::size_t i = 0; i < TENSOR; ++i) {
        const bool stored = i >= 96 + 32 && i % 32 >= 8 && i % 32 < 20;
        EXPECT(tensor[i] == (stored ? 0 : (unsigned char)(i + 1)), "byte %zu", i);
    }
}

static void load_from_more_rows() {
    const cuuint64_t more[] = {100, 40};
    load(map_of(more), TILE, 16);
}

static void load_by_map_in_global_memory() {
    static CUtensorMap *map = static_cast<CUtensorMap *>(global_allocate(sizeof MAP));
    copy_bytes(map, &MAP, sizeof MAP);
    load(*map, TILE);
}

// One thread writes a tile and starts its store.
static void start_store(int column, int row) {
    for (std::size_t i = 0; i < BOX_BYTES; ++i)
        shared_at<unsigned char>(TILE)[i] = (unsigned char)i;
    shared().publish(*current);
    tma_store(&MAP, shared_at<unsigned char>(TILE), column, row, here());
}

static void wait_for_stores(int pending, bool read) {
    bulk_commit(here());
    bulk_wait(pending, read, here());
}

// Two stores of one thread, the second `column` and `row` further; what stands between them.
static void store_twice(int column, int row, const std::function<void()> &between) {
    start_store(0, 0);
    between();
    tma_store(&MAP, shared_at<unsigned char>(TILE), column, row, here());
    wait_for_stores(0, false);
}

// Under every policy: also where the first store has long been written.
static void stores_in_order() {
    for (const std::string &name : fixed_policy_names())
        under_policy(name.c_str(), [] {
            in_one_thread([] { store_twice(0, 0, [] { wait_for_stores(0, false); }); });
            in_one_thread([] { store_twice(64, 0, [] {}); }); // beside it, clipped at the edge
            in_one_thread([] { store_twice(0, 8, [] {}); });  // below it
        });
}

// A kernel that may begin early waits for the launch before. Thread 1 stores: its own wait is good,
// and that of thread 0, which runs first, if a barrier is between.
static void early_launch() {
    const auto store = [](bool early, int waiting, bool barrier) {
        Grid grid{};
        grid.grid = grid.cluster = dim3(1);
        grid.block = dim3(2);
        grid.dynamic_shared = 8192;
        grid.early = early;
        run_grid(grid, [=] {
            if (thread_number() == waiting)
                wait_for_launch_before();
            if (barrier)
                syncthreads(here());
            if (thread_number() == 1) {
                start_store(0, 0);
                wait_for_stores(0, false);
            }
        });
    };
    const int none = -1;
    store(false, none, true);
    store(true, 0, true);
    store(true, 1, false);
    expect_mistake("hazard", "launched early", [=] { store(true, none, true); });
    expect_mistake("hazard", "launched early", [=] { store(true, 0, false); });
}

static const char *const UNORDERED = "nothing orders the two";
static const char *const NOT_SHARED = "is not an address in the CTA's own shared memory";
static const std::vector<MistakeCase> MISTAKES = {
    {"wgmma: the first fence is missing", "hazard", "wgmma_fence", 1, WARPGROUP,
     [] { multiply_twice(false, true); }, "", EVERY_POLICY},
    {"wgmma: a later fence is missing", "hazard", "wgmma_fence", 1, WARPGROUP,
     [] { multiply_twice(true, false); }, "", EVERY_POLICY},
    {"wgmma: threads with different descriptors", "misuse", "disagree about A's descriptor", 1,
     WARPGROUP, [] { multiply_twice(true, true, thread_number() == 77 ? 2 : 0); }},
    {"wgmma: threads that disagree to accumulate", "misuse", "disagree about whether to accumulate",
     1, WARPGROUP, [] { multiply_twice(true, true, 0, thread_number() != 5); }},
    {"wgmma: a base offset", "misuse", "not modelled", 1, WARPGROUP,
     [] { multiply_twice(true, true, std::uint64_t(1) << 49); }},
    {"wgmma: an operand that is not aligned", "misuse", "first row", 1, WARPGROUP,
     [] { multiply_twice(true, true, 128 / 16); }},
    {"wgmma: an operand outside of shared memory", "misuse", "outside", 1, WARPGROUP,
     [] { multiply_twice(true, true, 7168 / 16); }},
    {"ldmatrix: an address that is not aligned", "misuse", "16-byte aligned", 1, WARP_LANES,
     [] { ldmatrix_at(shared_at<unsigned char>(8), 4); }},
    {"ldmatrix: lanes that call different forms", "misuse", "diverged", 1, WARP_LANES,
     [] { ldmatrix_at(shared_at<unsigned char>(0), thread_number() == 3 ? 2 : 4); }},
    {"ldmatrix: an address outside of shared memory", "address", NOT_SHARED, 1, WARP_LANES,
     [] { ldmatrix_at(COPIED, 4); }},
    {"stmatrix: a write that its lane has not fenced", "hazard", "never fenced, at offset 16 ", 1,
     WARP_LANES, [] { stmatrix_and_fence(false); }},
    {"cp.async: to an address that is not aligned", "misuse", "aligned", 1, 1, [] { copy(8, 0); }},
    {"cp.async: from an address that is not aligned", "misuse", "aligned", 1, 1,
     [] { copy(0, 8); }},
    {"cp.async: more bytes of the source than are copied", "misuse", "source", 1, 1,
     [] { copy(0, 0, 32); }},
    {"cp.async: behind the allocation", "address", "at offset 64 of an allocation of 72 bytes", 1,
     1, [] { copy(0, 64); }},
    {"cp.async: behind the shared memory", "address", NOT_SHARED, 1, 1, [] { copy(8192, 0); }},
    {"cp.async: far from everything, at once", "address", "no memory of the kernel's", 1, 1,
     [] { copy(0, 1 << 30); }, "started the cp.async"},
    {"cp.async: far from everything, later", "address", "no memory of the kernel's", 1, 1,
     [] { copy(0, 1 << 30); }, "started the cp.async", "lazy"},
    {"TMA load: by no map", "misuse", "never encoded", 1, 1, [] { load(CUtensorMap{}, TILE); }},
    {"TMA load: to a tile that is not aligned", "misuse", "128-byte aligned", 1, 1,
     [] { load(MAP, TILE + 64); }},
    {"TMA load: rows narrower than the swizzle", "misuse", "not modelled", 1, 1,
     load_from_narrow_rows},
    {"TMA load: a tile outside of shared memory", "address", "offset 8064 of the shared memory", 1,
     1, [] { load(MAP, 8192 - 128); }},
    {"TMA load: a matrix outside of its allocation", "address",
     "offset 3328 of an allocation of 4160", 1, 1, load_from_more_rows},
    {"TMA load: before the barrier is initialised", "lifetime", "never initialised", 1, 1,
     [] { load(MAP, TILE, 0, false); }},
    {"TMA load: by a map in global memory", "misuse", "__grid_constant__", 1, 1,
     load_by_map_in_global_memory},
    {"TMA store: negative coordinates", "misuse", "negative", 1, 1, [] { start_store(-8, 0); }},
    {"TMA store: a second one to the same place", "hazard", UNORDERED, 1, 1,
     [] { store_twice(0, 0, [] {}); }, "", EVERY_POLICY},
    {"TMA store: a second one after the first one's read alone", "hazard", UNORDERED, 1, 1,
     [] { store_twice(56, 7, [] { wait_for_stores(0, true); }); }, "", EVERY_POLICY},
    {"TMA store: a second one while the first may be pending", "hazard", UNORDERED, 1, 1,
     [] { store_twice(8, 0, [] { wait_for_stores(1, false); }); }, "", EVERY_POLICY},
};

// ------------------------------------------------------------------------------ 16-bit formats

static void formats_round_trip() {
    for (int bits = 0; bits < 65536; ++bits) {
        const std::uint16_t in = std::uint16_t(bits);
        const bool half_nan = (bits & 0x7fff) > 0x7c00, bf16_nan = (bits & 0x7fff) > 0x7f80;
        const int half = half_of_float(float_of_half(in)), bf16 = bf16_of_float(float_of_bf16(in));
        EXPECT(half == (half_nan ? 0x7fff : bits), "fp16 0x%04x becomes 0x%04x", bits, half);
        EXPECT(bf16 == (bf16_nan ? 0x7fff : bits), "bf16 0x%04x becomes 0x%04x", bits, bf16);
        EXPECT(std::isnan(float_of_half(in)) == half_nan, "fp16 0x%04x", bits);
        EXPECT(std::isnan(float_of_bf16(in)) == bf16_nan, "bf16 0x%04x", bits);
    }
}

// Halfway between neighbours the even one is taken; a little to either side, the nearer one.
static void formats_rounding() {
    for (std::uint16_t sign : {std::uint16_t(0), std::uint16_t(0x8000)}) {
        for (int bits = 0; bits < 0x7bff; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = (float_of_half(low) + float_of_half(high)) / 2;
            EXPECT(half_of_float(halfway) == (bits % 2 ? high : low), "fp16 above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(low))) == low,
                   "fp16 just above 0x%04x", low);
            EXPECT(half_of_float(std::nextafter(halfway, float_of_half(high))) == high,
                   "fp16 just below 0x%04x", high);
        }
        for (int bits = 0; bits < 0x7f7f; ++bits) {
            const std::uint16_t low = std::uint16_t(sign | bits), high = std::uint16_t(low + 1);
            const float halfway = std::bit_cast<float>(std::uint32_t(low) << 16 | 0x8000);
            EXPECT(bf16_of_float(halfway) == (bits % 2 ? high : low), "bf16 above 0x%04x", low);
            EXPECT(bf16_of_float(std::nextafter(halfway, 0.0f)) == low, "bf16 0x%04x", low);
        }
    }
}

// Whole words become PTX's; files and longer names stay as they are.
static void names_of_ptx() {
    const Outcome outcome = outcome_of([] {
        translated_program = true;
        warn(Mistake::RACE, "load issued at wgmma_wait.cu:7: my_bulk_wait() is no wgmma_wait",
             {{"bulk_wait_read<0> first (bulk_wait)", "", 0}});
    });
    const std::string wanted =
        "emulator: race: load issued at wgmma_wait.cu:7: my_bulk_wait() is no "
        "wgmma.wait_group\n  cp.async.bulk.wait_group.read<0> first "
        "(cp.async.bulk.wait_group)\n";
    EXPECT(outcome.report.rfind(wanted, 0) == 0, "%s", outcome.report.c_str());
}

int main() {
    run_case("reports of translated programs: instructions of PTX", names_of_ptx);
    run_case("stmatrix: a write that its lane has to fence", stmatrix_proxy);
    run_case("tensor map: its arguments", map_arguments);
    run_case("TMA: a tensor of three dimensions", three_dimensions);
    run_case("TMA store: a second one after a wait, or elsewhere", stores_in_order);
    run_case("TMA store: an early launch waits for the launch before", early_launch);
    run_case("16-bit formats: all values there and back", formats_round_trip);
    run_case("16-bit formats: rounding to nearest, ties to even", formats_rounding);
    run_mistakes(MISTAKES);
    return test_result();
}
