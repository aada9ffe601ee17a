// The story of two unordered accesses, below their report: what both agents released and acquired
// since the last point that comes before the other's access. Only a run that is made to tell one is
// recorded: runs are deterministic, so one that has found a mistake can be made again.
#pragma once

#include "order.h"
#include "trace.h"
#include "emulator/report.h"

namespace emulator::story {

extern const bool is_recorded; // EMULATOR_STORY is set, and not to 0

// The running agent is about to release by a carrier, or has acquired.
void add(const std::string &did, const std::string &carrier, const Origin &where);
template <typename... Arguments>
void record(const Origin &where, const char *did, const char *carrier, Arguments... arguments) {
    if (is_recorded || trace::is_on)
        add(did, format(carrier, arguments...), where);
}
void record_issue(const order::Context &operation); // by the running thread

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

} // namespace emulator::story
