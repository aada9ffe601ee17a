// A producer on one non-blocking stream and its consumer on another, without an event; and a pinned
// buffer read after cudaMemcpyAsync without a wait (CUDA C++ Programming Guide, Streams).
// expect: race|hazard|wrong
// expect -DFIXED: silent
#include "common.h"
__global__ void fill(int *memory) { memory[threadIdx.x] = threadIdx.x + 1; }
__global__ void twice(const int *memory, int *out) { out[threadIdx.x] = 2 * memory[threadIdx.x]; }
int main() {
    int *memory, *out, *pinned;
    cudaStream_t one, two;
    cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
    cudaMalloc(&memory, 128), cudaMalloc(&out, 128), cudaMallocHost(&pinned, 128);
    fill<<<1, 32, 0, one>>>(memory);
    if (FIXED) cudaStreamSynchronize(one);
    twice<<<1, 32, 0, two>>>(memory, out); // BUG
    cudaMemcpyAsync(pinned, out, 128, cudaMemcpyDeviceToHost, two);
    if (FIXED) cudaStreamSynchronize(two);
    RETURN(pinned[31] == 64); // BUG
}
