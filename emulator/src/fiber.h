// Fibers: functions with their own stacks that switch to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include <setjmp.h>

namespace emulator {
// Bytes of a fiber's stack. The page below it has no access rights, so that an overflow faults.
constexpr std::size_t FIBER_STACK = 64 * 1024;

// What the upper part of a new fiber's stack holds: variables that were never written. It is a NaN
// in fp32, and two in fp16 and in bf16.
constexpr std::uint32_t FIBER_POISON = 0x7fff7ffd;
constexpr std::size_t FIBER_POISONED = 4096;

struct Fiber {
    jmp_buf registers; // while it does not run; on x86-64 eight words of its own order
};

// The stacks of up to `count` fibers, in one mapping. They are reused from cluster to cluster.
// Ends the program with a message if the memory cannot be had.
void fiber_stacks_reserve(int count);

// The address past the end of stack number `index`. Addresses below are variables of that fiber.
const char *fiber_stack_end(int index);

// The number of the stack that `address` lies on, or -1.
int fiber_stack_of(const void *address);

// Makes a fiber that starts in entry() when it is first switched to, on stack number `index`.
// entry() must never return: it ends with a switch away.
void fiber_create(Fiber &fiber, int index, void (*entry)());

// Saves the running fiber in `from` and continues `to`.
void fiber_switch(Fiber &from, Fiber &to);
} // namespace emulator
