// A kernel that is given malloc's pointer where pageable memory is not accessible (1), a copy past
// the end of an allocation (2), a copy whose direction is not that of its pointers (3), a device
// pointer read on the host (4), memory freed twice (5), memory of the host cleared by cudaMemset
// (6). Right: 0 (CUDA Runtime API, cudaMemcpy; CUDA C++ Programming Guide, Device Memory).
// expect 0: silent
// expect 1: address, says a thread reads 4 bytes .* of the host
// expect 2: wrong, says InvalidValue: it reads 256 bytes at offset 0 of an allocation
// expect 3: wrong, says InvalidValue: it .* memory .* which is the
// expect 4: address, says host code reads 4 bytes of device
// expect 5: wrong, says cudaFree fails .* which no allocation begins at
// expect 6: wrong, says cudaMemset fails .* device memory at .* which is none
#include "common.h"
__global__ void k(const int *from, int *out) { out[threadIdx.x] = from[threadIdx.x] + 1; }
int main(int, char **argv) {
    const int how = atoi(argv[1]);
    int *memory = static_cast<int *>(malloc(128)), *from = dev(32, 6), *out = dev(32, 0);
    std::vector<int> words(64, 6); memory[3] = 6; k<<<1, 32>>>(how == 1 ? memory : from, out);
    CHECK(cudaDeviceSynchronize() == cudaSuccess); const int bytes = how == 2 ? 256 : 128;
    const auto direction = how == 3 ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy(words.data(), out, bytes, direction) == cudaSuccess); CHECK(words[3] == 7);
    if (how == 5) CHECK(cudaFree(out) + cudaFree(out) == cudaSuccess);
    if (how == 6) CHECK(cudaMemset(memory, 0, 64) == cudaSuccess);
    const volatile int *read = how == 4 ? out : words.data(); RETURN(read[3] == 7);
}
