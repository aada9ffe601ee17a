/* The operands, which are random: an element depends only on the seed, the operand's stream and its
 * index, so every thread of a kernel can make its own. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/number.h"
#include "step.h"

enum inputs {
    INPUTS_NORMAL,   /* mean 0, standard deviation 1 */
    INPUTS_INTEGERS, /* whole numbers in [-range, range] */
    INPUTS_BITS,     /* words with any bits, for computations that move them */
    INPUTS_SCALES, /* of scales alone, [2^-20, 2^4), each power of two as likely, with all 24 bits.
                      Sums of products with two of them are 0 or from 2^-58 to 2^46: normal numbers
                      of fp32 and bf16 */
    INPUTS_POWERS, /* of scales in the exact check: 0.5, 1 or 2 */
    INPUTS_UNREAD  /* NaN: of what must not be read */
};

/* Of each operand, and of the places where a sparse one is not zero. */
enum random_stream {
    RANDOM_STREAM_A = 1,
    RANDOM_STREAM_B = 2,
    RANDOM_STREAM_C = 4,
    RANDOM_STREAM_PLACES = 5,
    RANDOM_STREAM_SCALE_A = 6,
    RANDOM_STREAM_SCALE_B = 7
};

/* A matrix, or the scales of one. */
typedef struct operand {
    const char *name; /* in messages */
    enum number format;
    size_t count; /* elements; 0: there is none */
    enum inputs inputs;
    uint64_t stream, seed;
    uint64_t row;       /* elements of a row; the rest is for INPUTS_INTEGERS alone: */
    int range, spacing; /* in each row, all but one of `spacing` neighbours are 0 */
} operand;

/* The finaliser of splitmix64: every bit of the result depends on every bit of x. */
HOST_DEVICE static inline uint64_t random_mix(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 64 random bits: number `index` of stream `stream` of the seed. The same everywhere. */
HOST_DEVICE static inline uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t index) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t key = random_mix(random_mix(seed + golden) ^ (stream * golden));
    return random_mix(key + golden * (index + 1));
}

/* Normal, mean 0, variance 1: Box-Muller. A host and a GPU may differ in the last bit of the
 * logarithm and the cosine. */
HOST_DEVICE static inline float random_normal(uint64_t bits) {
    const float radius_source = ((float)(uint32_t)(bits >> 32) + 1.0f) * 0x1p-32f; /* (0, 1] */
    const float angle = (float)((uint32_t)bits >> 8) * (0x1p-24f * 6.28318530717958648f);
    return sqrtf(-2.0f * logf(radius_source)) * cosf(angle);
}

/* A whole number from -range to range, each as likely; range >= 0. */
HOST_DEVICE static inline int random_integer(uint64_t bits, int range) {
    const uint64_t values = 2 * (uint64_t)range + 1;
    return (int)(((bits >> 32) * values) >> 32) - range;
}

/* Element `index`, before rounding to its format. */
HOST_DEVICE static inline float random_element(const operand *operand, uint64_t index) {
    const uint64_t bits = random_bits(operand->seed, operand->stream, index);
    switch (operand->inputs) {
    case INPUTS_NORMAL:
        return random_normal(bits);
    case INPUTS_SCALES:
        return ldexpf((float)((uint32_t)bits >> 8 | UINT32_C(1) << 23),
                      (int)((bits >> 32) * 24 >> 32) - 20 - 23);
    case INPUTS_POWERS:
        return ldexpf(1, random_integer(bits, 1));
    case INPUTS_INTEGERS:
        break;
    default:
        return NAN;
    }
    const uint64_t spacing = (uint64_t)operand->spacing;
    const uint64_t column = index % operand->row;
    const uint64_t first = index - column % spacing; /* of the neighbours */
    const uint64_t place = random_bits(operand->seed, RANDOM_STREAM_PLACES, first) % spacing;
    return column % spacing == place ? (float)random_integer(bits, operand->range) : 0.0f;
}

/* A permutation of all 32-bit words: the finaliser of MurmurHash3. */
HOST_DEVICE static inline uint32_t random_permuted(uint32_t word) {
    word = (word ^ (word >> 16)) * UINT32_C(0x85ebca6b);
    word = (word ^ (word >> 13)) * UINT32_C(0xc2b2ae35);
    return word ^ (word >> 16);
}

/* The bits of an fp32 number, but of no NaN, infinity, subnormal number and zero, whose bits could
 * change if a kernel multiplied them by 1. Up to 2 * 254 * 2^23 elements all have other bits, so a
 * word in a wrong place is noticed: the permutation is repeated until it reaches a word that is not
 * excluded, which is again a permutation. */
HOST_DEVICE static inline uint32_t random_fp32_bits(uint64_t seed, uint64_t stream,
                                                    uint64_t index) {
    const uint32_t mantissas = UINT32_C(1) << 23;
    const uint64_t of_a_sign = UINT64_C(254) * mantissas;
    const uint64_t place = index % (2 * of_a_sign);
    const uint32_t key = (uint32_t)random_bits(seed, stream, 0);
    uint32_t exponent;
    uint32_t word = (uint32_t)(place % of_a_sign) + mantissas;
    word |= place < of_a_sign ? 0 : UINT32_C(1) << 31;
    do {
        word = random_permuted(word ^ key);
        exponent = word / mantissas % 256;
    } while (exponent == 0 || exponent == 255);
    return word;
}

/* Any 32 bits; the first element, and every 61st, is one of those that are next to an overflow. */
HOST_DEVICE static inline uint32_t random_int32_bits(uint64_t seed, uint64_t stream,
                                                     uint64_t index) {
    const uint32_t edges[] = {UINT32_C(0x7fffffff), UINT32_C(0xffffffff), UINT32_C(0x80000000), 0};
    const uint64_t between_edges = 61;
    return index % between_edges != 0 ? (uint32_t)random_bits(seed, stream, index)
                                      : edges[index / between_edges % 4];
}

/* Makes element `index` at `to`. */
HOST_DEVICE static inline void operand_write(const operand *operand, void *to, uint64_t index) {
    if (operand->inputs != INPUTS_BITS) {
        number_write(operand->format, to, index, random_element(operand, index));
    } else {
        ((uint32_t *)to)[index] = operand->format == NUMBER_INT32
                                      ? random_int32_bits(operand->seed, operand->stream, index)
                                      : random_fp32_bits(operand->seed, operand->stream, index);
    }
}
