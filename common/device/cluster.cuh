// Thread-block clusters: CTAs that run on one GPC at the same time and reach each other's shared
// memory. (CUDA C++ Programming Guide: Thread Block Clusters; PTX ISA: barrier.cluster.)
#pragma once

#include "device/shared_memory.cuh"

// The calling CTA's rank in its cluster: 0 to the cluster's CTAs - 1.
DEVICE int cluster_cta_rank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return int(rank);
}

// The place of the calling CTA's cluster in the grid (x dimension): 0 to cluster_count() - 1.
DEVICE int cluster_index() {
    uint32_t index;
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(index));
    return int(index);
}

// The number of clusters in the grid (x dimension).
DEVICE int cluster_count() {
    uint32_t count;
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
    return int(count);
}

// Waits for all threads of all CTAs of the cluster; what they wrote before is visible after. Needed
// before the first access to a peer's shared memory, which must exist and be initialised, and
// before exit, while a peer may still arrive on this CTA's barriers. The instructions are .aligned:
// all lanes of a warp must execute them together. The producer's lane leaves its loop late, so the
// warp reconverges first. (PTX ISA: barrier.cluster, bar.warp.sync.)
DEVICE void cluster_sync() {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\n"
                 "barrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
}

// cluster_sync() that orders no memory: for mbarriers that were initialised and fenced, and before
// exit. The release of cluster_sync() is a fence for the whole GPU (MEMBAR.ALL.GPU), which a small
// product feels. (PTX ISA: barrier.cluster: .relaxed; fence.mbarrier_init has this example.)
DEVICE void cluster_sync_relaxed() {
    __syncwarp();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\n"
                 "barrier.cluster.wait.aligned;" ::
                     : "memory");
}

// Reads 4 fp32 values from the shared memory of CTA `cta_rank` of the cluster, where the calling
// CTA has `source` in its own, 16-byte aligned. The peer must have started, and must not exit
// before: cluster_sync() sees to both, and orders the peer's writes before. (PTX ISA: mapa; ld.)
DEVICE void load4_cluster(float (&values)[4], const float *source, int cta_rank) {
    asm volatile("{\n"
                 ".reg .b32 peer;\n"
                 "mapa.shared::cluster.u32 peer, %4, %5;\n"
                 "ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [peer];\n"
                 "}"
                 : "=f"(values[0]), "=f"(values[1]), "=f"(values[2]), "=f"(values[3])
                 : "r"(shared_address(source)), "r"(cta_rank)
                 : "memory");
}
