// Cooperative groups: the block, and its cluster. (CUDA C++ Programming Guide: Cooperative Groups.)
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {

// The threads of a CTA.
class thread_block {
public:
    static void sync(EMULATOR_SITE) { emulator::syncthreads(where); }
    static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    static unsigned size() { return num_threads(); }
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }

// The CTAs of a cluster.
class cluster_group {
public:
    static void sync(EMULATOR_SITE) {
        emulator::cluster_arrive(where);
        emulator::cluster_wait(where);
    }
    static void barrier_arrive(EMULATOR_SITE) { emulator::cluster_arrive(where); }
    static void barrier_wait(EMULATOR_SITE) { emulator::cluster_wait(where); }
    static unsigned block_rank() { return unsigned(emulator::cluster_cta_rank()); }
    static unsigned num_blocks() { return unsigned(emulator::cluster_ctas()); }
};
inline cluster_group this_cluster() { return {}; }

// Waits for the threads of the group.
template <typename Group>
void sync(const Group &group, EMULATOR_SITE) {
    group.sync(where);
}

} // namespace cooperative_groups
