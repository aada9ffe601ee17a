#include "emulator/together.h"

#include "machine.h"

#include <algorithm>

namespace emulator {
namespace {
void end_phase(Phases &phases) {
    phases.next();
    phases.waiting.wake_all();
}

// The current thread waits for a phase that it has arrived in.
template <typename Describe>
void wait_for(Phases &phases, std::uint64_t phase, Site where, const Describe &describe) {
    const auto passed = [&phases, phase] { return phases.phase > phase; };
    ++counts.barrier_waits;
    counts.barrier_waits_blocked += !passed();
    wait_until(phases.waiting, passed, where, describe);
    order::acquire(phases.carrier(phase));
    schedule_point();
}

// Whether lanes of the warp have come and none is missing.
bool has_arrived(const Warp &warp, int id) {
    return warp.arrived[id] != 0 && (warp.arrived[id] | warp.exited) == WHOLE_WARP;
}

// The threads that count as arrived, and those that the phase waits for.
struct Progress {
    int arrived = 0, needed = 0;
};
Progress progress_of(const Cta &cta, int id) {
    Progress sum;
    for (const Warp &warp : cta.warps) {
        sum.arrived += has_arrived(warp, id) ? WARP_LANES : 0;
        sum.needed += warp.exited != WHOLE_WARP ? WARP_LANES : 0;
    }
    const int expected = cta.barriers[id].expected;
    return {sum.arrived, expected == ALL_THREADS ? sum.needed : expected};
}

// Ends the phase if no thread is missing.
void complete_if_full(Cta &cta, int id) {
    const auto [arrived, needed] = progress_of(cta, id);
    if (arrived == 0 || arrived < needed)
        return;
    NamedBarrier &barrier = cta.barriers[id];
    barrier.expected = 0;
    for (Warp &warp : cta.warps)
        if (has_arrived(warp, id))
            warp.arrived[id] = 0;
    end_phase(barrier);
    barrier.fenced[barrier.phase % 2].clear();
}

std::string count_name(int expected) {
    return expected == ALL_THREADS ? "all threads" : format("%d threads", expected);
}

// A call on a named barrier begins. `what`: of an .aligned one; else nullptr.
void begin_call(const char *what, int id, int threads, Site where) {
    Cta &cta = *current->cta;
    const int most = int(cta.warps.size()) * WARP_LANES;
    if (id < 0 || id >= NAMED_BARRIERS)
        reject(where, "named barrier %d: the ids are 0 to 15", id);
    if (threads != ALL_THREADS && (threads <= 0 || threads % WARP_LANES != 0 || threads > most))
        reject(where, "named barrier %d for %d threads: not whole warps of a CTA of %zu threads",
               id, threads, cta.threads.size());
    if (what != nullptr)
        warp_aligned(what, where);
    schedule_point();
}

// Counts the current thread in, and its vote. It may wait then.
void arrive(bool waits, int id, int expected, Site where, bool vote = false) {
    Thread &thread = *current;
    Cta &cta = *thread.cta;
    NamedBarrier &barrier = cta.barriers[id];
    Warp &warp = cta.warps[std::size_t(thread.warp())];
    const int whole = int(cta.warps.size()) * WARP_LANES;
    if (expected == ALL_THREADS && barrier.expected == whole) {
        expected = whole; // the same count
    } else if (barrier.expected == 0 || (barrier.expected == ALL_THREADS && expected == whole)) {
        barrier.expected = expected;
        barrier.site = where;
        barrier.votes[barrier.phase % 2] = 0; // all have left the phase that used it before
    } else if (barrier.expected != expected) {
        fail(Mistake::MISUSE,
             {note_at(thread, where, "arrived here"),
              note_at(barrier.site, "the first thread of the phase arrived here")},
             "barrier %d is for %s here, and for %s in the same phase elsewhere", id,
             count_name(expected).c_str(), count_name(barrier.expected).c_str());
    }
    story::record(where, waits ? "syncs" : "arrives", "barrier %d, phase %d", id,
                  int(barrier.phase));
    if (order::Epoch other;
        barrier.phase > 0 && !order::is_after(barrier.carrier(barrier.phase - 1), &other)) {
        story::begin({order::epoch_now(), "", where}, {other});
        fail(Mistake::HAZARD, {note_at(thread, where, "arrived here")},
             "barrier %d: a thread arrives that is not ordered after the phase before: in "
             "another order it counts for that phase (do two groups of threads use this "
             "id, or is the count too small?)",
             id);
    }
    const std::uint32_t own = 1u << thread.lane();
    if ((warp.arrived[id] & own) != 0)
        fail(Mistake::MISUSE, where, "arrived again here",
             "warp %d arrives a second time in one phase of barrier %d, which waits for %s",
             thread.warp(), id, count_name(barrier.expected).c_str());
    tells(where);
    order::release(barrier.carrier(barrier.phase));
    order::merge(barrier.fenced[barrier.phase % 2], order::running().fenced);
    barrier.votes[barrier.phase % 2] += vote;
    warp.arrived[id] |= own;
    if (!has_arrived(warp, id))
        return;
    if (waits)
        accesses_warp_met(warp);
    complete_if_full(cta, id);
}

std::string describe(const Cta &cta, int id) {
    const auto [arrived, needed] = progress_of(cta, id);
    std::string text = format("barrier %d: %d of %d threads have arrived", id, arrived, needed);
    for (std::size_t i = 0; i < cta.warps.size(); ++i)
        if (cta.warps[i].arrived[id] != 0 && !has_arrived(cta.warps[i], id))
            text += format(", and of warp %zu lanes 0x%08x", i, cta.warps[i].arrived[id]);
    return text;
}

// Returns the votes of the phase.
int sync(const char *what, int id, int expected, Site where, bool vote = false) {
    begin_call(what, id, expected, where);
    Cta &cta = *current->cta;
    NamedBarrier &barrier = cta.barriers[id];
    const std::uint64_t phase = barrier.phase;
    arrive(true, id, expected, where, vote);
    wait_for(barrier, phase, where, [&cta, id] { return describe(cta, id); });
    order::merge(order::running().fenced, barrier.fenced[phase % 2]);
    story::record(where, "syncs", "barrier %d, phase %d", id, int(phase));
    return barrier.votes[phase % 2];
}

void complete_cluster_if_full(Cluster &cluster) {
    if (cluster.arrived > 0 && cluster.arrived >= cluster.unfinished)
        end_phase(cluster);
}
} // namespace

void named_barrier_sync(int id, int threads, Site where, bool aligned) {
    const bool is_whole = id == 0 && threads == ALL_THREADS;
    sync(!aligned ? nullptr : is_whole ? "__syncthreads" : "a named barrier", id, threads, where);
}

void named_barrier_arrive(int id, int threads, Site where, bool aligned) {
    begin_call(aligned ? "a named barrier" : nullptr, id, threads, where);
    arrive(false, id, threads, where);
    schedule_point();
}

int barrier_sync_count(int id, int threads, bool predicate, Site where) {
    return sync("a barrier with a vote", id, threads, where, predicate);
}

void tells(Site where) {
    Thread &self = *current;
    self.told[self.tellings++ % std::size(self.told)] = {order::epoch_now().time, where};
}

bool add_told(const Thread &thread, std::vector<Note> &notes) {
    const std::int32_t known = order::known_time(*thread.context);
    std::pair<std::int32_t, Site> last{};
    for (const auto &[time, where] : thread.told)
        if (time <= known && time > last.first)
            last = {time, where};
    if (last.first > 0)
        notes.push_back(note_at(thread, last.second, "told others here: it must wait before that"));
    return last.first > 0;
}

void syncthreads(Site where) { named_barrier_sync(0, ALL_THREADS, where); }

void cluster_arrive(Site where, bool relaxed, bool aligned) {
    Thread &thread = *current;
    if (aligned)
        warp_aligned("barrier.cluster.arrive", where);
    Cluster &cluster = *thread.cta->cluster;
    if (thread.cluster_arrivals != thread.cluster_waits)
        fail(Mistake::MISUSE, where, "arrived again here",
             "a second barrier.cluster.arrive without a wait between");
    schedule_point();
    story::record(where, relaxed ? "arrives, relaxed" : "arrives", "cluster barrier, phase %d",
                  int(cluster.phase));
    if (!relaxed)
        tells(where), order::release(cluster.carrier(cluster.phase));
    ++thread.cluster_arrivals;
    ++cluster.arrived;
    complete_cluster_if_full(cluster);
    schedule_point();
}

void cluster_wait(Site where, bool aligned) {
    Thread &thread = *current;
    if (aligned)
        warp_aligned("barrier.cluster.wait", where);
    Cluster &cluster = *thread.cta->cluster;
    if (thread.cluster_arrivals == thread.cluster_waits)
        fail(Mistake::MISUSE, where, "waits here",
             "a barrier.cluster.wait without an arrive before");
    schedule_point();
    const std::uint64_t phase = thread.cluster_waits++;
    wait_for(cluster, phase, where, [&cluster] {
        return format("cluster barrier: %d of %d threads have arrived", cluster.arrived,
                      cluster.unfinished);
    });
    story::record(where, "waits", "cluster barrier, phase %d", int(phase));
}

void barriers_thread_exits(Cta &cta) {
    for (int id = 0; id < NAMED_BARRIERS; ++id)
        if (cta.barriers[id].expected != 0)
            complete_if_full(cta, id);
    Cluster &cluster = *cta.cluster;
    if (current->cluster_arrivals > cluster.phase)
        --cluster.arrived; // it arrived and exits: it no longer counts
    complete_cluster_if_full(cluster);
}
} // namespace emulator
