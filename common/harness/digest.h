/* One number for all bits of an output: two outputs with the same digest are the same, but for an
 * accident of one in 2^64. It is a sum over the elements, so that the order in which they are read
 * does not matter; an element's share depends on its bits and its place. */
#ifndef GEMM_LADDER_HARNESS_DIGEST_H
#define GEMM_LADDER_HARNESS_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "harness/host_device.h"
#include "harness/number.h"
#include "harness/random.h"

/* The share of a word, of 16 or 32 bits, at an index of a matrix. */
HOST_DEVICE static inline uint64_t digest_word(uint32_t word, uint64_t index) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    return random_mix(random_mix(golden * (index + 1)) ^ word);
}

/* The share of element i of a matrix: of its bits, so that 0 and -0 differ. */
HOST_DEVICE static inline uint64_t digest_element(enum number format, const void *matrix,
                                                  size_t i) {
    const uint32_t word = number_bytes(format) == sizeof(uint32_t) ? ((const uint32_t *)matrix)[i]
                                                                   : ((const uint16_t *)matrix)[i];
    return digest_word(word, i);
}

#endif
