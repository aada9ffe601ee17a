// Memory and what lies in it: shared memory and its two views, mbarriers, and what plain loads and
// stores are counted and checked for.
#include "units.h"

#include "emulator/cp_async.h"
#include "mbarrier_table.h"

#include <csignal>
#include <cuda_runtime.h>

// ---------------------------------------------------------------------------- shared memory

// As a bulk store and a TMA load do it, to the dynamic part.
static void async_read(std::uint32_t offset, std::size_t bytes) {
    shared().check_published(dynamic_offset() + offset, bytes, "TMA store", here());
}
static void async_write(std::uint32_t offset, std::size_t bytes) {
    const std::vector<unsigned char> zeros(bytes);
    shared().write_async(dynamic_offset() + offset, zeros.data(), bytes, "TMA load", here());
}

static void uninitialised() {
    in_one_thread([] {
        const unsigned char *bytes = shared_at<unsigned char>(0);
        EXPECT(bytes[0] == 0xff && bytes[8191] == 0xff, "%x %x", bytes[0], bytes[8191]);
        EXPECT(*shared().async(dynamic_offset() + 100, 1) == 0xff, "async");
        EXPECT(reinterpret_cast<std::uintptr_t>(bytes) % 1024 == 0, "aligned to 1024");
    });
}

static void published() {
    in_one_thread([] {
        *shared_at<int>(16) = 7;
        EXPECT(*reinterpret_cast<int *>(shared().async(dynamic_offset() + 16, 4)) == -1,
               "seen too early");
        shared().publish(*current);
        async_read(0, 64);
        EXPECT(*reinterpret_cast<int *>(shared().async(dynamic_offset() + 16, 4)) == 7, "not seen");
        async_write(0, 64);
        EXPECT(*shared_at<int>(16) == 0, "a load is seen by threads");
        async_read(0, 64);
    });
}

static void who_publishes() {
    run_kernel(1, 2, 1024, [] {
        if (thread_number() == 0)
            *shared_at<int>(32) = 7;
        syncthreads(here());
        if (thread_number() == 1) {
            *shared_at<int>(32) = 8; // takes it over
            shared().publish(*current);
            async_read(32, 4);
        }
    });
}

static int *static_variable() {
    __shared__ int variable[4];
    return variable;
}

static void static_shared() {
    int *seen = new int[4];
    run_kernel(2, 2, 0, [seen] {
        const int cta = current->cta->rank;
        EXPECT(static_variable()[thread_number()] == -1, "not uninitialised");
        static_variable()[thread_number()] = 10 * cta + thread_number();
        sync_cluster();
        seen[2 * cta + thread_number()] = static_variable()[thread_number()];
        const std::uint32_t offset = shared().offset_of(&static_variable()[1]);
        EXPECT(offset < 1024 && offset % 4 == 0, "offset %u", offset);
        const Cta &peer = *current_cluster->ctas[std::size_t(1 - cta)];
        EXPECT(*reinterpret_cast<int *>(peer.shared.generic(offset, 4)) == 11 - 10 * cta, "peer");
    });
    EXPECT(seen[0] == 0 && seen[1] == 1 && seen[2] == 10 && seen[3] == 11, "%d %d %d %d", seen[0],
           seen[1], seen[2], seen[3]);
    delete[] seen;
}

// ---------------------------------------------------------------------------- mbarriers

static std::uint64_t *barrier(int i = 0) { return shared_at<std::uint64_t>(std::size_t(8 * i)); }

static void make_barrier(int i, int arrivals) {
    mbarrier_init(barrier(i), arrivals, here());
    mbarrier_init_fence(here());
}

static MbarrierRef place(int i = 0) {
    return {current->cta, dynamic_offset() + std::uint32_t(8 * i)};
}

// Whether the phase has completed: a token of it has then become stale, or not.
static bool completed(std::uint64_t phase) {
    return *barrier() >> 61 & 1 ? phase % 2 == 0 : phase % 2 == 1;
}

static void bytes() {
    in_one_thread([] {
        make_barrier(0, 1);
        mbarrier_arrive(barrier(), 96, here());
        mbarrier_copy_landed(place(), 64, here());
        EXPECT(!completed(0), "before the bytes have landed");
        mbarrier_copy_landed(place(), 32, here());
        mbarrier_wait_parity(barrier(), 0, here());
        mbarrier_copy_landed(place(), 128, here()); // before they are announced
        EXPECT(!completed(1), "before the arrival");
        mbarrier_arrive(barrier(), 128, here());
        mbarrier_wait_parity(barrier(), 1, here());
    });
}

static void names() {
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

// Lane l of the lower half reads word step * l, with a step of 1, 4, 2 and 4. The dynamic part
// begins at 1024, behind the static variables.
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
        EXPECT(site.worst.offsets[lane] == 1024u + 4096u + 16u * lane, "lane %d touched %u", lane,
               site.worst.offsets[lane]);
}

// ---------------------------------------------------------------------------- global memory,
// faults

static void global_bytes() {
    int *numbers = static_cast<int *>(global_allocate(128 * sizeof(int)));
    run_kernel(1, 128, 0, [numbers] {
        if (numbers[thread_number()] == -1) // poisoned
            numbers[thread_number()] = 1;
    });
    EXPECT(counts.global_read_bytes == 512 && counts.global_written_bytes == 512, "%d %d",
           int(counts.global_read_bytes), int(counts.global_written_bytes));
    global_free(numbers);
}

static int *const NUMBERS = static_cast<int *>(global_allocate(100 * sizeof(int)));
static int *const FREED = static_cast<int *>(global_allocate(100 * sizeof(int)));

static void write_peers_memory() {
    static int *first;
    if (current->cta->rank == 1)
        first = shared_at<int>(0);
    sync_cluster();
    if (current->cta->rank == 0)
        *first = 0;
    sync_cluster();
}

static int deep(int depth, const volatile char *above) {
    volatile char frame[1024];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : deep(depth - 1, frame) + frame[0];
}

static volatile int *volatile nowhere = nullptr;

static void faults_of_the_host() {
    const Outcome host = outcome_of([] {
        in_one_thread([] {});
        *nowhere = 0;
    });
    EXPECT(host.status == 128 + SIGSEGV && host.report.empty(), "%d %s", host.status,
           host.report.c_str());
}

// CTA 0 writes global memory and tells CTA 1, which reads it: over the peer's mbarrier, whose
// arrivals from another CTA publish nothing, and maybe over a barrier of the cluster.
static void tell_peer(bool by_cluster_barrier, bool by_copy) {
    make_barrier(0, 1);
    sync_cluster();
    if (current->cta->rank == 0) {
        static_cast<volatile int *>(NUMBERS)[3] = 1; // the write
        mbarrier_arrive_remote(barrier(), 1, here());
    } else {
        mbarrier_wait_parity(barrier(), 0, here());
    }
    if (by_cluster_barrier)
        sync_cluster();
    if (current->cta->rank == 1 && by_copy)
        cp_async(shared_at<int>(16), NUMBERS, 16, here());
    else if (current->cta->rank == 1) [[maybe_unused]]
        const int number = static_cast<volatile int *>(NUMBERS)[3];
    sync_cluster();
}

static void published_by_cluster_barrier() {
    run_kernel(2, 1, 1024, [] { tell_peer(true, false); });
}

static const std::vector<MistakeCase> MISTAKES = {
    {"accesses: behind the shared memory", "address",
     "writes 4 bytes at offset 8192 of the dynamic shared memory", 1, 1,
     [] { *shared_at<int>(8192) = 0; }},
    {"accesses: a peer's shared memory", "address", "CTA 1 through a plain pointer", 2, 1,
     write_peers_memory},
    {"accesses: behind an allocation; the line is named", "address",
     "offset 400 of an allocation of 400 bytes", 1, 1, [] { NUMBERS[100] = 0; },
     "[] { NUMBERS[100] = 0; }"},
    {"accesses: before an allocation", "address", "offset -4 of an allocation", 1, 1,
     [] { NUMBERS[-1] = 0; }},
    {"accesses: memory that was freed", "address", "global memory that was freed", 1, 1,
     [] { *FREED = 0; }},
    {"accesses: a stack that overflows", "address", "more than the 64 KiB of its stack", 1, 1,
     [] { deep(1000, "x"); }},
    {"accesses: nowhere", "address", "no memory of the kernel's", 1, 1, [] { *nowhere = 0; }},
    {"accesses: an arrival on a peer's mbarrier publishes nothing", "hazard", "publishes nothing",
     2, 1, [] { tell_peer(false, false); }, "// the write"},
    {"accesses: nor to a copy", "hazard", "publishes nothing", 2, 1, [] { tell_peer(false, true); },
     "// the write"},
    {"shared memory: a load that overwrites an unpublished write", "hazard", "TMA load overwrites",
     1, 1,
     [] {
         *shared_at<short>(30) = 7;
         async_write(0, 32);
     }},
    {"shared memory: a fence publishes its thread's writes alone", "hazard",
     "never fenced, at offset 1058", 1, 2,
     [] {
         *shared_at<short>(32 + 2 * thread_number()) = 7; // halves of a word
         syncthreads(here());
         if (thread_number() == 0) {
             shared().publish(*current); // its own half
             async_read(32, 2);
             async_read(32, 4);
         }
     }},
    {"reports: the prefix", "address", "v98: ", 1, 1,
     [] {
         set_report_prefix("v98");
         *shared_at<int>(8192) = 0;
     }},
    {"mbarrier: too many bytes", "misuse", "counts 1048576 bytes", 1, 1,
     [] {
         make_barrier(0, 1);
         mbarrier_arrive(barrier(), 1 << 20, here());
     }},
    {"mbarrier: a token that is too old", "misuse", "a token of phase 0, and is in phase 2", 1, 1,
     [] {
         make_barrier(0, 1);
         const std::uint64_t token = mbarrier_arrive(barrier(), 0, here());
         mbarrier_arrive(barrier(), 0, here());
         mbarrier_wait_token(barrier(), token, here());
     }},
    {"mbarrier: a phase that a thread waits for and misses", "hazard", "went on by 2 phases", 1, 2,
     [] {
         if (thread_number() == 0)
             make_barrier(0, 1);
         syncthreads(here());
         if (thread_number() == 1) // which goes on first
             mbarrier_wait_parity(barrier(), 0, here());
         for (int i = 0; i < 2 && thread_number() == 0; ++i)
             mbarrier_arrive(barrier(), 0, here());
     }},
    {"mbarrier: more arrivals than a phase still takes", "misuse", "more arrivals", 1, 1,
     [] {
         make_barrier(0, 2);
         mbarrier_arrive(place(), 1, 0, here());
         mbarrier_arrive(place(), 2, 0, here());
     }},
    {"mbarrier: a phase without arrivals", "misuse", "1 to 1048575 arrivals, not 0", 1, 1,
     [] { make_barrier(0, 0); }},
    {"mbarrier: used after its bytes were overwritten", "lifetime",
     "after its bytes were overwritten", 1, 1,
     [] {
         make_barrier(0, 1);
         *barrier() += 1;
         mbarrier_arrive(barrier(), 0, here());
     }},
};

int main() {
    run_case("shared memory: uninitialised bytes are 0xff", uninitialised);
    run_case("shared memory: fences publish, loads are in both views", published);
    run_case("shared memory: a fence publishes what its thread took over", who_publishes);
    run_case("shared memory: each CTA has its static variables", static_shared);
    run_case("mbarrier: bytes, before and after they are announced", bytes);
    run_case("mbarrier: names", names);
    run_case("banks: strides", strides);
    run_case("banks: 16-byte accesses", sixteen_bytes);
    run_case("banks: the order of a lane's accesses tells which belong together", occurrences);
    run_case("banks: matrices", matrices);
    run_case("banks: the first access of the worst", worst_access);
    run_case("accesses: global bytes", global_bytes);
    run_case("accesses: a fault of the host is not the kernel's", faults_of_the_host);
    run_case("accesses: a barrier of the cluster publishes", published_by_cluster_barrier);
    global_free(FREED);
    run_mistakes(MISTAKES);
    return test_result();
}
