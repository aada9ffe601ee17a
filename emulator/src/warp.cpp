#include "emulator/together.h"

#include "machine.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>

namespace emulator {
namespace {
using Call = Rendezvous::Call;

std::uint32_t bit_of(int lane) { return 1u << lane; }

Warp &warp_of(const Thread &thread) { return thread.cta->warps[std::size_t(thread.warp())]; }

// "lane 5", "lanes 0x0000fff0"
std::string lanes_name(std::uint32_t lanes) {
    return std::has_single_bit(lanes) ? format("lane %d", std::countr_zero(lanes))
                                      : format("lanes 0x%08x", lanes);
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
         {note_at(*current, where, "came here"), note_at(first, first.wait.where, "waits here")},
         "the lanes of a warp have diverged: %s of %s against %s of %s", call.what,
         lanes_name(call.mask).c_str(), meeting.call.what, lanes_name(meeting.call.mask).c_str());
}

// Does the work and lets all lanes continue, if none is missing. Lanes that have exited never
// arrive: if the function needs them, that is a mistake.
void complete_if_full(Rendezvous &meeting, const Thread &thread, Site where) {
    const Call &call = meeting.call;
    const std::uint32_t exited = warp_of(thread).exited;
    const std::uint32_t missing = call.mask & ~meeting.lanes;
    if ((missing & exited) != 0 && !call.exited_may_miss)
        fail(Mistake::MISUSE, {note_at(where, "it was called here")},
             "%s needs %s of warp %d of CTA %d, which exited", call.what,
             lanes_name(missing & exited).c_str(), thread.warp(), thread.cta->rank);
    if ((missing & ~exited) != 0)
        return;
    if (call.work != nullptr)
        call.work(meeting.argument);
    meeting.lanes = 0;
    meeting.leaving = std::popcount(call.mask & ~exited);
    meeting.next();
    if ((call.mask | exited) == ~0u)
        accesses_warp_met(warp_of(thread));
    meeting.waiting.wake_all();
}

// Where the current thread waits for the lanes of its mask: with those that called the same, or in
// a meeting that is not in use.
Rendezvous &meeting_for(const Call &call, Site where) {
    const std::uint32_t own = bit_of(current->lane());
    if ((call.mask & own) == 0)
        reject(where, "%s with a mask, 0x%08x, without the lane itself", call.what, call.mask);
    auto &meetings = warp_of(*current).meetings;
    Rendezvous *vacant = nullptr;
    for (const std::unique_ptr<Rendezvous> &meeting : meetings) {
        if (meeting->lanes == 0 && meeting->leaving == 0)
            vacant = meeting.get();
        else if (meeting->call.mask == call.mask && same_text(meeting->call.what, call.what))
            return *meeting;
        else if ((meeting->call.mask & own) != 0 && (meeting->lanes & call.mask) != 0)
            fail_diverged(*meeting, call, where);
    }
    if (vacant == nullptr)
        vacant = meetings.emplace_back(std::make_unique<Rendezvous>()).get();
    vacant->call = call;
    std::ranges::fill(vacant->argument, nullptr);
    return *vacant;
}

// The current thread joins a rendezvous of its warp, or opens one.
void join(const Call &call, void *argument, Site where) {
    schedule_point();
    Thread &thread = *current;
    Rendezvous &meeting = meeting_for(call, where);
    const std::uint64_t phase = meeting.phase;
    const auto record = [&] {
        story::record(where, "syncs", "%s, warp %d, phase %d", call.what, thread.warp(),
                      int(phase));
    };
    if (call.work == nullptr)
        record(), order::release(meeting.carrier(phase));
    meeting.argument[thread.lane()] = argument;
    meeting.lanes |= bit_of(thread.lane());
    complete_if_full(meeting, thread, where);
    wait_until(
        meeting.waiting, [&meeting, phase] { return meeting.phase != phase; }, where,
        [&meeting] {
            return format("%s: %s have not arrived", meeting.call.what,
                          lanes_name(meeting.call.mask & ~meeting.lanes).c_str());
        });
    --meeting.leaving;
    if (call.work == nullptr)
        order::acquire(meeting.carrier(phase)), record();
    schedule_point();
}

struct ShuffleLane {
    Shuffle how;
    std::uint64_t value;
    std::uint32_t operand, clamp;
    bool &is_inside; // the lane that it reads, of its segment
    Site site;
    std::uint64_t result = value;
};

const char *name_of(Shuffle how) {
    static constexpr const char *NAMES[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync",
                                            "__shfl_xor_sync"};
    return NAMES[int(how)];
}

// The lane whose value `lane` gets: up compares with the segment's first lane, the others with its
// last one. (PTX ISA: shfl.sync.)
int source_of(int lane, const ShuffleLane &wish) {
    const int by = int(wish.operand % WARP_LANES);
    const int fixed = int(wish.clamp >> 8 & (WARP_LANES - 1)); // bits of the lane: its segment
    const int bound = (lane & fixed) | (int(wish.clamp & (WARP_LANES - 1)) & ~fixed);
    const int sources[] = {(lane & fixed) | (by & ~fixed), lane - by, lane + by, lane ^ by};
    const int source = sources[int(wish.how)];
    wish.is_inside = wish.how == Shuffle::UP ? source >= bound : source <= bound;
    return wish.is_inside ? source : lane;
}

void shuffle(void **arguments) {
    for (int lane = 0; lane < WARP_LANES; ++lane) {
        ShuffleLane *mine = static_cast<ShuffleLane *>(arguments[lane]);
        if (mine == nullptr)
            continue;
        const int source = source_of(lane, *mine);
        const ShuffleLane *theirs = static_cast<const ShuffleLane *>(arguments[source]);
        if (theirs == nullptr)
            fail_unless_allowed("shuffle-source", Mistake::MISUSE,
                                {note_at(mine->site, "it was called here")},
                                "%s: lane %d reads from lane %d, which does not take part: the "
                                "value is undefined",
                                name_of(mine->how), lane, source);
        mine->result = theirs != nullptr ? theirs->value : ~std::uint64_t(0);
    }
}

struct ReducedLane {
    Reduction how;
    std::uint32_t value;
};

// In the order of Reduction.
constexpr std::uint32_t (*COMBINE[])(std::uint32_t, std::uint32_t) = {
    [](std::uint32_t a, std::uint32_t b) { return a + b; },
    [](std::uint32_t a, std::uint32_t b) { return a & b; },
    [](std::uint32_t a, std::uint32_t b) { return a | b; },
    [](std::uint32_t a, std::uint32_t b) { return a ^ b; },
    [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); },
    [](std::uint32_t a, std::uint32_t b) { return std::max(a, b); },
    [](std::uint32_t a, std::uint32_t b) { return std::uint32_t(std::min(int(a), int(b))); },
    [](std::uint32_t a, std::uint32_t b) { return std::uint32_t(std::max(int(a), int(b))); }};

void reduce(void **arguments) {
    const std::span lanes(reinterpret_cast<ReducedLane **>(arguments), WARP_LANES);
    ReducedLane *first = nullptr;
    for (ReducedLane *lane : lanes)
        if (first == nullptr)
            first = lane;
        else if (lane != nullptr)
            first->value = COMBINE[int(lane->how)](first->value, lane->value);
    for (ReducedLane *lane : lanes)
        if (lane != nullptr)
            lane->value = first->value;
}

// Whether a thread that has exited had come further than the line of an .aligned instruction that
// it never executed: known by the line of its last access. One that returned before is not meant.
bool went_past(const Thread &thread, const AlignedCall &call) {
    static std::map<std::uintptr_t, Note> places;
    if (thread.last_access == 0 || thread.aligned_line >= call.site.line())
        return false;
    const auto [found, is_new] = places.try_emplace(thread.last_access);
    if (is_new)
        found->second = note_at(thread.last_access, "");
    // addr2line may know of a folder that the compiler was not told.
    return found->second.line > int(call.site.line()) &&
           found->second.file.ends_with(call.site.file_name());
}

// Lanes of the thread's warp that have exited without this one of the .aligned instructions.
void check_exited(const Thread &of_warp, std::uint64_t number) {
    const Warp &warp = warp_of(of_warp);
    const AlignedCall &call = warp.aligned[std::size_t(number - warp.first_aligned)];
    std::uint32_t past = 0;
    const Thread *one = nullptr;
    for (const Thread &thread : of_warp.cta->threads)
        if (thread.warp() == of_warp.warp() && thread.finished && thread.aligned_calls == number &&
            went_past(thread, call)) {
            past |= bit_of(thread.lane());
            one = &thread;
        }
    if (past != 0)
        fail(Mistake::MISUSE,
             {note_at(call.site, format("lane %d executed it here", call.lane)),
              note_at(*one, one->last_access, "was here last")},
             "the lanes of a warp have diverged: %s of warp %d of CTA %d went past %s, "
             "which is .aligned, and exited",
             lanes_name(past).c_str(), of_warp.warp(), of_warp.cta->rank, call.what);
}
} // namespace

void warp_aligned(const char *what, Site where) {
    Thread &thread = *current;
    Warp &warp = warp_of(thread);
    thread.aligned_line = where.line();
    const std::uint64_t number = thread.aligned_calls++;
    const std::size_t index = std::size_t(number - warp.first_aligned);
    if (index == warp.aligned.size()) {
        warp.aligned.push_back({what, where, thread.lane(), 0});
        if (warp.exited != 0)
            check_exited(thread, number);
    }
    AlignedCall &call = warp.aligned[index];
    if (!same_text(call.what, what) || !same_place(call.site, where))
        fail(Mistake::MISUSE,
             {note_at(thread, where, "came here"),
              note_at(call.site, format("lane %d came here", call.lane))},
             "the lanes of a warp have diverged: %s is .aligned, and lane %d came to %s", what,
             call.lane, call.what);
    if (++call.lanes == WARP_LANES) { // the first call: no lane still has to execute it
        warp.aligned.erase(warp.aligned.begin());
        ++warp.first_aligned;
    }
}

void warp_together(const char *what, void *argument, void (*work)(void **arguments), Site where) {
    warp_aligned(what, where);
    join({what, WHOLE_WARP, work, false}, argument, where);
}

std::uint64_t warp_shuffle(Shuffle how, std::uint32_t mask, std::uint64_t value,
                           std::uint32_t operand, std::uint32_t clamp, bool &is_inside,
                           Site where) {
    ShuffleLane mine{how, value, operand, clamp, is_inside, where};
    join({name_of(how), mask, shuffle}, &mine, where);
    return mine.result;
}

std::uint32_t warp_reduce(Reduction how, std::uint32_t mask, std::uint32_t value, Site where,
                          const char *what) {
    ReducedLane mine = {how, value};
    join({what, mask, reduce}, &mine, where);
    return mine.value;
}

std::uint32_t warp_vote(const char *what, std::uint32_t mask, bool predicate, Site where) {
    const std::uint32_t own = predicate ? bit_of(current->lane()) : 0;
    return warp_reduce(Reduction::OR, mask, own, where, what);
}

int warp_elect(std::uint32_t mask, Site where) {
    return std::countr_zero(warp_vote("elect.sync", mask, true, where));
}

std::uint32_t warp_active() { return ~warp_of(*current).exited; }

void warp_sync(std::uint32_t mask, Site where) { join({"__syncwarp", mask}, nullptr, where); }

void warp_thread_exits(Thread &thread) {
    Warp &warp = warp_of(thread);
    warp.exited |= bit_of(thread.lane());
    for (const std::unique_ptr<Rendezvous> &meeting : warp.meetings)
        if (meeting->lanes != 0)
            complete_if_full(*meeting, thread, meeting->waiting.threads.front()->wait.where.site);
    if (thread.aligned_calls < warp.first_aligned + warp.aligned.size())
        check_exited(thread, thread.aligned_calls);
}

// ---------------------------------------------------------------------------- registers
// setmaxnreg: whether a CTA's registers suffice, and whether whole warpgroups change their counts.
// (PTX ISA: setmaxnreg.) How many registers a launch has is ptxas's choice. Here it is the most its
// block and __launch_bounds__ leave to it, so that what is reported fails with any choice.

static constexpr int REGISTERS = 65536; // of a multiprocessor
static constexpr int FEWEST = 24, MOST = 256, STEP = 8;

static int pool = REGISTERS;

void set_register_pool(int threads, int ctas) {
    const int lanes = (threads + WARP_LANES - 1) / WARP_LANES * WARP_LANES;
    const int each = REGISTERS / lanes / std::max(ctas, 1) / STEP * STEP;
    pool = std::min(each, MOST) * lanes;
}

// What the warps that have asked leave over, of as many registers as they can have been launched
// with, if `own` gets what it asks for.
static int free_registers(const Cta &cta, const RegisterCount &own) {
    int held = 0, asked = 0, each = pool / int(cta.warps.size()) / WARP_LANES;
    for (const Warp &warp : cta.warps) {
        const RegisterCount &one = warp.registers;
        each = one.changes > 0 ? std::min(each, one.before) : each;
        asked += &one == &own || one.held > 0;
        held += &one == &own ? one.count : one.held;
    }
    return each * asked - held;
}

void setmaxnreg(bool more, int registers, Site where) {
    const char *const what = more ? "setmaxnreg.inc" : "setmaxnreg.dec";
    if (registers < FEWEST || registers > MOST || registers % STEP != 0)
        reject(where, "%s to %d registers: multiples of 8 from 24 to 256", what, registers);
    Cta &cta = *current->cta;
    RegisterCount &own = warp_of(*current).registers;
    const int before = own.changes > 0 ? own.before : more ? registers : MOST;
    RegisterCount made{registers, own.held, before, own.changes + 1, where};
    const auto ask = [](void **all) { warp_of(*current).registers = *(RegisterCount *)all[0]; };
    warp_together(what, &made, ask, where);
    int free = 0;
    const auto has_them = [&] {
        if (own.held != registers && (free = free_registers(cta, own)) >= 0)
            own.held = registers;
        return own.held == registers;
    };
    wait_until(cta.for_registers, has_them, where, [&] {
        return format("setmaxnreg.inc to %d registers: the warp lacks %d of them, which "
                      "setmaxnreg.dec of others has to give back",
                      registers, -free);
    });
    cta.for_registers.wake_all();
}

void check_register_changes(const Cta &cta) {
    constexpr std::size_t GROUP = WARPGROUP_LANES / WARP_LANES;
    for (std::size_t i = 0; i < cta.warps.size(); ++i) {
        const RegisterCount &first = cta.warps[i / GROUP * GROUP].registers;
        const RegisterCount &warp = cta.warps[i].registers;
        if (warp.changes != first.changes || warp.count != first.count)
            fail(Mistake::MISUSE,
                 {note_at((warp.changes > first.changes ? warp : first).site, "executed here")},
                 "setmaxnreg is for whole warpgroups: warp %zu of CTA %d executed it %d "
                 "times, last for %d registers, warp %zu %d times, last for %d",
                 i / GROUP * GROUP, cta.rank, first.changes, first.count, i, warp.changes,
                 warp.count);
    }
}
} // namespace emulator
