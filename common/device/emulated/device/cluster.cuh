// The emulator's clusters: their CTAs run interleaved. Clusters stretch along x, as the rungs' do
// (launches refuse others), so that a cluster's place follows from blockIdx.
#pragma once

#include "device/base.cuh"

#include "emulator/barriers.h"
#include "emulator/runtime.h"

// %cluster_ctarank.
DEVICE int cluster_cta_rank() { return emulator::cluster_cta_rank(); }

// %clusterid.x.
DEVICE int cluster_index() { return int(blockIdx.x) / emulator::cluster_ctas(); }

// %nclusterid.x.
DEVICE int cluster_count() { return int(gridDim.x) / emulator::cluster_ctas(); }

// Both halves of the cluster's barrier. A missing one shows when a peer's memory is used too early
// or too late.
DEVICE void cluster_sync(EMULATOR_SITE) {
    emulator::cluster_arrive(where);
    emulator::cluster_wait(where);
}

// The same, which orders nothing.
DEVICE void cluster_sync_relaxed(EMULATOR_SITE) {
    emulator::cluster_arrive(where, true);
    emulator::cluster_wait(where);
}

// LIFETIME if the peer has exited, or if no cluster barrier says that it has started; or if it
// exits before a cluster barrier says that this thread has finished.
DEVICE void load4_cluster(float (&values)[4], const float *source, int cta_rank, EMULATOR_SITE) {
    emulator::cluster_read(values, source, sizeof(values), cta_rank, where);
}
