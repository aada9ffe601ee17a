// ldmatrix: a warp reads 8x8 matrices of 16-bit elements from shared memory into the layout that
// mma.sync needs for its operands. (PTX ISA: ldmatrix.)
//
// Lane 8i + r passes the address of row r of matrix i: 16 bytes, 16-byte aligned. Lane l gets two
// elements of each matrix: of row l / 4, columns 2 (l % 4) and the next, the first in the lower
// half of registers[i]. The whole warp calls it.
#pragma once

#include "device/shared_memory.cuh"

// Four matrices.
DEVICE void ldmatrix_x4(uint32_t (&registers)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(registers[0]), "=r"(registers[1]), "=r"(registers[2]), "=r"(registers[3])
                 : "r"(shared_address(row))
                 : "memory");
}
