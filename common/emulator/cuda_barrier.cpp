#include "emulator/cuda_barrier.h"

#include "emulator/copy.h"
#include "emulator/global_memory.h"
#include "emulator/machine.h"
#include "emulator/mbarrier_table.h"
#include "emulator/operations.h"

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
    races::read(from, bytes);
    races::write(place, bytes);
    copy_bytes(place, from, bytes);
    shared.wrote(thread, to, bytes, where);
    Barrier &barrier = whole_barrier(arrival, where);
    --barrier.pending;
    store_barrier(barrier);
    mbarrier_copy_landed(arrival, 0, where); // may complete the phase
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
    Barrier &arrival = own_barrier(barrier, where);
    ++arrival.pending;
    store_barrier(arrival);
    const MbarrierRef place = arrival.place;
    submit({.kind = OperationKind::COPY,
            .cta = self.cta,
            .issuer = &self,
            .site = where,
            .name = "memcpy_async",
            .complete = [=, &self] { land(self, offset, from, bytes, where, place); }});
}

} // namespace emulator
