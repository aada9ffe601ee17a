#include "emulator/warp.h"

#include "accesses.h"
#include "machine.h"

#include <cstring>
#include <map>

namespace emulator {

namespace {

// What a lane calls: all lanes of a rendezvous call the same.
struct Call {
    const char *what;
    std::uint32_t mask;
    void (*work)(void **arguments);
    bool exited_may_miss;
    bool synchronises;
};

std::uint32_t bit_of(int lane) { return 1u << lane; }

// "lanes 0x0000fff0"
std::string lanes_name(std::uint32_t lanes) {
    for (int lane = 0; lane < WARP_LANES; ++lane)
        if (lanes == bit_of(lane))
            return format("lane %d", lane);
    return format("lanes 0x%08x", lanes);
}

// What lanes call is mostly one text in one place of memory.
bool same_text(const char *a, const char *b) { return a == b || std::strcmp(a, b) == 0; }

bool same_place(Site a, Site b) {
    return a.line() == b.line() && a.column() == b.column() &&
           same_text(a.file_name(), b.file_name());
}

// Lanes wait in `meeting` for the current one, which is about to wait for them elsewhere.
[[noreturn]] void fail_diverged(const Rendezvous &meeting, const Call &call, Site where) {
    const Thread &first = *meeting.waiting.threads.front();
    fail(Mistake::MISUSE,
         format("the lanes of a warp have diverged: %s of %s against %s of %s", call.what,
                lanes_name(call.mask).c_str(), meeting.what, lanes_name(meeting.mask).c_str()),
         {note_at(*current, where, "came here"), note_at(first, first.wait.where, "waits here")});
}

// Does the work and lets all lanes continue, if none is missing. Lanes that have exited never
// arrive: if the function needs them, that is a mistake.
void complete_if_full(Rendezvous &meeting, const Thread &thread, Site where) {
    const std::uint32_t exited = thread.cta->warps[thread.warp()].exited;
    const std::uint32_t missing = meeting.mask & ~meeting.lanes;
    if ((missing & exited) != 0 && !meeting.exited_may_miss)
        fail(Mistake::MISUSE,
             format("%s needs %s of warp %d of CTA %d, which exited", meeting.what,
                    lanes_name(missing & exited).c_str(), thread.warp(), thread.cta->rank),
             {note_at(where, "it was called here")});
    if ((missing & ~exited) != 0)
        return;
    if (meeting.work != nullptr)
        meeting.work(meeting.argument);
    meeting.lanes = 0;
    meeting.leaving = std::popcount(meeting.mask & ~exited);
    meeting.next();
    if ((meeting.mask | exited) == ~0u)
        accesses_warp_met(*thread.cta, thread.warp());
    meeting.waiting.wake_all();
}

void start(Rendezvous &meeting, const Call &call) {
    meeting.what = call.what;
    meeting.mask = call.mask;
    meeting.work = call.work;
    meeting.exited_may_miss = call.exited_may_miss;
    std::memset(meeting.argument, 0, sizeof meeting.argument);
}

// Where the current thread waits for the lanes of its mask: with those that called the same, or in
// a meeting that is not in use.
Rendezvous &meeting_for(const Call &call, Site where) {
    const Thread &thread = *current;
    const std::uint32_t own = bit_of(thread.lane());
    if ((call.mask & own) == 0)
        fail(Mistake::MISUSE,
             format("%s with a mask, 0x%08x, without the lane itself", call.what, call.mask), where,
             "called it here");
    auto &meetings = thread.cta->warps[thread.warp()].meetings;
    Rendezvous *vacant = nullptr;
    for (const std::unique_ptr<Rendezvous> &meeting : meetings) {
        if (meeting->lanes == 0 && meeting->leaving == 0)
            vacant = meeting.get();
        else if (meeting->mask == call.mask && same_text(meeting->what, call.what))
            return *meeting;
        else if ((meeting->mask & own) != 0 && (meeting->lanes & call.mask) != 0)
            fail_diverged(*meeting, call, where);
    }
    if (vacant == nullptr)
        vacant = meetings.emplace_back(std::make_unique<Rendezvous>()).get();
    start(*vacant, call);
    return *vacant;
}

// What a deadlock report says of the lanes that wait.
std::string describe(const Rendezvous &meeting) {
    return format("%s: %s have not arrived", meeting.what,
                  lanes_name(meeting.mask & ~meeting.lanes).c_str());
}

// The current thread joins a rendezvous of its warp, or opens one.
void join(const Call &call, void *argument, Site where) {
    schedule_point();
    Thread &thread = *current;
    Rendezvous &meeting = meeting_for(call, where);
    const std::uint64_t phase = meeting.phase;
    if (call.synchronises)
        order::release(meeting.carrier(phase));
    meeting.argument[thread.lane()] = argument;
    meeting.lanes |= bit_of(thread.lane());
    complete_if_full(meeting, thread, where);
    wait_until(
        meeting.waiting, [&meeting, phase] { return meeting.phase != phase; }, where,
        [&meeting] { return describe(meeting); });
    --meeting.leaving;
    if (call.synchronises)
        order::acquire(meeting.carrier(phase));
    schedule_point();
}

struct ShuffleLane {
    Shuffle how;
    std::uint64_t value;
    unsigned operand;
    int width;
    Site site;
    std::uint64_t result;
};

const char *name_of(Shuffle how) {
    static constexpr const char *NAMES[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                            "__shfl_xor_sync"};
    return NAMES[static_cast<int>(how)];
}

// The lane whose value `lane` gets: as shfl.sync computes it, from the operand's low five bits.
// With XOR a lane may read from segments before its own, not after it.
int source_of(int lane, const ShuffleLane &wish) {
    const int first = lane & ~(wish.width - 1);
    const int last = first + wish.width - 1;
    const int operand = static_cast<int>(wish.operand % WARP_LANES);
    switch (wish.how) {
    case Shuffle::INDEX:
        return first + operand % wish.width;
    case Shuffle::UP:
        return lane - operand >= first ? lane - operand : lane;
    case Shuffle::DOWN:
        return lane + operand <= last ? lane + operand : lane;
    case Shuffle::XOR:
        break;
    }
    return (lane ^ operand) <= last ? lane ^ operand : lane;
}

void shuffle(void **arguments) {
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        ShuffleLane *mine = static_cast<ShuffleLane *>(arguments[lane]);
        if (mine == nullptr)
            continue;
        const int source = source_of(lane, *mine);
        const ShuffleLane *theirs = static_cast<const ShuffleLane *>(arguments[source]);
        if (theirs == nullptr)
            fail(Mistake::MISUSE,
                 format("%s: lane %d reads from lane %d, which does not take part",
                        name_of(mine->how), lane, source),
                 {note_at(mine->site, "it was called here")});
        mine->result = theirs->value;
    }
}

void elect(void **arguments) {
    int leader = 0;
    while (arguments[leader] == nullptr)
        ++leader;
    for (int lane = leader; lane < WARP_LANES; ++lane)
        if (arguments[lane] != nullptr)
            *static_cast<int *>(arguments[lane]) = leader;
}

struct BallotLane {
    bool predicate;
    std::uint32_t result;
};

void ballot(void **arguments) {
    std::uint32_t votes = 0;
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        const BallotLane *voter = static_cast<const BallotLane *>(arguments[lane]);
        if (voter != nullptr && voter->predicate)
            votes |= bit_of(lane);
    }
    for (int lane = 0; lane < WARP_LANES; ++lane)
        if (arguments[lane] != nullptr)
            static_cast<BallotLane *>(arguments[lane])->result = votes;
}

struct ReducedLane {
    Reduction how;
    std::uint32_t value;
};

std::uint32_t reduced(Reduction how, std::uint32_t a, std::uint32_t b) {
    const auto is_less = [&] {
        const bool is_signed = how == Reduction::MIN_S32 || how == Reduction::MAX_S32;
        return is_signed ? std::int32_t(a) < std::int32_t(b) : a < b;
    };
    switch (how) {
    case Reduction::ADD:
        return a + b;
    case Reduction::AND:
        return a & b;
    case Reduction::OR:
        return a | b;
    case Reduction::XOR:
        return a ^ b;
    case Reduction::MIN_U32:
    case Reduction::MIN_S32:
        return is_less() ? a : b;
    case Reduction::MAX_U32:
    case Reduction::MAX_S32:
        break;
    }
    return is_less() ? b : a;
}

void reduce(void **arguments) {
    const ReducedLane *first = nullptr;
    std::uint32_t result = 0;
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        const ReducedLane *mine = static_cast<const ReducedLane *>(arguments[lane]);
        if (mine == nullptr)
            continue;
        result = first == nullptr ? mine->value : reduced(mine->how, result, mine->value);
        first = mine;
    }
    for (int lane = 0; lane < WARP_LANES; ++lane)
        if (arguments[lane] != nullptr)
            static_cast<ReducedLane *>(arguments[lane])->value = result;
}

// Whether a thread that has exited had come further than the line of an .aligned instruction that
// it never executed: known by the line of its last access. One that returned before is not meant.
bool went_past(const Thread &thread, const AlignedCalls::Call &call) {
    static std::map<std::uintptr_t, Note> places;
    if (thread.last_access == 0 || thread.aligned_line >= call.site.line())
        return false;
    const auto [found, is_new] = places.try_emplace(thread.last_access);
    if (is_new)
        found->second = note_at(thread.last_access, "");
    // addr2line may know of a folder that the compiler was not told.
    return found->second.line > static_cast<int>(call.site.line()) &&
           found->second.file.ends_with(call.site.file_name());
}

// Lanes of the warp that have exited without number `index` of the .aligned instructions.
void check_exited(const Cta &cta, int warp, std::uint64_t index) {
    const AlignedCalls &aligned = cta.aligned[std::size_t(warp)];
    const AlignedCalls::Call &call = aligned.calls[std::size_t(index - aligned.first)];
    std::uint32_t past = 0;
    const Thread *one = nullptr;
    for (int number = warp * WARP_LANES; number < int(cta.threads.size()); ++number) {
        const Thread &thread = cta.threads[std::size_t(number)];
        if (thread.warp() == warp && thread.finished && thread.aligned_calls == index &&
            went_past(thread, call)) {
            past |= bit_of(thread.lane());
            one = &thread;
        }
    }
    if (past != 0)
        fail(Mistake::MISUSE,
             format("the lanes of a warp have diverged: %s of warp %d of CTA %d went past %s, "
                    "which is .aligned, and exited",
                    lanes_name(past).c_str(), warp, cta.rank, call.what),
             {note_at(call.site, format("lane %d executed it here", call.lane)),
              note_at(*one, one->last_access, "was here last")});
}

} // namespace

void warp_aligned(const char *what, Site where) {
    Thread &thread = *current;
    thread.aligned_line = where.line();
    AlignedCalls &aligned = thread.cta->aligned[std::size_t(thread.warp())];
    const std::size_t index = std::size_t(thread.aligned_calls++ - aligned.first);
    if (index == aligned.calls.size()) {
        aligned.calls.push_back({what, where, thread.lane(), 0});
        if (thread.cta->warps[std::size_t(thread.warp())].exited != 0)
            check_exited(*thread.cta, thread.warp(), aligned.first + index);
    }
    AlignedCalls::Call &call = aligned.calls[index];
    if (!same_text(call.what, what) || !same_place(call.site, where))
        fail(Mistake::MISUSE,
             format("the lanes of a warp have diverged: %s is .aligned, and lane %d came to %s",
                    what, call.lane, call.what),
             {note_at(thread, where, "came here"),
              note_at(call.site, format("lane %d came here", call.lane))});
    if (++call.lanes == WARP_LANES) { // the first call: no lane still has to execute it
        aligned.calls.erase(aligned.calls.begin());
        ++aligned.first;
    }
}

void warp_together(const char *what, std::uint32_t mask, void *argument,
                   void (*work)(void **arguments), bool synchronises, Site where) {
    warp_aligned(what, where);
    join({what, mask, work, false, synchronises}, argument, where);
}

void warp_collective(const char *what, std::uint32_t mask, void *argument,
                     void (*work)(void **arguments), Site where) {
    join({what, mask, work, true, false}, argument, where);
}

int warp_elect(std::uint32_t mask, Site where) {
    int leader = -1;
    warp_collective("elect.sync", mask, &leader, elect, where);
    return leader;
}

std::uint64_t warp_shuffle(Shuffle how, std::uint32_t mask, std::uint64_t value, int operand,
                           int width, Site where) {
    if (width < 1 || width > WARP_LANES || (width & (width - 1)) != 0)
        fail(Mistake::MISUSE,
             format("%s in segments of %d lanes: not a power of two up to 32", name_of(how), width),
             where, "called it here");
    ShuffleLane mine = {how, value, static_cast<unsigned>(operand), width, where, value};
    warp_collective(name_of(how), mask, &mine, shuffle, where);
    return mine.result;
}

std::uint32_t warp_vote(const char *what, std::uint32_t mask, bool predicate, Site where) {
    BallotLane mine = {predicate, 0};
    warp_collective(what, mask, &mine, ballot, where);
    return mine.result;
}

std::uint32_t warp_reduce(Reduction how, std::uint32_t mask, std::uint32_t value, Site where) {
    ReducedLane mine = {how, value};
    join({"__reduce_sync", mask, reduce, true, false}, &mine, where);
    return mine.value;
}

std::uint32_t warp_active() { return ~current->cta->warps[std::size_t(current->warp())].exited; }

void warp_sync(std::uint32_t mask, Site where) {
    join({"__syncwarp", mask, nullptr, true, true}, nullptr, where);
}

void warp_thread_exits(Thread &thread) {
    Warp &warp = thread.cta->warps[thread.warp()];
    warp.exited |= bit_of(thread.lane());
    for (const std::unique_ptr<Rendezvous> &meeting : warp.meetings)
        if (meeting->lanes != 0)
            complete_if_full(*meeting, thread, meeting->waiting.threads.front()->wait.where.site);
    const AlignedCalls &aligned = thread.cta->aligned[std::size_t(thread.warp())];
    if (thread.aligned_calls < aligned.first + aligned.calls.size())
        check_exited(*thread.cta, thread.warp(), thread.aligned_calls);
}

} // namespace emulator
