// Threads that wait for the same thing.
#pragma once

#include <vector>

namespace emulator {

struct Thread;

struct WaitQueue {
    std::vector<Thread *> threads;

    // Makes all of them runnable; each checks again whether it may go on.
    void wake_all();
};

} // namespace emulator
