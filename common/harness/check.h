/* Compares an output in device memory with the reference, and takes its digest. */
#ifndef GEMM_LADDER_HARNESS_CHECK_H
#define GEMM_LADDER_HARNESS_CHECK_H

#include "harness/compare.h"
#include "harness/digest.h"
#include "harness/reference.h"
#include "harness/verdict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* d is of the output's format and the reference's shape. Every element of the reference is
 * compared; with a sampled one the whole of d is searched for NaN and infinities as well.
 * CHECK_WORDS compares the bits, of a reference that has words; rounding is not looked at. Returns
 * 0 with the findings in verdict, or non-zero after printing one line if a call failed. */
int check_output(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, struct CUstream_st *stream, verdict *verdict);

/* The digest (digest.h) of the count elements at d, in device memory. Returns 0, or non-zero after
 * printing one line if a call failed. */
int output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream,
                  uint64_t *digest);

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
    { 0, ~0ULL, 0, 0 }

/* Of one element, of what a thread looks at, of all. */
typedef struct findings {
    unsigned long long count; /* wrong, or not finite */
    unsigned long long first; /* the lowest index of those; ~0 if there is none */
    unsigned long long digest;
    double max_ratio; /* of an error to its bound */
} findings;

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
    }
    if (!right && found->count++ == 0) {
        found->first = i; /* who looks at several begins with the lowest */
    }
}

/* check_element() for all i below count. Returns 0, or non-zero after printing one line. */
int check_elements(const examination *examination, enum check_pass pass, size_t count,
                   struct CUstream_st *stream, findings *found);

#ifdef __cplusplus
}
#endif

#endif
