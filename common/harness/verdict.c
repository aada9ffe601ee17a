#include "harness/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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
    if (part->max_error_over_bound > total->max_error_over_bound) {
        total->max_error_over_bound = part->max_error_over_bound;
    }
}

static void format_right(const verdict *verdict, char *text, size_t size) {
    if (verdict->checked == 0) {
        snprintf(text, size, "nothing was checked");
    } else if (verdict->kind != CHECK_BOUNDED) {
        snprintf(text, size, "exact: %" PRIu64 " of %" PRIu64 " equal", verdict->checked,
                 verdict->checked);
    } else {
        snprintf(text, size, "bounded: largest error %.2f of the bound",
                 verdict->max_error_over_bound);
    }
}

/* printf shows a NaN's sign, which says nothing: a NaN is "nan". */
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
    if (verdict->wrong > 0) {
        format_wrong(verdict, text, size);
    } else if (verdict->not_finite > 0) {
        /* A sample can miss them; the whole output is always searched for them. */
        snprintf(text, size,
                 "%s: %" PRIu64 " elements were never written, or are NaN or infinite; first at "
                 "[%" PRIu64 "][%" PRIu64 "]",
                 verdict->kind == CHECK_BOUNDED ? "bounded" : "exact", verdict->not_finite,
                 verdict->not_finite_row, verdict->not_finite_column);
    } else {
        format_right(verdict, text, size);
    }
}
