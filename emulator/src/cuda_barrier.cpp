#include "emulator/cuda_barrier.h"

#include "global_memory.h"
#include "machine.h"
#include "mbarrier_table.h"
#include "operations.h"

#include <cstring>

namespace emulator {

namespace {

Barrier &own_barrier(const std::uint64_t *barrier, Site where) {
    return usable_barrier({current->cta, shared_address(barrier, where) - SHARED_BASE}, where);
}

// A copy has landed.
void land(Thread &thread, std::uint32_t to, const void *from, std::size_t bytes, Site where,
          MbarrierRef arrival) {
    SharedMemory &shared = thread.cta->shared;
    unsigned char *place = shared.generic(to, bytes);
    access_global(from, bytes, {false, where});
    access_shared(*thread.cta, to, bytes, {true, where});
    std::memcpy(place, from, bytes);
    mbarrier_copy_arrives(arrival, true, where);
}

} // namespace

void barrier_invalidate(std::uint64_t *barrier, Site where) {
    schedule_point();
    const Barrier &gone = own_barrier(barrier, where);
    if (!gone.waiting.threads.empty())
        fail(Mistake::LIFETIME,
             mbarrier_name(gone.place) + " is invalidated while a thread waits on it",
             notes_of(gone, where, "invalidated it"));
    barriers_of(*current->cta).by_offset.erase(gone.place.offset);
}

void memcpy_async(void *to, const void *from, std::size_t bytes, std::uint64_t *barrier,
                  Site where) {
    Thread &self = *current;
    const std::uint32_t offset = shared_address(to, where) - SHARED_BASE;
    self.cta->shared.generic(offset, bytes); // fails if it is not inside
    check_global(from, bytes, "memcpy_async", where);
    const MbarrierRef place = own_barrier(barrier, where).place;
    mbarrier_copy_to_arrive(place, where);
    submit({.kind = OperationKind::COPY,
            .cta = self.cta,
            .issuer = &self,
            .site = where,
            .name = "memcpy_async",
            .complete = [=, &self] { land(self, offset, from, bytes, where, place); },
            .tile = offset,
            .bytes = std::uint32_t(bytes)});
}

} // namespace emulator
