// Two CTAs race on one element: the report tells them apart, blockIdx 0 and blockIdx 5.
// expect: race|hazard, says CTA 0(?s:.*)(CTA|cluster) 5|(CTA|cluster) 5(?s:.*)CTA 0
#include "common.h"
__global__ void kernel(int *a, int *out) {
    if (blockIdx.x == 0) a[0] = 1;
    if (blockIdx.x == 5) out[0] = a[0];
}
int main() {
    int *a = dev(1, 0), *out = dev(1, 0); kernel<<<8, 1>>>(a, out);
    RETURN(cudaDeviceSynchronize() == cudaSuccess);
}
