// What programs cannot show: in which order policies complete operations, counts of bank conflicts,
// arguments of tensor maps, and mistakes that only kernels that call the emulator make.
#include "units.h"

#include "emulator/barriers.h"
#include "emulator/emulator.h"
#include "emulator/runtime.h"
#include "emulator/tensor_core.h"
#include "global_memory.h"
#include "operations.h"
#include "policy.h"

#include <cuda.h>
#include <set>
#include <vector>

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

// ---------------------------------------------------------------- the scheduler

WaitQueue landed_queue;
int started = 0, landed = 0;
std::vector<int> entries; // what kernels tell

// Starts an operation that records its number.
void start(OperationKind kind, int number) {
    ++started;
    Operation operation{kind, current->cta, Site::current(), "test operation"};
    operation.complete = [number](const Operation &) {
        ++landed;
        entries.push_back(number);
        landed_queue.wake_all();
    };
    submit(std::move(operation));
}

void start_all() {
    constexpr OperationKind KINDS[] = {OperationKind::LOAD,       OperationKind::MATMUL,
                                       OperationKind::STORE_READ, OperationKind::STORE_WRITE,
                                       OperationKind::COPY,       OperationKind::LOAD};
    for (int number = 0; number < 6; ++number)
        start(KINDS[number], number);
    entries.push_back(-1); // the thread has issued everything and waits
    wait_until(
        landed_queue, [] { return landed == started; }, here(),
        [] { return std::string("landings"); });
}

// Runs threads that start operations, under a policy, and what follows under the eager one again;
// what they told.
std::vector<int> run(const char *policy, std::uint64_t seed, int threads) {
    EXPECT(emulator_choose_policy(policy, seed), "no policy %s", policy);
    entries.clear();
    started = landed = 0;
    run_kernel(1, threads, start_all);
    emulator_choose_policy("eager", 0);
    return entries;
}

void orders() {
    EXPECT(run("eager", 1, 1) == std::vector<int>({0, 1, 2, 3, 4, 5, -1}), "eager");
    EXPECT(run("lazy", 1, 1) == std::vector<int>({-1, 0, 5, 4, 1, 2, 3}), "lazy");
    std::set<std::vector<int>> different;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const std::vector<int> told = run("random", seed, 64);
        different.insert(told);
        EXPECT(told == run("random", seed, 64), "seed %d went another way", int(seed));
    }
    EXPECT(different.size() >= 15, "20 seeds made only %zu different runs", different.size());
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

void check_mistakes() {
    expect_mistake("address", "v98: ", [] {
        emulator_report_prefix("v98");
        run_kernel(1, 1, [] { __tsan_write4(shared_at<int>(32768)); });
    });
}

} // namespace

int main() {
    run_case("policies complete operations in their order, and seeds in many", orders);
    run_case("banks: strides of accesses of 2 to 16 bytes", strides);
    run_case("banks: which accesses belong together, and the worst", sites);
    run_case("tensor map: its arguments", map_arguments);
    run_case("mistakes", check_mistakes);
    return test_result();
}
