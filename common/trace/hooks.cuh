// Turns a rung into a traced rung, without a change to the rung: the compiler reads this file
// before the rung (-include). It includes the device headers, and then redefines the names that a
// rung calls as functions of its own, which record what happens and call the original. The device
// headers stay as they are, and an ordinary build never reads this file.
//
// Waits and barriers are recorded with their begin and end. An asynchronous operation, a copy or a
// wgmma, is recorded when it is started; the threads that wait for it see its end.
#pragma once

#include "trace/recorder.cuh"

#include <cuda_runtime.h>
#include <type_traits>

// ---------------------------------------------------------------------------- launches

namespace trace {

// Replaces cudaLaunchKernelEx: first tells the kernel what this launch is to record.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(const cudaLaunchConfig_t *config, void (*kernel)(Parameters...),
                          Arguments &&...arguments) {
    const dim3 grid = config->gridDim;
    const dim3 block = config->blockDim;
    const uint32_t grid_size[3] = {grid.x, grid.y, grid.z};
    const uint32_t block_size[3] = {block.x, block.y, block.z};
    const trace_control next = trace_next_launch(grid_size, block_size);
    // On the launch's stream, after earlier launches, which read the old one; and done before
    // `next` goes.
    cudaError_t status = cudaMemcpyToSymbolAsync(control, &next, sizeof next, 0,
                                                 cudaMemcpyHostToDevice, config->stream);
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(config->stream);
    if (status != cudaSuccess)
        return status;
    return cudaLaunchKernelEx(config, kernel, static_cast<Arguments &&>(arguments)...);
}

} // namespace trace

#define cudaLaunchKernelEx trace::launch_kernel
#include "device/launch.cuh"
#undef cudaLaunchKernelEx

// ---------------------------------------------------------------------------- device headers

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/cp_async.cuh"
#include "device/dependent_launch.cuh"
#include "device/fp16.cuh"
#include "device/fragment.cuh"
#include "device/ldmatrix.cuh"
#include "device/matrix_descriptor.cuh"
#include "device/mbarrier.cuh"
#include "device/mma_sync.cuh"
#include "device/named_barrier.cuh"
#include "device/registers.cuh"
#include "device/shared_memory.cuh"
#include "device/stmatrix.cuh"
#include "device/swizzle.cuh"
#include "device/tensor_map.cuh"
#include "device/tile_chunks.cuh"
#include "device/tile_schedule.h"
#include "device/tma.cuh"
#include "device/vector.cuh"
#include "device/wgmma.cuh"
#include "device/wgmma_e4m3.cuh"
#include "device/wmma.cuh"

// For a hook that writes one event: the time before, the instruction, the event.
#define TRACE_EVENT(what, call, ...)                                                               \
    const bool writes = trace::on();                                                               \
    const uint32_t begin = writes ? trace::now() : 0;                                              \
    call;                                                                                          \
    if (writes)                                                                                    \
    trace::write(what, begin, where, ##__VA_ARGS__)

// The last argument of every hook.
#define TRACE_SITE trace::Site where = TRACE_HERE

// A hook that writes one event, for a function without a result; one for a wait that leaves PENDING
// groups in flight; and one that notes an access that is made many times in a row. The first and
// the last get the function's parameters and its arguments, each in parentheses.
#define TRACE_LIST(...) __VA_ARGS__
#define TRACE_HOOK(function, parameters, arguments, what, ...)                                     \
    DEVICE void traced_##function parameters {                                                     \
        TRACE_EVENT(what, TRACE_FORWARD(function, TRACE_LIST arguments), ##__VA_ARGS__);           \
    }
#define TRACE_PENDING(function, what, ...)                                                         \
    template <int PENDING>                                                                         \
    DEVICE void traced_##function(TRACE_SITE) {                                                    \
        TRACE_EVENT(what, TRACE_FORWARD(function<PENDING>), TRACE_NOWHERE, PENDING,                \
                    ##__VA_ARGS__);                                                                \
    }
#define TRACE_WROTE(function, parameters, arguments)                                               \
    DEVICE void traced_##function parameters {                                                     \
        function arguments;                                                                        \
        trace::wrote();                                                                            \
    }

// ---------------------------------------------------------------------------- shared memory

namespace trace {

// Records where a member of SharedStorage is: the bytes of one element if it is a ring of stages
// (an array of arrays, or of barriers), else of all of it.
template <typename Member>
DEVICE void lay_out(char initial, const Member &member, bool is_barrier, Site where) {
    constexpr bool is_ring = std::rank_v < Member >> 1;
    const bool several = is_ring || (is_barrier && std::rank_v<Member> == 1);
    const uint32_t count = several ? uint32_t(std::extent_v<Member>) : 1;
    write(TRACE_LAYOUT, now(), where, shared_address(&member), uint32_t(initial),
          uint32_t(sizeof member) / count, count);
}

// The same for all members that rungs have.
#define TRACE_MEMBER(initial, member, is_barrier)                                                  \
    if constexpr (requires { smem.member; })                                                       \
    lay_out(initial, smem.member, is_barrier, where)
template <typename T>
DEVICE void lay_out_all(const T &smem, Site where) {
    TRACE_MEMBER('a', a, false);
    TRACE_MEMBER('b', b, false);
    TRACE_MEMBER('d', d, false);
    TRACE_MEMBER('f', full, true);
    TRACE_MEMBER('e', empty, true);
    TRACE_MEMBER('t', turn, true);
}

} // namespace trace

// dynamic_smem: thread 0 records where the members of SharedStorage are.
template <typename T>
DEVICE T &traced_dynamic_smem(TRACE_SITE) {
    T &smem = TRACE_FORWARD(dynamic_smem<T>);
    if (threadIdx.x == 0 && trace::on())
        trace::lay_out_all(smem, where);
    return smem;
}
#define dynamic_smem traced_dynamic_smem

// ---------------------------------------------------------------------------- mbarriers

// Begins the phases that the other events count on.
TRACE_HOOK(mbarrier_init, (uint64_t * barrier, int arrivals, TRACE_SITE), (barrier, arrivals),
           TRACE_INIT, shared_address(barrier), uint32_t(arrivals))
#define mbarrier_init traced_mbarrier_init

// On the own CTA, and with the rank of the CTA.
TRACE_HOOK(mbarrier_arrive, (uint64_t * barrier, TRACE_SITE), (barrier), TRACE_ARRIVE,
           shared_address(barrier), TRACE_OWN)
TRACE_HOOK(mbarrier_arrive_cluster, (uint64_t * barrier, int cta_rank, TRACE_SITE),
           (barrier, cta_rank), TRACE_ARRIVE, shared_address(barrier), uint32_t(cta_rank))
#define mbarrier_arrive traced_mbarrier_arrive
#define mbarrier_arrive_cluster traced_mbarrier_arrive_cluster

TRACE_HOOK(mbarrier_arrive_expect_tx, (uint64_t * barrier, int bytes, TRACE_SITE), (barrier, bytes),
           TRACE_EXPECT, shared_address(barrier), uint32_t(bytes))
#define mbarrier_arrive_expect_tx traced_mbarrier_arrive_expect_tx

// A wait, from its begin until its phase has completed.
TRACE_HOOK(mbarrier_wait, (uint64_t * barrier, int parity, TRACE_SITE), (barrier, parity),
           TRACE_WAIT, shared_address(barrier), uint32_t(parity))
#define mbarrier_wait traced_mbarrier_wait

// The barrier with tokens: the same object, and hooks where it has functions.
struct TracedBarrier : Barrier {
    DEVICE void init(int arrivals, TRACE_SITE) {
        TRACE_EVENT(TRACE_INIT, TRACE_FORWARD(Barrier::init, arrivals), shared_address(&word),
                    uint32_t(arrivals));
    }

    DEVICE Token arrive(TRACE_SITE) {
        TRACE_EVENT(TRACE_ARRIVE, const Token token = TRACE_FORWARD(Barrier::arrive),
                    shared_address(&word), TRACE_OWN);
        return token;
    }

    DEVICE Token arrive_tx(int bytes, TRACE_SITE) {
        TRACE_EVENT(TRACE_EXPECT, const Token token = TRACE_FORWARD(Barrier::arrive_tx, bytes),
                    shared_address(&word), uint32_t(bytes));
        return token;
    }

    DEVICE void wait(Token token, TRACE_SITE) {
        TRACE_EVENT(TRACE_WAIT, TRACE_FORWARD(Barrier::wait, token), shared_address(&word),
                    TRACE_TOKEN);
    }
};
#define Barrier TracedBarrier

// ---------------------------------------------------------------------------- barriers

// __syncthreads is barrier 0.
TRACE_HOOK(__syncthreads, (TRACE_SITE), (), TRACE_BARRIER, TRACE_NOWHERE, 0)
TRACE_HOOK(named_barrier_sync, (int id, int threads, TRACE_SITE), (id, threads), TRACE_BARRIER,
           TRACE_NOWHERE, uint32_t(id))
TRACE_HOOK(cluster_sync, (TRACE_SITE), (), TRACE_CLUSTER)
TRACE_HOOK(cluster_sync_relaxed, (TRACE_SITE), (), TRACE_CLUSTER)
#define __syncthreads traced___syncthreads
#define named_barrier_sync traced_named_barrier_sync
#define cluster_sync traced_cluster_sync
#define cluster_sync_relaxed traced_cluster_sync_relaxed

// ---------------------------------------------------------------------------- TMA

// TMA loads: the mbarrier and the tile; into several CTAs: with the mask.
TRACE_HOOK(tma_load_2d,
           (void *tile, const TensorMap *map, int column, int row, uint64_t *barrier, TRACE_SITE),
           (tile, map, column, row, barrier), TRACE_LOAD, shared_address(barrier), 0,
           shared_address(tile))
TRACE_HOOK(tma_load_2d_hint,
           (void *tile, const TensorMap *map, int column, int row, uint64_t *barrier,
            uint64_t policy, TRACE_SITE),
           (tile, map, column, row, barrier, policy), TRACE_LOAD, shared_address(barrier), 0,
           shared_address(tile))
TRACE_HOOK(tma_load_2d_multicast,
           (void *tile, const TensorMap *map, int column, int row, uint64_t *barrier,
            uint16_t cta_mask, TRACE_SITE),
           (tile, map, column, row, barrier, cta_mask), TRACE_LOAD, shared_address(barrier),
           cta_mask, shared_address(tile))
#define tma_load_2d traced_tma_load_2d
#define tma_load_2d_hint traced_tma_load_2d_hint
#define tma_load_2d_multicast traced_tma_load_2d_multicast

// TMA stores: the tile.
TRACE_HOOK(tma_store_2d, (const TensorMap *map, const void *tile, int column, int row, TRACE_SITE),
           (map, tile, column, row), TRACE_STORE, TRACE_NOWHERE, 0, shared_address(tile))
TRACE_HOOK(tma_store_2d_hint,
           (const TensorMap *map, const void *tile, int column, int row, uint64_t policy,
            TRACE_SITE),
           (map, tile, column, row, policy), TRACE_STORE, TRACE_NOWHERE, 0, shared_address(tile))
TRACE_HOOK(bulk_commit, (TRACE_SITE), (), TRACE_STORE_COMMIT)
#define tma_store_2d traced_tma_store_2d
#define tma_store_2d_hint traced_tma_store_2d_hint
#define bulk_commit traced_bulk_commit

// Waits for TMA stores: until they have read (1), and until they are written.
TRACE_PENDING(bulk_wait_read, TRACE_STORE_WAIT, TRACE_NOWHERE, 1)
TRACE_PENDING(bulk_wait, TRACE_STORE_WAIT, TRACE_NOWHERE, 0)
#define bulk_wait_read traced_bulk_wait_read
#define bulk_wait traced_bulk_wait

// ---------------------------------------------------------------------------- wgmma

// Between the fence and the commit only stores are added: the compiler must not insert a wait for a
// wgmma in flight.
DEVICE void traced_wgmma_fence(TRACE_SITE) {
    trace::note_time(trace::on() ? &trace::my_warp().fence : nullptr);
    TRACE_FORWARD(wgmma_fence);
}
#define wgmma_fence traced_wgmma_fence

// Where a wgmma's operands are: addresses of matrix descriptors, in units of 16 bytes.
DEVICE void note_operands(uint64_t a, uint64_t b) {
    constexpr uint64_t ADDRESS = 0x3fff;
    trace::note_wgmma(trace::on() ? &trace::my_warp() : nullptr,
                      uint32_t(a & ADDRESS) | uint32_t(b & ADDRESS) << 16);
}

// wgmma, of bf16.
template <int N>
DEVICE void traced_wgmma(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true,
                         TRACE_SITE) {
    note_operands(a, b);
    TRACE_FORWARD(wgmma<N>, acc, a, b, accumulate);
}
#define wgmma traced_wgmma

// The same of e4m3.
template <int N>
DEVICE void traced_wgmma_e4m3(float (&acc)[N / 2], uint64_t a, uint64_t b, bool accumulate = true,
                              TRACE_SITE) {
    note_operands(a, b);
    TRACE_FORWARD(wgmma_e4m3<N>, acc, a, b, accumulate);
}
#define wgmma_e4m3 traced_wgmma_e4m3

// wgmma_commit: the event of the whole group, from its fence on.
DEVICE void traced_wgmma_commit(TRACE_SITE) {
    TRACE_FORWARD(wgmma_commit);
    if (trace::on()) {
        trace_warp &warp = trace::my_warp();
        const uint32_t operands = warp.operands;
        trace::write(TRACE_MULTIPLY, warp.fence, where, (operands & 0xffff) * 16, warp.wgmmas,
                     (operands >> 16) * 16);
        warp.wgmmas = 0;
    }
}
#define wgmma_commit traced_wgmma_commit

// Of one block of accumulators, or of several.
template <int PENDING, typename Accumulators>
DEVICE void traced_wgmma_wait(Accumulators &acc, TRACE_SITE) {
    TRACE_EVENT(TRACE_MULTIPLY_WAIT, TRACE_FORWARD(wgmma_wait<PENDING>, acc), TRACE_NOWHERE,
                PENDING);
}
#define wgmma_wait traced_wgmma_wait

// ---------------------------------------------------------------------------- cp.async

// A cp.async is not recorded; the copies since the last commit become a group.
TRACE_HOOK(cp_async_commit, (TRACE_SITE), (), TRACE_COPY_COMMIT)
#define cp_async_commit traced_cp_async_commit
TRACE_PENDING(cp_async_wait, TRACE_COPY_WAIT)
#define cp_async_wait traced_cp_async_wait

// ---------------------------------------------------------------------------- results

// Of what threads read and write by themselves only results on their way out are noted: between two
// events there are hundreds of other accesses, and recording one takes longer than it does.
namespace nvcuda::wmma {
template <typename Fragment, typename T>
DEVICE void traced_store_matrix_sync(T *matrix, const Fragment &fragment, unsigned stride,
                                     layout_t layout) {
    store_matrix_sync(matrix, fragment, stride, layout);
    trace::wrote();
}
} // namespace nvcuda::wmma
#define store_matrix_sync traced_store_matrix_sync

// Into shared memory it is an operand on its way in.
DEVICE void traced_copy8(fp16 *to, const void *from) {
    copy8(to, from);
    if (!trace::is_shared(to))
        trace::wrote();
}
#define copy8 traced_copy8

DEVICE void traced_store_pair(fp16 *to, uint32_t pair) {
    trace::wrote();
    store_pair(to, pair);
}
#define store_pair traced_store_pair

// Sums of parts, read for their way out.
DEVICE void traced_load4_cluster(float (&values)[4], const float *source, int cta_rank,
                                 TRACE_SITE) {
    trace::wrote();
    TRACE_FORWARD(load4_cluster, values, source, cta_rank);
}
#define load4_cluster traced_load4_cluster

// A fragment and half of one, to staging memory.
#define TRACE_STMATRIX(function)                                                                   \
    DEVICE void traced_##function(bf16 *row, const float *values, TRACE_SITE) {                    \
        TRACE_FORWARD(function, row, values);                                                      \
        trace::wrote();                                                                            \
    }
TRACE_STMATRIX(stmatrix_x4)
TRACE_STMATRIX(stmatrix_x2)
#define stmatrix_x4 traced_stmatrix_x4
#define stmatrix_x2 traced_stmatrix_x2

// Eight of them; four, two and one, to staging memory; a row of fragments, to global memory.
TRACE_WROTE(store8, (bf16 * to, const float (&values)[8]), (to, values))
TRACE_WROTE(store4_shared, (float *to, const float (&values)[4]), (to, values))
TRACE_WROTE(store2_shared, (bf16 * to, float low, float high), (to, low, high))
template <typename T>
TRACE_WROTE(store_shared, (T * to, T value), (to, value))
TRACE_WROTE(store_fragment_row, (bf16 * row, float left0, float left1, float right0, float right1),
            (row, left0, left1, right0, right1))
#define store8 traced_store8
#define store4_shared traced_store4_shared
#define store2_shared traced_store2_shared
#define store_shared traced_store_shared
#define store_fragment_row traced_store_fragment_row
