// The story of two unordered accesses, below their report: what both agents released and acquired
// since the last point that comes before the other's access. Only a run that is made to tell one is
// recorded: runs are deterministic, so one that has found a mistake can be made again.
//
// And the trace of one CTA of each launch: what its warps did, and the operations that they
// started, in their order. EMULATOR_TRACE names the file that it goes to (README.md has its
// format), and EMULATOR_CTA the CTA, counted from 0, x fastest; by default it is the middle one.
#pragma once

#include "order.h"
#include "emulator/report.h"

namespace emulator {
struct Grid;
struct Operation;
struct Thread;

namespace trace {
extern const bool is_on;

void begin_launch(const Grid &grid);
void end_launch();

// What the current thread has done, or the operation that happens. Of a warp lane 0 counts, and of
// the same again and again only when it began and ended.
void did(const std::string &what, const std::string &with, const Origin &where);
// The current thread has written there.
void wrote(const Thread &thread, const char *where, const Origin &line);
// It starts an operation; which has happened. Of cp.async only the groups are told.
void starts(const Operation &operation);
void happened(const Operation &operation);
} // namespace trace

namespace story {
extern const bool is_recorded; // EMULATOR_STORY is set, and not to 0

// The running agent is about to release by a carrier, or has acquired.
void add(const std::string &did, const std::string &carrier, const Origin &where);
template <typename... Arguments>
void record(const Origin &where, const char *did, const char *carrier, Arguments... arguments) {
    if (is_recorded || trace::is_on)
        add(did, format(carrier, arguments...), where);
}
// By the running agent; what the operation does has that epoch.
void record_issue(const char *operation, const Origin &where, const order::Epoch &issued);

// One of the two accesses; or, without `did`, what the agent had done last by then.
struct Access {
    order::Epoch epoch;
    const char *did = "";
    Origin where = Site{};
};
// The report that comes, whose first line of source is mine's, is about these two.
void begin(const Access &mine, const Access &other, Space space = Space::SHARED);
// The story, if this run is made to tell that of the report.
std::string text(const std::string &kind, const std::vector<Note> &notes);
} // namespace story
} // namespace emulator
