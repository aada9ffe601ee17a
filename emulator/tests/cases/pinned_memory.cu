// Page-locked memory of the host that asynchronous copies still use: read before the copy to it is
// known to be done (read), written before the copy from it is (write) (CUDA C++ Programming Guide,
// Streams; CUDA Runtime API, API synchronization behavior).
// expect read, write: race|hazard|wrong
// expect read -DFIXED, write -DFIXED: silent
#include "common.h"
__global__ void twice(int *g) { g[threadIdx.x] *= 2; }
int main(int, char **argv) {
    int *pinned, *g = dev(32, 3);
    cudaStream_t stream;
    cudaDeviceSynchronize();
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    cudaMallocHost(&pinned, 128);
    for (int i = 0; i < 32; ++i) pinned[i] = 7;
    if (argv[1][0] == 'w') {
        cudaMemcpyAsync(g, pinned, 128, cudaMemcpyHostToDevice, stream);
        if (FIXED) cudaStreamSynchronize(stream);
        for (int i = 0; i < 32; ++i) pinned[i] = 8;
        twice<<<1, 32, 0, stream>>>(g);
        RETURN(host(g, 32)[3] == 14);
    }
    twice<<<1, 32, 0, stream>>>(g);
    cudaMemcpyAsync(pinned, g, 128, cudaMemcpyDeviceToHost, stream);
    if (FIXED) cudaStreamSynchronize(stream);
    RETURN(pinned[31] == 6);
}
