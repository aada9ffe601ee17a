/* How many copies of the operands there are, integers that no order of summation rounds, quantiles,
 * and the fastest of many. */
#include <math.h>
#include <signal.h>

#include "../tools/test.h"
#include "harness/message.h"
#include "harness/timing.h"

static const step product = {.computes = GEMM_BF16};
static const step half = {.computes = GEMM_FP16};
static const step half_sums = {.computes = GEMM_FP16, .fp16_sums = true};
static const step fp8 = {.computes = GEMM_FP8};
static const step addmm = {.computes = ADDMM_FP16};

/* With an L2 of 60 MiB. */
static void copies(void) {
    static const struct {
        size_t bytes, most, copies;
    } rows[] = {{402653184, 100, 2}, {6291456, 100, 20}, {7340032, 100, 18},
                {1024, 1000, 256},   {402653184, 1, 1},  {6291456, 5, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const size_t found = workload_copies(rows[i].bytes, 60 << 20, rows[i].most);
        EXPECT(found == rows[i].copies, "row %zu: %zu", i, found);
    }
}

/* ---- numbers */

static integers integers_of(const step *step, int64_t k, float alpha, float beta) {
    const arithmetic arithmetic = arithmetic_of(step);
    return arithmetic_integers(&arithmetic, k, alpha, beta);
}

/* The largest sum of |a||b| that a row can have. */
static int64_t largest_sum(integers integers, int64_t k) {
    const int64_t used = (k + integers.spacing - 1) / integers.spacing;
    return used * integers.range * integers.range;
}

/* No sum passes the limit, and no larger range or denser row would do. */
static void sums_stay_exact(void) {
    static const struct {
        const step *step;
        int64_t limit;
    } rows[] = {{&product, 1 << 24}, {&half, 65504}, {&half_sums, 2048}, {&fp8, 16384}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        for (int64_t k = 8; k < 1 << 26; k += k / 7 / 8 * 8 + 8) {
            const integers found = integers_of(rows[i].step, k, 1, 1);
            const struct integers wider = {true, found.range + 1, found.spacing};
            const struct integers denser = {true, 1, found.spacing - 1};
            EXPECT(found.exact && largest_sum(found, k) <= rows[i].limit, "row %zu, k=%d", i,
                   (int)k);
            EXPECT(found.range == LARGEST_INTEGER || largest_sum(wider, k) > rows[i].limit,
                   "row %zu, k=%d: range %d", i, (int)k, found.range);
            EXPECT(found.spacing == 1 || largest_sum(denser, k) > rows[i].limit,
                   "row %zu, k=%d: spacing %d", i, (int)k, found.spacing);
        }
    }
}

static bool is_fp32(double value) { return (double)(float)value == value; }

/* What a rung may round on the way from s and c to D. */
static void scalars_stay_exact(void) {
    static const float scalars[] = {0, 1, -1, -2.5f, 0.5f, 3, 15.9375f};
    enum { COUNT = sizeof scalars / sizeof *scalars, K = 8192 };
    for (int i = 0; i < COUNT * COUNT; ++i) {
        const double alpha = (double)scalars[i / COUNT];
        const double beta = (double)scalars[i % COUNT];
        const integers integers = integers_of(&addmm, K, (float)alpha, (float)beta);
        const double most = (double)largest_sum(integers, K);
        const double sums[] = {most, -most, 7};
        EXPECT(integers.exact, "alpha=%g beta=%g", alpha, beta);
        for (int j = 0; j < 3 * (2 * LARGEST_INTEGER + 1); ++j) {
            const double s = alpha * sums[j % 3];
            const double c = beta * (j / 3 - LARGEST_INTEGER);
            EXPECT(is_fp32(s) && is_fp32(c) && is_fp32(s + c), "alpha=%g beta=%g: %g + %g", alpha,
                   beta, s, c);
        }
    }
    EXPECT(!integers_of(&addmm, K, 0.3f, 1).exact && !integers_of(&addmm, K, 1, 1000).exact,
           "scalars that are no sixteenths, or too large");
    EXPECT(integers_of(&addmm, 1 << 26, -2.5f, 1).spacing > 1, "a very long sum");
}

/* ---- measurements */

/* They interpolate, and leave out what was not measured. */
static void quantiles(void) {
    static const struct {
        double values[6];
        summary expected;
    } rows[] = {{{5, 1, 3, NAN, NAN, NAN}, {3, 1.4, 4.6}},
                {{4, 1, 3, 2, NAN, NAN}, {2.5, 1.3, 3.7}},
                {{5, INFINITY, -INFINITY, NAN, NAN, NAN}, {5, 5, 5}},
                {{0, 10, 20, 30, 40, 50}, {25, 5, 45}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const summary found = summarize(rows[i].values, 6), *expected = &rows[i].expected;
        EXPECT(fabs(found.median - expected->median) < 1e-12 &&
                   fabs(found.low - expected->low) < 1e-12 &&
                   fabs(found.high - expected->high) < 1e-12,
               "row %zu: %g (%g to %g)", i, found.median, found.low, found.high);
    }
    EXPECT(isnan(median((double[]){NAN}, 1)) && isnan(median(NULL, 0)), "nothing");
}

/* ---- the fastest of many, by launches whose times are made up: some are slow by chance, and the
 * clock falls while launches follow each other */

/* Of each hundred one is refused, which is never the fastest: that is an even one. */
enum { COUNT = 11448, MOST = 256, SEEDS = 20, REFUSED = 3 };

/* Each has a time of its own, from 1 on; the fastest is 1 % faster than the next. */
typedef struct field {
    uint64_t state;
    double seconds[COUNT];
    int launches;
    int launched;   /* numbers */
    int stop_after; /* by a Ctrl-C; 0: never */
} field;

static double uniform(field *field) {
    field->state = field->state * 6364136223846793005u + 1442695040888963407u;
    return (double)(field->state >> 11) * 0x1p-53;
}

static double launch(void *context, int number, bool first) {
    field *field = context;
    field->launched += first;
    if (++field->launches == field->stop_after) {
        (void)raise(SIGINT);
    }
    const double by_chance = uniform(field) < 0.05 ? 1.3 : 1 + 0.02 * uniform(field);
    const double hot = 1 + 0.1 * (1 - exp(-field->launches / 1000.0));
    return number % 100 == REFUSED ? NAN : field->seconds[number] * by_chance * hot;
}

static int fastest(int seed) { return (97 + 577 * seed) % COUNT / 2 * 2; }

static field made;
static ranked all[COUNT];

/* Ranks the field of a seed. What is left is launched, sorted, and not refused. */
static int rank_field(int seed, int stop_after) {
    made = (field){.state = (uint64_t)seed, .stop_after = stop_after};
    for (int i = 0; i < COUNT; ++i) {
        all[i] = (ranked){.number = i, .seconds = INFINITY};
        made.seconds[i] = i == fastest(seed) ? 1 : 1.01 + uniform(&made);
    }
    const int left = rank_by_halving(all, COUNT, MOST, launch, &made);
    for (int i = 0; i < left; ++i) {
        EXPECT(isfinite(all[i].seconds) && all[i].number < made.launched, "%d", all[i].number);
        EXPECT(stop_after > 0 || i == 0 || all[i - 1].seconds <= all[i].seconds, "order: %d", i);
    }
    return left;
}

static void the_fastest_is_left(void) {
    for (int seed = 1; seed <= SEEDS; ++seed) {
        const int left = rank_field(seed, 0);
        bool found = false;
        for (int i = 0; i < left; ++i) {
            found = found || all[i].number == fastest(seed);
        }
        EXPECT(found && left == MOST, "seed %d: %d are left, and not the fastest", seed, left);
        EXPECT(made.launched == COUNT && made.launches < 3 * COUNT, "%d of %d, by %d launches",
               made.launched, COUNT, made.launches);
    }
}

static void an_interrupt_keeps_what_was_launched(void) {
    const int left = rank_field(1, COUNT / 4);
    EXPECT(made.launched == COUNT / 4 && left >= MOST, "%d of %d", left, made.launched);
}

int main(void) {
    run_case("number of operand copies", copies);
    run_case("arithmetic: sums of the exact check's integers", sums_stay_exact);
    run_case("arithmetic: alpha and beta in the exact check", scalars_stay_exact);
    run_case("statistics: quantiles interpolate, and leave out what was not measured", quantiles);
    message_prefix("ranking");
    run_case("ranking: of 11448 the fastest is left, whatever is slow by chance",
             the_fastest_is_left);
    run_case("ranking: a Ctrl-C keeps what was launched", an_interrupt_keeps_what_was_launched);
    return test_result();
}
