#include "harness/shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/arithmetic.h"
#include "harness/random.h"

/* Rows of A and B are k elements long, rows of C and D are n: multiples of 16 bytes, which is what
 * the wide copies of every rung need. Without k, rows of A are n elements long, and those of D too
 * or, if it is A transposed, m. */
enum { ROW_BYTES = 16 };

static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t common_multiple(int64_t a, int64_t b) {
    return a / greatest_common_divisor(a, b) * b;
}

static int64_t at_least_one(int64_t value) { return value < 1 ? 1 : value; }

typedef struct multiples {
    int64_t m, n, k; /* k is 0 if there is none */
} multiples;

/* Elements of ROW_BYTES. */
static int64_t row_multiple(enum number format) {
    return ROW_BYTES / (int64_t)number_bytes(format);
}

static multiples required_multiples(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    if (arithmetic.moves) {
        return (multiples){
            common_multiple(at_least_one(step->multiple_m),
                            arithmetic.transposes ? row_multiple(arithmetic.output) : 1),
            common_multiple(at_least_one(step->multiple_n), row_multiple(arithmetic.operands)), 0};
    }
    return (multiples){
        at_least_one(step->multiple_m),
        common_multiple(at_least_one(step->multiple_n), row_multiple(arithmetic.output)),
        common_multiple(at_least_one(step->multiple_k), row_multiple(arithmetic.operands))};
}

void shape_rule(const step *step, char *text, size_t size) {
    const multiples rule = required_multiples(step);
    const arithmetic arithmetic = arithmetic_of(step);
    if (arithmetic.moves) {
        snprintf(text, size,
                 "m: multiples of %" PRId64 ", n: multiples of %" PRId64
                 ", since TMA copies rows of whole 16 bytes and rows of A have n elements%s",
                 rule.m, rule.n, arithmetic.transposes ? ", rows of D m" : "");
        return;
    }
    const int length = snprintf(text, size,
                                "m: multiples of %" PRId64 ", n: multiples of %" PRId64
                                ", k: multiples of %" PRId64,
                                rule.m, rule.n, rule.k);
    if (step->largest_k > 0 && (size_t)length < size) {
        snprintf(text + length, size - (size_t)length, " up to %d", step->largest_k);
    }
}

static int check_dimension(const step *step, char name, int value, int64_t multiple, int largest,
                           char *error, size_t size) {
    if (value < 1 || value > largest) {
        snprintf(error, size, "%c=%d: must be from 1 to %d", name, value, largest);
        return 1;
    }
    if (value % multiple != 0) {
        char rule[SHAPE_RULE_SIZE];
        shape_rule(step, rule, sizeof rule);
        snprintf(error, size, "%c=%d is not a multiple of %" PRId64 " (%s takes %s)", name, value,
                 multiple, step->name, rule);
        return 1;
    }
    return 0;
}

int shape_check(const step *step, int m, int n, int k, char *error, size_t size) {
    const multiples rule = required_multiples(step);
    const int largest_k = step->largest_k > 0 ? step->largest_k : LARGEST_DIMENSION;
    if (check_dimension(step, 'm', m, rule.m, LARGEST_DIMENSION, error, size) != 0 ||
        check_dimension(step, 'n', n, rule.n, LARGEST_DIMENSION, error, size) != 0 ||
        (rule.k != 0 && check_dimension(step, 'k', k, rule.k, largest_k, error, size) != 0)) {
        return 1;
    }
    if (step->computes == GEMM_BF16 && random_integer_range(k, EXACT_INTEGER_LIMIT) == 0) {
        snprintf(error, size,
                 "k=%d is more than %d: the sums of the exact check would not fit in fp32", k,
                 EXACT_INTEGER_LIMIT);
        return 1;
    }
    return 0;
}

static void round_up(int *value, int64_t multiple) {
    *value = (int)((*value + multiple - 1) / multiple * multiple);
}

void shape_round_up(const step *step, int *m, int *n, int *k) {
    const multiples rule = required_multiples(step);
    round_up(m, rule.m);
    round_up(n, rule.n);
    if (rule.k != 0) {
        round_up(k, rule.k);
    }
}

double shape_flop(int m, int n, int k) { return 2.0 * (double)m * (double)n * (double)k; }
