// Cooperative groups: the block, its cluster, the grid, and lanes of a warp. (CUDA C++ Programming
// Guide: Cooperative Groups.)
#pragma once

#include <cuda_runtime.h>

namespace cooperative_groups {
// The threads of a CTA, or lanes of a warp.
class thread_group {
protected:
    unsigned mask; // the lanes, which are neighbours; 0: it is the CTA

    static unsigned block_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    static unsigned lane() { return block_rank() % 32; }

public:
    explicit thread_group(unsigned mask = 0) : mask(mask) {}
    // The lanes of the own one of its parts of `size` threads, a power of two.
    unsigned part(unsigned size) const {
        return (size == 32 ? ~0u : (1u << size) - 1) << lane() / size * size;
    }
    void sync(EMULATOR_SITE) const {
        mask != 0 ? __syncwarp(mask, where)
                  : emulator::named_barrier_sync(0, emulator::ALL_THREADS, where, false);
    }
    unsigned thread_rank() const {
        return mask != 0 ? lane() - std::countr_zero(mask) : block_rank();
    }
    unsigned num_threads() const {
        return mask != 0 ? __popc(mask) : blockDim.x * blockDim.y * blockDim.z;
    }
    unsigned size() const { return num_threads(); }
};

class thread_block : public thread_group {
public:
    static dim3 group_index() { return blockIdx; }
    static dim3 thread_index() { return threadIdx; }
    static dim3 group_dim() { return blockDim; }
    static dim3 dim_threads() { return blockDim; }
};
inline thread_block this_thread_block() { return {}; }
inline thread_group this_thread() { return thread_group(1u << thread_block().thread_rank() % 32); }

// What groups of whole CTAs have, by Of::num_blocks() and Of::block_rank().
template <typename Of>
struct blocks_group {
    static unsigned num_threads() { return Of::num_blocks() * thread_block().num_threads(); }
    static unsigned size() { return num_threads(); }
    static unsigned thread_rank() {
        return Of::block_rank() * thread_block().num_threads() + thread_block().thread_rank();
    }
};

// The CTAs of a cluster.
struct cluster_group : blocks_group<cluster_group> {
    static void sync(EMULATOR_SITE) {
        emulator::cluster_arrive(where);
        emulator::cluster_wait(where);
    }
    static void barrier_arrive(EMULATOR_SITE) { emulator::cluster_arrive(where); }
    static void barrier_wait(EMULATOR_SITE) { emulator::cluster_wait(where); }
    static unsigned block_rank() { return unsigned(emulator::cluster_cta_rank()); }
    static unsigned num_blocks() { return unsigned(emulator::cluster_ctas()); }
    static dim3 block_index() { return dim3(block_rank()); }
    // Where CTA `rank` has what this one has there.
    template <typename T>
    static T *map_shared_rank(T *object, unsigned rank, EMULATOR_SITE) {
        return static_cast<T *>(emulator::cluster_address(object, int(rank), where));
    }
};
inline cluster_group this_cluster() { return {}; }

// All CTAs of a launch, of up to 16,384 threads if they wait for each other.
struct grid_group : blocks_group<grid_group> {
    static void sync(EMULATOR_SITE) { emulator::grid_sync(where); }
    static bool is_valid() { return true; }
    static unsigned num_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
    static unsigned block_rank() {
        return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    }
};
inline grid_group this_grid() { return {}; }

// Lanes of a warp. Their functions are those of the warp, with ranks in place of lanes.
class coalesced_group : public thread_group {
    int first() const { return std::countr_zero(mask); }

public:
    using thread_group::thread_group;

    // The own value if there is no such rank.
#define EMULATOR_SHUFFLE(name, source)                                                             \
    template <typename T>                                                                          \
    T name(T value, unsigned by, EMULATOR_SITE) const {                                            \
        const unsigned own = thread_rank(), rank = source;                                         \
        return __shfl_sync(mask, value, first() + int(rank < size() ? rank : own), 32, where);     \
    }
    EMULATOR_SHUFFLE(shfl, by % size())
    EMULATOR_SHUFFLE(shfl_up, own - by)
    EMULATOR_SHUFFLE(shfl_down, own + by)
    EMULATOR_SHUFFLE(shfl_xor, own ^ by)
#undef EMULATOR_SHUFFLE
    unsigned ballot(int predicate, EMULATOR_SITE) const {
        return __ballot_sync(mask, predicate, where) >> first();
    }
    int any(int predicate, EMULATOR_SITE) const { return __any_sync(mask, predicate, where); }
    int all(int predicate, EMULATOR_SITE) const { return __all_sync(mask, predicate, where); }
};
// A GPU may return any threads that happen to be together. Here each is alone, with any label.
inline coalesced_group coalesced_threads() { return coalesced_group(thread_group().part(1)); }
template <std::same_as<coalesced_group> Group>
Group labeled_partition(const Group &group, auto) {
    return group;
}

// SIZE neighbours of the block.
template <unsigned SIZE, typename Parent = void>
class thread_block_tile : public coalesced_group {
    static_assert(SIZE <= 32 && (SIZE & (SIZE - 1)) == 0, "tiles of 1 to 32 threads");

public:
    thread_block_tile() : coalesced_group(thread_group().part(SIZE)) {}
    template <typename Other>
    thread_block_tile(const thread_block_tile<SIZE, Other> &) : thread_block_tile() {}
    static constexpr unsigned num_threads() { return SIZE; }
    static constexpr unsigned size() { return SIZE; }
    static unsigned meta_group_rank() { return block_rank() / SIZE; }
    static unsigned meta_group_size() { return (thread_block().num_threads() + SIZE - 1) / SIZE; }
};
// The calling thread's part of a group.
template <unsigned SIZE, typename Parent>
thread_block_tile<SIZE, Parent> tiled_partition(const Parent &) {
    return {};
}
inline coalesced_group tiled_partition(const thread_group &group, unsigned size) {
    return coalesced_group(group.part(size));
}

// What combines values of a group's threads: those up to the own one, or all.
#define EMULATOR_OPERATION(name, expression)                                                       \
    template <typename = void>                                                                     \
    struct name {                                                                                  \
        template <typename T>                                                                      \
        T operator()(T a, T b) const {                                                             \
            return expression;                                                                     \
        }                                                                                          \
    };
EMULATOR_OPERATION(plus, a + b)
EMULATOR_OPERATION(less, b < a ? b : a)
EMULATOR_OPERATION(greater, a < b ? b : a)
#undef EMULATOR_OPERATION
template <typename Group, typename T, typename Operation = plus<>>
T inclusive_scan(const Group &group, T value, const Operation &operation = {}, EMULATOR_SITE) {
    for (unsigned delta = 1; delta < group.size(); delta *= 2) {
        const T before = group.shfl_up(value, delta, where);
        value = group.thread_rank() >= delta ? operation(before, value) : value;
    }
    return value;
}
template <typename Group, typename T, std::invocable<T, T> Operation>
T reduce(const Group &group, T value, const Operation &operation, EMULATOR_SITE) {
    return group.shfl(inclusive_scan(group, value, operation, where), group.size() - 1, where);
}

// Waits for the threads of the group.
template <typename Group>
void sync(const Group &group, EMULATOR_SITE) {
    group.sync(where);
}
} // namespace cooperative_groups
