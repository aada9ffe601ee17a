// CUB's reductions and scans of a warp and of a block, whose storage may be used again after a
// __syncthreads(). (CUB: cub::WarpReduce, cub::WarpScan, cub::BlockReduce, cub::BlockScan.)
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

// Of some values of each thread: what those before them add up to, which is undefined for the first
// thread, and what all do. LANES neighbours of a warp:
template <typename T, int LANES>
struct Lanes {
    struct TempStorage {
    } & storage;
    static bool is_first() { return cg::thread_block().thread_rank() % LANES == 0; }
    template <typename Operation>
    std::pair<T, T> sums(T value, const Operation &operation, emulator::Site where) const {
        const cg::thread_block_tile<LANES> lanes;
        value = cg::inclusive_scan(lanes, value, operation, where);
        return {lanes.shfl_up(value, 1, where), lanes.shfl(value, LANES - 1, where)};
    }
};
// A block, whose warps leave their sums in the storage:
template <typename T>
struct Threads {
    struct TempStorage {
        T of_warps[32];
    } & storage;
    static bool is_first() { return cg::thread_block().thread_rank() == 0; }
    template <typename Operation>
    __forceinline__ std::pair<T, T> sums(T value, const Operation &operation,
                                         emulator::Site where) const {
        const unsigned rank = cg::thread_block().thread_rank(), warp = rank / 32;
        const unsigned threads = cg::thread_block().num_threads();
        const cg::coalesced_group lanes(~0u >> (32 - min(threads - warp * 32, 32u)));
        value = cg::inclusive_scan(lanes, value, operation, where);
        if (lanes.thread_rank() == lanes.size() - 1)
            storage.of_warps[warp] = value;
        T before = lanes.shfl_up(value, 1, where);
        emulator::syncthreads(where);
        T all = storage.of_warps[0];
        for (unsigned next = 1; next * 32 < threads; ++next) {
            if (next == warp)
                before = rank % 32 == 0 ? all : operation(all, before);
            all = operation(all, storage.of_warps[next]);
        }
        return {before, all};
    }
};
// A reduction's result is the first thread's alone; others get bytes of 0xff.
template <typename T, typename Of>
struct Collective : Of {
    Collective(typename Of::TempStorage &storage) : Of{storage} {}
    template <typename Operation>
    __forceinline__ T Reduce(T value, const Operation &operation, EMULATOR_SITE) const {
        T all = Of::sums(value, operation, where).second;
        return Of::is_first() ? all : *(T *)std::memset((void *)&all, 0xff, sizeof all);
    }
    __forceinline__ T Sum(T value, EMULATOR_SITE) const { return Reduce(value, cub::Sum(), where); }
    template <typename Operation>
    __forceinline__ void InclusiveScan(T value, T &to, const Operation &operation,
                                       EMULATOR_SITE) const {
        const T before = Of::sums(value, operation, where).first;
        to = Of::is_first() ? value : operation(before, value);
    }
    template <typename Operation>
    __forceinline__ void ExclusiveScan(T value, T &to, T initial, const Operation &operation,
                                       EMULATOR_SITE) const {
        const T before = Of::sums(value, operation, where).first;
        to = Of::is_first() ? initial : operation(initial, before);
    }
    __forceinline__ void InclusiveSum(T value, T &sum, EMULATOR_SITE) const {
        InclusiveScan(value, sum, cub::Sum(), where);
    }
    __forceinline__ void ExclusiveSum(T value, T &sum, EMULATOR_SITE) const {
        ExclusiveScan(value, sum, T(), cub::Sum(), where);
    }
};
template <typename T, int LANES = 32>
using WarpReduce = Collective<T, Lanes<T, LANES>>;
template <typename T, int LANES = 32>
using WarpScan = Collective<T, Lanes<T, LANES>>;
template <typename T, int X, int ALGORITHM = 0, int Y = 1, int Z = 1>
using BlockReduce = Collective<T, Threads<T>>;
template <typename T, int X, int ALGORITHM = 0, int Y = 1, int Z = 1>
using BlockScan = Collective<T, Threads<T>>;
} // namespace cub
