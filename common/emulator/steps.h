// Emulated steps, the time of a trace: they tell what came before what, and nothing else. And who
// listens to what a CTA's threads have started.
#pragma once

#include <cstdint>

namespace emulator {

struct Operation;

// The number of this step, one more than the last one's; and the last one's.
std::uint32_t next_step();
std::uint32_t last_step();

// Whether the pointer is one into the current CTA's shared memory.
bool is_shared(const void *address);

// An operation is started; it has happened: who listens is told, if anybody does. Each is a step.
// But of cp.async, of which every thread has many, nothing is told.
void start_operation(Operation &operation);
void tell_operation(const Operation &operation);

} // namespace emulator
