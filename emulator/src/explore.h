// The orders that one run does not decide: in which warps access the same memory by atomics, and by
// accesses like them. With EMULATOR_EXPLORE=RUNS a launch that has such accesses is repeated by
// forked processes, in one order of each class of equivalent ones. (notes/proof.md)
#pragma once

#include "emulator/atomics.h"
#include "emulator/report.h"
#include "proof.h"

namespace emulator::explore {

extern const bool is_on; // EMULATOR_EXPLORE or EMULATOR_ORDER is set

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
bool is_forked(); // this process runs one of the orders
void launch_begins();
void fails(proof::Condition condition, const char *why, const Origin &where);

// The turns that are not the usual ones: "12:3,14:0", numbers of turns and of warps. EMULATOR_ORDER
// takes them.
std::string order();
// What the orders came to, for the proof's line. Whether they were all.
std::string result(bool *all);

} // namespace emulator::explore
