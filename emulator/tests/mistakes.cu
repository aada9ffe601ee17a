// Kernels with inline PTX and one mistake each, named by what the report must say.
#include "launches.h"

#include <cuda.h>

__device__ void initialise(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

__device__ void wait_for(unsigned barrier, unsigned parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity));
}

// report: deadlock: .*\n.*32 threads.*1 of 33 arrivals missing
__global__ void an_arrival_too_few(unsigned *) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        initialise(SHARED(&barrier), 33);
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(&barrier)));
    wait_for(SHARED(&barrier), 0);
}

// report: deadlock: .*\n.*32 threads.*1 of 1 arrivals missing
__global__ void tested_for_ever(unsigned *) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        initialise(SHARED(&barrier), 1);
    __syncthreads();
    unsigned done;
    do
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;\n"
                     "selp.b32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(SHARED(&barrier)));
    while (!done);
}

// report: misuse: .*more arrivals than the barrier's count, 2
__global__ void an_arrival_too_many(unsigned *) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        initialise(SHARED(&barrier), 2);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(SHARED(&barrier)));
    }
}

// report: lifetime: .* never initialised[^$]*mbarrier.arrive.shared::cta.b64 state
__global__ void never_initialised(unsigned *) {
    __shared__ uint64_t barrier;
    asm volatile("{\n"
                 "\t.reg .b64 state;\n"
                 "\tmbarrier.arrive.shared::cta.b64 state, [%0];\n"
                 "}" ::"r"(SHARED(&barrier)));
}

// report: wrong
__global__ void tried_once(unsigned *out) {
    __shared__ uint64_t barrier;
    __shared__ unsigned word;
    if (threadIdx.x == 0) {
        initialise(SHARED(&barrier), 1);
        word = 0;
    }
    __syncthreads();
    if (threadIdx.x == 32) {
        word = 1;
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(SHARED(&barrier)));
    } else if (threadIdx.x < 32) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; }" ::"r"(
            SHARED(&barrier)));
        out[threadIdx.x] = word;
    }
}

// report: address: .*4 bytes at shared address
__global__ void outside_of_shared(unsigned *) {
    __shared__ unsigned words[4];
    asm volatile("st.shared.u32 [%0 + 1048576], %1;" ::"r"(SHARED(words)), "r"(1));
}

// report: misuse: .*8 bytes that is not aligned
__global__ void not_aligned(unsigned *) {
    __shared__ unsigned words[4];
    asm volatile("st.shared.v2.u32 [%0 + 4], {%1, %1};" ::"r"(SHARED(words)), "r"(1));
}

// report: misuse: the kernel traps
__global__ void trapped(unsigned *) { asm volatile("trap;"); }

// report: misuse: the lanes of a warp have diverged
__global__ void diverged(unsigned *) {
    if (threadIdx.x < 16)
        asm volatile("bar.sync 1, 32;");
    else
        asm volatile("bar.sync 2, 32;");
}

// report: misuse: .*diverged: lane 8 of warp 1 .*went past __syncthreads
__global__ void synchronised_by_some(unsigned *out) {
    __shared__ unsigned word;
    if (threadIdx.x < 40) {
        word = 7;
        __syncthreads();
    }
    out[threadIdx.x] = word;
}

// report: misuse: .*diverged: lanes 0x000000ff of warp 1 .*went past a named barrier
__global__ void synchronised_by_the_last(unsigned *out) {
    if (threadIdx.x >= 40)
        asm volatile("bar.sync 1, 32;");
    out[threadIdx.x] = 1;
}

// report: misuse: the lanes of a warp have diverged
__global__ void synchronised_in_two_places(unsigned *) {
    if (threadIdx.x < 40)
        __syncthreads();
    else
        __syncthreads();
}

// report: misuse: the lanes of a warp have diverged: vote.sync
__global__ void voted_in_two_ways(unsigned *) {
    if (threadIdx.x < 16)
        asm volatile("{ .reg .pred p, q; setp.eq.u32 p, 0, 0; vote.sync.any.pred q, p, -1; }");
    else
        asm volatile("{ .reg .pred p, q; setp.eq.u32 p, 0, 0; vote.sync.all.pred q, p, -1; }");
}

// report: misuse: warp 0 .*arrives a second time in one phase of barrier 1
__global__ void arrived_twice(unsigned *) {
    if (threadIdx.x >= 32 && threadIdx.x < 64)
        asm volatile("bar.sync 1, 96;");
    else if (threadIdx.x < 32)
        for (int i = 0; i < 2; ++i)
            asm volatile("bar.arrive 1, 96;");
}

// report: deadlock: .*\n.*barrier 1: 32 of 64 threads have arrived, and of warp 1 lanes 0x0000ffff
__global__ void half_a_warp_missing(unsigned *) {
    if (threadIdx.x < 48)
        asm volatile("barrier.sync 1, 64;");
    else
        asm volatile("barrier.sync 2, 64;");
}

// report: deadlock: .*\n.*thread 32 of CTA 0: reads the same memory [^$]*mistakes.cu:
__global__ void read_for_ever(unsigned *out) {
    if (threadIdx.x == 32)
        while (*static_cast<volatile unsigned *>(out) == 0)
            ;
}

// report: deadlock: .*\n.*thread 0 of CTA 0: reads the same memory [^$]*atomicAdd
__global__ void added_nothing_for_ever(unsigned *out) {
    if (threadIdx.x == 0)
        while (atomicAdd(out, 0) == 0)
            ;
    __syncthreads();
}

// report: deadlock: .*\n.*thread 0 of CTA 0: reads[^$]*2 clusters run beside this one
__global__ void waits_for_no_cluster(unsigned *out) {
    if (threadIdx.x == 0)
        while (*static_cast<volatile unsigned *>(out) == 0)
            ;
}

// ---------------------------------------------------------------------------- wgmma

constexpr int TILE = 64 * 128; // bytes of 64 rows in the 128-byte swizzle

__device__ uint64_t descriptor(unsigned address) {
    return (address & 0x3ffff) >> 4 | uint64_t(64) << 32 | uint64_t(1) << 62;
}

template <bool E4M3 = false>
__device__ void multiply(float (&d)[8], uint64_t a, uint64_t b) {
    if (E4M3)
        asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3\n"
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, 1, 1, 1;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7])
                     : "l"(a), "l"(b));
    else
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16\n"
                     "{%0, %1, %2, %3, %4, %5, %6, %7}, %8, %9, p, 1, 1, 0, 0; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7])
                     : "l"(a), "l"(b));
}

#define FENCE() asm volatile("wgmma.fence.sync.aligned;" ::: "memory")
#define COMMIT() asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory")
#define WAIT(n) asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory")
#define PROXY() asm volatile("fence.proxy.async;" ::: "memory")

enum Missing { ACC_FENCE, PROXY_FENCE, COMMIT_GROUP, WHOLE_WAIT, EARLY_READ, EARLY_WRITE };

template <Missing MISSING, bool E4M3 = false>
__device__ void product(unsigned *out) {
    unsigned short *tile = static_cast<unsigned short *>(DYNAMIC);
    for (int i = threadIdx.x; i < TILE / 2; i += 128)
        tile[i] = 0;
    if (MISSING != PROXY_FENCE)
        PROXY();
    __syncthreads();
    float d[8] = {};
    if (MISSING != ACC_FENCE)
        FENCE();
    multiply<E4M3>(d, descriptor(SHARED(tile)), descriptor(SHARED(tile)));
    if (MISSING != COMMIT_GROUP)
        COMMIT();
    if (MISSING == EARLY_READ)
        out[threadIdx.x] = unsigned(d[3]);
    if (MISSING == EARLY_WRITE) {
        tile[threadIdx.x] = 1;
        PROXY();
    }
    if (MISSING != WHOLE_WAIT)
        WAIT(0);
    out[threadIdx.x] = unsigned(d[0]);
}

// report: hazard: wgmma without wgmma_fence
__global__ void no_wgmma_fence(unsigned *out) { product<ACC_FENCE>(out); }

// report: hazard: wgmma \(its A\) reads bytes that a thread wrote and never fenced
__global__ void no_proxy_fence(unsigned *out) { product<PROXY_FENCE>(out); }

// report: hazard: accumulators are read while a wgmma
__global__ void no_commit(unsigned *out) { product<COMMIT_GROUP>(out); }

// report: hazard: accumulators are read while a wgmma
__global__ void no_wait(unsigned *out) { product<WHOLE_WAIT>(out); }

// report: hazard: accumulators are read while a wgmma
__global__ void read_before_the_wait(unsigned *out) { product<EARLY_READ>(out); }

// report: hazard: [AB] of a wgmma was overwritten
__global__ void written_before_the_wait(unsigned *out) { product<EARLY_WRITE>(out); }

// report: hazard: wgmma without wgmma_fence
__global__ void no_wgmma_fence_e4m3(unsigned *out) { product<ACC_FENCE, true>(out); }

// report: hazard: wgmma \(its A\) reads bytes that a thread wrote and never fenced
__global__ void no_proxy_fence_e4m3(unsigned *out) { product<PROXY_FENCE, true>(out); }

// report: hazard: [AB] of a wgmma was overwritten
__global__ void written_before_the_wait_e4m3(unsigned *out) { product<EARLY_WRITE, true>(out); }

// report: misuse: wgmma: the descriptor of B, .*its 32 bytes of K are not in the first row
__global__ void past_the_row_e4m3(unsigned *) {
    float d[8] = {};
    FENCE();
    const uint64_t a = descriptor(SHARED(DYNAMIC));
    multiply<true>(d, a, a + 112 / 16);
}

// report: misuse: wgmma: the descriptor of A, .*base offset
__global__ void with_a_base_offset(unsigned *) {
    float d[8] = {};
    FENCE();
    const uint64_t a = descriptor(SHARED(DYNAMIC));
    multiply(d, a | uint64_t(1) << 49, a);
}

// A in registers, of which one is written too late.
template <bool IN_FLIGHT>
__device__ void from_registers() {
    unsigned a[4] = {};
    float d[4] = {};
    const uint64_t b = descriptor(SHARED(DYNAMIC));
    FENCE();
    if (!IN_FLIGHT)
        a[1] = 1;
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    COMMIT();
    if (IN_FLIGHT)
        a[2] = 1;
    WAIT(0);
}

// report: hazard: wgmma without wgmma_fence: registers of A were written since
__global__ void a_written_after_the_fence(unsigned *) { from_registers<false>(); }

// report: hazard: registers of A are written while a wgmma that reads
__global__ void a_written_in_flight(unsigned *) { from_registers<true>(); }

// report: hazard: wgmma adds to accumulators that the thread has never written
__global__ void accumulators_never_written(unsigned *) {
    float d[8];
    const uint64_t a = descriptor(SHARED(DYNAMIC));
    FENCE();
    multiply(d, a, a);
    COMMIT();
    WAIT(0);
}

// ---------------------------------------------------------------------------- TMA

constexpr int BOX = 32; // columns; 8 rows

CUtensorMap map_of(int *matrix) {
    CUtensorMap map;
    const cuuint64_t sizes[] = {BOX, 8}, strides[] = {BOX * 4};
    const cuuint32_t box[] = {BOX, 8}, steps[] = {1, 1};
    if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, strides, box,
                               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        fprintf(stderr, "no tensor map\n");
    return map;
}

struct Tiles {
    int words[8 * BOX];
    uint64_t barrier;
};

__device__ void load(Tiles &tiles, const CUtensorMap *map) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {0, 0}], [%2];" ::"r"(SHARED(tiles.words)),
                 "l"(map), "r"(SHARED(&tiles.barrier))
                 : "memory");
}

template <bool FENCED, bool ANNOUNCED>
__device__ void loaded(const CUtensorMap *map) {
    Tiles &tiles = *static_cast<Tiles *>(DYNAMIC);
    if (threadIdx.x == 0) {
        initialise(SHARED(&tiles.barrier), 1);
        if (FENCED)
            asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile(
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(SHARED(&tiles.barrier)),
            "r"(ANNOUNCED ? 1024 : 512));
        load(tiles, map);
    }
    __syncthreads();
    wait_for(SHARED(&tiles.barrier), 0);
}

// report: lifetime: .*not yet fenced for the async proxy
__global__ void no_fence_of_the_barrier(unsigned *, const __grid_constant__ CUtensorMap map) {
    loaded<false, true>(&map);
}

// report: deadlock: .*\n.*512 bytes landed that nobody announced
__global__ void too_few_bytes(unsigned *, const __grid_constant__ CUtensorMap map) {
    loaded<true, false>(&map);
}

// report: lifetime: .*(3072 bytes landed that nobody announced|while a TMA load still uses)
__global__ void loaded_by_each_warp(unsigned *, const __grid_constant__ CUtensorMap map) {
    Tiles &tiles = *static_cast<Tiles *>(DYNAMIC);
    if (threadIdx.x == 0) {
        initialise(SHARED(&tiles.barrier), 1);
        asm volatile("fence.mbarrier_init.release.cluster;");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(
            SHARED(&tiles.barrier)));
    }
    __syncthreads();
    unsigned elected;
    asm volatile("{ .reg .pred p; elect.sync _|p, -1; selp.u32 %0, 1, 0, p; }" : "=r"(elected));
    if (elected)
        load(tiles, &map);
    wait_for(SHARED(&tiles.barrier), 0);
}

template <bool FENCED, bool COMMITTED, bool WAITED>
__device__ void stored(const CUtensorMap *map) {
    Tiles &tiles = *static_cast<Tiles *>(DYNAMIC);
    tiles.words[threadIdx.x] = 1;
    if (FENCED)
        PROXY();
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {0, 0}], [%1];" ::"l"(map),
            "r"(SHARED(tiles.words))
            : "memory");
        if (COMMITTED)
            asm volatile("cp.async.bulk.commit_group;");
        if (WAITED)
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        tiles.words[0] = 2;
    }
}

// report: hazard: TMA store reads bytes that a thread wrote and never fenced
__global__ void no_fence_before_the_store(unsigned *, const __grid_constant__ CUtensorMap map) {
    stored<false, true, true>(&map);
}

// report: hazard: .*overwritten|never fenced|lifetime: CTA 0 exits while a TMA store
__global__ void overwritten_too_early(unsigned *, const __grid_constant__ CUtensorMap map) {
    stored<true, true, false>(&map);
}

// report: misuse: .*never committed
__global__ void store_not_committed(unsigned *, const __grid_constant__ CUtensorMap map) {
    stored<true, false, true>(&map);
}

// report: lifetime: .*(exits while a peer may still use|used after it exited)
__global__ void left_too_early(unsigned *) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        initialise(SHARED(&barrier), 64);
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;");
    asm volatile(
        "{ .reg .b32 peer; .reg .u32 rank;\n"
        "mov.u32 rank, %%cluster_ctarank;\n"
        "xor.b32 rank, rank, 1;\n"
        "mapa.shared::cluster.u32 peer, %0, rank;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [peer]; }" ::"r"(SHARED(&barrier)));
}

// ---------------------------------------------------------------------------- launches

template <void KERNEL(unsigned *), unsigned BLOCK = 32, unsigned CLUSTER = 1, bool CHECKED = false>
std::string launched() {
    const std::vector<unsigned> out =
        run(KERNEL, {CLUSTER, BLOCK, CLUSTER, CLUSTER == 1 ? unsigned(TILE) : 0}, 256);
    const std::string why = CHECKED ? differs(out, [](size_t i) { return i < 32; }) : "";
    return why.empty() ? why : "wrong: " + why;
}

template <void KERNEL(unsigned *, const CUtensorMap)>
std::string launched_with_map() {
    int *matrix = filled<int>(8 * BOX, [](size_t i) { return i; });
    run_on<unsigned>(1, KERNEL, {1, 128, 1, sizeof(Tiles)}, map_of(matrix));
    return "";
}

#define PLAIN(name, ...)                                                                           \
    { #name, launched < name, __VA_ARGS__> }
#define WITH_MAP(name)                                                                             \
    { #name, launched_with_map < name> }
const TestCase CASES[] = {
    PLAIN(an_arrival_too_few, 32),
    PLAIN(tested_for_ever, 32),
    PLAIN(an_arrival_too_many, 32),
    PLAIN(never_initialised, 32),
    PLAIN(tried_once, 64, 1, true),
    PLAIN(outside_of_shared, 32),
    PLAIN(not_aligned, 32),
    PLAIN(trapped, 32),
    PLAIN(diverged, 32),
    PLAIN(synchronised_by_some, 64),
    PLAIN(synchronised_by_the_last, 64),
    PLAIN(synchronised_in_two_places, 64),
    PLAIN(voted_in_two_ways, 32),
    PLAIN(arrived_twice, 96),
    PLAIN(half_a_warp_missing, 64),
    PLAIN(read_for_ever, 64),
    PLAIN(added_nothing_for_ever, 64),
    {"waits_for_no_cluster",
     [] {
         return differs(run(waits_for_no_cluster, {3, 32}, 1), [](size_t) { return 0; });
     }},
    PLAIN(no_wgmma_fence, 128),
    PLAIN(no_proxy_fence, 128),
    PLAIN(no_commit, 128),
    PLAIN(no_wait, 128),
    PLAIN(read_before_the_wait, 128),
    PLAIN(written_before_the_wait, 128),
    PLAIN(no_wgmma_fence_e4m3, 128),
    PLAIN(no_proxy_fence_e4m3, 128),
    PLAIN(written_before_the_wait_e4m3, 128),
    PLAIN(past_the_row_e4m3, 128),
    PLAIN(with_a_base_offset, 128),
    PLAIN(a_written_after_the_fence, 128),
    PLAIN(a_written_in_flight, 128),
    PLAIN(accumulators_never_written, 128),
    WITH_MAP(no_fence_of_the_barrier),
    WITH_MAP(too_few_bytes),
    WITH_MAP(loaded_by_each_warp),
    WITH_MAP(no_fence_before_the_store),
    WITH_MAP(overwritten_too_early),
    WITH_MAP(store_not_committed),
    PLAIN(left_too_early, 32, 2),
};

int main(int argc, char **argv) { return run_cases(CASES, argc, argv); }
