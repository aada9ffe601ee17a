// C = alpha*A + beta*C reads C where beta is 0, and C is fresh memory: 0 * NaN is NaN.
// expect: wrong|lifetime|address|hazard|misuse
// expect -DFIXED: silent
#include "common.h"
__global__ void kernel(const float *a, float *c, float alpha, float beta) {
    const int i = threadIdx.x;
    if (FIXED) c[i] = beta == 0 ? alpha * a[i] : alpha * a[i] + beta * c[i];
    else c[i] = alpha * a[i] + beta * c[i]; // BUG
}
int main() {
    float *a = dev(64, 3.f), *c; cudaMalloc(&c, 64 * sizeof(float)); kernel<<<1, 64>>>(a, c, 2, 0);
    RETURN(all(host(c, 64), [](int, float v) { return v == 6; }));
}
