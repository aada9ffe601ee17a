// What programs cannot show: the scheduler and its policies, fibers, counts of bank conflicts,
// names, tensor maps, and mistakes that only kernels that call the emulator make.
#include "units.h"

#include "emulator/barriers.h"
#include "emulator/emulator.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"
#include "global_memory.h"
#include "mbarrier_name.h"
#include "operations.h"
#include "policy.h"
#include "strictness.h"

#include <cuda.h>
#include <set>
#include <vector>

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

// A cluster of CTAs with 32 KB of dynamic shared memory, each thread calling body.
void run_kernel(int ctas, int threads, const std::function<void()> &body) {
    Grid grid{};
    grid.grid = grid.cluster = dim3(unsigned(ctas));
    grid.block = dim3(unsigned(threads));
    grid.dynamic_shared = 32768;
    run_grid(grid, body);
}

template <typename T>
T *shared_at(std::size_t offset) {
    return reinterpret_cast<T *>(current->cta->shared.dynamic() + offset);
}

void sync_cluster() {
    cluster_arrive(here());
    cluster_wait(here());
}

// ---------------------------------------------------------------- the scheduler

WaitQueue landed_queue;
int landed = 0;
std::vector<int> entries; // what kernels tell

// Runs the kernel under a policy, and what follows under the eager one again; what it told.
std::vector<int> run(const char *policy, std::uint64_t seed, int ctas, int threads,
                     const std::function<void()> &kernel) {
    EXPECT(emulator_choose_policy(policy, seed), "no policy %s", policy);
    entries.clear();
    landed = 0;
    run_kernel(ctas, threads, kernel);
    emulator_choose_policy("eager", 0);
    return entries;
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
    run_kernel(2, 1, [] {
        for (int i = 0; current->cta->rank == 1 && last == 0 && i < 100'000'000; ++i)
            let_others_run();
    });
    emulator_on_progress(nullptr);
    EXPECT(last == 0.5, "%f of the grid done", last);
}

// Threads exit before a cluster's barrier, or after they arrived at it.
void exits() {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const std::vector<int> told = run("random", seed, 3, 32, [] {
            if (current->number == 0)
                return;
            entries.push_back(1);
            cluster_arrive(here());
            if (current->number == 1)
                return;
            cluster_wait(here());
            if (entries.size() < 93)
                entries.push_back(-1);
            sync_cluster();
        });
        EXPECT(told == std::vector<int>(93, 1), "seed %d", int(seed));
    }
}

// Starts an operation that records its number; `in_order`: not before those of lower numbers.
void start(OperationKind kind, int number, bool in_order = false) {
    Operation operation{kind, current->cta, Site::current(), "test operation"};
    operation.complete = [number](const Operation &) {
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

void start_all() {
    constexpr OperationKind KINDS[] = {OperationKind::LOAD,       OperationKind::MATMUL,
                                       OperationKind::STORE_READ, OperationKind::STORE_WRITE,
                                       OperationKind::COPY,       OperationKind::LOAD};
    for (int number = 0; number < 6; ++number)
        start(KINDS[number], number);
    entries.push_back(-1); // the thread has issued everything and waits
    wait_for_landings(6);
}

void start_backwards() {
    for (int number = 4; number >= 0; --number)
        start(OperationKind::MATMUL, number, true);
    wait_for_landings(5);
}

void start_and_exit() { start(OperationKind::STORE_WRITE, 0); }

void orders() {
    const struct {
        const char *policy;
        void (*kernel)();
        std::vector<int> told;
    } expected[] = {{"eager", start_all, {0, 1, 2, 3, 4, 5, -1}},
                    {"lazy", start_all, {-1, 0, 5, 4, 1, 2, 3}},
                    {"eager", start_backwards, {0, 1, 2, 3, 4}},
                    {"lazy", start_backwards, {0, 1, 2, 3, 4}},
                    {"lazy", start_and_exit, {0}}};
    for (const auto &row : expected)
        EXPECT(run(row.policy, 1, 1, 1, row.kernel) == row.told, "row %d", int(&row - expected));
}

void start_and_sync() {
    const int rank = current->cta->rank, lane = current->lane();
    for (int round = 0; round < 4; ++round) {
        entries.push_back(1000 + current->number + 100 * rank);
        if (lane < 2)
            start(static_cast<OperationKind>((round + lane) % 5), rank * 100 + round * 10 + lane);
        syncthreads(here());
    }
    wait_for_landings(16);
    sync_cluster();
}

void random_runs() {
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> told = run("random", seed, 2, 32, start_and_sync);
        different.insert(told);
        EXPECT(told.size() == 2 * 32 * 4 + 16, "%zu entries", told.size());
        EXPECT(told == run("random", seed, 2, 32, start_and_sync), "seed %d went another way",
               int(seed));
    }
    EXPECT(different.size() >= 15, "20 seeds made only %zu different runs", different.size());
}

// ---------------------------------------------------------------- names

void names() {
    const struct {
        const char *line, *name;
        bool indexed;
        int index;
    } rows[] = {
        {"mbarrier_init(&smem.full[stage], 1);", "full", true, -1},
        {"mbarrier_init(&smem->empty[next(i, 2)], CONSUMERS * CLUSTER);", "empty", true, -1},
        {"smem.full.init(THREADS);", "full", false, -1},
        {"    bars[1].init(f(x));", "bars", true, 1},
        {"init(&ready, blockDim.x);", "ready", false, -1},
        {"for (auto &b : all) start(b);", "", false, -1}};
    for (const auto &row : rows) {
        const BarrierName found = barrier_name_in(row.line);
        EXPECT(found.name == row.name && found.indexed == row.indexed && found.index == row.index,
               "'%s' gives %s %d %d", row.line, found.name.c_str(), found.indexed, found.index);
    }
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
    run_kernel(1, threads, [&] {
        if (current->number == 0)
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

// The order of a lane's accesses tells which belong together, and the conflicts come first. Lane l
// of the lower half reads word step * l, with a step of 1, 4, 2 and 4.
void sites() {
    const std::vector<AccessSite> found = sites_of(32, [] {
        constexpr int STEPS[] = {1, 4, 2, 4};
        for (int i = 0; i < 4; ++i)
            __tsan_read4(shared_at<float>(128 * i) + current->lane());
        for (int i = 0; i < 4 && current->lane() < 16; ++i)
            __tsan_read4(shared_at<float>(4096 * i) + STEPS[i] * current->lane());
    });
    EXPECT(found.size() == 2, "%zu sites", found.size());
    const AccessSite &site = found[0];
    EXPECT(found[1].instructions == 4 && found[1].wavefronts == 4, "in order");
    EXPECT(site.instructions == 4 && site.worst_ways == 2 && site.worst.lanes == 0xffff,
           "%d instructions, %d ways", int(site.instructions), site.worst_ways);
    for (int lane = 0; lane < 16; ++lane)
        EXPECT(site.worst.offsets[lane] == 4096u + 16u * lane, "lane %d touched %u", lane,
               site.worst.offsets[lane]);
}

void global_bytes() {
    int *numbers = static_cast<int *>(global_allocate(128 * sizeof(int)));
    run_kernel(1, 128, [numbers] {
        __tsan_write4(numbers + current->number);
        __tsan_read4(numbers + current->number);
    });
    EXPECT(counts.global_read_bytes == 512 && counts.global_written_bytes == 512, "%d %d",
           int(counts.global_read_bytes), int(counts.global_written_bytes));
    global_free(numbers);
}

// ---------------------------------------------------------------- tensor maps

// A matrix of 20 rows of 100 bf16 and a map of its boxes, 8 rows of 64 each, with one wrong
// argument.
void map_arguments() {
    static unsigned char *const matrix = static_cast<unsigned char *>(global_allocate(20 * 208));
    const struct {
        const char *what;
        unsigned char *base = matrix;
        cuuint64_t columns = 100, stride = 208;
        cuuint32_t rank = 2, width = 64, height = 8, step = 1;
        CUresult expected = CUDA_ERROR_INVALID_VALUE;
    } rows[] = {{.what = "none", .expected = CUDA_SUCCESS},
                {.what = "an address that is not aligned", .base = matrix + 8},
                {.what = "no address", .base = nullptr},
                {.what = "a stride that is no multiple of 16", .stride = 200},
                {.what = "an empty dimension", .columns = 0},
                {.what = "a box of 257", .height = 257},
                {.what = "rows wider than the swizzle", .width = 128},
                {.what = "rows of 8 bytes", .width = 4},
                {.what = "element strides", .step = 2, .expected = CUDA_ERROR_NOT_SUPPORTED},
                {.what = "six dimensions", .rank = 6}};
    for (const auto &row : rows) {
        CUtensorMap map;
        const cuuint64_t size[] = {row.columns, 20};
        const cuuint32_t box[] = {row.width, row.height}, steps[] = {1, row.step};
        EXPECT(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, row.rank, row.base,
                                      size, &row.stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                      CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == row.expected,
               "%s", row.what);
    }
}

// ---------------------------------------------------------------- mistakes

void add_to_nothing() {
    volatile float acc[32];
    wgmma_fence(here());
    const std::uint64_t tile = shared_address(shared_at<unsigned char>(0), here()) >> 4 |
                               std::uint64_t(64) << 32 | std::uint64_t(1) << 62;
    wgmma(const_cast<float *>(acc), {.n = 64, .accumulate = true}, tile, tile, here());
}

void check_mistakes() {
    expect_mistake("address", "v98: ", [] {
        emulator_report_prefix("v98");
        run_kernel(1, 1, [] { __tsan_write4(shared_at<int>(32768)); });
    });
    expect_mistake("hazard", "accumulators that the thread has never written",
                   [] { run_kernel(1, 128, add_to_nothing); });
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
    run_case("banks: which accesses belong together, and the worst", sites);
    run_case("accesses: global bytes", global_bytes);
    run_case("tensor map: its arguments", map_arguments);
    run_case("mistakes", check_mistakes);
    return test_result();
}
