// Whether one run decides for all orders of events (notes/proof.md), and the orders that one run
// does not decide: in which warps access the same memory by atomics, and by accesses like them.
// With EMULATOR_EXPLORE=RUNS a launch that has such accesses is repeated by forked processes, in
// one order of each class of equivalent ones.
#pragma once

#include "emulator/atomics.h"
#include "emulator/report.h"

#include <cstdint>
#include <tuple>

namespace emulator::proof {
// By the page's numbers. SUMS, which is no gap: atomics have added rounded numbers.
// ATOMICS is a part of CHOICES that can be explored; where BYTES fails is a report.
enum Condition { SUMS, RACES, PHASES, WAITS, BYTES, CHOICES, ATOMICS };
// A condition fails there: a gap in the proof, and no mistake. The first of each is kept.
void fails(Condition condition, const char *why, const Origin &where);
// The current thread tests an mbarrier's phase, at a time of its own. If that is not complete, the
// same has to follow: then the two are part of a wait, as try_wait in a loop is.
using Poll = std::tuple<const void *, std::uint64_t, std::int32_t>;
void polls(const Poll &poll, Site where, bool succeeds);
void does_something_else();

extern const bool is_explored; // EMULATOR_EXPLORE or EMULATOR_ORDER is set

struct Access {
    const char *begin;
    std::size_t bytes;
    Touch touch;
    const char *commuting; // CellAccess's
};
// The current thread waits for its warp's turn to make the access, and then has made it: with
// Touch::READ, if it changed nothing.
void wait_for_turn(const Access &access, const Origin &where);
void accessed(Access access, Touch touch);
bool is_in_turn(); // between the two
// No thread can go on otherwise: the threads of a warp that wait at one line have their turn. False
// if there are none. Those that read the same in a loop wait until it is written; or, if `forced`,
// until nothing else can happen.
bool next_turn(bool forced);
void launch_begins();

// The turns that are not the usual ones: "12:3,14:0", numbers of turns and of warps. EMULATOR_ORDER
// takes them.
std::string order();
} // namespace emulator::proof
