/* What the two machines do element by element: they make operands (operands.h), compare an output
 * with the reference and take its digest. */
#pragma once

#include "harness/operands.h"
#include "harness/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An output in device memory, of reference.count elements of the format rounding.output, and what
 * it has to be. Without elements and words in the reference only its digest is taken. */
typedef struct examination {
    const void *d;
    reference reference;
    enum check_kind kind; /* CHECK_WORDS compares the bits, of a reference that has words */
    rounding rounding;
} examination;

#define NOTHING_FOUND                                                                              \
    { 0, ~0ULL, 0, 0, 0, 0 }

/* The findings for one element, for a thread's elements, or for all. */
typedef struct findings {
    unsigned long long wrong;
    unsigned long long first; /* the lowest index of those; ~0 if there is none */
    unsigned long long digest;
    double max_ratio; /* of an error to its bound */
    double errors;    /* their squares, added up, and those of what is expected: of e4m3 alone */
    double values;
} findings;

/* The share of element i of a matrix in its digest: of its bits, so that 0 and -0 differ. */
HOST_DEVICE static inline uint64_t digest_element(enum number format, const void *matrix,
                                                  size_t i) {
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const uint32_t word = number_bytes(format) == sizeof(uint32_t) ? ((const uint32_t *)matrix)[i]
                                                                   : ((const uint16_t *)matrix)[i];
    return random_mix(random_mix(golden * (i + 1)) ^ word);
}

/* Adds what element i has. */
HOST_DEVICE static inline void check_element(const examination *e, size_t i, findings *found) {
    bool right = true;
    found->digest += digest_element(e->rounding.output, e->d, i);
    if (e->reference.words != NULL) {
        right = ((const uint32_t *)e->d)[i] == e->reference.words[i];
    } else if (e->reference.elements != NULL) {
        const expected expected = e->reference.elements[i];
        const float output = number_read(e->rounding.output, e->d, i);
        const comparison result = compare(e->kind, &e->rounding, output, &expected);
        right = result.right;
        found->max_ratio = fmax(found->max_ratio, result.error_over_bound);
        if (e->reference.arithmetic.scaled) {
            const double error = (double)output - expected.value;
            found->errors += error * error;
            found->values += expected.value * expected.value;
        }
    }
    if (!right && found->wrong++ == 0) {
        found->first = i; /* a thread with several elements begins with the lowest */
    }
}

/* check_element() for all. */
findings check_elements(const examination *examination, struct CUstream_st *stream);

/* D = A + 1, by plain loads and stores, without waiting for it. */
void elements_add_one(const problem *problem);

#ifdef __cplusplus
}
#endif
