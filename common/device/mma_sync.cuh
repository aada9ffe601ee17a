// mma.sync: a warp's matrix multiply from registers. D[16][8] += A[16][16] * B[16][8]; compute
// capability 8.0 and later. (PTX ISA: mma, Matrix Fragments for mma.m16n8k16.)
//
// Lane l's part, two 16-bit elements per register, the first in the lower half:
//   a[0], a[1]  rows l / 4 and l / 4 + 8 of A, columns 2 (l % 4) and the next
//   a[2], a[3]  the same rows, columns 8 further
//   b[0], b[1]  column l / 4 of B, rows 2 (l % 4) and the next; the same, 8 further
//   acc         row l / 4 of D, columns 2 (l % 4) and the next; then row l / 4 + 8
// ldmatrix loads this layout: A row-major as four matrices (upper left, lower left, upper right,
// lower right), B stored column by column as two. The whole warp calls it.
#pragma once

#include "device/base.cuh"

// acc += A * B: fp16 operands, fp32 sums.
DEVICE void mma_m16n8k16_f16_f32(float (&acc)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(acc[0]), "+f"(acc[1]), "+f"(acc[2]), "+f"(acc[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// acc += A * B: fp16 operands and sums; acc holds two elements a register.
DEVICE void mma_m16n8k16_f16_f16(uint32_t (&acc)[2], const uint32_t (&a)[4],
                                 const uint32_t (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, "
                 "{%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                 : "+r"(acc[0]), "+r"(acc[1])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
