// The host overwrites a pinned buffer while cudaMemcpyAsync may still read it: the call returns
// before the copy is done (CUDA Runtime API, API synchronization behavior).
// expect: race|hazard|wrong
// expect -DFIXED: silent
#include "common.h"
__global__ void copy(const int *g, int *out) { out[threadIdx.x] = g[threadIdx.x]; }
int main() {
    int *pinned, *g = dev(32, 0), *out = dev(32, 0);
    cudaStream_t stream;
    cudaDeviceSynchronize();
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMallocHost(&pinned, 128);
    for (int i = 0; i < 32; ++i) pinned[i] = 7;
    cudaMemcpyAsync(g, pinned, 128, cudaMemcpyHostToDevice, stream);
    if (FIXED) cudaStreamSynchronize(stream);
    for (int i = 0; i < 32; ++i) pinned[i] = 8;
    copy<<<1, 32, 0, stream>>>(g, out);
    RETURN(host(out, 32)[3] == 7);
}
