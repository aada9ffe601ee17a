// What a thread remembers of its bulk stores (tma.h).
#pragma once

#include "emulator/races.h"
#include "emulator/site.h"
#include "emulator/wait_queue.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace emulator {

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

// A thread's side of TMA: its groups of bulk stores, numbered in the order of their commits. Groups
// that it has waited for are forgotten.
struct BulkGroups {
    BulkGroup open;                  // not committed yet
    std::deque<BulkGroup> committed; // oldest first
    std::uint64_t first = 0;         // number of committed.front()
    WaitQueue waiting;               // the thread itself
};

} // namespace emulator
