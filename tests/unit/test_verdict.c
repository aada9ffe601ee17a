/* How findings are merged and said. */
#include <math.h>
#include <string.h>

#include "harness/check.h"
#include "test.h"

typedef struct row {
    const char *name;
    verdict verdict;
    bool right;
    const char *text;
} row;

static const row ROWS[] = {
    {"right", {.kind = CHECK_EXACT, .checked = 64}, true, "exact: 64 of 64 equal"},
    {"right, within the bound",
     {.kind = CHECK_BOUNDED, .checked = 64, .max_error_over_bound = 0.314},
     true,
     "bounded: largest error 0.31 of the bound"},
    {"wrong",
     {CHECK_EXACT, 64, .wrong = 3, .first_row = 17, .first_column = 300, .got = 12, .expected = 13},
     false,
     "exact: 3 of 64 differ; first at [17][300]: got 12, expected 13"},
    {"wrong, and the sign of NaN is not shown",
     {CHECK_BOUNDED, 64, .wrong = 1, .got = -NAN, .expected = 1.5, .allowed = 0.25},
     false,
     "bounded: 1 of 64 are outside the bound; first at [0][0]: got nan, expected 1.5, give or take "
     "0.25"},
    {"words", {.kind = CHECK_WORDS, .checked = 64}, true, "exact: 64 of 64 equal"},
    {"words that differ",
     {CHECK_WORDS, 64, .wrong = 2, .first_row = 7, .got = 4294967295.0, .expected = 1065353217.0},
     false,
     "exact: 2 of 64 differ; first at [7][0]: got 0xffffffff, expected 0x3f800001"},
    {"elements beside the sample",
     {CHECK_EXACT, 64, .not_finite = 2, .not_finite_row = 1UL << 32, .not_finite_column = 5},
     false,
     "exact: 2 elements were never written, or are NaN or infinite; first at [4294967296][5]"},
    {"nothing checked is not right", {.kind = CHECK_EXACT}, false, "nothing was checked"},
};

static const row *current; /* the row that runs */

static void says(void) {
    char text[320];
    char little[8];
    verdict_format(&current->verdict, text, sizeof text);
    EXPECT(strcmp(text, current->text) == 0, "%s", text);
    EXPECT(verdict_right(&current->verdict) == current->right, "right or not");
    verdict_format(&current->verdict, little, sizeof little);
    EXPECT(strlen(little) == 7 && strncmp(little, text, 7) == 0, "in 8 bytes: %s", little);
}

static void merging(void) {
    verdict total = {.kind = CHECK_BOUNDED};
    const verdict good = {CHECK_BOUNDED, 10, .max_error_over_bound = 0.5};
    const verdict bad = {CHECK_BOUNDED, 10, 1, .max_error_over_bound = 2, .first_row = 3};
    const verdict worse = {CHECK_BOUNDED, 10, 4, .first_row = 5};
    verdict_merge(&total, &good);
    EXPECT(verdict_right(&total) && total.checked == 10, "good");
    verdict_merge(&total, &bad);
    verdict_merge(&total, &worse);
    EXPECT(total.checked == 30 && total.wrong == 5 && total.first_row == 3, "first row %d",
           (int)total.first_row);
    EXPECT(total.max_error_over_bound == 2, "%g", total.max_error_over_bound);
}

int main(void) {
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; ++i) {
        current = &ROWS[i];
        run_row("verdict", current->name, says);
    }
    run_case("verdict: merging", merging);
    return test_result();
}
