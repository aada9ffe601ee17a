// RIGHT: wgmma's operands in each layout: every swizzle, contiguous along K or along M and N; A in
// registers; negated; fp16, bf16, tf32 and e4m3 (PTX ISA, wgmma: Canonical Layouts; wgmma.mma_async).
// expect no_barrier: race, says nothing orders the two
// expect k_major, b_by_columns, fp16_a_by_rows, both, e4m3, tf32: silent
#include "common.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
// How M or N by K elements, 32 bytes along K, lie in shared memory: the swizzle's mode as in
// CUtensorMapSwizzle, and which dimension is contiguous.
struct Layout {
    unsigned swizzle, mn_major;
    __host__ __device__ unsigned width() const { return 16u << swizzle; } // swizzled together
    // From 8 x 8 elements to the next along the contiguous dimension, and along the other one.
    __host__ __device__ unsigned leading() const {
        if (mn_major) return swizzle == 0 ? 8 * 128 : 2 * 8 * width();
        return swizzle == 0 ? 128 : 16;
    }
    __host__ __device__ unsigned stride() const {
        return swizzle == 0 ? (mn_major ? 128 : 256) : 8 * width();
    }
    // Bytes from the operand's beginning, which is aligned to 1024.
    __device__ unsigned place(unsigned mn, unsigned k) const {
        const unsigned fast = mn_major ? mn : k, slow = mn_major ? k : mn;
        unsigned at = swizzle == 0 ? mn / 8 * stride() + k / 8 * leading()
                                   : fast / (width() / 2) * leading() + slow / 8 * stride();
        at += slow % 8 * width() + fast * 2 % width();
        return at ^ (at >> 7 & ((1u << swizzle) - 1)) << 4;
    }
    __device__ uint64_t descriptor(unsigned address) const {
        const uint64_t modes[] = {0, 3, 2, 1};
        return (address & 0x3ffff) >> 4 | uint64_t(leading() >> 4) << 16 |
               uint64_t(stride() >> 4) << 32 | modes[swizzle] << 62;
    }
};
// Their sums are exact.
__host__ __device__ float a_value(int m, int k) { return float((m * 3 + k * 5) % 11 - 5); }
__host__ __device__ float b_value(int n, int k) { return float((n * 7 + k * 2) % 13 - 6); }
#define D "{%0, %1, %2, %3, %4, %5, %6, %7}, "
#define SUMS "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define SUBTRACT(form) asm volatile("{ .reg .pred p; setp.ne.b32 p, %10, 0;\n" \
    "wgmma.mma_async.sync.aligned.m64n16" form " " D "%8, %9, p, 1, -1; }" : SUMS : "l"(a), "l"(b), "r"(accumulate))
template <typename T, int TRANS_A, int TRANS_B> // subtracted, but for bf16
__device__ void multiply(float (&d)[8], uint64_t a, uint64_t b, int accumulate) {
    if (sizeof(T) == 1) SUBTRACT("k32.f32.e4m3.e4m3");
    else if (sizeof(T) == 4) SUBTRACT("k8.f32.tf32.tf32");
    else if (std::is_same_v<T, half>)
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %10, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " D "%8, %9, p, %11, -1, "
                     "%12, %13;\n}"
                     : SUMS : "l"(a), "l"(b), "r"(accumulate), "n"(1), "n"(TRANS_A), "n"(TRANS_B));
    else
        asm volatile("wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " D "%8, %9, %10, %11, "
                     "1, %12, %13;"
                     : SUMS : "l"(a), "l"(b), "r"(accumulate), "n"(1), "n"(TRANS_A), "n"(TRANS_B));
}
template <typename T, int TRANS_B> // the same; bf16 is subtracted
__device__ void multiply_registers(float (&d)[8], const unsigned (&a)[4], uint64_t b) {
    if (sizeof(T) == 1)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 " D
                     "{%8, %9, %10, %11}, %12, p, -1, 1; }" : SUMS
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
    else
        asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0;\n"
                     "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 " D
                     "{%8, %9, %10, %11}, %12, p, 1, -1, %13; }" : SUMS
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(TRANS_B));
}
template <typename T, int TRANS_A, int TRANS_B, bool REGISTERS>
__global__ void product(float *out, Layout la, Layout lb, bool barrier) { // twice, and once by registers
    extern __shared__ __align__(1024) unsigned char s[];
    constexpr int K = 32 / sizeof(T), EACH = 4 / sizeof(T);
    unsigned char *other = s + 8192;
    const int i = threadIdx.x, row = i / 32 * 16 + i % 32 / 4, column = i % 4 * 2;
    for (int n = i; n < 64 * K; n += 128) {
        const int mn = n / K, k = n % K, byte = k * sizeof(T);
        *(T *)(s + la.place(mn, byte / 2) + byte % 2) = T(a_value(mn, k));
        if (mn < 16) *(T *)(other + lb.place(mn, byte / 2) + byte % 2) = T(b_value(mn, k));
    }
    asm volatile("fence.proxy.async;" ::: "memory");
    if (barrier) __syncthreads();
    const uint64_t a = la.descriptor(S32(s)), b = lb.descriptor(S32(other));
    float d[8] = {9, 9, 9, 9, 9, 9, 9, 9};
    T fragment[4 * EACH];
    for (int n = 0; n < 4 * EACH; ++n)
        fragment[n] = T(a_value(row + n / EACH % 2 * 8,
                                i % 4 * EACH + n / EACH / 2 * 4 * EACH + n % EACH));
    unsigned r[4];
    memcpy(r, fragment, sizeof r);
    wgmma_fence();
    multiply<T, TRANS_A, TRANS_B>(d, a, b, 0), multiply<T, TRANS_A, TRANS_B>(d, a, b, 1);
    if (REGISTERS) multiply_registers<T, TRANS_B>(d, r, b);
    wgmma_commit();
    asm volatile("wgmma.wait_group.sync.aligned %0;\n" ::"n"(0) : "memory");
    for (int n = 0; n < 8; ++n)
        out[(row + n % 4 / 2 * 8) * 16 + n / 4 * 8 + column + n % 2] = d[n];
}
template <typename T, int TRANS_A, int TRANS_B, bool REGISTERS = false>
bool is_right(float times, bool barrier = true) {
    bool right = true;
    for (unsigned way = 0; way < 4; ++way) { // 16 of N fill no wide swizzle
        const Layout a{way, TRANS_A}, b{TRANS_B ? way % 2 : 3 - way, TRANS_B};
        float *out = dev(64 * 16, 0.f);
        product<T, TRANS_A, TRANS_B, REGISTERS><<<1, 128, 16384>>>(out, a, b, barrier);
        right &= all(host(out, 64 * 16), [&](int i, float v) {
            float sum = 0;
            for (int k = 0; k < int(32 / sizeof(T)); ++k)
                sum += a_value(i / 16, k) * b_value(i % 16, k);
            return v == times * sum;
        });
    }
    return right;
}
int main(int, char **argv) {
    const How how = how_of(argv);
    if (how == "no_barrier") RETURN((is_right<__nv_bfloat16, 0, 0>(2, false)));
    if (how == "k_major") RETURN((is_right<__nv_bfloat16, 0, 0, true>(1)));
    if (how == "b_by_columns") RETURN((is_right<__nv_bfloat16, 0, 1, true>(1)));
    if (how == "fp16_a_by_rows") RETURN((is_right<half, 1, 0>(-2)));
    if (how == "both") RETURN((is_right<__nv_bfloat16, 1, 1>(2)));
    if (how == "tf32") RETURN((is_right<float, 0, 0>(-2)));
    RETURN((is_right<__nv_fp8_e4m3, 0, 0, true>(-3)));
}
