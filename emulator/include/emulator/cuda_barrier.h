// What cuda::barrier (include/cuda/barrier) needs beside mbarrier.h.
#pragma once

#include "emulator/site.h"

#include <cstddef>
#include <cstdint>

namespace emulator {

// mbarrier.inval: the barrier's memory may be used for something else.
void barrier_invalidate(std::uint64_t *barrier, Site where);

// cuda::memcpy_async: starts a copy to the own CTA's shared memory. The barrier's phase waits for
// it as for one more arrival.
void memcpy_async(void *to, const void *from, std::size_t bytes, std::uint64_t *barrier,
                  Site where);

} // namespace emulator
