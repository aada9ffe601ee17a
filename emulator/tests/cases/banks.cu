// RIGHT: a warp's accesses of shared memory take one pass over the 32 banks for 4 bytes or less of all
// lanes, for 8 bytes of half of them, for 16 of a quarter; and more if they need different words of a
// bank. (Guide, Compute Capability: Shared Memory.)
// options --policies eager
// expect counts: silent
#include "common.h"
#include "emulator/emulator.h"
template <typename T> __global__ void reads(int step, T *out) { // lane l from step * l
    extern __shared__ __align__(128) int s[];
    for (int i = threadIdx.x; i < 1024; i += 32) s[i] = 7;
    __syncwarp();
    out[threadIdx.x] = *(const T *)((const char *)s + step * threadIdx.x);
}
template <typename T> bool takes(int step, int passes, int fewest, int ways) {
    reads<<<1, 32, 4096>>>(step, dev(32, T()));
    cudaDeviceSynchronize();
    emulator_access_site sites[8];
    for (int n = int(emulator_get_access_sites(sites, 8)) - 1; n >= 0; --n)
        if (const auto &of = sites[n]; !of.is_write)
            return of.bytes == int(sizeof(T)) && int(of.wavefronts) == passes &&
                   int(of.ideal) == fewest && of.worst_ways == ways;
    return false;
}
int main() {
    CHECK(takes<int>(4, 1, 1, 1) && takes<int>(8, 2, 1, 2) && takes<int>(128, 32, 1, 32));
    CHECK(takes<int>(0, 1, 1, 1) && takes<short>(2, 1, 1, 1) && takes<long long>(8, 2, 2, 1));
    RETURN(takes<int4>(16, 4, 4, 1) && takes<int4>(128, 32, 4, 8));
}
