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

// In every round each thread writes a number and reads another thread's after they met; how often
// that was there. None is a round ahead, so that two slots each will do.
template <typename Meet>
DEVICE int numbers_seen(int (&slots)[2][WARPGROUP_THREADS], int rounds, int other, Meet meet) {
    int seen = 0;
    for (int round = 0; round < rounds; ++round) {
        slots[round % 2][threadIdx.x] = round * 1000 + int(threadIdx.x);
        meet();
        seen += slots[round % 2][other] == round * 1000 + other;
    }
    return seen;
}

// All threads meet, the warps at different times.
__global__ void meet_by_tokens(int *out) {
    __shared__ Barrier barrier;
    __shared__ int slots[2][WARPGROUP_THREADS];
    if (threadIdx.x == 0) {
        barrier.init(WARPGROUP_THREADS);
        mbarrier_init_fence();
    }
    __syncthreads();
    out[threadIdx.x] = numbers_seen(slots, ROUNDS, (threadIdx.x + 33) % WARPGROUP_THREADS, [&] {
        __nanosleep(500 * (threadIdx.x / WARP_THREADS));
        barrier.wait(barrier.arrive());
    });
}

// Two pairs of warps, each over a named barrier of its own, and not in step with the other.
__global__ void meet_in_pairs(int *out) {
    __shared__ int slots[2][WARPGROUP_THREADS];
    const int pair = warp_index() / 2;
    out[threadIdx.x] = numbers_seen(slots, ROUNDS * (1 + pair), threadIdx.x ^ WARP_THREADS,
                                    [=] { named_barrier_sync(1 + pair, 2 * WARP_THREADS); });
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

// Votes of the whole warp, and of its lower half alone.
__global__ void vote_lanes(unsigned *out) {
    const int lane = threadIdx.x;
    unsigned *mine = &out[lane * 5];
    mine[0] = __ballot_sync(ALL_LANES, lane % 3 == 0);
    mine[1] = __any_sync(ALL_LANES, lane == 31);
    mine[2] = __all_sync(ALL_LANES, lane != 31);
    mine[3] = mine[4] = 7;
    if (lane < 16) {
        mine[3] = __ballot_sync(0xffffu, lane % 2);
        mine[4] = __all_sync(0xffffu, lane != 31);
    }
}

// Each warp elects a lane twice, the second time with lanes that come one after the other:
// out[threadIdx.x] is 1 if it was one lane, and the same.
__global__ void elect_lanes(int *out) {
    const unsigned first = __ballot_sync(ALL_LANES, elect_one());
    __nanosleep(200 * (threadIdx.x % WARP_THREADS));
    const unsigned second = __ballot_sync(ALL_LANES, elect_one());
    out[threadIdx.x] = first != 0 && (first & (first - 1)) == 0 && first == second;
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
    run(add_atomically, {2, threads}, integer, wide, real);
    integer.expect("integer", {1 + 2 * threads * sum});
    wide.expect("wide", {1 + 2 * threads * 0x100000000ull});
    real.expect("real", {1.0f + threads});
}

// A case of a kernel that writes `count` words, by their places. Without `word` they are what
// CUDA's own functions give: the record says what a GPU gave.
template <typename T>
static std::function<void()> writes(void (*kernel)(T *), Shape shape, int count,
                                    int (*word)(int place) = nullptr) {
    return [=] {
        const DeviceArray<int> out(count, -1);
        run(kernel, shape, out);
        word ? out.expect("out", each<int>(count, word)) : void(out.read());
    };
}

static const std::vector<Case> THREAD_CASES = {
    {"mbarrier: phases and parities", writes(hand_over, {1, 4 * WARP_THREADS}, ROUNDS,
                                             [](int round) { return (round + 1) * 10101; })},
    {"Barrier: tokens",
     writes(meet_by_tokens, {1, WARPGROUP_THREADS}, WARPGROUP_THREADS, [](int) { return ROUNDS; })},
    {"clusters: ranks, arrivals on peers",
     writes(arrive_on_peers, {8, 32, 2}, 8 * 4,
            [](int i) {
                const int cta = i / 4, who[] = {cta % 2, cta / 2, 4, ROUNDS};
                return who[i % 4];
            })},
    {"named barriers: two pairs of warps",
     writes(meet_in_pairs, {1, WARPGROUP_THREADS}, WARPGROUP_THREADS,
            [](int thread) { return ROUNDS * (1 + thread / (WARPGROUP_THREADS / 2)); })},
    {"shuffles: all kinds, 32 and 64 bits",
     writes(shuffle_lanes, {1, WARP_THREADS}, SHUFFLES *WARP_THREADS)},
    {"votes: ballot, any, all", writes(vote_lanes, {1, WARP_THREADS}, 5 * WARP_THREADS)},
    {"elect_one: one lane of each warp, always the same",
     writes(elect_lanes, {1, WARPGROUP_THREADS}, WARPGROUP_THREADS, [](int) { return 1; })},
    {"atomicAdd: four types", atomics},
};
