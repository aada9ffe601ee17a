#include "harness/gpu/gate.h"

#include <stdlib.h>

#include "harness/cuda_failed.h"
#include "harness/gpu/nanoseconds.cuh"
#include "harness/message.h"

namespace {

constexpr unsigned long long LIMIT_NANOSECONDS = 5'000'000'000;
constexpr unsigned int BETWEEN_LOOKS = 100; // nanoseconds

// In the host's memory, where the GPU can read and write them.
struct Flags {
    unsigned int opened;  // gates with this number and those before it are open
    unsigned int expired; // 1: one has not waited
};

__global__ void wait_for_opening(volatile Flags *flags, unsigned int number) {
    const unsigned long long begin = nanoseconds();
    while (flags->opened < number) {
        if (nanoseconds() - begin > LIMIT_NANOSECONDS) {
            flags->expired = 1;
            return;
        }
        __nanosleep(BETWEEN_LOOKS);
    }
}

} // namespace

struct gate {
    volatile Flags *flags;
    volatile Flags *on_device; // the same
    unsigned int closed;       // the number of the last gate
};

gate *gate_create(void) {
    gate *result = (gate *)calloc(1, sizeof(gate));
    if (result == nullptr) {
        message("no memory for a gate");
        return nullptr;
    }
    void *flags = nullptr;
    void *on_device = nullptr;
    if (cuda_failed(cudaHostAlloc(&flags, sizeof(Flags), cudaHostAllocMapped),
                    "allocating a gate's flags") ||
        cuda_failed(cudaHostGetDevicePointer(&on_device, flags, 0), "mapping a gate's flags")) {
        (void)cudaFreeHost(flags); /* the failure is reported */
        free(result);
        return nullptr;
    }
    result->flags = (volatile Flags *)flags;
    result->on_device = (volatile Flags *)on_device;
    result->flags->opened = 0;
    result->flags->expired = 0;
    return result;
}

void gate_destroy(gate *gate) {
    if (gate != nullptr) {
        (void)cudaFreeHost((void *)gate->flags); /* after a fault this repeats a reported error */
        free(gate);
    }
}

int gate_close(gate *gate, struct CUstream_st *stream) {
    ++gate->closed;
    wait_for_opening<<<1, 1, 0, stream>>>(gate->on_device, gate->closed);
    return cuda_failed(cudaGetLastError(), "launching the kernel that waits at the gate");
}

void gate_open(gate *gate) { gate->flags->opened = gate->closed; }

int gate_expired(const gate *gate) {
    if (gate->flags->expired != 0) {
        message("the launches after the gate were not enqueued within %llu s: nothing was timed",
                LIMIT_NANOSECONDS / 1'000'000'000);
        return 1;
    }
    return 0;
}
