/* How findings are merged and said. */
#include <math.h>
#include <string.h>

#include "harness/verdict.h"
#include "test.h"

static char text[320];

static void expect_text(const verdict *verdict, const char *expected) {
    verdict_format(verdict, text, sizeof text);
    EXPECT(strcmp(text, expected) == 0, "%s", text);
}

static void right(void) {
    const verdict exact = {.kind = CHECK_EXACT, .checked = 64};
    const verdict bounded = {.kind = CHECK_BOUNDED, .checked = 64, .max_error_over_bound = 0.314};
    expect_text(&exact, "exact: 64 of 64 equal");
    expect_text(&bounded, "bounded: largest error 0.31 of the bound");
    EXPECT(verdict_right(&exact) && verdict_right(&bounded), "right");
}

static void wrong(void) {
    const verdict exact = {.kind = CHECK_EXACT,
                           .checked = 64,
                           .wrong = 3,
                           .first_row = 17,
                           .first_column = 300,
                           .got = 12,
                           .expected = 13};
    const verdict bounded = {.kind = CHECK_BOUNDED,
                             .checked = 64,
                             .wrong = 1,
                             .got = -NAN, /* its sign is not shown */
                             .expected = 1.5,
                             .allowed = 0.25};
    expect_text(&exact, "exact: 3 of 64 differ; first at [17][300]: got 12, expected 13");
    expect_text(&bounded, "bounded: 1 of 64 are outside the bound; first at [0][0]: got nan, "
                          "expected 1.5, give or take 0.25");
    EXPECT(!verdict_right(&exact) && !verdict_right(&bounded), "wrong");
}

static void words(void) {
    const verdict same = {.kind = CHECK_WORDS, .checked = 64};
    expect_text(&same, "exact: 64 of 64 equal");
    const verdict differ = {.kind = CHECK_WORDS,
                            .checked = 64,
                            .wrong = 2,
                            .first_row = 7,
                            .got = 4294967295.0,
                            .expected = 1065353217.0};
    expect_text(&differ,
                "exact: 2 of 64 differ; first at [7][0]: got 0xffffffff, expected 0x3f800001");
}

static void unwritten(void) {
    const verdict sampled = {.kind = CHECK_EXACT,
                             .checked = 64,
                             .not_finite = 2,
                             .not_finite_row = 4294967296,
                             .not_finite_column = 5};
    expect_text(&sampled, "exact: 2 elements were never written, or are NaN or infinite; first at "
                          "[4294967296][5]");
    EXPECT(!verdict_right(&sampled), "NaN beside the sample");
}

static void nothing(void) {
    const verdict empty = {.kind = CHECK_EXACT};
    EXPECT(!verdict_right(&empty), "nothing checked is not right");
    expect_text(&empty, "nothing was checked");
}

static void merging(void) {
    verdict total = {.kind = CHECK_BOUNDED};
    const verdict good = {.kind = CHECK_BOUNDED, .checked = 10, .max_error_over_bound = 0.5};
    const verdict bad = {.kind = CHECK_BOUNDED,
                         .checked = 10,
                         .wrong = 1,
                         .first_row = 3,
                         .max_error_over_bound = 2};
    const verdict worse = {.kind = CHECK_BOUNDED, .checked = 10, .wrong = 4, .first_row = 5};
    verdict_merge(&total, &good);
    EXPECT(verdict_right(&total) && total.checked == 10, "good");
    verdict_merge(&total, &bad);
    verdict_merge(&total, &worse);
    EXPECT(total.checked == 30 && total.wrong == 5 && total.first_row == 3, "first row %d",
           (int)total.first_row);
    EXPECT(total.max_error_over_bound == 2, "%g", total.max_error_over_bound);
}

static void small_room(void) {
    const verdict exact = {.kind = CHECK_EXACT, .checked = 64};
    char little[8];
    verdict_format(&exact, little, sizeof little);
    EXPECT(strcmp(little, "exact: ") == 0, "%s", little);
}

int main(void) {
    run_case("verdict: right", right);
    run_case("verdict: wrong", wrong);
    run_case("verdict: words", words);
    run_case("verdict: elements beside the sample", unwritten);
    run_case("verdict: nothing checked is not right", nothing);
    run_case("verdict: merging", merging);
    run_case("verdict: a small text buffer", small_room);
    return test_result();
}
