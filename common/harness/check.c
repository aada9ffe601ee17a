/* What the findings of a check come to; the same on both machines. */
#include "harness/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/message.h"

/* An element of an array in device memory. */
static void fetch(void *to, const void *array, size_t index, size_t bytes) {
    const unsigned char *from = (const unsigned char *)array + index * bytes;
    cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
               "reading one element of a check");
}

/* The message about the first wrong element, by its index in the reference. */
static void describe_wrong(const examination *e, size_t index, verdict *verdict) {
    const reference *reference = &e->reference;
    const enum number format = e->rounding.output;
    uint64_t position = index;
    uint32_t output = 0; /* the bits of a number of any format */
    uint32_t word = 0;
    expected expected = {0, 0, 0, 0};
    if (reference->positions != NULL) {
        fetch(&position, reference->positions, index, sizeof position);
    }
    verdict->first_row = position / reference->columns;
    verdict->first_column = position % reference->columns;
    fetch(&output, e->d, position, number_bytes(format));
    if (e->kind == CHECK_WORDS) {
        fetch(&word, reference->words, index, sizeof word);
        verdict->got = (double)output;
        verdict->expected = (double)word;
        return;
    }
    fetch(&expected.value, reference->values, index, sizeof expected.value);
    fetch(&expected.magnitude, reference->magnitudes, index, sizeof expected.magnitude);
    if (reference->partials != NULL) {
        fetch(&expected.partials, reference->partials, index, sizeof expected.partials);
    }
    if (reference->modelled != NULL) {
        fetch(&expected.modelled, reference->modelled, index, sizeof expected.modelled);
    }
    const bool exact = e->kind == CHECK_EXACT;
    verdict->got = (double)number_read(format, &output, 0);
    verdict->expected =
        exact ? (double)number_round(format, (float)expected.value) : expected.value;
    verdict->allowed = exact ? 0 : error_bound(&e->rounding, &expected);
    if (!exact && e->rounding.modelled &&
        fabs(verdict->got - verdict->expected) <= verdict->allowed) { /* but not the model's */
        verdict->expected = (double)number_round(format, expected.modelled);
        verdict->allowed = 0;
    }
}

verdict check_output(const void *d, const reference *reference, enum check_kind kind,
                     const rounding *rounding, struct CUstream_st *stream) {
    const examination examination = {d, *reference, kind, *rounding};
    verdict verdict = {.kind = kind, .checked = reference->count};
    if (kind != CHECK_WORDS) {
        const size_t elements = reference->rows * reference->columns;
        const findings found = check_elements(&examination, PASS_SEARCH, elements, stream);
        if (found.count > 0) {
            verdict.not_finite = found.count;
            verdict.not_finite_row = found.first / reference->columns;
            verdict.not_finite_column = found.first % reference->columns;
        }
    }
    const findings found = check_elements(&examination, PASS_COMPARE, reference->count, stream);
    verdict.wrong = found.count;
    verdict.max_error_over_bound = found.max_ratio;
    verdict.relative_error = found.values > 0 ? sqrt(found.errors / found.values) : 0;
    if (found.count > 0) {
        describe_wrong(&examination, (size_t)found.first, &verdict);
    }
    return verdict;
}

uint64_t output_digest(const void *d, enum number format, size_t count,
                       struct CUstream_st *stream) {
    const examination examination = {.d = d, .rounding = {.output = format}};
    return check_elements(&examination, PASS_DIGEST, count, stream).digest;
}

/* ---- verdicts */

bool verdict_right(const verdict *verdict) {
    return verdict->checked > 0 && verdict->wrong == 0 && verdict->not_finite == 0;
}

void verdict_merge(verdict *total, const verdict *part) {
    if (total->wrong == 0 && part->wrong > 0) {
        total->first_row = part->first_row;
        total->first_column = part->first_column;
        total->got = part->got;
        total->expected = part->expected;
        total->allowed = part->allowed;
    }
    if (total->not_finite == 0 && part->not_finite > 0) {
        total->not_finite_row = part->not_finite_row;
        total->not_finite_column = part->not_finite_column;
    }
    total->checked += part->checked;
    total->wrong += part->wrong;
    total->not_finite += part->not_finite;
    total->relative_error = fmax(total->relative_error, part->relative_error);
    if (part->max_error_over_bound > total->max_error_over_bound) {
        total->max_error_over_bound = part->max_error_over_bound;
    }
}

/* printf shows a NaN's sign, which has no meaning: a NaN is "nan". */
static double without_nan_sign(double value) { return isnan(value) ? fabs(value) : value; }

static void format_wrong(const verdict *verdict, char *text, size_t size) {
    const bool bounded = verdict->kind == CHECK_BOUNDED;
    const double got = without_nan_sign(verdict->got);
    char values[128];
    if (verdict->kind == CHECK_WORDS) {
        snprintf(values, sizeof values, "got 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                 (uint32_t)verdict->got, (uint32_t)verdict->expected);
    } else if (bounded) {
        snprintf(values, sizeof values, "got %g, expected %g, give or take %.3g", got,
                 verdict->expected, verdict->allowed);
    } else {
        snprintf(values, sizeof values, "got %g, expected %g", got, verdict->expected);
    }
    snprintf(text, size,
             "%s: %" PRIu64 " of %" PRIu64 " %s; first at [%" PRIu64 "][%" PRIu64 "]: %s",
             bounded ? "bounded" : "exact", verdict->wrong, verdict->checked,
             bounded ? "are outside the bound" : "differ", verdict->first_row,
             verdict->first_column, values);
}

void verdict_format(const verdict *verdict, char *text, size_t size) {
    const bool bounded = verdict->kind == CHECK_BOUNDED;
    if (verdict->wrong > 0) {
        format_wrong(verdict, text, size);
    } else if (verdict->not_finite > 0) {
        /* A sample can miss them; the whole output is always searched for them. */
        snprintf(text, size,
                 "%s: %" PRIu64 " elements were never written, or are NaN or infinite; first at "
                 "[%" PRIu64 "][%" PRIu64 "]",
                 bounded ? "bounded" : "exact", verdict->not_finite, verdict->not_finite_row,
                 verdict->not_finite_column);
    } else if (verdict->checked == 0) {
        snprintf(text, size, "nothing was checked");
    } else if (bounded) {
        snprintf(text, size, "bounded: largest error %.2f of the bound",
                 verdict->max_error_over_bound);
    } else {
        snprintf(text, size, "exact: %" PRIu64 " of %" PRIu64 " equal", verdict->checked,
                 verdict->checked);
    }
}
