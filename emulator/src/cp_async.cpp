#include "emulator/cp_async.h"

#include "global_memory.h"
#include "machine.h"
#include "mbarrier_table.h"
#include "operations.h"

#include <cstring>

namespace emulator {

namespace {

constexpr std::size_t MOST_BYTES = 16; // of a copy

// A copy on its way.
struct Copy {
    Thread *thread;
    std::uint64_t group; // number of its group
    std::uint64_t number;
    std::uint32_t to; // offset in the thread's CTA
    const void *from;
    std::size_t bytes, source_bytes;
    Site site;
};

// The arrivals that wait for the copy; those that waited for nothing else happen.
void arrive_after(const Copy &copy) {
    ++copy.thread->copies_landed;
    std::erase_if(copy.thread->copy_arrivals, [&](CopyArrival &arrival) {
        if (copy.number >= arrival.before)
            return false;
        --arrival.missing;
        mbarrier_copy_arrives(arrival.barrier, arrival.missing == 0, arrival.site);
        return arrival.missing == 0;
    });
}

// A late generic-proxy write: TMA and wgmma see it after the thread's fence.
void happen(const Copy &copy) {
    SharedMemory &shared = copy.thread->cta->shared;
    unsigned char bytes[MOST_BYTES] = {};
    if (copy.source_bytes > 0) {
        access_global(copy.from, copy.source_bytes, {false, copy.site});
        for (std::size_t i = 0; i < copy.source_bytes; ++i)
            bytes[i] = static_cast<const unsigned char *>(copy.from)[i];
    }
    unsigned char *to = shared.generic(copy.to, copy.bytes);
    access_shared(*copy.thread->cta, copy.to, copy.bytes, {true, copy.site});
    std::memcpy(to, bytes, copy.bytes);
    CopyGroup &group = copy.thread->copies.at(copy.group);
    --group.unlanded;
    order::release_own(group.done);
    copy.thread->copies.waiting.wake_all();
    arrive_after(copy);
}

void check_arguments(const void *shared, const void *global, int bytes, int source_bytes,
                     Site where) {
    const auto aligned = [bytes](const void *pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % std::uintptr_t(bytes) == 0;
    };
    if (bytes != 4 && bytes != 8 && bytes != int(MOST_BYTES))
        fail(Mistake::MISUSE, format("cp.async of %d bytes: 4, 8 or 16", bytes), where,
             "called it here");
    if (source_bytes < 0 || source_bytes > bytes)
        fail(Mistake::MISUSE,
             format("cp.async of %d bytes with %d from its source", bytes, source_bytes), where,
             "called it here");
    if (!aligned(shared) || !aligned(global))
        fail(Mistake::MISUSE,
             format("cp.async of %d bytes %s an address that is not aligned to them", bytes,
                    aligned(shared) ? "from" : "to"),
             where, "called it here");
    if (source_bytes == 0)
        return;
    check_global(global, std::size_t(source_bytes), "cp.async", where);
}

// A number for a group's copies: that of a group which the thread has waited for.
std::uint32_t take_agent(Thread &thread) {
    if (thread.copy_agents.empty())
        return order::new_agent();
    const std::uint32_t agent = thread.copy_agents.back();
    thread.copy_agents.pop_back();
    return agent;
}

} // namespace

void cp_async(void *shared, const void *global, int source_bytes, Site where, int bytes) {
    check_arguments(shared, global, bytes, source_bytes, where);
    Thread &self = *current;
    Groups<CopyGroup> &groups = self.copies;
    const std::uint32_t to = shared_address(shared, where) - SHARED_BASE;
    const Copy copy{&self,  groups.number(),    self.copies_started++,     to,
                    global, std::size_t(bytes), std::size_t(source_bytes), where};
    self.cta->shared.generic(to, copy.bytes); // fails if it is not inside
    ++groups.open.unlanded;
    if (groups.open.agent == order::NO_AGENT)
        groups.open.agent = take_agent(self);
    counts.copied_bytes += std::uint64_t(source_bytes);
    submit({.kind = OperationKind::COPY,
            .cta = self.cta,
            .issuer = &self,
            .site = where,
            .name = "cp.async",
            .complete = [copy] { happen(copy); },
            .agent = groups.open.agent,
            .tile = to,
            .bytes = std::uint32_t(bytes)});
}

void cp_async_mbarrier_arrive(MbarrierRef barrier, bool counted, Site where) {
    schedule_point();
    Thread &self = *current;
    if (!counted)
        mbarrier_copy_to_arrive(barrier, where);
    // What has landed already does not arrive any more.
    for (CopyGroup &group : self.copies.committed)
        mbarrier_hand_over(barrier, group.done);
    mbarrier_hand_over(barrier, self.copies.open.done);
    const int missing = int(self.copies_started - self.copies_landed);
    if (missing == 0)
        mbarrier_copy_arrives(barrier, true, where);
    else
        self.copy_arrivals.push_back({barrier, self.copies_started, missing, where});
}

void cp_async_commit(Site) { current->copies.commit(); }

void cp_async_wait(int pending, Site where) {
    Groups<CopyGroup> &groups = current->copies;
    const std::size_t covered = groups.covered(pending);
    const auto missing = [&groups, covered] {
        return groups.missing(covered, &CopyGroup::unlanded);
    };
    wait_until(
        groups.waiting, [missing] { return missing() == 0; }, where,
        [missing, pending] {
            return format("cp_async_wait<%d>: %d copies have not landed", pending, missing());
        });
    groups.acquire(covered, &CopyGroup::done);
    for (std::size_t i = 0; i < covered; ++i)
        if (groups.committed[i].agent != order::NO_AGENT)
            current->copy_agents.push_back(groups.committed[i].agent);
    groups.forget(covered);
}

} // namespace emulator
