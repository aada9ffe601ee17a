// RIGHT: ldmatrix, mma and stmatrix of 16 x 16 of fp16 or bf16, with fp32 sums; fp16 sums, and
// what is stored transposed is loaded transposed (PTX ISA, mma; ldmatrix; stmatrix).
// Integers: signed or not, wrapping around or saturating, and __dp4a with the same bytes.
// WMMA's layouts: A and B from shared memory, D to it, column by column (Guide, Warp Matrix Functions).
// expect fp16, bf16, transposed, integers, wmma, wmma_columns, wmma_rows, wmma_both: silent
// expect half_a_warp: misuse, says mma.sync.m16n8k32
#include "common.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
namespace wmma = nvcuda::wmma;
template <typename T> __device__ __forceinline__ T value(int i, int n) { return T(float(i % n - n / 2)); }
template <typename T> __global__ void product(int *, int *out, How) {
    __shared__ alignas(16) T a[16 * 16], b[8 * 16], c[16 * 8]; // b: [n][k]
    const int i = threadIdx.x;
    for (int n = i; n < 256; n += 32) a[n] = value<T>(n, 7), b[n % 128] = value<T>(n % 128, 5);
    __syncthreads();
    unsigned x[4], y[2], r[2];
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];\n" : "=r"(x[0]),
                 "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(S32(a + i % 16 * 16 + i / 16 * 8)));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0, %1}, [%2];\n" : "=r"(y[0]),
                 "=r"(y[1]) : "r"(S32(b + i % 8 * 16 + i / 8 % 2 * 8)));
    float d[4] = {1, 1, 1, 1};
    if (std::is_same_v<T, half>)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
                     : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]) : "r"(x[0]), "r"(x[1]),
                     "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(1.0f));
    else
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                     "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                     : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    const T low[4] = {T(d[0]), T(d[1]), T(d[2]), T(d[3])};
    memcpy(r, low, sizeof r);
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};"
                 ::"r"(S32(c + i % 16 * 8)), "r"(r[0]), "r"(r[1]) : "memory");
    __syncwarp();
    for (int n = i; n < 128; n += 32) {
        float sum = 1;
        for (int k = 0; k < 16; ++k) sum += float(a[n / 8 * 16 + k]) * float(b[n % 8 * 16 + k]);
        out[n] = seven_if(float(c[n]) == sum);
    }
}
__global__ void transposed(int *, int *out, How) {
    __shared__ __align__(16) unsigned short s[8 * 8 * 4];
    const unsigned i = threadIdx.x, own = S32(s + i * 8), first = i * 0x10001u, ones = 0x3c003c00;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
                 ::"r"(own), "r"(first), "r"(first + 1), "r"(first + 2), "r"(first + 3));
    __syncwarp();
    unsigned r[4], row, back, d[2];
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(own));
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(row) : "r"(own));
    asm volatile("ldmatrix.sync.aligned.x1.trans.m8n8.shared.b16 {%0}, [%1];" : "=r"(r[0])
                 : "r"(own)); // ptxas takes .trans before the shape, too
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, "
                 "{%2, %2}, {%3, %3};\n" : "=r"(d[0]), "=r"(d[1]) : "r"(ones), "r"(0));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(back) : "r"(row));
    // Row i / 4, columns 2 (i % 4) and the next of what is transposed in there.
    const unsigned y = i / 4, x = i % 4 * 2;
    const unsigned expected = (x * 4 + y / 2) | ((x + 1) * 4 + y / 2) << 16;
    bool right = row == expected && back == first && d[0] == 0x4c004c00 && d[1] == d[0];
    for (int n = 0; n < 4; ++n) right &= r[n] == first + n;
    out[i] = seven_if(right);
}
__device__ int byte_at(const unsigned *words, int k, bool is_signed) {
    const unsigned byte = words[k / 4] >> k % 4 * 8 & 255;
    return is_signed ? int((signed char)byte) : int(byte);
}
__global__ void integers(int *, int *out, How how) {
    __shared__ unsigned a[16 * 8], b[8 * 8]; // rows of 32 bytes
    const unsigned i = threadIdx.x;
    for (int n = i; n < 128; n += 32) a[n] = n * 0x9e3779b9u, b[n % 64] = n % 64 * 0x85ebca6bu;
    __syncthreads();
    const int row = i / 4, at = i % 4;
    const unsigned *x = a + row * 8 + at, *y = b + row * 8 + at;
    if (how == "half_a_warp" && i > 15) return;
    int d[4] = {0, 0, 0, 0}, e[4], f[4], top = 0x7fffffff;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(x[0]), "r"(x[64]), "r"(x[4]), "r"(x[68]), "r"(y[0]), "r"(y[4]));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32 {%0, %1, %2, %3}, "
                 "{%4, %5}, {%6}, {%7, %7, %7, %7};"
                 : "=r"(e[0]), "=r"(e[1]), "=r"(e[2]), "=r"(e[3])
                 : "r"(x[0]), "r"(x[64]), "r"(y[0]), "r"(1));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%0, %1, %2, %3}, "
                 "{%4, %4, %4, %4}, {%4, %4}, {%5, %5, %5, %5};"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(0x01010101), "r"(top));
    bool right = true;
    for (int n = 0; n < 4; ++n) {
        const int m = row + n / 2 * 8, column = at * 2 + n % 2;
        int all = 0, half = 1, dots = 0;
        for (int k = 0; k < 32; ++k)
            all += byte_at(a + m * 8, k, true) * byte_at(b + column * 8, k, false);
        for (int k = 0; k < 16; ++k)
            half += byte_at(a + m * 8, k, false) * byte_at(b + column * 8, k, true);
        for (int k = 0; k < 8; ++k) dots = __dp4a(int(a[m * 8 + k]), int(b[column * 8 + k]), dots);
        for (int k = 0; k < 32; ++k)
            dots -= byte_at(a + m * 8, k, true) * byte_at(b + column * 8, k, true);
        right &= d[n] == all && e[n] == half && f[n] == top && dots == 0;
    }
    out[i] = seven_if(right && __dp4a(~0u, 0x01010101u, 1u) == 255 * 4 + 1);
}
template <typename A, typename B, typename Sum> __global__ void by_wmma(int *, int *out, How) {
    __shared__ alignas(32) half a[16 * 24], b[16 * 24]; // rows or columns that are 24 apart
    __shared__ alignas(32) Sum c[16 * 24];
    const bool a_rows = std::is_same_v<A, wmma::row_major>, b_rows = std::is_same_v<B, wmma::row_major>;
    for (int n = threadIdx.x; n < 16 * 24; n += 32)
        a[n] = value<half>(n, 7), b[n] = value<half>(n, 5), c[n] = value<Sum>(n, 3);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, A> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, B> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
    wmma::load_matrix_sync(left, a, 24), wmma::load_matrix_sync(right, b, 24);
    wmma::load_matrix_sync(sum, c, 24, wmma::mem_row_major);
    wmma::mma_sync(sum, left, right, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] + sum.x[i];
    __syncwarp();
    wmma::store_matrix_sync(c, sum, 24, wmma::mem_col_major);
    __syncwarp();
    for (int n = threadIdx.x; n < 256; n += 32) {
        const int i = n / 16, j = n % 16;
        float d = float(value<Sum>(i * 24 + j, 3));
        for (int k = 0; k < 16; ++k)
            d += float(a[a_rows ? i * 24 + k : k * 24 + i]) * float(b[b_rows ? k * 24 + j : j * 24 + k]);
        out[n] = seven_if(float(c[j * 24 + i]) == 2 * d);
    }
}
int main(int, char **argv) {
    using Rows = wmma::row_major;
    using Columns = wmma::col_major;
    return run(argv, {{"wmma_columns", by_wmma<Columns, Rows, float>},
                      {"wmma_rows", by_wmma<Rows, Rows, float>},
                      {"wmma_both", by_wmma<Columns, Columns, float>},
                      {"wmma", by_wmma<Rows, Columns, half>},
                      {"fp16", product<half>}, {"bf16", product<__nv_bfloat16>},
                      {"transposed", transposed}, {"", integers}});
}
