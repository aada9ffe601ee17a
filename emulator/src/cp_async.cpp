// Copies of the generic proxy: TMA and wgmma see what they write after the thread's fence.
#include "emulator/cp_async.h"

#include "global_memory.h"
#include "machine.h"

#include <cstring>

namespace emulator {

namespace {

// A copy on its way.
struct Copy {
    Thread *thread;
    std::uint32_t to; // offset in the thread's CTA
    const void *from;
    std::size_t bytes, source_bytes;
    Site site;
};

void land(const Copy &copy) {
    unsigned char *to = copy.thread->cta->shared.generic(copy.to, copy.bytes);
    if (copy.source_bytes > 0)
        access_global(copy.from, copy.source_bytes, {false, copy.site});
    access_shared(*copy.thread->cta, copy.to, copy.bytes, {true, copy.site});
    std::memcpy(to, copy.from, copy.source_bytes);
    std::memset(to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
}

// Starts it; `then` follows its landing.
template <typename Then>
void start(const Copy &copy, const char *name, std::uint32_t agent, const Then &then) {
    submit({.kind = OperationKind::COPY,
            .cta = copy.thread->cta,
            .site = copy.site,
            .name = name,
            .complete =
                [copy, then] {
                    land(copy);
                    then();
                },
            .agent = agent,
            .tile = copy.to,
            .bytes = std::uint32_t(copy.bytes)});
}

// The thread's copy of this number has landed. The arrivals that waited for nothing else happen.
void arrive_after(Thread &thread, std::uint64_t number) {
    ++thread.copies_landed;
    std::erase_if(thread.copy_arrivals, [&](CopyArrival &arrival) {
        if (number >= arrival.before)
            return false;
        --arrival.missing;
        mbarrier_copy_arrives(arrival.barrier, arrival.missing == 0, arrival.site);
        return arrival.missing == 0;
    });
}

void check_arguments(const void *shared, const void *global, int bytes, int source_bytes,
                     Site where) {
    const auto reject = [where](const std::string &what) {
        fail(Mistake::MISUSE, what, where, "called it here");
    };
    const auto aligned = [bytes](const void *pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % std::uintptr_t(bytes) == 0;
    };
    if (bytes != 4 && bytes != 8 && bytes != 16)
        reject(format("cp.async of %d bytes: 4, 8 or 16", bytes));
    if (source_bytes < 0 || source_bytes > bytes)
        reject(format("cp.async of %d bytes with %d from its source", bytes, source_bytes));
    if (!aligned(shared) || !aligned(global))
        reject(format("cp.async of %d bytes %s an address that is not aligned to them", bytes,
                      aligned(shared) ? "from" : "to"));
    if (source_bytes > 0)
        check_global(global, std::size_t(source_bytes), "cp.async", where);
}

} // namespace

void cp_async(void *shared, const void *global, int source_bytes, Site where, int bytes) {
    check_arguments(shared, global, bytes, source_bytes, where);
    Thread &self = *current;
    const Copy copy{
        &self, shared_offset(shared, where), global, std::size_t(bytes), std::size_t(source_bytes),
        where};
    self.cta->shared.generic(copy.to, copy.bytes); // fails if it is not inside
    self.copies.join(where);
    counts.copied_bytes += copy.source_bytes;
    start(copy, "cp.async", self.copies.agent(),
          [&self, group = self.copies.number(), number = self.copies_started++] {
              self.copies.take(group, &OperationGroup::written);
              arrive_after(self, number);
          });
}

void cp_async_mbarrier_arrive(MbarrierRef barrier, bool counted, Site where) {
    Thread &self = *current;
    mbarrier_copy_to_arrive(barrier, counted, where);
    // What has landed already does not arrive any more.
    for (OperationGroup &group : self.copies.committed)
        mbarrier_hand_over(barrier, group.written.done);
    mbarrier_hand_over(barrier, self.copies.open.written.done);
    const int missing = int(self.copies_started - self.copies_landed);
    if (missing == 0)
        mbarrier_copy_arrives(barrier, true, where);
    else
        self.copy_arrivals.push_back({barrier, self.copies_started, missing, where});
}

void cp_async_commit(Site) { current->copies.commit(); }

void cp_async_wait(int pending, Site where) {
    current->copies.wait(pending, &OperationGroup::written, where, "cp_async_wait",
                         "copies have not landed");
}

void memcpy_async(void *to, const void *from, std::size_t bytes, MbarrierRef barrier, Site where) {
    const Copy copy{current, shared_offset(to, where), from, bytes, bytes, where};
    current->cta->shared.generic(copy.to, bytes); // fails if it is not inside
    check_global(from, bytes, "memcpy_async", where);
    mbarrier_copy_to_arrive(barrier, false, where);
    start(copy, "memcpy_async", order::NO_AGENT,
          [=] { mbarrier_copy_arrives(barrier, true, where); });
}

} // namespace emulator
