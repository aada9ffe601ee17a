#include "harness/check.h"

#include <string.h>

#include "harness/digest.h"

/* Compares element i of the reference with its output. */
static void compare_element(const void *d, const reference *reference, enum check_kind kind,
                            const rounding *rounding, size_t i, verdict *verdict) {
    const uint64_t position = reference->positions == NULL ? i : reference->positions[i];
    const expected expected = reference_element(reference, i);
    const float output = number_read(rounding->output, d, position);
    const comparison result = compare(kind, rounding, output, &expected);
    if (result.error_over_bound > verdict->max_error_over_bound) {
        verdict->max_error_over_bound = result.error_over_bound;
    }
    if (!result.right && verdict->wrong++ == 0) {
        verdict->first_row = position / reference->columns;
        verdict->first_column = position % reference->columns;
        verdict->got = (double)output;
        verdict->expected = kind == CHECK_EXACT
                                ? (double)number_round(rounding->output, (float)expected.value)
                                : expected.value;
        verdict->allowed = result.allowed;
    }
}

static void find_not_finite(const void *d, const reference *reference, enum number format,
                            verdict *verdict) {
    const size_t columns = reference->columns;
    const size_t count = reference->rows * columns;
    for (size_t i = 0; i < count; ++i) {
        if (!number_is_finite(number_read(format, d, i)) && verdict->not_finite++ == 0) {
            verdict->not_finite_row = i / columns;
            verdict->not_finite_column = i % columns;
        }
    }
}

static void compare_words(const uint32_t *d, const reference *reference, verdict *verdict) {
    for (size_t i = 0; i < reference->count; ++i) {
        if (d[i] != reference->words[i] && verdict->wrong++ == 0) {
            verdict->first_row = i / reference->columns;
            verdict->first_column = i % reference->columns;
            verdict->got = (double)d[i];
            verdict->expected = (double)reference->words[i];
        }
    }
}

int check_output(const void *d, const reference *reference, enum check_kind kind,
                 const rounding *rounding, struct CUstream_st *stream, verdict *verdict) {
    (void)stream; /* nothing runs beside the host here */
    memset(verdict, 0, sizeof *verdict);
    verdict->kind = kind;
    verdict->checked = reference->count;
    if (kind == CHECK_WORDS) {
        compare_words(d, reference, verdict);
        return 0;
    }
    for (size_t i = 0; i < reference->count; ++i) {
        compare_element(d, reference, kind, rounding, i, verdict);
    }
    find_not_finite(d, reference, rounding->output, verdict);
    return 0;
}

int output_digest(const void *d, enum number format, size_t count, struct CUstream_st *stream,
                  uint64_t *digest) {
    (void)stream;
    *digest = 0;
    for (size_t i = 0; i < count; ++i) {
        *digest += digest_element(format, d, i);
    }
    return 0;
}
