// What plain loads and stores are counted and checked for.
#include "units.h"

#include "emulator/barriers.h"
#include "emulator/cp_async.h"
#include "emulator/global_memory.h"
#include "emulator/mbarrier.h"

#include <csignal>

// ---------------------------------------------------------------------------- bank conflicts

struct alignas(16) Sixteen {
    float value[4];
};

// A warp reads its elements, each lane at index(lane); then the worst site.
template <typename T>
static AccessSite read_with(int (*index)(int lane)) {
    run_kernel(1, 32, 32768, [index] {
        volatile T *elements = shared_at<volatile T>(0);
        [[maybe_unused]] const T value = elements[index(current->lane())];
    });
    const std::vector<AccessSite> sites = access_sites();
    return sites.empty() ? AccessSite{} : sites.front();
}

static void expect_conflicts(const char *what, const AccessSite &site, int bytes, int wavefronts,
                             int ideal, int ways) {
    EXPECT(site.instructions == 1 && int(site.wavefronts) == wavefronts &&
               int(site.ideal) == ideal && site.worst_ways == ways && site.bytes == bytes,
           "%s: %d instructions of %d bytes, %d wavefronts, ideal %d, %d ways", what,
           int(site.instructions), site.bytes, int(site.wavefronts), int(site.ideal),
           site.worst_ways);
}

static void strides() {
    expect_conflicts("stride 1", read_with<float>([](int lane) { return lane; }), 4, 1, 1, 1);
    expect_conflicts("stride 2", read_with<float>([](int lane) { return 2 * lane; }), 4, 2, 1, 2);
    expect_conflicts("stride 32", read_with<float>([](int l) { return 32 * l; }), 4, 32, 1, 32);
    expect_conflicts("broadcast", read_with<float>([](int) { return 5; }), 4, 1, 1, 1);
    expect_conflicts("doubles", read_with<double>([](int lane) { return lane; }), 8, 2, 2, 1);
    expect_conflicts("halves", read_with<short>([](int lane) { return lane; }), 2, 1, 1, 1);
}

static void write_sixteen(int stride) {
    run_kernel(1, 32, 32768, [stride] {
        static const Sixteen value{};
        shared_at<Sixteen>(0)[stride * current->lane()] = value; // the conflict
    });
}

static void sixteen_bytes() {
    write_sixteen(1);
    std::vector<AccessSite> sites = access_sites();
    EXPECT(sites.size() == 1 && sites[0].is_write, "%zu sites", sites.size());
    expect_conflicts("row after row", sites[0], 16, 4, 4, 1);
    EXPECT(source_text(sites[0].file, sites[0].line).find("// the conflict") != std::string::npos,
           "at %s:%d", sites[0].file, sites[0].line);
    write_sixteen(8); // 128 bytes: all in the same four banks
    sites = access_sites();
    expect_conflicts("a row of 128 bytes each", sites.at(0), 16, 32, 4, 8);
}

static void occurrences() {
    run_kernel(1, 64, 8192, [] {
        for (int i = 0; i < 4; ++i)
            shared_at<float>(0)[32 * i + current->lane()] = 0;
        syncthreads(here());
        if (current->lane() < 8)
            shared_at<float>(0)[32 * current->lane()] = 0;
    });
    const std::vector<AccessSite> sites = access_sites();
    EXPECT(sites.size() == 2, "%zu sites", sites.size());
    EXPECT(sites[0].instructions == 2 && sites[0].wavefronts == 16, "the conflicts come first");
    EXPECT(sites[1].instructions == 8 && sites[1].wavefronts == 8, "%d instructions",
           int(sites[1].instructions));
}

static void matrices() {
    in_one_thread([] {
        std::uint32_t rows[32];
        for (int i = 0; i < 32; ++i)
            rows[i] = std::uint32_t(128 * i);
        count_matrix_access(rows, 4, true, here());
    });
    const AccessSite site = access_sites().at(0);
    EXPECT(site.wavefronts == 32 && site.ideal == 4 && site.worst_ways == 8, "%d of %d",
           int(site.wavefronts), int(site.ideal));
    EXPECT(site.worst.lanes == 0xffffffff && site.worst.offsets[31] == 128 * 31, "lanes %x, %u",
           site.worst.lanes, site.worst.offsets[31]);
}

// Lane l of the lower half reads word step * l, with a step of 1, 4, 2 and 4 behind `first`.
static void worst_access() {
    run_kernel(1, 32, 32768, [] {
        constexpr int STEPS[] = {1, 4, 2, 4};
        if (current->lane() >= 16)
            return;
        for (int i = 0; i < 4; ++i) {
            volatile float *elements = shared_at<volatile float>(4096 * i);
            [[maybe_unused]] const float value = elements[STEPS[i] * current->lane()];
        }
    });
    const AccessSite site = access_sites().at(0);
    EXPECT(site.instructions == 4 && site.worst_ways == 2, "%d instructions, %d ways",
           int(site.instructions), site.worst_ways);
    EXPECT(site.worst.lanes == 0xffff, "lanes %x", site.worst.lanes);
    for (int lane = 0; lane < 16; ++lane)
        EXPECT(site.worst.offsets[lane] == 4096u + 16u * lane, "lane %d touched %u", lane,
               site.worst.offsets[lane]);
}

// ---------------------------------------------------------------------------- global memory,
// faults

static void global_bytes() {
    int *numbers = static_cast<int *>(global_allocate(128 * sizeof(int)));
    run_kernel(1, 128, 0, [numbers] {
        if (numbers[thread_number()] == 0)
            numbers[thread_number()] = 1;
    });
    EXPECT(counts.global_read_bytes == 512 && counts.global_written_bytes == 512, "%d %d",
           int(counts.global_read_bytes), int(counts.global_written_bytes));
    global_free(numbers);
}

static void outside() {
    expect_mistake("address", "writes 4 bytes at offset 1024 of the dynamic shared memory",
                   [] { run_kernel(1, 1, 1024, [] { *shared_at<int>(1024) = 0; }); });
    expect_mistake("address", "CTA 1 through a plain pointer", [] {
        static int *first;
        run_kernel(2, 1, 1024, [] {
            if (current->cta->rank == 1)
                first = shared_at<int>(0);
            sync_cluster();
            if (current->cta->rank == 0)
                *first = 0;
            sync_cluster();
        });
    });
    static int *numbers = static_cast<int *>(global_allocate(100 * sizeof(int)));
    const auto touch = [](int i) { in_one_thread([i] { numbers[i] = 0; }); };
    const auto beyond = [&] { touch(100); };
    expect_mistake("address", "offset 400 of an allocation of 400 bytes", beyond,
                   "touch = [](int i) { in_one_thread([i] { numbers[i] = 0; }); };");
    expect_mistake("address", "offset -4 of an allocation", [&] { touch(-1); });
    global_free(numbers);
    expect_mistake("address", "global memory that was freed", [&] { touch(0); });
}

static int deep(int depth, volatile char *above) {
    volatile char frame[1024];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : deep(depth - 1, frame) + frame[0];
}

static volatile int *volatile nowhere = nullptr;

static void faults() {
    expect_mistake("address", "more than the 64 KiB of its stack", [] {
        in_one_thread([] {
            volatile char top[1] = {0};
            deep(1000, top);
        });
    });
    expect_mistake("address", "no memory of the kernel's",
                   [] { in_one_thread([] { *nowhere = 0; }); });
    const Outcome host = outcome_of([] {
        in_one_thread([] {});
        *nowhere = 0;
    });
    EXPECT(host.status == 128 + SIGSEGV && host.report.empty(), "%d %s", host.status,
           host.report.c_str());
}

// CTA 0 writes global memory and tells CTA 1, which reads it: over the peer's mbarrier, whose
// arrivals from another CTA publish nothing, or over a barrier of the cluster.
static void tell_peer(bool by_mbarrier, bool by_copy) {
    static int *numbers = static_cast<int *>(global_allocate(64));
    run_kernel(2, 1, 1024, [=] {
        std::uint64_t *barrier = shared_at<std::uint64_t>(0);
        mbarrier_init(barrier, 1, here());
        mbarrier_init_fence(here());
        sync_cluster();
        if (current->cta->rank == 0) {
            static_cast<volatile int *>(numbers)[3] = 1; // the write
            mbarrier_arrive_remote(barrier, 1, here());
        } else {
            mbarrier_wait_parity(barrier, 0, here());
        }
        if (!by_mbarrier) {
            sync_cluster();
        }
        if (current->cta->rank == 1 && by_copy)
            cp_async(shared_at<int>(16), &numbers[3], 4, 4, here());
        else if (current->cta->rank == 1) [[maybe_unused]]
            const int number = static_cast<volatile int *>(numbers)[3];
        sync_cluster();
    });
}

static void scopes() {
    tell_peer(false, false);
    for (const bool by_copy : {false, true}) {
        expect_mistake(
            "hazard", "publishes nothing", [=] { tell_peer(true, by_copy); }, "// the write");
    }
}

int main() {
    run_case("banks: strides", strides);
    run_case("banks: 16-byte accesses", sixteen_bytes);
    run_case("banks: the order of a lane's accesses tells which belong together", occurrences);
    run_case("banks: matrices", matrices);
    run_case("banks: the first access of the worst", worst_access);
    run_case("accesses: global bytes", global_bytes);
    run_case("accesses: outside of what the kernel may touch", outside);
    run_case("accesses: faults", faults);
    run_case("accesses: an arrival on a peer's mbarrier publishes nothing", scopes);
    return test_result();
}
