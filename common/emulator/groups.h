// A thread's asynchronous copies, in the groups that it waits for: those of cp.async (cp_async.h),
// and bulk stores (tma.h).
#pragma once

#include "emulator/mbarrier.h"
#include "emulator/races.h"
#include "emulator/site.h"
#include "emulator/wait_queue.h"

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace emulator {

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
        const std::size_t kept = static_cast<std::size_t>(pending);
        return committed.size() > kept ? committed.size() - kept : 0;
    }
    // How many of their operations are missing, by a counter of each group.
    int missing(std::size_t covered, int Group::*counter) const {
        int sum = 0;
        for (std::size_t i = 0; i < covered; ++i)
            sum += committed[i].*counter;
        return sum;
    }
    // The thread acquires what the groups have released.
    void acquire(std::size_t covered, races::Token Group::*token) const {
        for (std::size_t i = 0; i < covered; ++i)
            if ((committed[i].*token).carrier() != nullptr)
                races::acquire((committed[i].*token).carrier());
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
    int unlanded = 0;  // copies that have not happened yet
    races::Token done; // released by each copy
};

// Where a store writes: the rows of its box, by their addresses.
struct Written {
    struct Row {
        const unsigned char *begin, *end;
    };
    std::vector<Row> rows;
    Site site; // of the store
};

struct BulkGroup {
    int stores = 0;
    int unread = 0;     // stores that still have to read shared memory
    int unwritten = 0;  // stores that still have to write global memory
    Site site{};        // of the first store
    races::Token read;  // released when a store has read
    races::Token wrote; // and when it has written
    std::vector<Written> written;
};

} // namespace emulator
