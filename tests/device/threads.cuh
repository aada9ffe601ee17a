// Barriers, clusters, and what the lanes of a warp do together, against their definitions.
#pragma once

#include "device/barrier.cuh"
#include "device/cluster.cuh"
#include "device/elect.cuh"
#include "device/mbarrier.cuh"
#include "device/named_barrier.cuh"
#include "frame.cuh"

// ---------------------------------------------------------------------------- barriers

constexpr int ROUNDS = 9;

// Three warps' first threads hand one number each per round, at different times, to warp 0's, which
// adds them up: out [ROUNDS].
__global__ void hand_over(int *out) {
    __shared__ uint64_t full, empty;
    __shared__ int slots[3];
    const int producer = warp_index() - 1;
    if (threadIdx.x == 0) {
        mbarrier_init(&full, 3);
        mbarrier_init(&empty, 1);
        mbarrier_init_fence();
    }
    __syncthreads();
    for (int round = 0; threadIdx.x % WARP_THREADS == 0 && round < ROUNDS; ++round) {
        const int parity = round % 2;
        if (producer < 0) {
            mbarrier_wait(&full, parity); // the round's three numbers are there
            out[round] = slots[0] + slots[1] + slots[2];
            mbarrier_arrive(&empty); // and have been read
        } else {
            mbarrier_wait(&empty, parity ^ 1); // the consumer has read the round before
            __nanosleep(2000 * producer);
            slots[producer] = (round + 1) * (producer == 0 ? 1 : producer == 1 ? 100 : 10000);
            mbarrier_arrive(&full);
        }
    }
}

static void mbarrier_phases() {
    std::vector<int> expected(ROUNDS);
    for (int round = 0; round < ROUNDS; ++round)
        expected[round] = (round + 1) * 10101;
    expect_output(expected, -1, ROUNDS, "sums", hand_over, {1, 4 * WARP_THREADS});
}

// Every thread writes its slot, and after the phase it arrived in reads another warp's:
// out[threadIdx.x] counts the rounds in which that was there.
__global__ void exchange_slots(int *out) {
    __shared__ Barrier written, read;
    __shared__ int slots[WARPGROUP_THREADS];
    if (threadIdx.x == 0) {
        written.init(WARPGROUP_THREADS);
        read.init(WARPGROUP_THREADS);
        mbarrier_init_fence();
    }
    __syncthreads();
    const int other = (threadIdx.x + 33) % WARPGROUP_THREADS;
    int right = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        __nanosleep(500 * (threadIdx.x / WARP_THREADS));
        slots[threadIdx.x] = round * 1000 + int(threadIdx.x);
        written.wait(written.arrive());
        right += slots[other] == round * 1000 + other;
        read.wait(read.arrive()); // nobody overwrites a slot that is still to be read
    }
    out[threadIdx.x] = right;
}

static void barrier_tokens() {
    const std::vector<int> expected(WARPGROUP_THREADS, ROUNDS);
    expect_output(expected, -1, WARPGROUP_THREADS, "rounds", exchange_slots,
                  {1, WARPGROUP_THREADS});
}

// Each CTA of a cluster of two arrives on both CTAs' barriers, ROUNDS times; out[blockIdx.x] says
// who it is.
__global__ void arrive_on_peers(int4 *out) {
    __shared__ uint64_t barrier;
    if (threadIdx.x == 0) {
        mbarrier_init(&barrier, 2);
        mbarrier_init_fence();
    }
    cluster_sync();
    int round = 0;
    for (; round < ROUNDS; ++round) {
        if (threadIdx.x < 2)
            mbarrier_arrive_cluster(&barrier, threadIdx.x);
        mbarrier_wait(&barrier, round % 2);
        cluster_sync(); // both have seen this phase before the next begins
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = make_int4(cluster_cta_rank(), cluster_index(), cluster_count(), round);
    cluster_sync();
}

static void clusters() {
    int most = 0;
    EXPECT(max_active_clusters(&most, arrive_on_peers, dim3(32), dim3(2), 0) == 0 && most > 0,
           "%d clusters fit", most);
    const DeviceArray<int4> out(8, make_int4(-1, -1, -1, -1));
    run(arrive_on_peers, {8, 32, 2}, out.device);
    const std::vector<int4> got = out.read();
    for (int cta = 0; cta < 8; ++cta)
        EXPECT(got[cta].x == cta % 2 && got[cta].y == cta / 2 && got[cta].z == 4 &&
                   got[cta].w == ROUNDS,
               "CTA %d: rank %d of cluster %d of %d, %d rounds", cta, got[cta].x, got[cta].y,
               got[cta].z, got[cta].w);
}

// Two pairs of warps hand numbers to and fro, each pair over a named barrier of its own, and not in
// step with the other: out[threadIdx.x] counts the rounds in which the partner's number was there.
__global__ void named_pairs(int *out) {
    __shared__ int slots[2][WARPGROUP_THREADS];
    const int pair = warp_index() / 2;
    const int partner = threadIdx.x ^ WARP_THREADS;
    int right = 0;
    for (int round = 0; round < ROUNDS * (1 + pair); ++round) {
        slots[round % 2][threadIdx.x] = round * 1000 + int(threadIdx.x);
        named_barrier_sync(1 + pair, 2 * WARP_THREADS); // the partner has written
        right += slots[round % 2][partner] == round * 1000 + partner;
    }
    out[threadIdx.x] = right;
}

static void named_barriers() {
    std::vector<int> expected(WARPGROUP_THREADS, ROUNDS);
    for (int thread = WARPGROUP_THREADS / 2; thread < WARPGROUP_THREADS; ++thread)
        expected[thread] = 2 * ROUNDS;
    expect_output(expected, -1, WARP_THREADS, "rounds", named_pairs, {1, WARPGROUP_THREADS});
}

// ---------------------------------------------------------------------------- lanes of a warp

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int SHUFFLES = 9;

// Each lane's value is its number, of which shuffle i makes out[i][lane].
__global__ void shuffle_lanes(int *out) {
    const int lane = threadIdx.x;
    const long long wide = lane * 0x100000001ll;
    int got[SHUFFLES];
    got[0] = __shfl_sync(ALL_LANES, lane, 5);
    got[1] = __shfl_sync(ALL_LANES, lane, lane * 7);    // by the number's lowest bits
    got[2] = __shfl_sync(ALL_LANES, lane, lane + 3, 8); // within eight lanes
    got[3] = __shfl_up_sync(ALL_LANES, lane, 4);        // the lowest four keep theirs
    got[4] = __shfl_down_sync(ALL_LANES, lane, 3, 16);  // the highest three of 16 as well
    got[5] = __shfl_xor_sync(ALL_LANES, lane, 21);
    got[6] = __shfl_xor_sync(ALL_LANES, lane, 16, 16);       // out of the segment
    got[7] = int(__shfl_xor_sync(ALL_LANES, wide, 9) >> 32); // 64 bits
    got[8] = int(__shfl_down_sync(ALL_LANES, float(lane), 1));
    for (int i = 0; i < SHUFFLES; ++i)
        out[i * WARP_THREADS + lane] = got[i];
}

static void shuffles() {
    std::vector<int> expected;
    for (int i = 0; i < SHUFFLES; ++i)
        for (int lane = 0; lane < WARP_THREADS; ++lane) {
            const int from[SHUFFLES] = {5,
                                        lane * 7 % 32,
                                        lane / 8 * 8 + (lane + 3) % 8,
                                        lane < 4 ? lane : lane - 4,
                                        lane % 16 > 12 ? lane : lane + 3,
                                        lane ^ 21,
                                        lane < 16 ? lane : lane ^ 16,
                                        lane ^ 9,
                                        lane == 31 ? lane : lane + 1};
            expected.push_back(from[i]);
        }
    expect_output(expected, -1, WARP_THREADS, "lanes", shuffle_lanes, {1, WARP_THREADS});
}

constexpr unsigned LOW_LANES = 0x0000ffffu;

// Votes of the whole warp, and of its lower half alone.
__global__ void vote_lanes(unsigned *out) {
    const int lane = threadIdx.x;
    unsigned *mine = &out[lane * 5];
    mine[0] = __ballot_sync(ALL_LANES, lane % 3 == 0);
    mine[1] = __any_sync(ALL_LANES, lane == 31);
    mine[2] = __all_sync(ALL_LANES, lane != 31);
    mine[3] = mine[4] = 7;
    if (lane < 16) {
        mine[3] = __ballot_sync(LOW_LANES, lane % 2);
        mine[4] = __all_sync(LOW_LANES, lane != 31);
    }
}

static void votes() {
    std::vector<unsigned> expected;
    for (int lane = 0; lane < WARP_THREADS; ++lane) {
        expected.insert(expected.end(), {0x49249249u, 1, 0});
        expected.insert(expected.end(), {lane < 16 ? 0xaaaau : 7, lane < 16 ? 1u : 7});
    }
    expect_output(expected, 0u, 5, "votes", vote_lanes, {1, WARP_THREADS});
}

// Each warp elects a lane twice, the second time with lanes that come one after the other:
// out[threadIdx.x] is 1 if it was one lane, and the same.
__global__ void elect_lanes(int *out) {
    const unsigned first = __ballot_sync(ALL_LANES, elect_one());
    __nanosleep(200 * (threadIdx.x % WARP_THREADS));
    const unsigned second = __ballot_sync(ALL_LANES, elect_one());
    out[threadIdx.x] = first != 0 && (first & (first - 1)) == 0 && first == second;
}

static void elections() {
    const std::vector<int> expected(WARPGROUP_THREADS, 1);
    expect_output(expected, -1, WARP_THREADS, "elected", elect_lanes, {1, WARPGROUP_THREADS});
}

// All threads of two CTAs add to the same numbers; a CTA's own first, in shared memory.
__global__ void add_atomically(unsigned *integer, unsigned long long *wide, float *real) {
    __shared__ int sum;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, int(threadIdx.x));
    __syncthreads();
    atomicAdd(integer, unsigned(sum));
    atomicAdd(wide, 0x100000000ull);
    atomicAdd(real, 0.5f);
}

static void atomics() {
    const int threads = 64;
    const unsigned sum = threads * (threads - 1) / 2;
    const DeviceArray<unsigned> integer(1, 1u);
    const DeviceArray<unsigned long long> wide(1, 1ull);
    const DeviceArray<float> real(1, 1.0f);
    run(add_atomically, {2, threads}, integer.device, wide.device, real.device);
    expect_equal(integer.read(), {1 + 2 * threads * sum}, 1, "integer");
    expect_equal(wide.read(), {1 + 2 * threads * 0x100000000ull}, 1, "wide");
    expect_equal(real.read(), {1.0f + threads}, 1, "real");
}
