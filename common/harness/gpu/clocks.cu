#include "harness/gpu/clocks.h"

#include <math.h>
#include <stdlib.h>

#include "harness/message.h"

namespace {

constexpr unsigned long long GATE_LIMIT_NANOSECONDS = 5'000'000'000;
constexpr unsigned int BETWEEN_LOOKS = 100; // nanoseconds

constexpr int MOST_SMS = 1024; /* the numbers of the SMs need not be dense */
constexpr int POINTS = 2;
constexpr size_t READINGS_BYTES = sizeof(ulonglong2) * POINTS * MOST_SMS;
/* Blocks are spread over the SMs before any gets a second one; some more make up for an SM that
 * was slow to empty. */
constexpr int BLOCKS_PER_SM = 8;
constexpr int WARP = 32;

/* In the host's memory, where the GPU can read and write them. */
struct Flags {
    unsigned int opened;  /* gates with this number and those before it are open */
    unsigned int expired; /* 1: one has not waited */
};

/* The clock that all SMs share. (PTX ISA: Special Registers, %globaltimer.) */
__device__ unsigned long long nanoseconds() {
    unsigned long long time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time)::"memory");
    return time;
}

__device__ unsigned int sm_number() {
    unsigned int number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
}

__global__ void wait_for_opening(volatile Flags *flags, unsigned int number) {
    const unsigned long long begin = nanoseconds();
    while (flags->opened < number) {
        if (nanoseconds() - begin > GATE_LIMIT_NANOSECONDS) {
            flags->expired = 1;
            return;
        }
        __nanosleep(BETWEEN_LOOKS);
    }
}

/* readings[SM] = {cycles, nanoseconds}. Of several blocks on one SM the last one stays; the pair
 * is one 16-byte store of one thread and therefore belongs together. */
__global__ void __launch_bounds__(WARP) read_clocks(ulonglong2 *readings) {
    const unsigned int sm = sm_number();
    if (threadIdx.x == 0 && sm < MOST_SMS) {
        const unsigned long long time = nanoseconds();
        const unsigned long long cycles = (unsigned long long)clock64();
        readings[sm] = make_ulonglong2(cycles, time);
    }
}

struct Tools {
    cudaEvent_t started, stopped;
    volatile Flags *flags, *flags_on_device; /* the same */
    ulonglong2 *readings;                    /* [POINTS][MOST_SMS] in GPU memory */
};

unsigned int gates = 0; /* the number of the last gate */

Tools make_tools() {
    Tools made = {};
    cuda_check(cudaEventCreate(&made.started), "making an event");
    cuda_check(cudaEventCreate(&made.stopped), "making an event");
    cuda_check(cudaHostAlloc((void **)&made.flags, sizeof(Flags), cudaHostAllocMapped),
               "allocating a gate's flags");
    cuda_check(cudaHostGetDevicePointer((void **)&made.flags_on_device, (void *)made.flags, 0),
               "mapping a gate's flags");
    cuda_check(cudaMalloc((void **)&made.readings, READINGS_BYTES),
               "allocating %zu bytes of GPU memory for clock readings", READINGS_BYTES);
    made.flags->opened = 0;
    made.flags->expired = 0;
    (void)atexit(gate_open); /* else the GPU would wait until the time limit */
    return made;
}

/* Made at the first use of any, when no gate is closed, until the program ends. */
const Tools &tools() {
    static const Tools made = make_tools();
    return made;
}

} // namespace

void watch_start(struct CUstream_st *stream) {
    cuda_check(cudaEventRecord(tools().started, stream), "recording an event");
}

void watch_stop(struct CUstream_st *stream) {
    cuda_check(cudaEventRecord(tools().stopped, stream), "recording an event");
}

double watch_seconds(void) {
    float milliseconds = 0;
    cuda_check(cudaEventElapsedTime(&milliseconds, tools().started, tools().stopped),
               "reading the time between two events");
    return 1e-3 * (double)milliseconds;
}

void gate_close(struct CUstream_st *stream) {
    wait_for_opening<<<1, 1, 0, stream>>>(tools().flags_on_device, ++gates);
    cuda_check(cudaGetLastError(), "launching the kernel that waits at the gate");
}

void gate_open(void) { tools().flags->opened = gates; }

void gate_check(void) {
    if (tools().flags->expired != 0) {
        end_with(STATUS_FAILED,
                 "the launches after the gate were not enqueued within %llu s: nothing was timed",
                 GATE_LIMIT_NANOSECONDS / 1'000'000'000);
    }
}

void clocks_clear(struct CUstream_st *stream) {
    cuda_check(cudaMemsetAsync(tools().readings, 0, READINGS_BYTES, stream),
               "clearing the clock readings");
}

void clocks_read(int sms, enum clock_point point, struct CUstream_st *stream) {
    ulonglong2 *readings = tools().readings + (point == CLOCK_BEFORE ? 0 : MOST_SMS);
    read_clocks<<<(unsigned int)(sms * BLOCKS_PER_SM), WARP, 0, stream>>>(readings);
    cuda_check(cudaGetLastError(), "launching the kernel that reads the SM clocks");
}

double clocks_mean_ghz(struct CUstream_st *stream) {
    static ulonglong2 readings[POINTS][MOST_SMS];
    cuda_check(cudaMemcpyAsync(readings, tools().readings, sizeof readings, cudaMemcpyDeviceToHost,
                               stream),
               "copying the clock readings");
    cuda_check(cudaStreamSynchronize(stream), "reading the SM clocks");
    double sum = 0;
    int caught = 0;
    for (int sm = 0; sm < MOST_SMS; ++sm) {
        const ulonglong2 before = readings[0][sm];
        const ulonglong2 after = readings[1][sm];
        if (before.y != 0 && after.y > before.y && after.x > before.x) {
            sum += (double)(after.x - before.x) / (double)(after.y - before.y);
            ++caught;
        }
    }
    return caught > 0 ? sum / caught : NAN;
}
