// Whether one run decides for all orders of events: notes/proof.md has the argument.
#pragma once

#include "emulator/report.h"
#include <cstdint>
#include <tuple>

namespace emulator::proof {
// By the page's numbers. SUMS, which is no gap: atomics have added rounded numbers.
// ATOMICS is a part of CHOICES that can be explored (explore.h).
enum Condition { SUMS, RACES, PHASES, WAITS, BYTES, CHOICES, ATOMICS };
// A condition fails there: a gap in the proof, and no mistake. The first of each is kept.
void fails(Condition condition, const char *why, const Origin &where);
// The current thread tests an mbarrier's phase, at a time of its own. If that is not complete, the
// same has to follow: then the two are part of a wait, as try_wait in a loop is.
using Poll = std::tuple<const void *, std::uint64_t, std::int32_t>;
void polls(const Poll &poll, Site where, bool succeeds);
void does_something_else();
} // namespace emulator::proof
