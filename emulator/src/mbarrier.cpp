#include "emulator/mbarrier.h"

#include "machine.h"
#include "mbarrier_table.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace emulator {

namespace {

constexpr int MOST_TESTS = 64;   // of one thread in vain, in a row
constexpr unsigned GIVES_UP = 8; // a random policy's try_wait fails at once in one of this many
constexpr int LARGEST_COUNT = (1 << 20) - 1; // of arrivals and, either sign, of bytes

MbarrierRef own_place(const std::uint64_t *barrier, Site where) {
    const std::uint32_t offset = shared_address(barrier, where) - SHARED_BASE;
    if (offset % sizeof(std::uint64_t) != 0)
        fail(Mistake::MISUSE, "an mbarrier has to be aligned to 8 bytes", where,
             "used one that is not");
    return {current->cta, offset};
}

// ---------------------------------------------------------------------------- counting

void complete_phase_if_done(Barrier &barrier) {
    if (barrier.pending == 0 && barrier.bytes == 0) {
        ++barrier.phase;
        barrier.pending = barrier.expected;
        barrier.announced = 0;
        barrier.order[barrier.phase & 1].clear();
        barrier.waiting.wake_all();
    }
    store_barrier(barrier);
}

void add_bytes(Barrier &barrier, int bytes, Site where, const char *did) {
    const long long sum = static_cast<long long>(barrier.bytes) + bytes;
    if (sum < -LARGEST_COUNT || sum > LARGEST_COUNT)
        fail(Mistake::MISUSE,
             format("%s counts %lld bytes, and may count %d", mbarrier_name(barrier.place).c_str(),
                    sum, LARGEST_COUNT),
             notes_of(barrier, where, did));
    barrier.bytes = static_cast<int>(sum);
    if (sum < 0)
        barrier.unannounced = where;
}

void announce(Barrier &barrier, int bytes, Site where) {
    if (bytes == 0)
        return;
    add_bytes(barrier, bytes, where, "announced");
    barrier.announced += bytes;
}

// By default an arrival is a release of .cta scope, which for a peer orders shared memory alone.
void release(order::Carrier &carrier, bool is_remote, Order order, Scope scope) {
    if (order == Order::RELAXED)
        order::release_relaxed(carrier, scope);
    else
        order::release(carrier, Scope::SYS, is_remote && scope == Scope::CTA);
}

// Approximate: a wait of .cta scope acquires from peers, too.
void acquire(order::Carrier &carrier, Order order) {
    if (order == Order::RELAXED)
        order::acquire_relaxed(carrier, Scope::SYS);
    else
        order::acquire(carrier);
}

// Returns the phase arrived in.
std::uint64_t arrive(Barrier &barrier, int count, int bytes, Order order, Scope scope, Site where) {
    announce(barrier, bytes, where);
    if (count < 1 || count > barrier.pending)
        fail(Mistake::MISUSE,
             format("%s gets more arrivals than the barrier's count, %d",
                    mbarrier_name(barrier.place).c_str(), barrier.expected),
             notes_of(barrier, where, "arrived"));
    const std::uint64_t phase = barrier.phase;
    if (phase > 0 && !order::is_after(barrier.order[(phase - 1) & 1]))
        fail(Mistake::HAZARD,
             mbarrier_name(barrier.place) +
                 ": a thread arrives that is not ordered after the phase before: in another order "
                 "it counts for that phase",
             notes_of(barrier, where, "arrived"));
    release(barrier.order[phase & 1], barrier.place.cta != current->cta, order, scope);
    ++counts.mbarrier_arrivals;
    barrier.pending -= count;
    complete_phase_if_done(barrier);
    return phase;
}

// A token: the phase above the barrier's offset.
std::uint64_t token_of(const Barrier &barrier, std::uint64_t phase) {
    return phase << 32 | barrier.place.offset;
}

void check_parity(int parity, Site where) {
    if (parity != 0 && parity != 1)
        fail(Mistake::MISUSE, format("parity %d is waited for, not 0 or 1", parity), where,
             "waited");
}

void check_token(const Barrier &barrier, std::uint64_t token, Site where) {
    const std::uint64_t phase = token >> 32;
    if ((token & 0xffffffff) != barrier.place.offset)
        fail(Mistake::MISUSE,
             mbarrier_name(barrier.place) + " is waited for with the token of another barrier",
             notes_of(barrier, where, "waited"));
    if (barrier.phase > phase + 1)
        fail(Mistake::MISUSE,
             format("%s is waited for with a token of phase %llu, and is in phase %llu: a token "
                    "is good for one phase more",
                    mbarrier_name(barrier.place).c_str(), static_cast<unsigned long long>(phase),
                    static_cast<unsigned long long>(barrier.phase)),
             notes_of(barrier, where, "waited"));
}

// A thread has waited for `phase`. The copies of that phase are no longer ahead of the consumers,
// unless it is the thread that issued them.
void consume(Barrier &barrier, std::uint64_t phase) {
    const auto is_consumed = [&](const CopiesAhead &copies) {
        return copies.phase <= phase && copies.issuer != current;
    };
    Barriers &table = barriers_of(*barrier.place.cta);
    const std::uint64_t before = table.ahead;
    table.ahead -= std::erase_if(barrier.ahead, is_consumed);
    if (table.ahead == before)
        return;
    counts.ring_ahead_most = std::max(counts.ring_ahead_most, before);
    counts.ring_ahead_sum += before;
    ++counts.ring_ahead_samples;
}

// Blocks until `phase` of the barrier has completed.
void wait_for(Barrier &barrier, std::uint64_t phase, Order order, Site where) {
    ++counts.mbarrier_waits;
    if (barrier.phase <= phase) {
        ++counts.mbarrier_waits_blocked;
        wait_until(
            barrier.waiting, [&] { return barrier.phase > phase; }, where,
            [&] { return state_of(barrier); });
    }
    if (barrier.phase > phase + 1)
        fail(Mistake::HAZARD,
             format("%s went on by %llu phases before a thread that waits for the first of them "
                    "saw it: it may wait for ever",
                    mbarrier_name(barrier.place).c_str(),
                    static_cast<unsigned long long>(barrier.phase - phase)),
             notes_of(barrier, where, "waited"));
    acquire(barrier.order[phase & 1], order);
    if (!barrier.ahead.empty())
        consume(barrier, phase);
}

// No barrier may be initialised over another one before mbarrier.inval, which no rung uses.
void check_vacant(MbarrierRef place, Site where) {
    Barrier *barrier = find_barrier(place);
    if (barrier != nullptr)
        fail(Mistake::MISUSE, mbarrier_name(place) + " is initialised a second time",
             notes_of(*barrier, where, "initialised it again"));
}

} // namespace

// ---------------------------------------------------------------------------- instructions

void mbarrier_init(std::uint64_t *barrier, int arrivals, Site where) {
    schedule_point();
    const MbarrierRef place = own_place(barrier, where);
    if (arrivals < 1 || arrivals > LARGEST_COUNT)
        fail(Mistake::MISUSE,
             format("an mbarrier's phase takes 1 to %d arrivals, not %d", LARGEST_COUNT, arrivals),
             where, "initialised one");
    check_vacant(place, where);
    auto made = std::make_unique<Barrier>();
    made->place = place;
    made->init_site = where;
    made->initialiser = current;
    made->expected = made->pending = arrivals;
    name_barrier(*made);
    access_shared(*place.cta, place.offset, sizeof *barrier, {true, where});
    made->init = order::epoch_now();
    store_barrier(*made);
    barriers_of(*place.cta).by_offset[place.offset] = std::move(made);
}

// The object is ready for the async proxy, and for threads after the cluster's next barrier even if
// that is relaxed. (PTX ISA: fence.mbarrier_init.)
void mbarrier_init_fence(Site) {
    for (auto &[offset, barrier] : barriers_of(*current->cta).by_offset)
        if (barrier->initialiser == current && !barrier->init.async) {
            barrier->init.async = true;
            barrier->ready_in = current->cluster_arrivals;
        }
    schedule_point();
}

std::uint64_t mbarrier_arrive(std::uint64_t *barrier, int bytes, Site where, Order order,
                              Scope scope) {
    schedule_point();
    return mbarrier_arrive(own_place(barrier, where), 1, bytes, where, order, scope);
}

std::uint64_t mbarrier_arrive(MbarrierRef place, int count, int bytes, Site where, Order order,
                              Scope scope, Arrival how) {
    Barrier &barrier = usable_barrier(place, where);
    if ((how == Arrival::NO_COMPLETE || how == Arrival::DROP_NO_COMPLETE) &&
        count >= barrier.pending && barrier.bytes + bytes == 0)
        fail(Mistake::MISUSE,
             mbarrier_name(place) + " completes a phase by an arrival with .noComplete",
             notes_of(barrier, where, "arrived"));
    if (how == Arrival::DROP || how == Arrival::DROP_NO_COMPLETE)
        barrier.expected -= count;
    const std::uint64_t token =
        token_of(barrier, arrive(barrier, count, bytes, order, scope, where));
    schedule_point();
    return token;
}

void mbarrier_arrive_remote(std::uint64_t *barrier, int cta_rank, Site where) {
    schedule_point();
    const std::uint32_t offset = own_place(barrier, where).offset;
    const SharedPlace peer = map_shared(barrier, cta_rank, where);
    mbarrier_arrive({peer.cta, offset}, 1, 0, where);
}

void mbarrier_expect_bytes(MbarrierRef place, int bytes, Site where) {
    announce(usable_barrier(place, where), bytes, where);
    store_barrier(*find_barrier(place));
    schedule_point();
}

void mbarrier_complete_bytes(MbarrierRef place, int bytes, Site where) {
    Barrier &barrier = usable_barrier(place, where);
    add_bytes(barrier, -bytes, where, "completed bytes");
    complete_phase_if_done(barrier);
    schedule_point();
}

void mbarrier_invalidate(MbarrierRef place, Site where) {
    schedule_point();
    Barrier &barrier = usable_barrier(place, where);
    if (!barrier.waiting.threads.empty())
        fail(Mistake::LIFETIME, mbarrier_name(place) + " is invalidated while a thread waits on it",
             notes_of(barrier, where, "invalidated it"));
    barriers_of(*place.cta).by_offset.erase(place.offset);
}

void mbarrier_wait_parity(std::uint64_t *barrier, int parity, Site where, Order order, Scope) {
    schedule_point();
    Barrier &waited = usable_barrier(own_place(barrier, where), where);
    check_parity(parity, where);
    const bool completed = (waited.phase & 1) != static_cast<std::uint64_t>(parity);
    if (completed && waited.phase == 0) {
        ++counts.mbarrier_waits; // the phase before the first: nothing comes before it
        return;
    }
    wait_for(waited, completed ? waited.phase - 1 : waited.phase, order, where);
}

void mbarrier_wait_token(std::uint64_t *barrier, std::uint64_t token, Site where, Order order,
                         Scope) {
    schedule_point();
    Barrier &waited = usable_barrier(own_place(barrier, where), where);
    check_token(waited, token, where);
    wait_for(waited, token >> 32, order, where);
}

// ---------------------------------------------------------------------------- polling

namespace {

// try_wait suspends the thread until the phase has completed, at most for a time: until nothing
// else can happen, and sometimes, under a random policy, not at all. test_wait lets other threads
// go first; a thread that has tested long enough in vain is treated as one that tries.
bool poll(Barrier &barrier, std::uint64_t phase, Poll how, Order order, Site where) {
    const auto done = [&barrier, phase] { return barrier.phase > phase; };
    Thread &thread = *current;
    if (!done() && how == Poll::TEST && ++thread.fruitless_tests < MOST_TESTS) {
        let_others_run();
    } else if (!done() && !(policy().random && once_in(GIVES_UP))) {
        wait_until_or_time_out(barrier.waiting, done, where,
                               [&barrier] { return state_of(barrier); });
    }
    if (!done())
        return false;
    thread.fruitless_tests = 0;
    wait_for(barrier, phase, order, where);
    return true;
}

} // namespace

bool mbarrier_poll_parity(MbarrierRef place, int parity, Poll how, Site where, Order order, Scope) {
    schedule_point();
    Barrier &waited = usable_barrier(place, where);
    check_parity(parity, where);
    const bool completed = (waited.phase & 1) != static_cast<std::uint64_t>(parity);
    if (completed && waited.phase == 0) {
        ++counts.mbarrier_waits; // the phase before the first: nothing comes before it
        return true;
    }
    return poll(waited, completed ? waited.phase - 1 : waited.phase, how, order, where);
}

bool mbarrier_poll_token(MbarrierRef place, std::uint64_t token, Poll how, Site where, Order order,
                         Scope) {
    schedule_point();
    Barrier &waited = usable_barrier(place, where);
    check_token(waited, token, where);
    return poll(waited, token >> 32, how, order, where);
}

// ---------------------------------------------------------------------------- copies

MbarrierRef mbarrier_at(Cta &cta, std::uint32_t offset, Site where) {
    const MbarrierRef place = {&cta, offset};
    if (offset % sizeof(std::uint64_t) != 0)
        fail(Mistake::MISUSE, "an mbarrier has to be aligned to 8 bytes",
             {note_at(where, "a copy was to complete on one that is not")});
    check_fenced(whole_barrier(place, where), where, "started a copy that completes on it");
    return place;
}

void mbarrier_copy_issued(MbarrierRef place) {
    Barrier &barrier = *find_barrier(place);
    Barriers &table = barriers_of(*place.cta);
    table.ring_slots += !std::exchange(barrier.in_ring, true);
    counts.ring_slots = std::max(counts.ring_slots, table.ring_slots);
    // Phases that the parity can no longer tell apart were never waited for.
    table.ahead -= std::erase_if(barrier.ahead, [&](const CopiesAhead &copies) {
        return copies.phase + 2 <= barrier.phase;
    });
    if (!barrier.ahead.empty() && barrier.ahead.back().phase == barrier.phase)
        return;
    barrier.ahead.push_back({barrier.phase, current});
    ++table.ahead;
}

void mbarrier_copy_landed(MbarrierRef place, int bytes, Site where) {
    Barrier &completed = whole_barrier(place, where);
    // Also of what came before the copy's issue, which by the letter only the issuer's arrival
    // releases: who waits knows that the issue has happened.
    order::release(completed.order[completed.phase & 1], Scope::SYS,
                   order::running().who.cta != place.cta->rank);
    add_bytes(completed, -bytes, where, "bytes landed");
    complete_phase_if_done(completed);
}

void mbarrier_copy_to_arrive(MbarrierRef place, Site where) {
    Barrier &barrier = usable_barrier(place, where);
    ++barrier.pending;
    store_barrier(barrier);
}

void mbarrier_hand_over(MbarrierRef place, order::Carrier &from) {
    Barrier &barrier = *find_barrier(place);
    order::pass_on(barrier.order[barrier.phase & 1], from);
}

void mbarrier_copy_arrives(MbarrierRef place, bool last, Site where) {
    Barrier &barrier = whole_barrier(place, where);
    barrier.pending -= last;
    if (barrier.pending < 0)
        fail(Mistake::MISUSE,
             format("%s gets more arrivals than the barrier's count, %d: a copy arrives",
                    mbarrier_name(place).c_str(), barrier.expected),
             {note_at(where, "the arrival of copies was requested here")});
    store_barrier(barrier);
    mbarrier_copy_landed(place, 0, where); // may complete the phase
}

void mbarriers_cta_exits(const Cta &cta) {
    for (const auto &[offset, barrier] : barriers_of(cta).by_offset)
        if (barrier->bytes < 0)
            fail(Mistake::LIFETIME,
                 format("CTA %d exits without having waited for all copies: ", cta.rank) +
                     state_of(*barrier),
                 {note_at(barrier->unannounced, "the last of these copies was started here"),
                  note_at(barrier->init_site, "the barrier was initialised here")});
}

} // namespace emulator
