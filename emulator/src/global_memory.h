// Global memory: what cudaMalloc returns. Each allocation has inaccessible pages around it, so that
// accesses outside of it are recognised.
#pragma once

#include "emulator/site.h"

#include <cstddef>
#include <string>
#include <vector>

namespace emulator {
// Bytes with MARGIN bytes without access on either side; nullptr if there are none left.
constexpr std::size_t MARGIN = 64 * 1024;
void *map_between_margins(std::size_t bytes);
void unmap_between_margins(void *begin, std::size_t bytes);

// Memory that kernels may access, at least 256-byte aligned: cudaMalloc's, cudaMallocManaged's or
// cudaMallocHost's, of which host code may not access the first. nullptr if there is none left.
// Every byte is POISON, so that what was never written is a NaN in each floating point format.
enum class Kind { DEVICE, MANAGED, PAGE_LOCKED };
constexpr unsigned char POISON = 0xff;
void *global_allocate(std::size_t bytes, Kind kind = Kind::DEVICE);

// Frees it. Its addresses are never used again. False if it is none, or was freed before.
bool global_free(void *begin, bool page_locked = false);

enum class GlobalPlace {
    INSIDE,
    OUTSIDE, // outside an allocation, but so near that it must be meant
    FREED,
    ELSEWHERE // not global memory; also page-locked
};

// What [address, address + bytes) is.
GlobalPlace global_place(const void *address, std::size_t bytes);

// Whether the memory there is the host's alone: neither allocated for kernels, nor a variable of
// the program, nor a thread's, nor a launch's parameters. False in programs that were written for
// the emulator.
bool is_host_memory(const void *address);
// Memory of cudaMallocHost.
bool is_page_locked(const void *address);

// Whether it is global memory that host code may not access, freed or not.
bool is_device_memory(const void *address);

// Where a launch keeps the parameters that its threads copy.
void set_parameters(const void *begin, std::size_t bytes);

// Bytes from the begin of the allocation that an address lies in or beside, freed or not.
std::ptrdiff_t global_offset(const void *address);

// What is wrong with an access to memory of an allocation: it was freed, or the access reaches out
// of it. `access` begins the sentence: "a thread writes", "TMA load of".
std::string global_mistake(const char *access, const void *address, std::size_t bytes);

// The current thread starts a copy, `copy`, from or to these bytes: fails with ADDRESS if they are
// global memory that it may not touch.
void check_global(const void *begin, std::size_t bytes, const char *copy, Site where);

// A copy, a fill or a library's call on a stream touches global memory as a launch does, and what
// it touches has to be of that side. What is wrong with it, which then did nothing; or "".
enum class Side { DEVICE, HOST, EITHER };
struct StreamAccess {
    const void *memory;
    std::size_t bytes;
    bool is_write;
    Side side = Side::DEVICE;
};
std::string access_on(const void *stream, const std::vector<StreamAccess> &accesses);
} // namespace emulator
