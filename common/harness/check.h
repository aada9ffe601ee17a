/* Compares an output in device memory with the reference, takes its digest, and says what it found.
 */
#pragma once

#include "harness/reference.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a check of one or several outputs found. */
typedef struct verdict {
    enum check_kind kind;
    uint64_t checked; /* elements compared with the reference */
    uint64_t wrong;
    double max_error_over_bound;
    double relative_error; /* of a reference with e4m3's sums: the root of the mean square of the
                            * errors, over that of what is expected; the largest of all outputs */
    uint64_t first_row, first_column; /* of the first wrong element, if wrong > 0 */
    double got, expected, allowed;    /* and its values; of CHECK_WORDS the bits as a number */
    uint64_t not_finite;              /* NaN or infinite elements of the whole output */
    uint64_t not_finite_row, not_finite_column;
} verdict;

/* True if something was checked and all of it was right. */
bool verdict_right(const verdict *verdict);

/* Adds the findings of one more output of the same kind. total starts as {.kind = ...}. */
void verdict_merge(verdict *total, const verdict *part);

/* "exact: 64 of 64 equal" or "exact: 3 of 64 differ; first at [1][2]: got 5, expected 6". The bits
 * of words are shown as "0x3f800000". */
void verdict_format(const verdict *verdict, char *text, size_t size);

/* d is of the output's format and the reference's shape. Every element of the reference is
 * compared; with a sampled one the whole of d is searched for NaN and infinities as well.
 * CHECK_WORDS compares the bits, of a reference that has words. */
verdict check_output(const void *d, const reference *reference, enum check_kind kind,
                     const rounding *rounding, struct CUstream_st *stream);

/* One number for all bits of the count elements at d, in device memory: two outputs with the same
 * digest are the same, with a chance of error of 2^-64. It is a sum over the elements, so that the
 * order in which they are read does not matter; an element's term depends on its bits and its
 * place. */
uint64_t output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream);

/* ---- what the two machines do element by element */

enum check_pass {
    PASS_COMPARE, /* elements of the reference with theirs of the output */
    PASS_SEARCH,  /* the output for what is not finite */
    PASS_DIGEST
};

typedef struct examination {
    const void *d;
    reference reference;
    enum check_kind kind;
    rounding rounding;
} examination;

#define NOTHING_FOUND                                                                              \
    { 0, ~0ULL, 0, 0, 0, 0 }

/* The findings for one element, for a thread's elements, or for all. */
typedef struct findings {
    unsigned long long count; /* wrong, or not finite */
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

/* Adds what element i of the pass has. */
HOST_DEVICE static inline void check_element(const examination *e, enum check_pass pass, size_t i,
                                             findings *found) {
    bool right = true;
    if (pass == PASS_DIGEST) {
        found->digest += digest_element(e->rounding.output, e->d, i);
    } else if (pass == PASS_SEARCH) {
        right = number_is_finite(number_read(e->rounding.output, e->d, i));
    } else if (e->kind == CHECK_WORDS) {
        right = ((const uint32_t *)e->d)[i] == e->reference.words[i];
    } else {
        const size_t at = e->reference.positions == NULL ? i : e->reference.positions[i];
        const expected expected = reference_element(&e->reference, i);
        const comparison result =
            compare(e->kind, &e->rounding, number_read(e->rounding.output, e->d, at), &expected);
        right = result.right;
        found->max_ratio = fmax(found->max_ratio, result.error_over_bound);
        if (e->reference.modelled != NULL) {
            const double output = (double)number_read(e->rounding.output, e->d, at);
            found->errors += (output - expected.value) * (output - expected.value);
            found->values += expected.value * expected.value;
        }
    }
    if (!right && found->count++ == 0) {
        found->first = i; /* a thread with several elements begins with the lowest */
    }
}

/* check_element() for all i below count. */
findings check_elements(const examination *examination, enum check_pass pass, size_t count,
                        struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif
