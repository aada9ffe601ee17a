// Who knows what of whom, as the emulator's clocks say: a producer's thread loads a tile twice,
// into the same memory, and a warpgroup multiplies the first one. A line for each event: who does
// what to which carrier, operation or cell, and what it then knows of each of NAMES; of itself, its
// time.
#include "probe.cuh"

#include "device/mbarrier.cuh"
#include "device/tma.cuh"
#include "device/wgmma.cuh"

#include "emulator/emulator.h"
#include "order.h"

constexpr int SIDE = 64; // of a tile, both A and B
constexpr int CONSUMER = WARPGROUP_THREADS;
constexpr int THREADS = 2 * WARPGROUP_THREADS;

namespace order = emulator::order;

// The agents, by their numbers: threads, and operations, which are numbered as they first appear;
// THREADS are the wgmmas of the producer's warpgroup, which has none but waits (mbarrier.cpp).
constexpr const char *NAMES[] = {"producer", "load", "consumer", "wgmma"};
constexpr int LOAD = 1;
constexpr uint32_t AGENTS[] = {0, THREADS + 1, CONSUMER, THREADS + 2};

struct Event {
    uint32_t agent;
    const char *does, *of;
    int knows[std::size(AGENTS)];
};
static Event events[32];
static int event_count = 0;

// The log is no memory of the kernel's: its accesses are not to be checked.
#define UNCHECKED __attribute__((no_sanitize("thread")))

UNCHECKED static void log_event(const char *does, const char *of) {
    const order::Context &now = order::running();
    Event &event = events[event_count++];
    event.agent = now.self.agent;
    event.does = does;
    event.of = of;
    for (size_t i = 0; i < std::size(AGENTS); ++i)
        event.knows[i] =
            AGENTS[i] == now.self.agent ? now.self.times.done[0] : now.clock.of(AGENTS[i]).done[0];
}

UNCHECKED static void log_operation(const emulator_operation *operation, void *) {
    const bool is_load = operation->kind == EMULATOR_LOAD;
    log_event(is_load ? "writes" : "reads", "tile");
    if (is_load)
        --events[event_count - 1].knows[LOAD]; // when it wrote: since then it has released
}

struct Shared {
    alignas(1024) bf16 tile[SIDE * SIDE];
    uint64_t full, empty;
};

static void produce(Shared &smem, const TensorMap *map) {
    for (int round = 0; round < 2; ++round) {
        mbarrier_wait(&smem.empty, (round + 1) % 2);
        if (round > 0)
            log_event("waits", "empty");
        log_event("arrives", "full");
        mbarrier_arrive_expect_tx(&smem.full, sizeof(smem.tile));
        log_event("issues", "load");
        tma_load_2d(smem.tile, map, 0, 0, &smem.full);
    }
}

static void consume(Shared &smem) {
    const auto log = [](const char *does, const char *of) {
        if (threadIdx.x == CONSUMER)
            log_event(does, of);
    };
    float acc[SIDE / 2] = {};
    mbarrier_wait(&smem.full, 0);
    log("waits", "full");
    wgmma_fence();
    log("issues", "wgmma");
    wgmma<SIDE>(acc, matrix_descriptor(smem.tile), matrix_descriptor(smem.tile));
    wgmma_commit();
    wgmma_wait<0>(acc);
    log("waits", "group");
    log("arrives", "empty");
    if (threadIdx.x == CONSUMER)
        mbarrier_arrive(&smem.empty);
    mbarrier_wait(&smem.full, 1);
}

__global__ void ring_of_one(const __grid_constant__ TensorMap map) {
    Shared &smem = dynamic_smem<Shared>();
    if (threadIdx.x == 0) {
        mbarrier_init(&smem.full, 1);
        mbarrier_init(&smem.empty, 1);
        mbarrier_init_fence();
    }
    __syncthreads(); // the barriers are ready
    if (threadIdx.x == 0)
        produce(smem, &map);
    else if (threadIdx.x >= CONSUMER)
        consume(smem);
}

int main() {
    const Array<bf16> matrix(SIDE * SIDE);
    TensorMap map;
    if (make_tensor_map_2d(&map, matrix.device, SIDE, SIDE, SIDE, SIDE))
        return 1;
    emulator_listen(log_operation, nullptr);
    const cudaStream_t stream = nullptr;
    if (allow_dynamic_smem(ring_of_one, sizeof(Shared)) ||
        launch(ring_of_one, dim3(1), dim3(THREADS), dim3(1), sizeof(Shared), stream, map) ||
        launch_check(cudaDeviceSynchronize(), "waiting for the kernel, threads", THREADS))
        return 1;
    for (int i = 0; i < event_count; ++i) {
        const auto &[agent, does, of, knows] = events[i];
        const char *who = NAMES[std::find(AGENTS, std::end(AGENTS), agent) - AGENTS];
        printf("%s %s %s %d %d %d %d\n", who, does, of, knows[0], knows[1], knows[2], knows[3]);
    }
    return 0;
}
