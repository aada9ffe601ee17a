// What programs cannot show: the scheduler and its policies, fibers, counts of bank conflicts,
// names, tensor maps, and mistakes that only kernels that call the emulator make.
#include "units.h"

#include "emulator/emulator.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"
#include "emulator/tma.h"
#include "emulator/warp.h"
#include "mbarrier_table.h"
#include "operations.h"
#include "strictness.h"

#include <cuda.h>
#include <set>

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

extern "C" { // as compiled kernels call them
void __tsan_read2(void *);
void __tsan_read4(void *);
void __tsan_read8(void *);
void __tsan_read16(void *);
void __tsan_write4(void *);
}

namespace {

// ---------------------------------------------------------------- the scheduler

WaitQueue landed_queue;
int landed = 0;
// What kernels tell; -1 in it is a complaint.
std::vector<int> entries;

void expect_entries(const std::vector<int> &expected, const char *what) {
    std::string text;
    for (const int value : entries)
        text += std::to_string(value) + " ";
    EXPECT(entries == expected, "%s: %s", what, text.c_str());
}

void run(int ctas, int threads, const std::function<void()> &kernel) {
    entries.clear();
    landed = 0;
    run_kernel(ctas, threads, 0, kernel);
}

void indices() {
    std::set<std::vector<unsigned>> places;
    Grid grid;
    grid.grid = dim3(4, 2), grid.cluster = dim3(2), grid.block = dim3(3, 2);
    run_grid(grid, [&] {
        EXPECT(unsigned(current->cta->rank) == blockIdx.x % 2, "rank %d", current->cta->rank);
        EXPECT(blockIdx.x < gridDim.x && threadIdx.x < blockDim.x, "within %u", blockDim.x);
        places.insert({blockIdx.x, blockIdx.y, threadIdx.x, threadIdx.y});
    });
    EXPECT(places.size() == 48 && counts.threads == 48, "%zu places", places.size());
    EXPECT(counts.ctas == 8 && counts.clusters == 4, "counted %d CTAs", int(counts.ctas));
}

// The first CTA exits; the second asks until somebody was told about that.
void progress() {
    static double last = 0;
    emulator_on_progress([](double done, std::uint64_t) { last = done; });
    run(2, 1, [] {
        for (int i = 0; current->cta->rank == 1 && last == 0 && i < 100'000'000; ++i)
            let_others_run();
    });
    emulator_on_progress(nullptr);
    EXPECT(last == 0.5, "%f of the grid done", last);
}

// Threads exit before a cluster's barrier, or after they arrived at it.
void exits() {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        emulator_choose_policy("random", seed);
        run(3, 32, [] {
            if (thread_number() == 0)
                return;
            entries.push_back(1);
            cluster_arrive(here());
            if (thread_number() == 1)
                return;
            cluster_wait(here());
            if (entries.size() < 93)
                entries.push_back(-1);
            sync_cluster();
        });
        expect_entries(std::vector<int>(93, 1), "a random run");
    }
    emulator_choose_policy("eager", 0);
}

// Starts an operation that records its number; `in_order`: not before those of lower numbers.
void start(OperationKind kind, int number, bool in_order = false) {
    Operation operation{kind, current->cta, current, Site::current(), "test operation"};
    operation.complete = [number] {
        ++landed;
        entries.push_back(number);
        landed_queue.wake_all();
    };
    if (in_order)
        operation.ready = [number] { return landed == number; };
    submit(std::move(operation));
}

void wait_for_landings(int number) {
    wait_until(
        landed_queue, [number] { return landed >= number; }, here(),
        [] { return std::string("landings"); });
}

// -1 stands where the thread has issued everything and waits.
void orders() {
    const struct {
        const char *policy;
        std::vector<int> operations;
    } expected[] = {{"eager", {0, 1, 2, 3, 4, 5, -1}}, {"lazy", {-1, 0, 5, 4, 1, 2, 3}}};
    for (const auto &row : expected)
        under_policy(row.policy, [&] {
            run(1, 1, [] {
                constexpr OperationKind KINDS[] = {
                    OperationKind::LOAD,        OperationKind::MATMUL, OperationKind::STORE_READ,
                    OperationKind::STORE_WRITE, OperationKind::COPY,   OperationKind::LOAD};
                for (int number = 0; number < 6; ++number)
                    start(KINDS[number], number);
                entries.push_back(-1);
                wait_for_landings(6);
            });
            expect_entries(row.operations, row.policy);
            run(1, 1, [] {
                for (int number = 4; number >= 0; --number)
                    start(OperationKind::MATMUL, number, true);
                wait_for_landings(5);
            });
            expect_entries({0, 1, 2, 3, 4}, "operations that complete in order alone");
        });
    under_policy("lazy", [] {
        run(1, 1, [] { start(OperationKind::STORE_WRITE, 0); });
        expect_entries({0}, "the write of a store whose CTA has exited");
    });
}

void start_and_sync() {
    const int rank = current->cta->rank, lane = current->lane();
    for (int round = 0; round < 4; ++round) {
        entries.push_back(1000 + thread_number() + 100 * rank);
        if (lane < 2)
            start(static_cast<OperationKind>((round + lane) % 5), rank * 100 + round * 10 + lane);
        syncthreads(here());
    }
    wait_for_landings(16);
    sync_cluster();
}

std::vector<int> random_run(std::uint64_t seed) {
    emulator_choose_policy("random", seed);
    run(2, 32, start_and_sync);
    emulator_choose_policy("eager", 0);
    return entries;
}

void random_runs() {
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> log = random_run(seed);
        different.insert(log);
        EXPECT(log.size() == 2 * 32 * 4 + 16, "%zu entries", log.size());
        EXPECT(log == random_run(seed), "seed %d went another way", static_cast<int>(seed));
    }
    EXPECT(different.size() >= 15, "20 seeds made only %zu different runs", different.size());
}

// ---------------------------------------------------------------- names

void names() {
    const auto is = [](const char *line, const char *name, bool indexed, int index) {
        const BarrierName found = barrier_name_in(line);
        EXPECT(found.name == name && found.indexed == indexed && found.index == index,
               "'%s' gives %s %d %d", line, found.name.c_str(), found.indexed, found.index);
    };
    is("mbarrier_init(&smem.full[stage], 1);", "full", true, -1);
    is("mbarrier_init(&smem->empty[next(i, 2)], CONSUMERS * CLUSTER);", "empty", true, -1);
    is("smem.full.init(THREADS);", "full", false, -1);
    is("    bars[1].init(f(x));", "bars", true, 1);
    is("init(&ready, blockDim.x);", "ready", false, -1);
    is("for (auto &b : all) start(b);", "", false, -1);
}

// Whole words become PTX's; files and longer names stay as they are.
void names_of_ptx() {
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

// ---------------------------------------------------------------- bank conflicts, bytes

// A kernel of one CTA whose shared memory somebody has written; the accesses of its reads.
std::vector<AccessSite> sites_of(int threads, const std::function<void()> &kernel) {
    run_kernel(1, threads, 32768, [&] {
        if (thread_number() == 0)
            access_shared(*current->cta, current->cta->shared.offset_of(shared_at<char>(0)), 32768,
                          {true, here()});
        syncthreads(here());
        kernel();
    });
    return access_sites();
}

// Lane l reads at step * l.
const struct {
    int bytes, step, wavefronts, ideal, ways;
    void (*read)(void *);
} STRIDES[] = {{4, 4, 1, 1, 1, __tsan_read4},     {4, 8, 2, 1, 2, __tsan_read4},
               {4, 128, 32, 1, 32, __tsan_read4}, {4, 0, 1, 1, 1, __tsan_read4},
               {8, 8, 2, 2, 1, __tsan_read8},     {2, 2, 1, 1, 1, __tsan_read2},
               {16, 16, 4, 4, 1, __tsan_read16},  {16, 128, 32, 4, 8, __tsan_read16}};

void strides() {
    for (const auto &row : STRIDES) {
        const AccessSite site = sites_of(32, [&] {
            row.read(shared_at<char>(row.step * current->lane()));
            asm volatile(""); // it is no jump: the line of the call is the site
        })[0];
        EXPECT(site.instructions == 1 && int(site.wavefronts) == row.wavefronts &&
                   int(site.ideal) == row.ideal && site.worst_ways == row.ways &&
                   site.bytes == row.bytes,
               "%d bytes, step %d: %d wavefronts, ideal %d, %d ways", row.bytes, row.step,
               int(site.wavefronts), int(site.ideal), site.worst_ways);
        EXPECT(source_text(site.file, site.line).find("row.read(") != std::string::npos, "at %s:%d",
               site.file, site.line);
    }
}

// The order of a lane's accesses tells which belong together.
void occurrences() {
    const std::vector<AccessSite> sites = sites_of(64, [] {
        for (int i = 0; i < 4; ++i)
            __tsan_read4(shared_at<float>(128 * i) + current->lane());
        if (current->lane() < 8)
            __tsan_read4(shared_at<float>(128 * current->lane()));
    });
    EXPECT(sites.size() == 2, "%zu sites", sites.size());
    EXPECT(sites[0].instructions == 2 && sites[0].wavefronts == 16, "the conflicts come first");
    EXPECT(sites[1].instructions == 8 && sites[1].wavefronts == 8, "in order");
}

// Lane l of the lower half reads word step * l, with a step of 1, 4, 2 and 4.
void worst_access() {
    const AccessSite site =
        sites_of(32, [] {
            constexpr int STEPS[] = {1, 4, 2, 4};
            for (int i = 0; i < 4 && current->lane() < 16; ++i)
                __tsan_read4(shared_at<float>(4096 * i) + STEPS[i] * current->lane());
        }).at(0);
    EXPECT(site.instructions == 4 && site.worst_ways == 2 && site.worst.lanes == 0xffff,
           "%d instructions, %d ways", int(site.instructions), site.worst_ways);
    for (int lane = 0; lane < 16; ++lane)
        EXPECT(site.worst.offsets[lane] == 4096u + 16u * lane, "lane %d touched %u", lane,
               site.worst.offsets[lane]);
}

void global_bytes() {
    int *numbers = static_cast<int *>(global_allocate(128 * sizeof(int)));
    run_kernel(1, 128, 0, [numbers] {
        __tsan_write4(numbers + thread_number());
        __tsan_read4(numbers + thread_number());
    });
    EXPECT(counts.global_read_bytes == 512 && counts.global_written_bytes == 512, "%d %d",
           int(counts.global_read_bytes), int(counts.global_written_bytes));
    global_free(numbers);
}

// ---------------------------------------------------------------- TMA

// A matrix of 20 rows of 100 bf16 and a map of its boxes, 8 rows of 64 each.
constexpr cuuint64_t SIZE[] = {100, 20}, STRIDE[] = {208};
constexpr cuuint32_t BOX[] = {64, 8}, ONES[] = {1, 1};

CUresult encode(CUtensorMap *map, void *base, const cuuint64_t *size = SIZE,
                const cuuint64_t *stride = STRIDE, const cuuint32_t *box = BOX,
                const cuuint32_t *element_strides = ONES, cuuint32_t rank = 2) {
    return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank, base, size, stride,
                                  box, element_strides, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

void map_arguments() {
    CUtensorMap map;
    unsigned char *const MATRIX = static_cast<unsigned char *>(global_allocate(20 * 208));
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

// A box of 16 x 2 x 2 from (8, 1, 1) of a tensor of 20 x 3 x 2 bytes: what lies outside of it is
// loaded as zeros, and not stored.
void three_dimensions() {
    constexpr cuuint64_t sizes[] = {20, 3, 2}, strides[] = {32, 96};
    constexpr cuuint32_t box[] = {16, 2, 2}, ones[] = {1, 1, 1};
    constexpr std::size_t BYTES = 16 * 2 * 2, TENSOR = 192;
    unsigned char *tensor = static_cast<unsigned char *>(global_allocate(TENSOR));
    for (std::size_t i = 0; i < TENSOR; ++i)
        tensor[i] = (unsigned char)(i + 1);
    in_one_thread([&] { access_global(tensor, TENSOR, {true, here()}); });
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
        unsigned char *tile = shared_at<unsigned char>(1024);
        tma_load(tile, &map, at, barrier, 0, here());
        mbarrier_arrive(barrier, BYTES, here());
        mbarrier_wait_parity(barrier, 0, here());
        for (std::size_t i = 0; i < BYTES; ++i) {
            const std::size_t x = 8 + i % 16, y = 1 + i / 16 % 2, z = 1 + i / 32;
            const unsigned char from = x < 20 && z < 2 ? tensor[x + 32 * y + 96 * z] : 0;
            EXPECT(tile[i] == from, "byte %zu is %d, not %d", i, tile[i], from);
            tile[i] = 0;
        }
        order::fence_proxy(Space::SHARED, true);
        tma_store(&map, tile, at, here());
        bulk_commit(here());
        bulk_wait(0, false, here());
    });
    for (std::size_t i = 0; i < TENSOR; ++i) {
        const bool stored = i >= 96 + 32 && i % 32 >= 8 && i % 32 < 20;
        EXPECT(tensor[i] == (stored ? 0 : (unsigned char)(i + 1)), "byte %zu", i);
    }
}

// ---------------------------------------------------------------- mistakes

void write_peers_memory() {
    static int *first;
    if (current->cta->rank == 1)
        first = shared_at<int>(0);
    sync_cluster();
    if (current->cta->rank == 0)
        __tsan_write4(first);
    sync_cluster();
}

void add_to_nothing() {
    volatile float acc[32];
    wgmma_fence(here());
    const std::uint64_t tile = shared_address(shared_at<unsigned char>(0), here()) >> 4;
    const std::uint64_t layout = std::uint64_t(64) << 32 | std::uint64_t(1) << 62;
    wgmma(const_cast<float *>(acc), 64, tile | layout, tile | layout, true, here());
}

void check_mistakes() {
    const auto in_cluster = [](int ctas, int threads, void (*body)()) {
        return [=] { run_kernel(ctas, threads, 8192, body); };
    };
    expect_mistake("misuse", "from a kernel", in_cluster(1, 1, [] { run(1, 1, [] {}); }));
    expect_mistake("address", "CTA 1 through a plain pointer",
                   in_cluster(2, 1, write_peers_memory));
    expect_mistake("address", "v98: ", in_cluster(1, 1, [] {
                       emulator_report_prefix("v98");
                       __tsan_write4(shared_at<int>(8192));
                   }));
    expect_mistake("hazard", "accumulators that the thread has never written",
                   in_cluster(1, 128, add_to_nothing));
}

} // namespace

int main() {
    run_case("every thread has its indices", indices);
    run_case("progress is told", progress);
    run_case("cluster barrier: threads that exit", exits);
    run_case("each policy completes operations in its order", orders);
    run_case("the same seed gives the same run", random_runs);
    run_case("mbarrier: names", names);
    run_case("reports of translated programs: instructions of PTX", names_of_ptx);
    run_case("banks: strides of accesses of 2 to 16 bytes", strides);
    run_case("banks: the order of a lane's accesses tells which belong together", occurrences);
    run_case("banks: the first access of the worst", worst_access);
    run_case("accesses: global bytes", global_bytes);
    run_case("tensor map: its arguments", map_arguments);
    run_case("TMA: a tensor of three dimensions", three_dimensions);
    run_case("mistakes", check_mistakes);
    return test_result();
}
