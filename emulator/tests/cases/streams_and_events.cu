// A consumer on another stream than its producer. Right: it waits for an event recorded after the
// producer (0); the consumer is on the legacy default stream, and the other stream is a blocking
// one (1). Wrong: no event (2), one recorded before the producer (3), a non-blocking stream and the
// default one (4) (CUDA C++ Programming Guide, Streams; Events; CUDA Runtime API, stream
// synchronization).
// expect 0, 1: silent
// expect 2, 3, 4: race|hazard|wrong
#include "common.h"
__global__ void fill(int *g) { g[threadIdx.x] = 7; }
__global__ void copy(const int *g, int *out) { out[threadIdx.x] = g[threadIdx.x]; }
int main(int, char **argv) {
    const int how = atoi(argv[1]);
    int *g = dev(32, 0), *out = dev(32, 0);
    cudaStream_t one, two;
    cudaEvent_t event;
    cudaDeviceSynchronize();
    cudaStreamCreateWithFlags(&one, how == 1 ? cudaStreamDefault : cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaEventCreate(&event);
    if (how == 3) cudaEventRecord(event, one);
    fill<<<1, 32, 0, one>>>(g);
    if (how == 0) cudaEventRecord(event, one);
    if (how == 0 || how == 3) cudaStreamWaitEvent(two, event, 0);
    copy<<<1, 32, 0, how == 1 || how == 4 ? nullptr : two>>>(g, out);
    RETURN(host(out, 32)[3] == 7);
}
