// Barriers without an object: of the CTA (bar.sync, __syncthreads) and of the cluster.
#pragma once

#include "emulator/site.h"

namespace emulator {

struct Cta;

// bar.sync id, threads: ids 0 to 15, whole warps, at most the CTA's threads (else MISUSE, as for
// two different counts in one phase). Orders what the threads did before with what they do after.
void named_barrier_sync(int id, int threads, Site where);

// __syncthreads: barrier 0 for all threads of the CTA that have not exited.
void syncthreads(Site where);

// barrier.cluster.arrive.release and .wait.acquire. Exited threads do not count. A second arrive
// without a wait between is MISUSE.
void cluster_arrive(Site where);
void cluster_wait(Site where);

// A thread exits: barriers that waited only for others may complete now. Called by the scheduler.
void barriers_thread_exits(Cta &cta);

} // namespace emulator
