// A float4 at an address that is no multiple of 16, in global or (SHARED) in shared memory (CUDA
// C++ Programming Guide, Device Memory Accesses: size and alignment).
// expect: address|misuse, says reads 16 bytes .* not aligned to them(?s:.*)// BUG
// expect -DSHARED: address|misuse
// expect -DFIXED, -DFIXED -DSHARED: silent
#include "common.h"
__global__ void kernel(const float *a, float *out, int columns) {
#ifdef SHARED
    __shared__ __align__(16) float tile[4 * 36];
    for (int i = 0; i < 4 * 36; ++i) tile[i] = a[i];
    const float *from = &tile[1 * columns];
#else
    const float *from = &a[1 * columns];
#endif
    const float4 four = *reinterpret_cast<const float4 *>(from); // BUG if columns % 4
    out[0] = four.x + four.y + four.z + four.w;
}
int main() {
    const int columns = FIXED ? 36 : 33; float *a = dev(4 * 36, 0.f), *out = dev(1, 1.f);
    kernel<<<1, 1>>>(a, out, columns); RETURN(host(out, 1)[0] == 0);
}
