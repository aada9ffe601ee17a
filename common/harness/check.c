/* What the findings of a check come to; the same on both machines. */
#include "harness/check.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "harness/cuda_failed.h"

static int read_element(void *to, const void *from, size_t bytes) {
    return cuda_failed(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
                       "reading one element of a check");
}

/* Fetches what is said about the first wrong element, of the given index in the reference. */
static int describe_wrong(const examination *e, size_t index, verdict *verdict) {
    const reference *reference = &e->reference;
    const bool words = e->kind == CHECK_WORDS;
    const enum number format = words ? reference->arithmetic.output : e->rounding.output;
    const size_t bytes = number_bytes(format);
    uint64_t position = index;
    uint32_t output = 0; /* the bits of a number of any format */
    uint32_t word = 0;
    expected expected = {0, 0, 0};
    if (reference->positions != NULL &&
        read_element(&position, reference->positions + index, sizeof position) != 0) {
        return 1;
    }
    verdict->first_row = position / reference->columns;
    verdict->first_column = position % reference->columns;
    if (read_element(&output, (const unsigned char *)e->d + position * bytes, bytes) != 0) {
        return 1;
    }
    if (words) {
        verdict->got = (double)output;
        const int failed = read_element(&word, reference->words + index, sizeof word);
        verdict->expected = (double)word;
        return failed;
    }
    if (read_element(&expected.value, reference->values + index, sizeof expected.value) != 0 ||
        read_element(&expected.magnitude, reference->magnitudes + index,
                     sizeof expected.magnitude) != 0 ||
        (reference->partials != NULL &&
         read_element(&expected.partials, reference->partials + index, sizeof expected.partials) !=
             0)) {
        return 1;
    }
    const bool exact = e->kind == CHECK_EXACT;
    verdict->got = (double)number_read(format, &output, 0);
    verdict->expected =
        exact ? (double)number_round(format, (float)expected.value) : expected.value;
    verdict->allowed = exact ? 0 : error_bound(&e->rounding, &expected);
    return 0;
}

int check_output(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, struct CUstream_st *stream, verdict *verdict) {
    examination examination = {.d = d, .reference = *reference, .kind = kind};
    findings found;
    memset(verdict, 0, sizeof *verdict);
    verdict->kind = kind;
    verdict->checked = reference->count;
    if (kind != CHECK_WORDS) {
        examination.rounding = *rounding;
        const size_t elements = reference->rows * reference->columns;
        if (check_elements(&examination, PASS_SEARCH, elements, stream, &found) != 0) {
            return 1;
        }
        verdict->not_finite = found.count;
    }
    if (verdict->not_finite > 0) {
        verdict->not_finite_row = found.first / reference->columns;
        verdict->not_finite_column = found.first % reference->columns;
    }
    if (check_elements(&examination, PASS_COMPARE, reference->count, stream, &found) != 0) {
        return 1;
    }
    verdict->wrong = found.count;
    verdict->max_error_over_bound = found.max_ratio;
    return found.count == 0 ? 0 : describe_wrong(&examination, (size_t)found.first, verdict);
}

int output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream,
                  uint64_t *digest) {
    const examination examination = {.d = d, .rounding = {.output = format}};
    findings found;
    const int failed = check_elements(&examination, PASS_DIGEST, count, stream, &found);
    *digest = found.digest;
    return failed;
}
