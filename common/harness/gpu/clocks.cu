#include "harness/gpu/clocks.h"

#include <math.h>
#include <stdlib.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/nanoseconds.cuh"
#include "harness/message.h"

namespace {

constexpr int MOST_SMS = 1024; /* the numbers of the SMs need not be dense */
constexpr int POINTS = 2;
/* Blocks are spread over the SMs before any gets a second one; some more make up for an SM that
 * was slow to empty. */
constexpr int BLOCKS_PER_SM = 8;
constexpr int WARP = 32;

__device__ unsigned int sm_number() {
    unsigned int number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
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

} // namespace

struct clocks {
    int sms;
    ulonglong2 *readings; /* [POINTS][MOST_SMS] in GPU memory */
};

clocks *clocks_open(int sms) {
    clocks *result = (clocks *)calloc(1, sizeof(clocks));
    if (result == nullptr) {
        message("no memory for the clock readings");
        return nullptr;
    }
    result->sms = sms;
    const size_t bytes = sizeof(ulonglong2) * POINTS * MOST_SMS;
    if (cuda_failed(cudaMalloc((void **)&result->readings, bytes),
                    "allocating %zu bytes of GPU memory for clock readings", bytes)) {
        free(result);
        return nullptr;
    }
    return result;
}

void clocks_close(clocks *clocks) {
    if (clocks != nullptr) {
        (void)cudaFree(clocks->readings); /* after a fault this repeats a reported error */
        free(clocks);
    }
}

int clocks_clear(clocks *clocks, struct CUstream_st *stream) {
    const size_t bytes = sizeof(ulonglong2) * POINTS * MOST_SMS;
    return cuda_failed(cudaMemsetAsync(clocks->readings, 0, bytes, stream),
                       "clearing the clock readings");
}

int clocks_read(clocks *clocks, enum clock_point point, struct CUstream_st *stream) {
    ulonglong2 *readings = clocks->readings + (point == CLOCK_BEFORE ? 0 : MOST_SMS);
    read_clocks<<<(unsigned int)(clocks->sms * BLOCKS_PER_SM), WARP, 0, stream>>>(readings);
    return cuda_failed(cudaGetLastError(), "launching the kernel that reads the SM clocks");
}

int clocks_mean_ghz(clocks *clocks, struct CUstream_st *stream, double *ghz) {
    static ulonglong2 readings[POINTS][MOST_SMS];
    *ghz = NAN;
    if (cuda_failed(cudaMemcpyAsync(readings, clocks->readings, sizeof readings,
                                    cudaMemcpyDeviceToHost, stream),
                    "copying the clock readings") ||
        cuda_failed(cudaStreamSynchronize(stream), "reading the SM clocks")) {
        return 1;
    }
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
    if (caught > 0) {
        *ghz = sum / caught;
    }
    return 0;
}
