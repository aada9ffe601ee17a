// Inside of the scheduler: grid.cpp makes the threads and ends them, scheduler.cpp lets them run,
// deadlock.cpp says why none can.
#pragma once

#include "emulator/machine.h"

namespace emulator {

// Runs the threads of the cluster, one at a time, until all have exited. Pending operations may
// remain.
void run_threads(Cluster &cluster);

// Makes a thread runnable.
void make_runnable(Thread &thread);

// The current thread has exited; never returns.
[[noreturn]] void leave_for_good();

// Says who waits for what, and ends the program.
[[noreturn]] void fail_with_deadlock(const Cluster &cluster);

} // namespace emulator
