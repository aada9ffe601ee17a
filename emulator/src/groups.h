// What threads wait for: queues of them; and a thread's asynchronous copies, in groups: those of
// cp.async (cp_async.h), and bulk stores (tma.h).
#pragma once

#include "emulator/mbarrier.h"
#include "order.h"
#include "emulator/site.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace emulator {

struct Thread;

// Threads that wait for the same thing.
struct WaitQueue {
    std::vector<Thread *> threads;

    // Makes all of them runnable; each checks again whether it may go on.
    void wake_all();
};

// Groups, numbered in the order of their commits. Those that the thread has waited for are
// forgotten.
template <typename Group>
struct Groups {
    Group open;                  // not committed yet
    std::deque<Group> committed; // oldest first
    std::uint64_t first = 0;     // number of committed.front()
    WaitQueue waiting;           // the thread itself

    // The number of the open group, and the group of a number.
    std::uint64_t number() const { return first + committed.size(); }
    Group &at(std::uint64_t number) {
        return number - first < committed.size() ? committed[number - first] : open;
    }
    void commit() { committed.push_back(std::exchange(open, Group{})); }

    // How many of the oldest groups a wait that leaves `pending` covers.
    std::size_t covered(int pending) const {
        return committed.size() - std::min(committed.size(), std::size_t(pending));
    }
    // How many of their operations are missing, by a counter of each group.
    int missing(std::size_t covered, int Group::*counter) const {
        int sum = 0;
        for (std::size_t i = 0; i < covered; ++i)
            sum += committed[i].*counter;
        return sum;
    }
    // The thread acquires what the groups have released.
    void acquire(std::size_t covered, order::Carrier Group::*carrier) {
        for (std::size_t i = 0; i < covered; ++i)
            order::acquire(committed[i].*carrier);
    }
    void forget(std::size_t covered) {
        committed.erase(committed.begin(), committed.begin() + static_cast<long>(covered));
        first += covered;
    }
};

// cp.async.mbarrier.arrive: an arrival that happens with the last of the thread's copies before it.
struct CopyArrival {
    MbarrierRef barrier;
    std::uint64_t before; // the number of the thread's first copy after it
    int missing;          // copies that have not landed
    Site site;
};

struct CopyGroup {
    int unlanded = 0;                      // copies that have not happened yet
    order::Carrier done;                   // released by each copy
    std::uint32_t agent = order::NO_AGENT; // of all of them: they are waited for together
};

struct BulkGroup {
    int stores = 0;
    int unread = 0;       // stores that still have to read shared memory
    int unwritten = 0;    // stores that still have to write global memory
    Site site{};          // of the first store
    order::Carrier read;  // released when a store has read
    order::Carrier wrote; // and when it has written
};

} // namespace emulator
