// Barriers without an object: of the CTA (bar.sync, __syncthreads) and of the cluster.
#pragma once

#include "emulator/site.h"

namespace emulator {
struct Cta;

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
