/* The memory of a reference, and what the findings of a check come to. */
#include "harness/check.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/buffers.h"
#include "harness/message.h"

size_t reference_bytes(const arithmetic *arithmetic, int m, int n) {
    return (size_t)m * (size_t)n * (arithmetic->moves ? sizeof(uint32_t) : sizeof(expected));
}

reference reference_create(const arithmetic *arithmetic, int m, int n, int k) {
    void *memory = device_memory(reference_bytes(arithmetic, m, n), "the reference");
    return (reference){.arithmetic = *arithmetic,
                       .k = k,
                       .columns = (size_t)(arithmetic->transposes ? m : n),
                       .count = (size_t)m * (size_t)n,
                       .elements = arithmetic->moves ? NULL : memory,
                       .words = arithmetic->moves ? memory : NULL};
}

void reference_destroy(const reference *reference) {
    (void)cudaFree(reference->elements);
    (void)cudaFree(reference->words);
}

/* An element of an array in device memory. */
static void fetch(void *to, const void *array, size_t index, size_t bytes) {
    const unsigned char *from = (const unsigned char *)array + index * bytes;
    cuda_check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost),
               "reading one element of a check");
}

static void describe_wrong(const examination *e, size_t index, verdict *verdict) {
    const enum number format = e->reference.arithmetic.output;
    uint32_t output = 0; /* the bits of a number of any format */
    verdict->first_row = index / e->reference.columns;
    verdict->first_column = index % e->reference.columns;
    fetch(&output, e->d, index, number_bytes(format));
    if (e->kind == CHECK_WORDS) {
        uint32_t word;
        fetch(&word, e->reference.words, index, sizeof word);
        verdict->got = (double)output;
        verdict->expected = (double)word;
        return;
    }
    expected expected;
    fetch(&expected, e->reference.elements, index, sizeof expected);
    const float got = number_read(format, &output, 0);
    const comparison found = compare(e, got, &expected);
    verdict->got = (double)got;
    verdict->expected = found.expected;
    verdict->allowed = found.allowed;
}

verdict check_output(const examination *examination, struct CUstream_st *stream) {
    const findings found = check_elements(examination, stream);
    verdict verdict = {.kind = examination->kind,
                       .checked = examination->reference.count,
                       .wrong = found.wrong,
                       .max_error_over_bound = found.max_ratio,
                       .relative_error = found.values > 0 ? sqrt(found.errors / found.values) : 0,
                       .digest = found.digest};
    if (found.wrong > 0) {
        describe_wrong(examination, (size_t)found.first, &verdict);
    }
    return verdict;
}

bool verdict_right(const verdict *verdict) { return verdict->checked > 0 && verdict->wrong == 0; }

void verdict_merge(verdict *total, const verdict *part) {
    verdict both = total->wrong > 0 ? *total : *part; /* with its first wrong element */
    both.checked = total->checked + part->checked;
    both.wrong = total->wrong + part->wrong;
    both.relative_error = fmax(total->relative_error, part->relative_error);
    both.max_error_over_bound = fmax(total->max_error_over_bound, part->max_error_over_bound);
    *total = both;
}

void verdict_format(const verdict *verdict, char *text, size_t size) {
    const bool bounded = verdict->kind == CHECK_BOUNDED;
    char values[128];
    /* printf shows a NaN's sign, which has no meaning. */
    const double got = isnan(verdict->got) ? fabs(verdict->got) : verdict->got;
    if (verdict->checked == 0) {
        snprintf(text, size, "nothing was checked");
    } else if (verdict->wrong == 0 && bounded) {
        snprintf(text, size, "bounded: largest error %.2f of the bound",
                 verdict->max_error_over_bound);
    } else if (verdict->wrong == 0) {
        snprintf(text, size, "exact: %" PRIu64 " of %" PRIu64 " equal", verdict->checked,
                 verdict->checked);
    } else {
        if (verdict->kind == CHECK_WORDS) {
            snprintf(values, sizeof values, "got 0x%08" PRIx32 ", expected 0x%08" PRIx32,
                     (uint32_t)got, (uint32_t)verdict->expected);
        } else {
            const int length = snprintf(values, sizeof values, "got %g%s, expected %g", got,
                                        isnan(got) ? " as before the launch (never written?)" : "",
                                        verdict->expected);
            snprintf(values + length, sizeof values - (size_t)length,
                     bounded ? ", give or take %.3g" : "", verdict->allowed);
        }
        snprintf(text, size,
                 "%s: %" PRIu64 " of %" PRIu64 " %s; first at [%" PRIu64 "][%" PRIu64 "]: %s",
                 bounded ? "bounded" : "exact", verdict->wrong, verdict->checked,
                 bounded ? "are outside the bound" : "differ", verdict->first_row,
                 verdict->first_column, values);
    }
}
