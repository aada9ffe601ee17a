// Copies of the generic proxy: TMA and wgmma see what they write after the thread's fence.
#include "emulator/copies.h"

#include "global_memory.h"
#include "machine.h"

#include <cstring>

namespace emulator {

namespace {

// A copy lands; of its bytes those that `from` does not have become zeros.
void land(const Operation &copy, const void *from, std::size_t from_bytes) {
    unsigned char *to = copy.cta->shared.generic(copy.tile, copy.bytes);
    if (from_bytes > 0)
        access_global(from, from_bytes, {false, copy.site});
    access_shared(*copy.cta, copy.tile, copy.bytes, {true, copy.site});
    std::memcpy(to, from, from_bytes);
    std::memset(to + from_bytes, 0, copy.bytes - from_bytes);
}

// The thread's copy of this number has landed. The arrivals that waited for nothing else happen.
void arrive_after(Thread &thread, std::uint64_t number) {
    std::erase_if(thread.copy_arrivals, [&](CopyArrival &arrival) {
        if (number >= arrival.before)
            return false;
        --arrival.missing;
        mbarrier_copy_arrives(arrival.barrier, arrival.missing == 0, arrival.site);
        return arrival.missing == 0;
    });
}

void check_arguments(std::uint32_t to, const void *global, int bytes, int source_bytes,
                     Site where) {
    const auto aligned = [bytes](std::uintptr_t address) {
        return address % std::uintptr_t(bytes) == 0;
    };
    const bool from_aligned = aligned(std::uintptr_t(global));
    if (bytes != 4 && bytes != 8 && bytes != 16)
        reject(where, "cp.async of %d bytes: 4, 8 or 16", bytes);
    if (source_bytes < 0 || source_bytes > bytes)
        reject(where, "cp.async of %d bytes with %d from its source", bytes, source_bytes);
    if (!aligned(SHARED_BASE + to) || !from_aligned)
        reject(where, "cp.async of %d bytes %s an address that is not aligned to them", bytes,
               from_aligned ? "to" : "from");
    if (source_bytes > 0)
        check_global(global, std::size_t(source_bytes), "cp.async", where);
}

} // namespace

void cp_async(SharedRef to, const void *global, int source_bytes, Site where, int bytes) {
    check_arguments(to.offset, global, bytes, source_bytes, where);
    Thread &self = *current;
    self.cta->shared.generic(to.offset, std::size_t(bytes)); // fails if it is not inside
    counts.copied_bytes += std::uint64_t(source_bytes);
    const std::uint64_t number = self.copies.started, group = self.copies.join(where);
    submit({.kind = OperationKind::COPY,
            .site = where,
            .name = "cp.async",
            .complete =
                [=](const Operation &copy) {
                    land(copy, global, std::size_t(source_bytes));
                    copy.issuer->copies.take(copy.group, &OperationGroup::written);
                    arrive_after(*copy.issuer, number);
                },
            .agent = self.copies.agent(),
            .tile = to.offset,
            .bytes = std::uint32_t(bytes),
            .group = group});
}

void cp_async_mbarrier_arrive(SharedRef barrier, bool counted, Site where) {
    Thread &self = *current;
    mbarrier_copy_to_arrive(barrier, counted, where);
    const int missing = int(self.copies.started - self.copies.ended);
    if (missing == 0)
        mbarrier_copy_arrives(barrier, true, where);
    else
        self.copy_arrivals.push_back({barrier, self.copies.started, missing, where});
}

void cp_async_commit(Site) { current->copies.commit(); }

void cp_async_wait(int pending, Site where) {
    current->copies.wait(pending, &OperationGroup::written, where, "cp.async.wait_group",
                         "copies have not landed");
}

} // namespace emulator
