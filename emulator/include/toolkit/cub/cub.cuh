// CUB's reductions and sums of a warp and of a block, whose storage may be used again after a
// __syncthreads(). (CUB: cub::WarpReduce, cub::BlockReduce, cub::BlockScan.)
#pragma once

#include <cooperative_groups.h>

namespace cub {

namespace cg = cooperative_groups;
using Sum = cg::plus<>;
using Min = cg::less<>;
using Max = cg::greater<>;
enum {
    BLOCK_REDUCE_RAKING,
    BLOCK_REDUCE_WARP_REDUCTIONS,
    BLOCK_SCAN_RAKING,
    BLOCK_SCAN_WARP_SCANS
};

template <typename T, int LANES = 32>
struct WarpReduce {
    struct TempStorage {
    } & storage;
    template <typename Operation>
    T Reduce(T value, const Operation &operation, EMULATOR_SITE) const {
        return cg::reduce(cg::thread_block_tile<LANES>(), value, operation, where);
    }
    T Sum(T value, EMULATOR_SITE) const { return Reduce(value, cub::Sum(), where); }
};

// Warps leave their sums in the storage: a thread's result is of the values up to its own, and all.
template <typename T>
struct Block {
    struct TempStorage {
        T of_warps[32];
    } & storage;
    template <typename Operation>
    __forceinline__ std::pair<T, T> scan(T value, const Operation &operation,
                                         emulator::Site where) const {
        const unsigned rank = cg::thread_block().thread_rank(), warp = rank / 32;
        const unsigned threads = cg::thread_block().num_threads();
        const cg::coalesced_group lanes(~0u >> (32 - min(threads - warp * 32, 32u)));
        value = cg::inclusive_scan(lanes, value, operation, where);
        if (lanes.thread_rank() == lanes.size() - 1)
            storage.of_warps[warp] = value;
        emulator::syncthreads(where);
        T all = storage.of_warps[0];
        for (unsigned next = 1; next * 32 < threads; ++next) {
            value = next == warp ? operation(all, value) : value;
            all = operation(all, storage.of_warps[next]);
        }
        return {value, all};
    }
    template <typename Operation>
    __forceinline__ T Reduce(T value, const Operation &operation, EMULATOR_SITE) const {
        return scan(value, operation, where).second;
    }
    __forceinline__ T Sum(T value, EMULATOR_SITE) const { return Reduce(value, cub::Sum(), where); }
    __forceinline__ void InclusiveSum(T value, T &sum, EMULATOR_SITE) const {
        sum = scan(value, cub::Sum(), where).first;
    }
    __forceinline__ void ExclusiveSum(T value, T &sum, EMULATOR_SITE) const {
        InclusiveSum(value, sum, where), sum -= value;
    }
};
template <typename T, int X, int ALGORITHM = 0, int Y = 1, int Z = 1>
using BlockReduce = Block<T>;
template <typename T, int X, int ALGORITHM = 0, int Y = 1, int Z = 1>
using BlockScan = Block<T>;

} // namespace cub
