// Addresses that are no multiple of the access: a half2 at an odd column (1), rows of ldmatrix 20
// bytes apart (2), a bulk copy of 100 bytes (3), one from an address of 8 mod 16 (4), a float4 in a
// row of 33 floats, in global (5) or shared memory (6) (CUDA C++ Programming Guide, Device Memory
// Accesses; PTX ISA, ldmatrix; cp.async.bulk). All multiples: 0.
// expect 0: silent
// expect 1, 2, 3, 4: address|misuse
// expect 5, 6: address|misuse, says reads 16 bytes .* not aligned to them(?s:.*)// VECTOR
#include "common.h"
#include <cuda_fp16.h>
__global__ void k(half *from, half *out, int how) {
    __shared__ alignas(128) half s[512];
    __shared__ uint64_t full;
    const int lane = threadIdx.x, bytes = how == 3 ? 100 : 1008;
    if (lane == 0) {
        mb_init(&full, 1), mb_fence(), mb_expect(&full, bytes);
        bulk_load(s, from + (how == 4 ? 4 : 0), bytes, &full);
    }
    __syncwarp();
    mb_wait(&full, 0);
    uint32_t v;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(v)
                 : "r"(S32(&s[lane % 8 * (how == 2 ? 10 : 24)])) : "memory");
    const half2 two = *reinterpret_cast<const half2 *>(&from[2 * lane + (how == 1)]);
    const half *row = (how == 6 ? s : from) + 2 * (how >= 5 ? 33 : 32);
    const float4 four = *reinterpret_cast<const float4 *>(row); // VECTOR
    out[lane] = four.x == 0 ? half(0.f) : __hadd(two.x, __ushort_as_half(uint16_t(v)));
}
int main(int, char **argv) {
    half *from = dev(512, __float2half(1.f)), *out = dev(32, __float2half(0.f));
    k<<<1, 32>>>(from, out, atoi(argv[1])); RETURN(__half2float(host(out, 32)[3]) == 2);
}
