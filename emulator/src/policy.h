// Policies: the order of events that nothing orders. On a GPU a copy may land, and a thread may
// continue, at any legal moment; so a correct program must be correct in every legal order. The
// fixed policies are the extremes. A random policy draws not only its choices from the seed, but
// also its preferences: uniform choices almost never delay one event for long enough.
#pragma once

#include <cstdint>

namespace emulator {
enum class OperationKind {
    LOAD,        // a TMA load writes shared memory
    MATMUL,      // a wgmma reads its tiles and writes its accumulators
    STORE_READ,  // a bulk store reads shared memory
    STORE_WRITE, // the same store writes global memory
    COPY         // a cp.async reads global and writes shared memory
};
constexpr int OPERATION_KINDS = 5;

enum class Pick { OLDEST, NEWEST, ANY };

struct Policy {
    const char *name;
    bool at_once = false; // operations complete while they are issued; else as late as possible
    Pick operation = Pick::OLDEST; // which pending operation completes, if nothing else can happen
    Pick thread = Pick::OLDEST;    // which runnable thread goes on
    bool kinds_in_order = false;   // of pending operations, loads and copies first, then matmuls,
                                   // stores' reads, stores' writes; `operation` within a kind
    bool random = false;
    // For random policies.
    std::uint64_t seed = 0;
    // Once per this many steps, 0 for never.
    unsigned completes[OPERATION_KINDS] = {}; // a pending operation of the kind completes early
    unsigned yields = 0;                      // a schedule point lets another thread go first
    unsigned changes_cta = 0;                 // the scheduler goes on with another CTA
    int favoured_cta = -1;                    // whose operations complete first; -1: none
};

// The policy in force: the default, eager, or the one that was chosen (emulator.h). One may be
// chosen before main() begins.
extern Policy chosen_policy;
inline const Policy &policy() { return chosen_policy; }

// A random number below `limit` (at least 1), from the seed of the policy. The same seed gives the
// same run.
unsigned random_below(unsigned limit);

// True once in `times` on average; never for 0.
bool once_in(unsigned times);
} // namespace emulator
