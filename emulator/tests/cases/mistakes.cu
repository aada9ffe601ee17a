// Small mistakes and the words in which each is reported. The arguments are the mistake, and the
// threads and CTAs of its cluster if they are not 32 and 1.
// expect arrival_too_few: deadlock, says 32 threads(?s:.*)1 of 33 arrivals missing
// expect tested_for_ever: deadlock, says 32 threads(?s:.*)1 of 1 arrivals missing
// expect arrival_too_many: misuse, says more arrivals than the barrier's count, 2
// expect never_initialised: lifetime, says never initialised(?s:.*)mbarrier.arrive
// expect too_many_bytes: misuse, says counts 1048576 bytes
// expect relaxed_arrival 64: race, says nothing orders the two
// expect old_token: misuse, says a token of phase 0, and is in phase 2
// expect missed_phase: hazard|deadlock, says went on by 2 phases
// expect no_arrivals: misuse, says 1 to 1048575 arrivals, not 0
// expect overwritten_barrier: lifetime, says after its bytes were overwritten
// expect barrier_16: misuse, says ids are 0 to 15
// expect barrier_of_two_warps: misuse, says not whole warps(?s:.*)64
// expect barrier_of_48 64: misuse, says not whole warps
// expect two_counts 64: misuse|deadlock
// expect count_too_large 64: deadlock
// expect arrived_twice 96: misuse, says warp 0 .*arrives a second time in one phase of barrier 1
// expect half_a_warp 64: deadlock, says barrier 1: 32 of 64 threads .* of warp 1 lanes 0x0000ffff
// expect some_wait 64 2: deadlock, says CTA 0 \(0 to 4, 6 to 31\): barrier 4: 32 of 64
// expect some_wait 64 2: deadlock, says CTA 1 has exited
// expect two_arrivals: misuse, says a second barrier.cluster.arrive
// expect wait_alone: misuse, says without an arrive
// expect two_barriers: misuse, says the lanes of a warp have diverged
// expect two_votes: misuse, says diverged: 
// expect half_load: misuse, says diverged|exited
// expect some_synchronise 64: misuse, says of warp 1 .*went past __syncthreads, which is .aligned
// expect last_synchronise 64: misuse, says of warp 1 .*went past a named barrier
// expect shuffle_of_others 64: misuse|deadlock
// expect shuffle_outside 64: misuse, says which does not take part
// expect lane_exited: misuse, says which exited
// expect without_itself: misuse, says without the lane itself
// expect two_forms: misuse, says diverged
// expect read_for_ever: deadlock, says thread 3 of CTA 0: reads the same memory
// expect added_for_ever: deadlock, says thread 3 of CTA 0: reads(?s:.*)atomicAdd
// expect past_shared: address, says writes 4 bytes at offset 12288 of the dynamic shared memory
// expect past_shared_by_ptx: address, says 4 bytes at shared address
// expect not_shared: address, says is not an address in the CTA's own shared memory
// expect odd_by_ptx: misuse, says 8 bytes that is not aligned
// expect trapped: misuse, says the kernel traps
// expect past_allocation: address, says offset 400 of an allocation of 400(?s:.*)IF.past_allocation
// expect before_allocation: address, says offset -4 of an allocation
// expect deep 1: address, says more than the 64 KiB of its stack
// expect nowhere: address, says 4 bytes at 0x40, an address of the host: pass memory of cudaMalloc
// expect read_only: hazard, says ld.global.nc .__ldg. reads 4 bytes .* the same launch writes
// expect copy_more: misuse, says source
// expect copy_past: address, says at offset 400 of an allocation of 400(?s:.*)started
// expect copy_from_afar: address, says of the host: kernels cannot access it(?s:.*)started
// expect tile_odd: misuse, says 128-byte aligned
// expect tile_past_shared: address, says of the shared memory
// expect box_past_allocation: address, says of an allocation of 400
// expect no_map: misuse, says never encoded
// expect load_uninitialised: lifetime, says never initialised
// expect loaded_twice: hazard|lifetime, says TMA load was issued before, and not waited for
// expect stored_twice: hazard, says TMA store.* nothing orders|nothing orders the two
// expect not_committed: misuse, says never committed
// expect exits_early: lifetime, says CTA 0 exits while a TMA store
// expect other_descriptor 128: misuse, says disagree about A's descriptor
// expect other_accumulation 128: misuse, says disagree about whether to accumulate
// expect base_offset 128: misuse, says the descriptor of A, .*base offset
// expect odd_operand 128: misuse, says first row
// expect operand_outside 128: misuse|address, says outside
#include "common.h"
#define IF(name) if (how == word(#name))
__device__ int frames(int depth, const volatile char *above) {
    volatile char frame[1024];
    frame[0] = above[0];
    return depth == 0 ? frame[0] : frames(depth - 1, frame) + frame[0];
}
__device__ void load_1(const void *from) {
    uint32_t v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v) : "r"(S32(from)));
}
__device__ void load_2(const void *from) {
    uint32_t v, w;
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(v), "=r"(w)
                 : "r"(S32(from)));
}
struct Maps {
    CUtensorMap right, past, none;
};
__global__ void k(int *out, unsigned how, const __grid_constant__ Maps maps) {
    extern __shared__ __align__(1024) int s[];
    __shared__ uint64_t b;
    const int i = threadIdx.x, rank = cluster_rank();
    const volatile int *read = out;
    uint32_t v;
    uint64_t token;
    for (int n = i; n < 2048; n += blockDim.x) s[n] = 0;
    fence_async();
    __syncthreads();
    // mbarriers
    const int count = how == word("arrival_too_few") ? 33 : how == word("arrival_too_many") ? 2 : 1;
    if (i == 0 && how != word("never_initialised") && how != word("load_uninitialised"))
        mb_init(&b, how == word("no_arrivals") ? 0 : count), mb_fence();
    __syncthreads();
    IF(arrival_too_few) mb_arrive(&b), mb_wait(&b, 0);
    IF(tested_for_ever) do
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.b32 "
                     "%0, 1, 0, p; }" : "=r"(v) : "r"(S32(&b)));
    while (!v);
    IF(arrival_too_many) if (i == 0) {
        mb_arrive(&b);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 2;" ::"r"(S32(&b)));
    }
    IF(never_initialised) mb_arrive(&b);
    IF(too_many_bytes) mb_expect(&b, 1 << 20);
    IF(relaxed_arrival) {
        if (i == 0) s[5] = 7;
        if (i == 0) asm volatile("mbarrier.arrive.relaxed.cta.shared.b64 _, [%0];" ::"r"(S32(&b)));
        if (i == 32) mb_wait(&b, 0), out[0] = s[5];
    }
    IF(old_token) if (i == 0) {
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(token) : "r"(S32(&b)));
        mb_arrive(&b);
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%0], %1; }" ::"r"(S32(&b)),
                     "l"(token));
    }
    IF(missed_phase) {
        if (i == 1) mb_wait(&b, 0);
        if (i == 0) mb_arrive(&b), mb_arrive(&b);
    }
    IF(overwritten_barrier) if (i == 0) b += 1, mb_arrive(&b);
    // barriers
    IF(barrier_16) asm volatile("barrier.sync 16, 32;");
    IF(barrier_of_two_warps) asm volatile("barrier.sync 1, 64;");
    IF(barrier_of_48) asm volatile("barrier.sync 1, 48;");
    IF(two_counts) asm volatile("barrier.sync 1, %0;" ::"r"(i < 32 ? 64 : 96));
    IF(count_too_large) {
        if (i < 32) asm volatile("barrier.sync 1, 64;");
        else __syncthreads();
    }
    IF(arrived_twice) {
        if (i >= 32 && i < 64) asm volatile("bar.sync 1, 96;");
        for (int n = 0; n < 2 && i < 32; ++n) asm volatile("bar.arrive 1, 96;");
    }
    IF(half_a_warp) {
        if (i < 48) asm volatile("barrier.sync 1, 64;");
        else asm volatile("barrier.sync 2, 64;");
    }
    IF(some_wait) if (rank == 0 && i != 5) {
        if (i < 32) asm volatile("barrier.sync 4, 64;");
        else if (i == 40) __syncwarp();
    }
    IF(two_arrivals) for (int n = 0; n < 2; ++n) asm volatile("barrier.cluster.arrive;");
    IF(wait_alone) asm volatile("barrier.cluster.wait;");
    IF(two_barriers) {
        if (i < 16) asm volatile("bar.sync 1, 32;");
        else asm volatile("bar.sync 2, 32;");
    }
    IF(two_votes) {
        if (i < 16) __any_sync(~0u, 1);
        else __all_sync(~0u, 1);
    }
    IF(half_load) if (i < 16) load_1(s);
    IF(some_synchronise) if (i < 40) __syncthreads();
    IF(last_synchronise) if (i >= 40) asm volatile("bar.sync 1, 32;");
    IF(shuffle_of_others) if (i < 16) __shfl_sync(~0u, i, 1);
    IF(shuffle_outside) if (i < 16) __shfl_sync(0xffff, i, 20);
    IF(shuffle_of_others) __syncthreads();
    IF(lane_exited) {
        if (i == 31) return;
        load_1(s);
    }
    IF(without_itself) __syncwarp(1);
    IF(two_forms) {
        if (i < 3) load_1(s);
        else load_2(s);
    }
    IF(read_for_ever) while (i == 3 && *read == 0);
    IF(added_for_ever) while (i == 3 && atomicAdd(out, 0) == 0);
    // addresses
    IF(past_shared) s[3072] = 0;
    IF(past_shared_by_ptx) asm volatile("st.shared.u32 [%0 + 1048576], 1;" ::"r"(S32(s)));
    IF(not_shared) load_1(out);
    IF(odd_by_ptx) asm volatile("st.shared.v2.u32 [%0 + 4], {1, 1};" ::"r"(S32(s)));
    IF(trapped) asm volatile("trap;");
    IF(past_allocation) out[100] = 0;
    IF(before_allocation) out[-1] = 0;
    IF(deep) out[0] = frames(1000, "x");
    IF(nowhere) *(int *)64 = 0;
    IF(read_only) out[i] = 7, __syncwarp(), s[i] = __ldg(&out[31 - i]);
    IF(copy_more)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 32;" ::"r"(S32(s)), "l"(out));
    IF(copy_past) cp_async_4(s, out + 100);
    IF(copy_from_afar) cp_async_4(s, out + (1 << 28));
    // the async proxy
    if (i == 0) {
        IF(tile_odd) tile_load(s + 16, &maps.right, &b);
        IF(tile_past_shared) tile_load(s + 2048, &maps.right, &b);
        IF(box_past_allocation) tile_load(s, &maps.past, &b);
        IF(no_map) tile_load(s, &maps.none, &b);
        IF(load_uninitialised) tile_load(s, &maps.right, &b);
        IF(loaded_twice) tile_load(s, &maps.right, &b), tile_load(s, &maps.right, &b);
        IF(stored_twice) bulk_store(out, s, 128), bulk_store(out + 16, s, 128), bulk_commit(),
            bulk_wait();
        IF(not_committed) bulk_store(out, s, 128), bulk_wait();
        IF(exits_early) bulk_store(out, s, 128), bulk_commit();
    }
    // wgmma
    if (blockDim.x < 128) return;
    float d[4] = {};
    const uint64_t plain = S32(s) >> 4 | uint64_t(64) << 32 | uint64_t(1) << 62;
    const bool odd = i == 77;
    wgmma_fence();
    IF(other_descriptor) wgmma(d, plain + 2 * odd, plain, 1);
    IF(other_accumulation) wgmma(d, plain, plain, odd);
    IF(base_offset) wgmma(d, plain | uint64_t(1) << 49, plain, 1);
    IF(odd_operand) wgmma(d, plain + 128 / 16, plain, 1);
    IF(operand_outside) wgmma(d, plain + 7168 / 16, plain, 1);
    wgmma_commit(), wgmma_wait();
}
int main(int argc, char **argv) {
    int *out = dev(100, 0);
    const auto map = [&](int rows) { return map_of(out, 4, rows, 4, CU_TENSOR_MAP_SWIZZLE_NONE); };
    const int block = argc > 2 ? atoi(argv[2]) : 32, cluster = argc > 3 ? 2 : 1;
    const Maps maps{map(8), map(50), {}};
    launch_with(8192, cluster, dim3(cluster), block, k, out, word(argv[1]), maps);
    CHECK(cudaDeviceSynchronize() == cudaSuccess);
    return 0;
}
