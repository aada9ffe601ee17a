#include "harness/gpu/clocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/message.h"

namespace {

constexpr unsigned long long GATE_LIMIT_NANOSECONDS = 5'000'000'000;
constexpr unsigned int BETWEEN_LOOKS = 100; // nanoseconds

constexpr int MOST_SMS = 1024; /* the numbers of the SMs need not be dense */
enum { BEFORE, AFTER, POINTS };
/* Blocks are spread over the SMs before any gets a second one; some more make up for an SM that
 * was slow to empty. */
constexpr int BLOCKS_PER_SM = 8;
constexpr int WARP = 32;

/* In the host's memory, where the GPU can read and write it. */
struct Shared {
    ulonglong2 readings[POINTS][MOST_SMS]; /* {cycles, nanoseconds}; 0: none */
    volatile bool opened;                  /* the gate */
    volatile bool expired;                 /* it has not waited */
};

/* The clock that all SMs share. (PTX ISA: Special Registers, %globaltimer.) */
__device__ unsigned long long nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

__global__ void wait_for_opening(Shared *shared) {
    const unsigned long long begin = nanoseconds();
    while (!shared->opened) {
        if (nanoseconds() - begin > GATE_LIMIT_NANOSECONDS) {
            shared->expired = true;
            return;
        }
        __nanosleep(BETWEEN_LOOKS);
    }
}

/* Of several blocks on one SM the last one's reading stays; the pair is one 16-byte store of one
 * thread and therefore belongs together. */
__global__ void __launch_bounds__(WARP) store_clocks(ulonglong2 *readings) {
    unsigned int sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    if (threadIdx.x == 0 && sm < MOST_SMS) {
        const unsigned long long time = nanoseconds();
        const unsigned long long cycles = (unsigned long long)clock64();
        readings[sm] = make_ulonglong2(cycles, time);
    }
}

struct Tools {
    cudaEvent_t event[POINTS];
    Shared *shared;
};

/* Made at the first use of any, when no gate is closed, until the program ends. */
const Tools &tools() {
    static const Tools made = [] {
        Tools set = {};
        cuda_check(cudaEventCreate(&set.event[BEFORE]), "making an event");
        cuda_check(cudaEventCreate(&set.event[AFTER]), "making an event");
        cuda_check(cudaHostAlloc((void **)&set.shared, sizeof(Shared), cudaHostAllocMapped),
                   "allocating what the host and the GPU share");
        *set.shared = {};
        /* Else the GPU would wait until the time limit. */
        (void)atexit([] { tools().shared->opened = true; });
        return set;
    }();
    return made;
}

} // namespace

void gate_close(struct CUstream_st *stream) {
    tools().shared->opened = false;
    wait_for_opening<<<1, 1, 0, stream>>>(tools().shared);
    cuda_check(cudaGetLastError(), "launching the kernel that waits at the gate");
}

static void read_clocks(int point, int sms, struct CUstream_st *stream) {
    if (sms > 0) {
        store_clocks<<<(unsigned int)(sms * BLOCKS_PER_SM), WARP, 0, stream>>>(
            tools().shared->readings[point]);
        cuda_check(cudaGetLastError(), "launching the kernel that reads the SM clocks");
    }
}

void watch_start(int sms, struct CUstream_st *stream) {
    /* No kernel that writes them is enqueued: each watch has a result. */
    memset(tools().shared->readings, 0, sizeof tools().shared->readings);
    read_clocks(BEFORE, sms, stream);
    cuda_check(cudaEventRecord(tools().event[BEFORE], stream), "recording an event");
}

void watch_stop(int sms, struct CUstream_st *stream) {
    cuda_check(cudaEventRecord(tools().event[AFTER], stream), "recording an event");
    read_clocks(AFTER, sms, stream);
}

/* After the stream's work has ended. */
static double mean_ghz() {
    double sum = 0;
    int caught = 0;
    for (int sm = 0; sm < MOST_SMS; ++sm) {
        const ulonglong2 before = tools().shared->readings[BEFORE][sm];
        const ulonglong2 after = tools().shared->readings[AFTER][sm];
        if (before.y != 0 && after.y > before.y && after.x > before.x) {
            sum += (double)(after.x - before.x) / (double)(after.y - before.y);
            ++caught;
        }
    }
    return caught > 0 ? sum / caught : NAN;
}

watched watch_result(struct CUstream_st *stream, const char *what) {
    float milliseconds = 0;
    tools().shared->opened = true;
    cuda_check(cudaStreamSynchronize(stream), "running %s", what);
    if (tools().shared->expired) {
        end_with(STATUS_FAILED,
                 "the launches after the gate were not enqueued within %llu s: nothing was timed",
                 GATE_LIMIT_NANOSECONDS / 1'000'000'000);
    }
    cuda_check(cudaEventElapsedTime(&milliseconds, tools().event[BEFORE], tools().event[AFTER]),
               "reading the time between two events");
    return {1e-3 * (double)milliseconds, mean_ghz()};
}
