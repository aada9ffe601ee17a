#include "harness/check.h"

#include <string.h>

/* Compares element i of the reference with its output. */
static void compare_element(const bf16_bits *d, const reference *reference, enum check_kind kind,
                            size_t i, verdict *verdict) {
    const uint64_t position = reference->positions == NULL ? i : reference->positions[i];
    const double value = reference->values[i];
    const bf16_bits output = d[position];
    const comparison result =
        kind == CHECK_EXACT
            ? compare_exact(output, value)
            : compare_bounded(output, value, reference->magnitudes[i], reference->k);
    if (result.error_over_bound > verdict->max_error_over_bound) {
        verdict->max_error_over_bound = result.error_over_bound;
    }
    if (!result.right && verdict->wrong++ == 0) {
        verdict->first_row = position / (uint64_t)reference->n;
        verdict->first_column = position % (uint64_t)reference->n;
        verdict->got = (double)bf16_to_float(output);
        verdict->expected =
            kind == CHECK_EXACT ? (double)bf16_to_float(bf16_from_float((float)value)) : value;
        verdict->allowed = result.allowed;
    }
}

static void find_not_finite(const bf16_bits *d, const reference *reference, verdict *verdict) {
    const size_t columns = (size_t)reference->n;
    const size_t count = (size_t)reference->m * columns;
    for (size_t i = 0; i < count; ++i) {
        if (!bf16_is_finite(d[i]) && verdict->not_finite++ == 0) {
            verdict->not_finite_row = i / columns;
            verdict->not_finite_column = i % columns;
        }
    }
}

int check_output(const bf16_bits *d, const reference *reference, enum check_kind kind,
                 struct CUstream_st *stream, verdict *verdict) {
    (void)stream; /* nothing runs beside the host here */
    memset(verdict, 0, sizeof *verdict);
    verdict->kind = kind;
    verdict->checked = reference->count;
    for (size_t i = 0; i < reference->count; ++i) {
        compare_element(d, reference, kind, i, verdict);
    }
    find_not_finite(d, reference, verdict);
    return 0;
}
