// Global memory: what cudaMalloc gives. Each allocation lies alone, with room without access around
// it, so that what a kernel does beside it can be told from anything else.
#pragma once

#include "emulator/site.h"

#include <cstddef>
#include <string>

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

// Bytes from the begin of the allocation that an address lies in or beside, freed or not.
std::ptrdiff_t global_offset(const void *address);

// What is wrong with an access to memory of an allocation: it was freed, or the access reaches out
// of it. `access` begins the sentence: "a thread writes", "TMA load of".
std::string global_mistake(const char *access, const void *address, std::size_t bytes);

// The current thread starts a copy, `copy`, from or to these bytes: fails with ADDRESS if they are
// global memory that it may not touch.
void check_global(const void *begin, std::size_t bytes, const char *copy, Site where);

} // namespace emulator
