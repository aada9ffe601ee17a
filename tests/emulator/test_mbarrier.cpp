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

static const std::vector<MistakeCase> MISTAKES = {
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
    run_case("mbarrier: bytes, before and after they are announced", bytes);
    run_case("mbarrier: names", names);
    run_mistakes(MISTAKES);
    return test_result();
}
