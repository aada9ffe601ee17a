// Barriers, and functions of a warp's lanes: each passes an argument, and the last one to arrive
// does the work for all. Lanes wait for those of their own mask alone, so that several groups may
// meet at once; two that wait for each other in different functions have diverged: MISUSE. (PTX
// ISA: shfl.sync, vote.sync, redux.sync, elect.sync, bar.warp.sync.)
#pragma once

#include "emulator/site.h"

#include <cstdint>

namespace emulator {
struct Cta;
struct Thread;

constexpr std::uint32_t WHOLE_WARP = 0xffffffff;

// The current thread joins all lanes of its warp in `what`, an .aligned instruction. The last lane
// calls work(arguments), with the arguments of all lanes by lane number; then all go on. A lane
// that has exited is MISUSE.
void warp_together(const char *what, void *argument, void (*work)(void **arguments), Site where);

// The current thread executes an .aligned instruction: all lanes of its warp have to execute the
// same ones, at the same places of the kernel, in the same order, else they have diverged: MISUSE.
// Lanes that exited before they came to its line need not. (PTX ISA: barrier{.cta};
// wgmma.mma_async; .aligned.)
void warp_aligned(const char *what, Site where);

// Of the functions below lanes of the mask that have exited do not count.

// elect.sync: the number of the first lane that takes part.
int warp_elect(std::uint32_t mask, Site where);

// shfl.sync of 32 or 64 bits: the value of another lane, within the segments that PTX's clamp says;
// the own value if that lane is outside of the segment. MISUSE if the source lane is not in the
// mask.
enum class Shuffle { INDEX, UP, DOWN, XOR };
std::uint64_t warp_shuffle(Shuffle how, std::uint32_t mask, std::uint64_t value,
                           std::uint32_t operand, std::uint32_t clamp, bool &is_inside, Site where);

// vote.sync: one bit per lane of the mask whose predicate holds. `what` tells its forms apart.
std::uint32_t warp_vote(const char *what, std::uint32_t mask, bool predicate, Site where);

// redux.sync: of all lanes of the mask, as unsigned or signed numbers.
enum class Reduction { ADD, AND, OR, XOR, MIN_U32, MAX_U32, MIN_S32, MAX_S32 };
std::uint32_t warp_reduce(Reduction how, std::uint32_t mask, std::uint32_t value, Site where,
                          const char *what = "__reduce_sync");

// The lanes of the current thread's warp that have not exited.
std::uint32_t warp_active();

// bar.warp.sync.
void warp_sync(std::uint32_t mask, Site where);

// A thread exits: the rest of its warp may have waited only for it. Called by the scheduler.
void warp_thread_exits(Thread &thread);

// ---------------------------------------------------------------------------- barriers
// bar.sync id, threads: ids 0 to 15, whole warps, at most the CTA's threads (else MISUSE, as for
// two different counts in one phase, or a warp that arrives twice in one). A warp arrives as a
// whole. Orders what the threads did before with what they do after.
// `threads` is ALL_THREADS for all that have not exited. `aligned`: all lanes of a warp call it.
constexpr int ALL_THREADS = -1;
void named_barrier_sync(int id, int threads, Site where, bool aligned = true);

// barrier.red: waits, and returns how many of the threads that arrived have the predicate.
int barrier_sync_count(int id, int threads, bool predicate, Site where);

// bar.arrive: the same without the wait.
void named_barrier_arrive(int id, int threads, Site where, bool aligned = true);

// __syncthreads: barrier 0 for all threads of the CTA that have not exited.
void syncthreads(Site where);

// barrier.cluster.arrive.release and .wait.acquire. Exited threads do not count. A second arrive
// without a wait between is MISUSE. A relaxed arrival orders nothing. `aligned` as above.
void cluster_arrive(Site where, bool relaxed = false, bool aligned = true);
void cluster_wait(Site where, bool aligned = true);

// A thread exits: barriers that waited only for others may complete now. Called by the scheduler.
void barriers_thread_exits(Cta &cta);
} // namespace emulator
