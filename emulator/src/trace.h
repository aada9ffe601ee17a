// The trace of one CTA of each launch: what its warps did, and the operations that they started, in
// their order. EMULATOR_TRACE names the file that it goes to (README.md has its format), and
// EMULATOR_CTA the CTA, counted from 0, x fastest; by default it is the middle one.
#pragma once

#include "emulator/report.h"

#include <string>

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
} // namespace emulator
