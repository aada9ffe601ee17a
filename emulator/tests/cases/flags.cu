// What a flag hands over. Volatile accesses are relaxed: between CTAs, as in decoupled look-back,
// __threadfence must stand between data and flag (lookback); within one __threadfence_block will do
// (cta). By PTX st.release.gpu and ld.acquire.gpu are right (release); .relaxed orders nothing
// (relaxed), and .release.cta lacks the reader (narrow) (CUDA C++ Programming Guide, Memory Fence
// Functions; PTX ISA, Volatile Operations; Memory Consistency Model: morally strong).
// expect lookback, cta, relaxed, narrow: race|hazard
// expect lookback -DFIXED, cta -DFIXED, release: silent
#include "common.h"
__global__ void chain(int *sums, volatile int *flags) {
    const auto fence = FIXED ? __threadfence : __threadfence_block;
    int before = 0;
    if (blockIdx.x > 0) {
        while (flags[blockIdx.x - 1] == 0) {}
        fence();
        before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + 7;
    fence();
    flags[blockIdx.x] = 1;
}
__global__ void in_cta(int *out) {
    __shared__ int data;
    __shared__ volatile int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 0) {
        data = 7;
        if (FIXED) __threadfence_block();
        flag = 1;
    } else if (threadIdx.x == 32) {
        while (flag == 0) {}
        if (FIXED) __threadfence_block();
        out[0] = data;
    }
}
__global__ void by_ptx(int *data, int *flag, unsigned how) {
    if (blockIdx.x == 0) {
        data[1] = 7;
        if (how == word("release"))
            asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        if (how == word("relaxed"))
            asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        if (how == word("narrow"))
            asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        return;
    }
    for (int set = 0; !set;)
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(set) : "l"(flag) : "memory");
    data[0] = data[1];
}
int main(int, char **argv) {
    int *data = dev(4, 0), *flags = dev(4, 0); const unsigned how = word(argv[1]);
    if (how == word("lookback")) chain<<<4, 1>>>(data, flags);
    else if (how == word("cta")) in_cta<<<1, 64>>>(data);
    else by_ptx<<<2, 1>>>(data, flags, how);
    RETURN(host(data, 1)[0] == 7);
}
