// Kernels with inline PTX, each of which is right. They do what programs that were not written for
// the emulator do, in the forms that they do it in.
#include "launches.h"

#include "formats/e4m3.h"

#include <cuda.h>
#include <cuda_fp8.h>

using Words = std::vector<unsigned>;

// ---------------------------------------------------------------------------- mbarriers

// A wait as a loop of PTX, and one as a loop of C++ around a predicate.
__device__ void wait_in_ptx(unsigned barrier, unsigned parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "AGAIN:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@done bra.uni THROUGH;\n"
                 "bra.uni AGAIN;\n"
                 "THROUGH:\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

__device__ void wait_with_time(unsigned barrier, unsigned parity) {
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "again_%=:\n\t"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1, 0x989680;\n\t"
        "@!p bra again_%=;\n\t"
        "}" ::"r"(barrier),
        "r"(parity));
}

__device__ bool is_through(unsigned barrier, unsigned parity) {
    unsigned done;
    asm volatile("{\n"
                 "  .reg .pred p;\n"
                 "  mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                 "  selp.b32 %0, 1, 0, p;\n"
                 "}"
                 : "=r"(done)
                 : "r"(barrier), "r"(parity)
                 : "memory");
    return done;
}

__device__ void initialise(unsigned barrier, unsigned count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

__device__ void arrive(unsigned barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Two warps hand a word back and forth.
__global__ void handed_over(unsigned *out) {
    __shared__ uint64_t full, empty;
    __shared__ unsigned word;
    if (threadIdx.x == 0) {
        initialise(SHARED(&full), 32);
        initialise(SHARED(&empty), 32);
    }
    __syncthreads();
    for (unsigned turn = 0; turn < 6; ++turn) {
        if (threadIdx.x < 32) {
            wait_in_ptx(SHARED(&empty), (turn & 1) ^ 1);
            if (threadIdx.x == turn)
                word = turn * turn;
            arrive(SHARED(&full));
        } else {
            if (turn % 2 == 0)
                wait_with_time(SHARED(&full), turn & 1);
            else
                while (!is_through(SHARED(&full), turn & 1)) {
                }
            out[turn * 32 + threadIdx.x % 32] = word;
            arrive(SHARED(&empty));
        }
    }
}

std::string mbarrier_loops() {
    return differs(run(handed_over, {1, 64}, 6 * 32), [](size_t i) { return (i / 32) * (i / 32); });
}

// States, counts, test_wait, and a barrier that becomes another one. Addresses are generic.
__global__ void with_states(unsigned *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.b64 [%0], 40;" ::"l"(&barrier));
    __syncthreads();
    uint64_t state;
    if (threadIdx.x < 8)
        asm volatile("mbarrier.arrive.release.cta.b64 %0, [%1], 2;" : "=l"(state) : "l"(&barrier));
    else
        asm volatile("mbarrier.arrive.b64 %0, [%1];" : "=l"(state) : "l"(&barrier));
    unsigned done = 0, tests = 0;
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "l"(&barrier), "l"(state));
        ++tests;
    } while (!done);
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("mbarrier.inval.b64 [%0];\n"
                     "mbarrier.init.b64 [%0], 1;\n"
                     "mbarrier.expect_tx.relaxed.cta.b64 [%0], 16;\n"
                     "mbarrier.arrive.expect_tx.b64 _, [%0], 8;\n"
                     "mbarrier.complete_tx.b64 [%0], 20;\n"
                     "mbarrier.complete_tx.b64 [%0], 4;" ::"l"(&barrier));
    __syncthreads();
    asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "l"(&barrier));
    out[threadIdx.x] = done + (tests > 0);
}

std::string mbarrier_states() {
    return differs(run(with_states, {1, 32}, 32), [](size_t) { return 2; });
}

// ---------------------------------------------------------------------------- barriers

// A warp that arrives and one that waits; all of a CTA; warps that come in turn.
__global__ void by_barriers(unsigned *out) {
    __shared__ unsigned words[64];
    const unsigned warp = threadIdx.x / 32;
    if (warp == 0) {
        words[threadIdx.x] = threadIdx.x;
        asm volatile("bar.arrive 3, 64;" ::: "memory");
    } else if (warp == 1) {
        asm volatile("bar.sync %0, %1;" ::"r"(3), "n"(64) : "memory");
        words[threadIdx.x] = words[threadIdx.x - 32] + 100;
    }
    asm volatile("barrier.sync.aligned 5;" ::: "memory");
    if (warp == 2)
        words[threadIdx.x - 32] += 1000;
    asm volatile("barrier.cta.sync 0;" ::: "memory");
    if (warp < 2)
        out[threadIdx.x] = words[threadIdx.x];
    asm volatile("bar.warp.sync 0xffffffff;\n\tmembar.cta;\n\tfence.acq_rel.gpu; fence.sc.cta;");
}

std::string named_barriers() {
    return differs(run(by_barriers, {1, 96}, 64),
                   [](size_t i) { return i < 32 ? i : i - 32 + 100 + 1000; });
}

// ---------------------------------------------------------------------------- warps

__global__ void in_warps(unsigned *out) {
    const unsigned lane = threadIdx.x;
    unsigned below, other, votes, any, sum, leader, elected;
    asm volatile("shfl.sync.up.b32 %0, %1, 1, 0, 0xffffffff;" : "=r"(below) : "r"(lane * 3));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, -1;" : "=r"(other) : "r"(lane));
    asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %2, 5; vote.sync.ballot.b32 %0, p, -1;\n"
                 "vote.sync.any.pred q, p, -1; selp.u32 %1, 1, 0, q; }"
                 : "=r"(votes), "=r"(any)
                 : "r"(lane));
    asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(sum) : "r"(lane));
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }"
                 : "=r"(leader), "=r"(elected));
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; @p add.u32 %0, %0, 1; }"
                 : "+r"(elected));
    unsigned *own = out + lane * 8;
    own[0] = below, own[1] = other, own[2] = votes, own[3] = any, own[4] = sum;
    own[5] = leader, own[6] = elected, own[7] = 7;
}

std::string warps() {
    return differs(run(in_warps, {1, 32}, 256), [](size_t i) {
        const unsigned lane = unsigned(i / 8);
        const unsigned expected[] = {
            lane == 0 ? 0 : (lane - 1) * 3, lane ^ 16, 31, 1, 31 * 16, 0, lane == 0 ? 2u : 0u, 7};
        return expected[i % 8];
    });
}

// Three warps, the last of 16 lanes: collectives of disjoint masks in two branches; barriers count
// warps, whatever lanes are left; bar.sync 0 with the CTA's count is __syncthreads.
__global__ void in_parts_of_warps(unsigned *out) {
    __shared__ unsigned words[80];
    const unsigned lane = threadIdx.x % 32;
    if (threadIdx.x >= 40 && threadIdx.x < 64)
        return;
    unsigned value = lane;
    if (threadIdx.x < 32) {
        if (lane & 1)
            asm volatile("shfl.sync.bfly.b32 %0, %0, 2, 0x1f, 0xaaaaaaaa;" : "+r"(value));
        else
            asm volatile("redux.sync.add.u32 %0, %0, 0x55555555;" : "+r"(value));
        if (lane == 0)
            asm volatile("bar.warp.sync 1;");
        if (lane < 2)
            asm volatile("bar.warp.sync 0x3;");
        asm volatile("{ .reg .pred p; elect.sync _|p, -1; @p add.u32 %0, %0, 1000; }"
                     : "+r"(value));
    } else if (threadIdx.x < 64) {
        asm volatile("{ .reg .pred p; elect.sync _|p, -1; @p add.u32 %0, %0, 1000; }"
                     : "+r"(value));
    }
    words[threadIdx.x] = value;
    asm volatile("bar.sync 1, 96;" ::: "memory");
    out[threadIdx.x] = words[threadIdx.x ^ 1];
    if (threadIdx.x < 64)
        asm volatile("bar.sync 0, 96;" ::: "memory");
    else
        asm volatile("bar.sync 0;" ::: "memory");
}

std::string parts_of_warps() {
    return differs(run(in_parts_of_warps, {1, 80}, 80), [](size_t i) -> size_t {
        if (i >= 40 && i < 64)
            return 0;
        const size_t lane = (i ^ 1) % 32, elected = i == 1 || i == 33 ? 1000 : 0;
        return elected + (i >= 32 ? lane : lane % 2 ? lane ^ 2 : 15 * 16);
    });
}

// Loops that only another thread can end: by volatile reads, PTX's, and an atomic that adds
// nothing; the second warp ends the first one's, and so on around, several times.
__global__ void spinning(unsigned *out) {
    __shared__ unsigned flags[4];
    if (threadIdx.x < 4)
        flags[threadIdx.x] = 0;
    __syncthreads();
    const unsigned warp = threadIdx.x / 32;
    if (threadIdx.x % 32 != 0)
        return;
    unsigned *mine = warp == 3 ? out : &flags[warp],
             *next = warp == 2 ? out : &flags[(warp + 1) % 4];
    for (unsigned round = 1; round <= 200; ++round) {
        unsigned value = 0;
        while (warp > 0 && value != round)
            if (warp == 1)
                value = *static_cast<volatile unsigned *>(mine);
            else if (warp == 2)
                asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(value) : "r"(SHARED(mine)));
            else
                value = atomicAdd(mine, 0);
        *static_cast<volatile unsigned *>(next) = round;
        while (warp == 0 && *static_cast<volatile unsigned *>(mine) != round)
            ;
    }
}

std::string spins() {
    return differs(run(spinning, {1, 128}, 1), [](size_t) { return 200; });
}

// Barriers of the whole grid, and then each CTA after the one before: a thread that waits lets the
// next clusters begin beside its own.
__global__ void across_the_grid(unsigned *out) {
    for (unsigned phase = 1; phase <= 3; ++phase) {
        if (threadIdx.x == 0) {
            atomicAdd(out, 1);
            while (*static_cast<volatile unsigned *>(out) < phase * gridDim.x)
                ;
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        while (atomicAdd(out + 1, 0) != blockIdx.x)
            ;
        atomicAdd(out + 1, 1);
    }
}

std::string grid_barriers() {
    const auto expected = [](size_t i) { return i == 0 ? 18 : 6; };
    const std::string why = differs(run(across_the_grid, {6, 64}, 2), expected);
    return why.empty() ? differs(run(across_the_grid, {6, 64, 2}, 2), expected) : why;
}

// ---------------------------------------------------------------------------- loads and stores

__global__ void plain_accesses(unsigned *out, const unsigned *in) {
    __shared__ __align__(16) unsigned words[128];
    const unsigned at = SHARED(words) + threadIdx.x * 16;
    unsigned a, b, c, d;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                 : "l"(in + threadIdx.x * 4));
    asm volatile("st.shared.v2.b32 [%0], {%1, %2};\n\t"
                 "st.shared::cta.v2.u32 [%0 + 8], {%3, %4};" ::"r"(at),
                 "r"(d), "r"(c), "r"(b), "r"(a)
                 : "memory");
    asm volatile("ld.shared.v4.b32 {%0, %1, _, %2}, [%3];" : "=r"(a), "=r"(b), "=r"(c) : "r"(at));
    unsigned short low;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(low) : "r"(at + 8));
    uint64_t generic;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvta.shared.u64 %0, t; }"
        : "=l"(generic)
        : "l"(words + threadIdx.x));
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(out + threadIdx.x * 4), "r"(a),
                 "r"(b), "r"((unsigned)low), "r"(c));
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(out + 128) : "memory");
    unsigned before;
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(before) : "l"(out + 129), "r"(2));
    if (generic != reinterpret_cast<uint64_t>(words + threadIdx.x))
        out[130] = 1;
}

std::string loads_and_stores() {
    const unsigned *in = filled<unsigned>(128, [](size_t i) { return i * 7 + 1; });
    return differs(run_on<unsigned>(131, plain_accesses, {1, 32}, in), [](size_t i) {
        const size_t last = i / 4 * 4 + 3;
        if (i >= 128)
            return i == 128 ? 32 : i == 129 ? 64 : 0;
        return int((i % 4 == 3 ? last - 3 : last - i % 4) * 7 + 1);
    });
}

// A macro around an asm statement, as headers of PTX wrappers have them.
#define COPY_ASYNC(to, from, bytes)                                                                \
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(to), "l"(from),      \
                 "n"(bytes))
#define COPY_COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define COPY_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))

__global__ void copied(unsigned *out, const unsigned *in) {
    __shared__ __align__(16) unsigned words[32 * 8];
    unsigned *own = words + threadIdx.x * 8;
    const unsigned *from = in + threadIdx.x * 8;
    COPY_ASYNC(SHARED(own), from, 4);
    COPY_ASYNC(SHARED(own + 2), from + 2, 8);
    COPY_COMMIT();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(SHARED(own + 4)),
                 "l"(from + 4), "r"(12));
    COPY_COMMIT();
    COPY_WAIT(1);
    out[threadIdx.x * 8] = own[0];
    out[threadIdx.x * 8 + 1] = own[2];
    out[threadIdx.x * 8 + 2] = own[3];
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 4; i < 8; ++i)
        out[threadIdx.x * 8 + i - 1] = own[i];
}

std::string copies() {
    const unsigned *in = filled<unsigned>(256, [](size_t i) { return i + 1; });
    return differs(run_on<unsigned>(256, copied, {1, 32}, in), [](size_t i) {
        const int from[] = {0, 2, 3, 4, 5, 6, -1, -1};
        return from[i % 8] < 0 ? 0 : i / 8 * 8 + from[i % 8] + 1;
    });
}

// ---------------------------------------------------------------------------- TMA

constexpr int ROWS = 8, COLUMNS = 32; // of a box

CUtensorMap map_of(int *matrix, uint64_t rows, uint64_t columns) {
    CUtensorMap map;
    const cuuint64_t sizes[] = {columns, rows}, strides[] = {columns * 4};
    const cuuint32_t box[] = {COLUMNS, ROWS}, steps[] = {1, 1};
    if (cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, matrix, sizes, strides, box,
                               steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                               CU_TENSOR_MAP_L2_PROMOTION_NONE,
                               CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
        fprintf(stderr, "no tensor map\n");
    return map;
}

struct Tiles {
    int words[ROWS * COLUMNS];
    uint64_t barrier;
};

// Each CTA of a cluster loads half of a box for both, adds to it, and stores it.
template <bool MULTICAST>
__global__ void through_tma(int *, const __grid_constant__ CUtensorMap from,
                            const __grid_constant__ CUtensorMap to) {
    Tiles &tiles = *static_cast<Tiles *>(DYNAMIC);
    unsigned rank, cluster;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(cluster));
    const unsigned barrier = SHARED(&tiles.barrier), tile = SHARED(tiles.words);
    const unsigned long long map = reinterpret_cast<unsigned long long>(&from);
    if (threadIdx.x == 0) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
        initialise(barrier, 1);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
    if (threadIdx.x == 0) {
        asm volatile(
            "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
            "r"((unsigned)sizeof tiles.words));
        uint64_t policy;
        asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;"
                     : "=l"(policy));
        if (MULTICAST && rank == 0)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx"
                         "::bytes.multicast::cluster.L2::cache_hint"
                         " [%0], [%1, {%3, %4}], [%2], %5, %6;" ::"r"(tile),
                         "l"(map), "r"(barrier), "r"(0), "r"((int)cluster * ROWS),
                         "h"((unsigned short)3), "l"(policy)
                         : "memory");
        if (!MULTICAST)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
                         "::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(tile),
                         "l"(map), "r"(barrier), "n"(0), "r"((int)cluster * ROWS)
                         : "memory");
    }
    wait_in_ptx(barrier, 0);
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += blockDim.x)
        tiles.words[i] += int(rank) + 1;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile(
            "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
                &to),
            "r"(tile), "r"((int)rank * COLUMNS), "r"((int)cluster * ROWS)
            : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("cp.async.bulk.wait_group %0;" ::"n"(0) : "memory");
    }
    asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;");
}

template <bool MULTICAST>
std::string tma() {
    constexpr int BOXES = 2;
    int *in = filled<int>(BOXES * ROWS * COLUMNS, [](size_t i) { return i; });
    int *out = filled<int>(BOXES * ROWS * COLUMNS * 2, [](size_t) { return 0; });
    run_on<int>(1, through_tma<MULTICAST>, {BOXES * 2, 64, 2, sizeof(Tiles)},
                map_of(in, BOXES * ROWS, COLUMNS), map_of(out, BOXES * ROWS, COLUMNS * 2));
    return differs(std::vector<int>(out, out + BOXES * ROWS * COLUMNS * 2), [](size_t i) {
        const size_t row = i / (COLUMNS * 2), column = i % (COLUMNS * 2);
        return row * COLUMNS + column % COLUMNS + column / COLUMNS + 1;
    });
}

// Bytes there and back, without a tensor.
__global__ void through_bulk(unsigned *out, const unsigned *in) {
    Tiles &tiles = *static_cast<Tiles *>(DYNAMIC);
    const unsigned barrier = SHARED(&tiles.barrier), words = SHARED(tiles.words + 4);
    if (threadIdx.x == 0) {
        initialise(barrier, 1);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 272;" ::"r"(barrier));
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], %2, [%3];" ::"r"(words),
                     "l"(in), "r"(272), "r"(barrier));
    }
    __syncthreads();
    wait_in_ptx(barrier, 0);
    tiles.words[4 + threadIdx.x] += 1;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0)
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 272;\n"
                     "cp.async.bulk.commit_group;\n"
                     "cp.async.bulk.wait_group 0;" ::"l"(out),
                     "r"(words)
                     : "memory");
    float moved = 1;
    asm volatile("" : "+f"(moved)::"memory"); // keeps the compiler from moving it, on a GPU
}

std::string bulk_copies() {
    const unsigned *in = filled<unsigned>(68, [](size_t i) { return i; });
    return differs(run_on<unsigned>(68, through_bulk, {1, 64, 1, sizeof(Tiles)}, in),
                   [](size_t i) { return i + (i < 64); });
}

// ---------------------------------------------------------------------------- clusters

// Each CTA arrives on its neighbour's barrier, by mapa, with and without bytes.
__global__ void with_peers(unsigned *out) {
    __shared__ uint64_t barrier;
    alignas(8) __shared__ unsigned mine[2];
    unsigned rank, count, x, own_rank, theirs[2];
    asm("mov.u32 %0, %%cluster_ctarank;\n\tmov.u32 %1, %%cluster_nctaid.x;"
        : "=r"(rank), "=r"(count));
    if (threadIdx.x == 0)
        initialise(SHARED(&barrier), 33);
    if (threadIdx.x < 2)
        mine[threadIdx.x] = 100 * (rank + 1) + threadIdx.x;
    asm volatile("barrier.cluster.arrive;\n" : :);
    asm volatile("barrier.cluster.wait;\n" : :);
    asm volatile("{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %2, %3;\n"
                 "ld.shared::cluster.v2.u32 {%0, %1}, [remote]; }"
                 : "=r"(theirs[0]), "=r"(theirs[1])
                 : "r"(SHARED(mine)), "r"((rank + 1) % count));
    asm volatile("{\n\t"
                 ".reg .b32 remote;\n\t"
                 "mapa.shared::cluster.u32  remote, %0, %1;\n\t"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64  _, [remote], %2;\n\t"
                 "}" ::"r"(SHARED(&barrier)),
                 "r"((rank + 1) % count), "r"(1));
    if (threadIdx.x == 0)
        asm volatile(
            "{ .reg .b32 remote; mapa.shared::cluster.u32 remote, %0, %1;\n"
            "mbarrier.arrive.expect_tx.shared::cluster.b64 _, [remote], 64;\n"
            "mbarrier.complete_tx.shared::cluster.b64 [remote], 64; }" ::"r"(SHARED(&barrier)),
            "r"((rank + 1) % count));
    wait_in_ptx(SHARED(&barrier), 0);
    asm("{ .reg .b32 r; mapa.shared::cluster.u32 r, %1, 1; getctarank.shared::cluster.u32 %0, r; }"
        : "=r"(own_rank)
        : "r"(SHARED(&barrier)));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
    const unsigned first = 100 * ((rank + 1) % count + 1); // what the neighbour has
    const bool read = theirs[0] == first && theirs[1] == first + 1;
    out[blockIdx.x * 32 + threadIdx.x] = read ? x * 10 + own_rank : ~0u;
    asm volatile("barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;");
}

std::string clusters() {
    return differs(run(with_peers, {4, 32, 2}, 128), [](size_t i) { return i / 32 % 2 * 10 + 1; });
}

// ---------------------------------------------------------------------------- warp matrices

// 16 x 16 of fp16 or bf16, through ldmatrix, mma and stmatrix.
template <bool BF16>
__global__ void warp_product(float *out) {
    unsigned short *a = static_cast<unsigned short *>(DYNAMIC); // [16][16]
    unsigned short *b = a + 16 * 16, *c = b + 8 * 16;           // [8][16], [16][8]
    const auto bits = [](int value) {
        return BF16 ? emulator::bf16_of_float(float(value)) : emulator::half_of_float(float(value));
    };
    for (int i = threadIdx.x; i < 256; i += 32)
        a[i] = bits(i % 7 - 3);
    for (int i = threadIdx.x; i < 128; i += 32)
        b[i] = bits(i % 5 - 2); // [n][k]
    __syncthreads();
    unsigned x[4], y[2];
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                 : "r"(SHARED(a + threadIdx.x % 16 * 16 + threadIdx.x / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];\n"
                 : "=r"(y[0]), "=r"(y[1])
                 : "r"(SHARED(b + threadIdx.x % 8 * 16 + threadIdx.x / 8 % 2 * 8)));
    float d[4] = {1, 1, 1, 1};
    if (BF16)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(1.0f));
    unsigned r[2];
    asm("{ cvt.rn.f16x2.f32 %0, %3, %2; cvt.rn.f16x2.f32 %1, %5, %4; }"
        : "=r"(r[0]), "=r"(r[1])
        : "f"(d[0]), "f"(d[1]), "f"(d[2]), "f"(d[3]));
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(
                     SHARED(c + threadIdx.x % 16 * 8)),
                 "r"(r[0]), "r"(r[1])
                 : "memory");
    __syncwarp();
    for (int i = threadIdx.x; i < 128; i += 32)
        out[i] = emulator::float_of_half(c[i]);
}

float warp_sum(size_t i) {
    float sum = 1;
    for (size_t k = 0; k < 16; ++k)
        sum += float(int((i / 8 * 16 + k) % 7) - 3) * float(int((i % 8 * 16 + k) % 5) - 2);
    return sum;
}

std::string mma_bf16() { return differs(run(warp_product<true>, {1, 32, 1, 1024}, 128), warp_sum); }
std::string mma_fp16() {
    return differs(run(warp_product<false>, {1, 32, 1, 1024}, 128), warp_sum);
}

// fp16 sums, in a macro; and transposed matrices: what is stored transposed is loaded transposed.
#define MULTIPLY(d0, d1, a0, a1, a2, a3, b0, b1, c0, c1)                                           \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, "  \
                 "{%6, %7}, {%8, %9};\n"                                                           \
                 : "=r"(d0), "=r"(d1)                                                              \
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c0), "r"(c1))

__global__ void transposed_matrices(unsigned *out) {
    __shared__ __align__(16) unsigned short matrix[8 * 8 * 4];
    const unsigned own = SHARED(matrix + threadIdx.x * 8);
    const unsigned first = threadIdx.x * 0x10001u, ones = 0x3c003c00;
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(own),
        "r"(first), "r"(first + 1), "r"(first + 2), "r"(first + 3));
    __syncwarp();
    unsigned r0, r1, r2, r3, s;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
                 : "r"(own));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(s) : "r"(own));
    unsigned d0, d1;
    MULTIPLY(d0, d1, ones, ones, ones, ones, ones, ones, 0u, 0u);
    const bool good = r0 == first && r1 == first + 1 && r2 == first + 2 && r3 == first + 3;
    // Row lane / 4, columns 2 (lane % 4) and the next of what is transposed in there.
    const unsigned column = threadIdx.x / 4, row = threadIdx.x % 4 * 2;
    const unsigned expected = (row * 4 + column / 2) | ((row + 1) * 4 + column / 2) << 16;
    out[threadIdx.x] = good + 2 * (s == expected) + 4 * (d0 == 0x4c004c00 && d1 == d0);
}

std::string matrices() {
    return differs(run(transposed_matrices, {1, 32}, 32), [](size_t) { return 7; });
}

// ---------------------------------------------------------------------------- wgmma

// How an operand of 64 (M or N) by 16 (K) 16-bit elements lies in shared memory: the swizzle's mode
// as in CUtensorMapSwizzle, and which dimension is contiguous. (PTX ISA: wgmma, Canonical Layouts.)
struct Layout {
    int swizzle;
    bool mn_major;

    unsigned width() const { return 16u << swizzle; } // bytes that are swizzled together
    // From 8 x 8 elements to the next along the contiguous dimension, and along the other one.
    unsigned leading() const {
        if (mn_major)
            return swizzle == 0 ? 8 * 128 : 2 * 8 * width();
        return swizzle == 0 ? 128 : 16;
    }
    unsigned stride() const { return swizzle == 0 ? (mn_major ? 128 : 256) : 8 * width(); }

    // Bytes from the operand's beginning, which is aligned to 1024.
    unsigned place(unsigned mn, unsigned k) const {
        const unsigned fast = mn_major ? mn : k, slow = mn_major ? k : mn;
        unsigned at;
        if (swizzle == 0)
            at = mn_major ? mn / 8 * stride() + k / 8 * leading()
                          : mn / 8 * stride() + k / 8 * leading();
        else
            at = fast / (width() / 2) * leading() + slow / 8 * stride();
        at += slow % 8 * width() + fast * 2 % width();
        return at ^ (at >> 7 & ((1u << swizzle) - 1)) << 4;
    }

    uint64_t descriptor(unsigned address) const {
        const uint64_t modes[] = {0, 3, 2, 1};
        return (address & 0x3ffff) >> 4 | uint64_t(leading() >> 4) << 16 |
               uint64_t(stride() >> 4) << 32 | modes[swizzle] << 62;
    }
};

// Sums of their products are exact in fp32. With e4m3 operands, wgmma cuts bits off.
constexpr float a_value(int m, int k) {
    return float((m * 3 + k * 5) % 11 - 5) * (k % 4 == 0 ? 64.0f : 0x1p-6f);
}
constexpr float b_value(int n, int k) { return float((n * 7 + k * 2) % 13 - 6); }

template <typename T>
constexpr bool IS_E4M3 = std::is_same_v<T, __nv_fp8_e4m3>;
template <typename T>
constexpr int K_OF = 32 / sizeof(T); // of one wgmma

#define NAMES                                                                                      \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, "  \
    "%20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "

template <typename T, int TRANS_A, int TRANS_B>
__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b, int accumulate) {
    if (std::is_same_v<T, __half>)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 " NAMES
                     "%32, %33, p, %35, -1, %36, %37;\n}"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                       "+f"(d[30]), "+f"(d[31])
                     : "l"(a), "l"(b), "r"(accumulate), "n"(-1), "n"(TRANS_A), "n"(TRANS_B));
    else if (IS_E4M3<T>)
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " NAMES
                     "%32, %33, %34, 1, %35;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                       "+f"(d[30]), "+f"(d[31])
                     : "l"(a), "l"(b), "r"(accumulate), "n"(-1));
    else
        asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NAMES
                     "%32, %33, %34, %35, 1, %36, %37;"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                       "+f"(d[30]), "+f"(d[31])
                     : "l"(a), "l"(b), "r"(accumulate), "n"(1), "n"(TRANS_A), "n"(TRANS_B));
}

template <typename T, int TRANS_B>
__device__ void multiply_registers(float (&d)[32], const unsigned (&a)[4], uint64_t b) {
    if (IS_E4M3<T>)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3 " NAMES
                     "{%32, %33, %34, %35}, %36, p, -1, 1; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                       "+f"(d[30]), "+f"(d[31])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    else
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " NAMES
                     "{%32, %33, %34, %35}, %36, p, 1, -1, %37; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]),
                       "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                       "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]),
                       "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                       "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),
                       "+f"(d[30]), "+f"(d[31])
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TRANS_B));
}

// D = A B + A B; with REGISTERS D = A B + A B - A B. With e4m3 each A B is subtracted.
template <typename T, int TRANS_A, int TRANS_B, bool REGISTERS>
__global__ void warpgroup_product(float *out, Layout layout_a, Layout layout_b) {
    unsigned char *memory = static_cast<unsigned char *>(DYNAMIC);
    unsigned char *other = memory + 8192;
    for (int i = threadIdx.x; i < 64 * K_OF<T>; i += 128) {
        const int mn = i / K_OF<T>, k = i % K_OF<T>, byte = k * sizeof(T);
        *reinterpret_cast<T *>(memory + layout_a.place(mn, byte / 2) + byte % 2) =
            T(a_value(mn, k));
        *reinterpret_cast<T *>(other + layout_b.place(mn, byte / 2) + byte % 2) = T(b_value(mn, k));
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const uint64_t a = layout_a.descriptor(SHARED(memory)), b = layout_b.descriptor(SHARED(other));
    float d[32];
    for (int i = 0; i < 32; ++i)
        d[i] = 1000;
    const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
    constexpr int EACH = 4 / sizeof(T);
    T fragment[4 * EACH];
    for (int i = 0; i < 4 * EACH; ++i)
        fragment[i] = T(a_value(row + i / EACH % 2 * 8,
                                int(threadIdx.x) % 4 * EACH + i / EACH / 2 * 4 * EACH + i % EACH));
    unsigned registers[4];
    memcpy(registers, fragment, sizeof registers);
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
    multiply<T, TRANS_A, TRANS_B>(d, a, b, 0);
    multiply<T, TRANS_A, TRANS_B>(d, a, b, 1);
    if (REGISTERS)
        multiply_registers<T, TRANS_B>(d, registers, b);
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(0) : "memory");
    for (int i = 0; i < 32; ++i)
        out[(row + i % 4 / 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = d[i];
}

// The sum after one wgmma, which adds sign * A B.
template <typename T>
float multiply_add(int m, int n, float sum, float sign) {
    uint8_t bits[2][E4M3_K] = {};
    float exact = sum;
    for (int k = 0; k < K_OF<T>; ++k) {
        bits[0][k] = __nv_cvt_float_to_fp8(a_value(m, k), __NV_SATFINITE, __NV_E4M3);
        bits[1][k] = __nv_fp8_e4m3(sign * float(__nv_fp8_e4m3(b_value(n, k)))).__x;
        exact += sign * a_value(m, k) * b_value(n, k);
    }
    e4m3_group a, b;
    e4m3_read(&a, bits[0]);
    e4m3_read(&b, bits[1]);
    return IS_E4M3<T> ? e4m3_multiply_add(&a, &b, sum) : exact;
}

template <typename T, int TRANS_A, int TRANS_B, bool REGISTERS>
std::string wgmma_of(Layout a, Layout b) {
    const auto kernel = warpgroup_product<T, TRANS_A, TRANS_B, REGISTERS>;
    const std::string why =
        differs(run_on<float>(64 * 64, kernel, {1, 128, 1, 16384}, a, b), [](size_t i) {
            float sum = 0;
            for (int wgmma = 0; wgmma < (REGISTERS ? 3 : 2); ++wgmma)
                sum = multiply_add<T>(int(i) / 64, int(i) % 64, sum,
                                      IS_E4M3<T> || wgmma == 2 ? -1 : 1);
            return sum;
        });
    return why.empty() ? why
                       : "swizzles " + std::to_string(a.swizzle) + ", " +
                             std::to_string(b.swizzle) + ": " + why;
}

template <typename T, int TRANS_A, int TRANS_B, bool REGISTERS = false>
std::string wgmmas() {
    for (int a = 0; a < 4; ++a) {
        const std::string why =
            wgmma_of<T, TRANS_A, TRANS_B, REGISTERS>({a, TRANS_A != 0}, {3 - a, TRANS_B != 0});
        if (!why.empty())
            return why;
    }
    return "";
}

// ---------------------------------------------------------------------------- the rest

__global__ void whatever_else(unsigned *out) {
    asm volatile("griddepcontrol.launch_dependents;\ngriddepcontrol.wait;" ::: "memory");
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;\n" : : "n"(40));
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
    asm volatile("nanosleep.u32 100;");
    uint64_t time, clock;
    asm volatile("mov.u64 %0, %%globaltimer;\n\tmov.u64 %1, %%clock64;" : "=l"(time), "=l"(clock));
    if (threadIdx.x == 0)
        asm volatile("prefetch.global.L2 [%0];" ::"l"(out));
    else
        asm("mov.u32 %0, 3;" : "=r"(out[threadIdx.x]));
    unsigned zero = out == nullptr;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %0, 0; @p trap; }" ::"r"(zero));
}

std::string others() {
    return differs(run(whatever_else, {1, 128}, 128), [](size_t i) { return i == 0 ? 0 : 3; });
}

// ---------------------------------------------------------------------------- orders and peers

// A flag hands over data, a lock counts; atomics of every operation, reductions in memory.
__global__ void flags_and_atomics(unsigned *out) {
    __shared__ unsigned flag, data;
    if (threadIdx.x == 0)
        flag = 0;
    __syncthreads();
    const unsigned address = SHARED(&flag);
    if (threadIdx.x == 32) {
        data = 5;
        asm volatile("st.release.cta.shared::cta.u32 [%0], 1;" ::"r"(address) : "memory");
    } else if (threadIdx.x == 0) {
        unsigned seen = 0;
        while (seen == 0)
            asm volatile("ld.shared::cta.acquire.cta.u32 %0, [%1];" : "=r"(seen) : "r"(address));
        out[0] = data;
    }
    if (threadIdx.x % 32 == 0) { // out[1] is a lock, out[2] what it protects
        unsigned taken = 1;
        while (taken != 0)
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;"
                         : "=r"(taken)
                         : "l"(out + 1)
                         : "memory");
        ++out[2];
        asm volatile("atom.exch.release.gpu.global.b32 %0, [%1], 0;"
                     : "=r"(taken)
                     : "l"(out + 1)
                     : "memory");
    }
    asm volatile("red.release.gpu.global.add.u32 [%0], 2;" ::"l"(out + 3) : "memory");
    asm volatile("red.global.max.u32 [%0], %1;" ::"l"(out + 4), "r"(threadIdx.x) : "memory");
    asm volatile("red.global.or.b32 [%0], %1;" ::"l"(out + 5), "r"(1 << threadIdx.x % 8));
    asm volatile("red.global.inc.u32 [%0], 40;" ::"l"(out + 6));
    const float one = 1;
    const unsigned ones = 0x3f803f80;
    if (threadIdx.x == 0) {
        asm volatile("red.global.add.v4.f32 [%0], {%1, %1, %1, %1};" ::"l"(out + 8), "f"(one));
        asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(out + 12), "r"(ones));
        asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(out + 12), "r"(ones));
        asm volatile("fence.acq_rel.gpu;\nmembar.gl;" ::: "memory");
        asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(out[13]) : "l"(out + 12));
    }
    unsigned count;
    asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 10;\n"
                 "barrier.cta.red.popc.aligned.u32 %0, 0, p; }"
                 : "=r"(count)
                 : "r"(threadIdx.x));
    out[14] = count;
}

std::string orders() {
    constexpr unsigned ONE = 0x3f800000, TWOS = 0x40004000;
    const unsigned expected[] = {5,   0,   2,   128, 63,   255,  64 % 41, 0,
                                 ONE, ONE, ONE, ONE, TWOS, TWOS, 10};
    return differs(run(flags_and_atomics, {1, 64}, 15), [&](size_t i) { return expected[i]; });
}

// Copies that arrive on a barrier: counted by it, or one arrival more.
__global__ void arriving_copies(unsigned *out, const unsigned *from, bool noinc) {
    __shared__ uint64_t full;
    __shared__ __align__(16) unsigned tile[2][32];
    const unsigned barrier = SHARED(&full);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" ::"r"(barrier));
    __syncthreads();
    for (int i = 0; i < 2; ++i)
        asm volatile(
            "cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SHARED(&tile[i][threadIdx.x])),
            "l"(from + i * 32 + threadIdx.x));
    if (noinc)
        asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier));
    else
        asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];\n"
                     "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier));
    asm volatile("{ .reg .pred p;\n"
                 "AGAIN: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], 0;\n"
                 "@!p bra AGAIN; }" ::"r"(barrier)
                 : "memory");
    for (int i = 0; i < 2; ++i)
        out[i * 32 + threadIdx.x] = tile[i][31 - threadIdx.x];
}

template <bool NOINC>
std::string copies_arrive() {
    unsigned *from = filled<unsigned>(64, [](size_t i) { return i; });
    return differs(run_on<unsigned>(64, arriving_copies, {1, 32}, from, NOINC),
                   [](size_t i) { return i / 32 * 32 + 31 - i % 32; });
}

// A CTA writes to its peer: by st, atom, st.async, a bulk copy, and through a generic address.
__global__ void writes_to_peer(unsigned *out) {
    __shared__ __align__(16) unsigned tile[16], source[4];
    __shared__ uint64_t full;
    const unsigned barrier = SHARED(&full), rank = blockIdx.x;
    if (threadIdx.x == 0) {
        for (int i = 0; i < 4; ++i) {
            tile[i] = 0;
            source[i] = 10 * rank + i;
        }
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n"
                     "fence.mbarrier_init.release.cluster;\n"
                     "fence.proxy.async;\n"
                     "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 24;" ::"r"(barrier));
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x == 0) {
        asm volatile(
            "{ .reg .u32 to, bar; .reg .u64 generic;\n"
            "mapa.shared::cluster.u32 to, %0, %3;\n"
            "mapa.shared::cluster.u32 bar, %1, %3;\n"
            "mapa.u64 generic, %4, %3;\n"
            "st.shared::cluster.u32 [to], %5;\n"
            "red.relaxed.cluster.shared::cluster.add.u32 [to+4], %5;\n"
            "st.u32 [generic+8], %5;\n"
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [to+16], {%5, %5}, "
            "[bar];\n"
            "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [to+32], [%2], "
            "16, [bar]; }" ::"r"(SHARED(tile)),
            "r"(barrier), "r"(SHARED(source)), "r"(rank ^ 1), "l"(tile), "r"(rank + 1)
            : "memory");
        asm volatile("{ .reg .pred p;\n"
                     "AGAIN: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\n"
                     "@!p bra AGAIN; }" ::"r"(barrier)
                     : "memory");
    }
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    if (threadIdx.x < 12)
        out[rank * 12 + threadIdx.x] = tile[threadIdx.x];
}

std::string peers() {
    const unsigned expected[] = {2, 2, 2, 0, 2, 2, 0, 0, 10, 11, 12, 13,
                                 1, 1, 1, 0, 1, 1, 0, 0, 0,  1,  2,  3};
    std::vector<unsigned> out = run(writes_to_peer, {2, 32, 2}, 24);
    out[6] = out[7] = out[18] = out[19] = 0; // nobody has written these
    return differs(out, [&](size_t i) { return expected[i]; });
}

const TestCase CASES[] = {
    {"mbarrier_loops", mbarrier_loops},
    {"mbarrier_states", mbarrier_states},
    {"named_barriers", named_barriers},
    {"warps", warps},
    {"parts_of_warps", parts_of_warps},
    {"spins", spins},
    {"grid_barriers", grid_barriers},
    {"loads_and_stores", loads_and_stores},
    {"copies", copies},
    {"tma", tma<false>},
    {"tma_multicast", tma<true>},
    {"bulk_copies", bulk_copies},
    {"clusters", clusters},
    {"mma_bf16", mma_bf16},
    {"mma_fp16", mma_fp16},
    {"matrices", matrices},
    {"wgmma_k_k", wgmmas<__nv_bfloat16, 0, 0>},
    {"wgmma_k_mn", wgmmas<__nv_bfloat16, 0, 1>},
    {"wgmma_mn_k", wgmmas<__half, 1, 0>},
    {"wgmma_mn_mn", wgmmas<__nv_bfloat16, 1, 1>},
    {"wgmma_registers", wgmmas<__nv_bfloat16, 0, 0, true>},
    {"wgmma_registers_mn", wgmmas<__nv_bfloat16, 0, 1, true>},
    {"wgmma_e4m3", wgmmas<__nv_fp8_e4m3, 0, 0>},
    {"wgmma_e4m3_registers", wgmmas<__nv_fp8_e4m3, 0, 0, true>},
    {"orders", orders},
    {"copies_that_arrive", copies_arrive<false>},
    {"copies_that_arrive_noinc", copies_arrive<true>},
    {"peers", peers},
    {"others", others},
};

int main(int argc, char **argv) { return run_cases(CASES, argc, argv); }
