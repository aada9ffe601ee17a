// Nothing clears memory: 48 threads fill 48 words of shared memory and sum up 64 (shared), split-K
// adds up in fresh memory (split_k), and C = alpha*A + beta*C reads fresh C where beta is 0: 0 *
// NaN is NaN (beta) (CUDA C++ Programming Guide, __shared__; CUDA Runtime API, cudaMalloc).
// expect shared, split_k, beta: lifetime|address|hazard|misuse|wrong
// expect shared -DFIXED, split_k -DFIXED, beta -DFIXED: silent
#include "common.h"
__global__ void k(float *out, unsigned how, float beta) {
    __shared__ float s[64];
    const int i = threadIdx.x;
    if (how == word("split_k")) atomicAdd(&out[i], 6.f);
    if (how == word("beta")) out[i] = FIXED && beta == 0 ? 6 : 2 * 3.f + beta * out[i];
    if (how != word("shared")) return;
    s[i] = 1;
    if (FIXED && i < 16) s[48 + i] = 0;
    __syncthreads();
    float sum = 0;
    for (int n = 0; n < 64; ++n) sum += s[n];
    out[i] = sum - 42;
}
int main(int, char **argv) {
    float *out; cudaMalloc(&out, 48 * sizeof(float));
    if (FIXED && argv[1][1] == 'p') cudaMemset(out, 0, 48 * sizeof(float));
    k<<<1, 48>>>(out, word(argv[1]), 0);
    RETURN(all(host(out, 48), [](int, float v) { return v == 6; }));
}
