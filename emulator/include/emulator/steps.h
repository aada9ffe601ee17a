// Emulated steps, the time of a trace: they show only what came before what. And the listener for
// operations that a CTA's threads have started.
#pragma once

#include <cstdint>

namespace emulator {

struct Operation;

// The number of this step, one more than the last one's; and the last one's.
std::uint32_t next_step();
std::uint32_t last_step();

// Whether the pointer is one into the current CTA's shared memory.
bool is_shared(const void *address);

// An operation is started; it has happened: the listener is told, if there is one. Each is a step.
// Nothing is told of cp.async, of which every thread has many.
void start_operation(Operation &operation);
void tell_operation(const Operation &operation);

} // namespace emulator
