// stmatrix: a warp writes four or two 8x8 matrices of 16-bit elements from its registers into
// shared memory, in the layout in which mma and wgmma leave their accumulators.
#pragma once

#include "device/vector.cuh"
#include "device/shared_memory.cuh"

// Rounds eight accumulators per lane to bf16 and stores four 8x8 matrices. Lane 8i + r passes the
// address of row r of matrix i, 16 bytes, 16-byte aligned; of each matrix, lane l holds row l / 4,
// columns 2 (l % 4) and the next. The whole warp calls it. A generic-proxy write: fence before a
// bulk store reads it. (PTX ISA: stmatrix.)
DEVICE void stmatrix_x4(bf16 *row, const float *values) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     shared_address(row)),
                 "r"(pack_bf16(values[0], values[1])), "r"(pack_bf16(values[2], values[3])),
                 "r"(pack_bf16(values[4], values[5])), "r"(pack_bf16(values[6], values[7]))
                 : "memory");
}

// The same for two 8x8 matrices: lanes 0 to 15 pass the addresses of their rows, those of the other
// lanes are not used; four accumulators per lane.
DEVICE void stmatrix_x2(bf16 *row, const float *values) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x2.shared::cta.b16 [%0], {%1, %2};" ::"r"(shared_address(row)),
        "r"(pack_bf16(values[0], values[1])), "r"(pack_bf16(values[2], values[3]))
        : "memory");
}

// stmatrix_x4, each matrix transposed: of it, lane l holds column l / 4, rows 2 (l % 4) and the
// next; the lanes' addresses are those of its rows in shared memory, as above. (.trans)
DEVICE void stmatrix_x4_transposed(bf16 *row, const float *values) {
    asm volatile(
        "stmatrix.sync.aligned.m8n8.x4.trans.shared::cta.b16 [%0], {%1, %2, %3, %4};" ::"r"(
            shared_address(row)),
        "r"(pack_bf16(values[0], values[1])), "r"(pack_bf16(values[2], values[3])),
        "r"(pack_bf16(values[4], values[5])), "r"(pack_bf16(values[6], values[7]))
        : "memory");
}

// The same for two matrices, as stmatrix_x2.
DEVICE void stmatrix_x2_transposed(bf16 *row, const float *values) {
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared::cta.b16 [%0], {%1, %2};" ::"r"(
                     shared_address(row)),
                 "r"(pack_bf16(values[0], values[1])), "r"(pack_bf16(values[2], values[3]))
                 : "memory");
}
