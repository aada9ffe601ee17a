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
    static dim3 block_index() { return dim3(block_rank()); }
    static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
    // Where CTA `rank` has what this one has there.
    template <typename T>
    static T *map_shared_rank(T *object, unsigned rank, EMULATOR_SITE) {
        return static_cast<T *>(emulator::cluster_address(object, int(rank), where));
    }
};
inline cluster_group this_cluster() { return {}; }

// All CTAs of a launch. They wait for each other only if they are one cluster: the emulator runs
// one cluster after the other.
class grid_group {
public:
    static void sync(EMULATOR_SITE) { emulator::grid_sync(where); }
    static bool is_valid() { return true; }
    static unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
    static unsigned block_rank() {
        return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
    static unsigned num_threads() { return num_blocks() * thread_block::num_threads(); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank() {
        return block_rank() * thread_block::num_threads() + thread_block::thread_rank();
    }
};
inline grid_group this_grid() { return {}; }

// The lanes of the calling thread's tile.
inline unsigned tile_mask(unsigned size) {
    return ~0u >> (32 - size) << thread_block::thread_rank() % 32 / size * size;
}

// A part of a warp: SIZE neighbours of the block, a power of two. Its functions are those of the
// warp for its lanes.
template <unsigned SIZE, typename Parent = void>
class thread_block_tile {
    static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "tiles of 1 to 32 threads");
    static unsigned lane() { return thread_block::thread_rank() % 32; }
    static unsigned first() { return lane() / SIZE * SIZE; }
    static unsigned mask() { return tile_mask(SIZE); }

public:
    thread_block_tile() = default;
    template <typename Other>
    thread_block_tile(const thread_block_tile<SIZE, Other> &) {}
    static unsigned thread_rank() { return lane() % SIZE; }
    static constexpr unsigned num_threads() { return SIZE; }
    static constexpr unsigned size() { return SIZE; }
    static unsigned meta_group_rank() { return thread_block::thread_rank() / SIZE; }
    static unsigned meta_group_size() { return (thread_block::size() + SIZE - 1) / SIZE; }
    static void sync(EMULATOR_SITE) { __syncwarp(mask(), where); }
    template <typename T>
    T shfl(T value, int rank, EMULATOR_SITE) const {
        return __shfl_sync(mask(), value, rank, SIZE, where);
    }
    template <typename T>
    T shfl_up(T value, unsigned delta, EMULATOR_SITE) const {
        return __shfl_up_sync(mask(), value, delta, SIZE, where);
    }
    template <typename T>
    T shfl_down(T value, unsigned delta, EMULATOR_SITE) const {
        return __shfl_down_sync(mask(), value, delta, SIZE, where);
    }
    template <typename T>
    T shfl_xor(T value, int bits, EMULATOR_SITE) const {
        return __shfl_xor_sync(mask(), value, bits, SIZE, where);
    }
    unsigned ballot(int predicate, EMULATOR_SITE) const {
        return __ballot_sync(mask(), predicate, where) >> first();
    }
    int any(int predicate, EMULATOR_SITE) const { return ballot(predicate, where) != 0; }
    int all(int predicate, EMULATOR_SITE) const { return ballot(!predicate, where) == 0; }
};
// The calling thread's part of a block or tile.
template <unsigned SIZE, typename Parent>
thread_block_tile<SIZE, Parent> tiled_partition(const Parent &) {
    return {};
}

// A block or a tile, which a program knows when it runs. (Guide: Group Types.)
class thread_group {
    unsigned tile = 0; // its size; 0: a block

public:
    explicit thread_group(unsigned tile) : tile(tile) {}
    thread_group(const thread_block &) {}
    template <unsigned SIZE, typename Parent>
    thread_group(const thread_block_tile<SIZE, Parent> &) : tile(SIZE) {}
    unsigned size() const { return tile != 0 ? tile : thread_block::size(); }
    unsigned num_threads() const { return size(); }
    unsigned thread_rank() const { return thread_block::thread_rank() % size(); }
    void sync(EMULATOR_SITE) const {
        tile != 0 ? __syncwarp(tile_mask(tile), where) : thread_block::sync(where);
    }
};
inline thread_group tiled_partition(const thread_group &, unsigned size) {
    return thread_group(size);
}

// Combine the values of a tile's threads; each gets the result.
template <typename T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <typename T>
struct less {
    T operator()(T a, T b) const { return b < a ? b : a; }
};
template <typename T>
struct greater {
    T operator()(T a, T b) const { return a < b ? b : a; }
};
template <unsigned SIZE, typename Parent, typename T, typename Operation>
T reduce(const thread_block_tile<SIZE, Parent> &tile, T value, const Operation &operation,
         EMULATOR_SITE) {
    for (unsigned bits = SIZE / 2; bits > 0; bits /= 2)
        value = operation(value, tile.shfl_xor(value, int(bits), where));
    return value;
}

// Waits for the threads of the group.
template <typename Group>
void sync(const Group &group, EMULATOR_SITE) {
    group.sync(where);
}

} // namespace cooperative_groups
