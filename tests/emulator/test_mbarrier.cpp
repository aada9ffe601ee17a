// mbarriers: phases, bytes, names, and what is wrong to do with them.
#include "units.h"

#include "emulator/mbarrier_table.h"

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
        mbarrier_complete_bytes(place(), 64);
        EXPECT(!completed(0), "before the bytes have landed");
        mbarrier_complete_bytes(place(), 32);
        mbarrier_wait_parity(barrier(), 0, here());
        mbarrier_complete_bytes(place(), 128); // before they are announced
        EXPECT(!completed(1), "before the arrival");
        mbarrier_arrive(barrier(), 128, here());
        mbarrier_wait_parity(barrier(), 1, here());
    });
}

static void what_is_missing() {
    struct Storage {
        std::uint64_t full[3];
    };
    const auto stuck = [](int ctas) {
        run_kernel(ctas, 1, 1024, [] {
            Storage &smem = *shared_at<Storage>(0);
            for (int stage = 0; stage < 3; ++stage)
                mbarrier_init(&smem.full[stage], 1, here());
            mbarrier_init_fence(here());
            mbarrier_arrive(&smem.full[2], 49152, here());
            mbarrier_complete_bytes(place(2), 32768);
            mbarrier_wait_parity(&smem.full[2], 0, here());
        });
    };
    expect_mistake(
        "deadlock", "", [&] { stuck(1); },
        "full[2], phase 0 (parity 0): 0 of 1 arrivals missing, 16384 of 49152 bytes missing");
    expect_mistake(
        "deadlock", "", [&] { stuck(2); }, "full[2] of CTA 0, phase 0 (parity 0)");
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

// Thread 0 makes a barrier; then both of two threads go on.
static void with_barrier(const std::function<void()> &body) {
    if (thread_number() == 0)
        make_barrier(0, 1);
    syncthreads(here());
    body();
}

static const std::vector<MistakeCase> MISTAKES = {
    {"mbarrier: bytes that nobody announces are waited for", "deadlock", "no thread can go on", 1,
     1,
     [] {
         make_barrier(0, 1);
         mbarrier_complete_bytes(place(), 8);
         mbarrier_arrive(barrier(), 0, here());
         mbarrier_wait_parity(barrier(), 0, here());
     }},
    {"mbarrier: too many bytes", "misuse", "counts 1048576 bytes", 1, 1,
     [] {
         make_barrier(0, 1);
         mbarrier_arrive(barrier(), 1 << 20, here());
     }},
    {"mbarrier: too many arrivals", "misuse", "more arrivals than the barrier's count, 1", 1, 1,
     [] {
         make_barrier(0, 1);
         mbarrier_arrive(barrier(), 64, here());
         mbarrier_arrive(barrier(), 0, here());
     }},
    {"mbarrier: a token that is too old", "misuse", "a token of phase 0, and is in phase 2", 1, 1,
     [] {
         make_barrier(0, 1);
         const std::uint64_t token = mbarrier_arrive(barrier(), 0, here());
         mbarrier_arrive(barrier(), 0, here());
         mbarrier_wait_token(barrier(), token, here());
     }},
    {"mbarrier: a phase without arrivals", "misuse", "1 to 1048575 arrivals, not 0", 1, 1,
     [] { make_barrier(0, 0); }},
    {"mbarrier: a token of another barrier", "misuse", "token of another barrier", 1, 1,
     [] {
         make_barrier(0, 1);
         make_barrier(1, 1);
         mbarrier_wait_token(barrier(1), mbarrier_arrive(barrier(), 0, here()), here());
     }},
    {"mbarrier: a phase that a waiting thread may miss", "hazard", "went on by 2 phases", 1, 2,
     [] {
         with_barrier([] {
             if (thread_number() == 1) { // it comes last, and so goes on first
                 mbarrier_wait_parity(barrier(), 0, here());
             } else {
                 mbarrier_arrive(barrier(), 0, here());
                 mbarrier_arrive(barrier(), 0, here());
             }
         });
     }},
    {"mbarrier: used before its life", "lifetime", "never initialised", 1, 1,
     [] { mbarrier_arrive(barrier(), 0, here()); }},
    {"mbarrier: used after its bytes were overwritten", "lifetime",
     "after its bytes were overwritten", 1, 1,
     [] {
         make_barrier(0, 1);
         *barrier() += 1;
         mbarrier_arrive(barrier(), 0, here());
     }},
    {"mbarrier: used before its fence", "lifetime", "initialised but not yet fenced", 1, 2,
     [] {
         if (thread_number() == 0)
             mbarrier_init(barrier(), 1, here());
         syncthreads(here());
         if (thread_number() == 1)
             mbarrier_arrive(barrier(), 0, here());
     }},
    {"mbarrier: a peer's, before it is known to have started", "lifetime",
     "before any cluster barrier", 2, 1,
     [] {
         make_barrier(0, 1);
         mbarrier_arrive_remote(barrier(), 1 - current->cta->rank, here());
     }},
};

int main() {
    run_case("mbarrier: bytes, before and after they are announced", bytes);
    run_case("mbarrier: what a wait misses", what_is_missing);
    run_case("mbarrier: names", names);
    run_mistakes(MISTAKES);
    return test_result();
}
