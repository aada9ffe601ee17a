// Global memory: what cudaMalloc gives. Each allocation lies alone, with room without access around
// it, so that what a kernel does beside it can be told from anything else.
#pragma once

#include <cstddef>

namespace emulator {

// Memory of its own that the kernel may touch, zeroed and 256-byte aligned at least; nullptr if
// there is none.
void *global_allocate(std::size_t bytes);

// Gives it back. Its addresses are never used again.
void global_free(void *begin);

enum class GlobalPlace {
    INSIDE,
    OUTSIDE, // beside an allocation, but so near that no other memory can be meant
    FREED,
    ELSEWHERE // not global memory
};

// What [address, address + bytes) is.
GlobalPlace global_place(const void *address, std::size_t bytes);

// The begin and the size of the allocation that an address lies in or beside, freed or not.
struct GlobalRange {
    const void *begin;
    std::size_t bytes;
};
GlobalRange global_range_near(const void *address);

} // namespace emulator
