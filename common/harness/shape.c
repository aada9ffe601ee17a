#include "harness/shape.h"

#include <inttypes.h>
#include <stdio.h>

#include "harness/arithmetic.h"

/* Rows of A and B are k elements long, rows of C and D are n: multiples of 16 bytes, which is what
 * the wide copies of every rung need. Without k, rows of A are n elements long, which have
 * the format of D's, and those of D too or, if it is A transposed, m. */
enum { ROW_BYTES = 16 };

typedef struct multiples {
    int64_t m, n, k; /* k is 0 if there is none */
} multiples;

/* The smallest multiple of what the step wants that makes rows of whole ROW_BYTES. */
static int64_t whole_rows(int wanted, enum number format) {
    const int64_t multiple = wanted < 1 ? 1 : wanted;
    int64_t elements = multiple;
    while (elements * (int64_t)number_bytes(format) % ROW_BYTES != 0) {
        elements += multiple;
    }
    return elements;
}

static multiples required_multiples(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    const int64_t m = step->multiple_m < 1 ? 1 : step->multiple_m;
    return (multiples){arithmetic.transposes ? whole_rows(step->multiple_m, arithmetic.output) : m,
                       whole_rows(step->multiple_n, arithmetic.output),
                       arithmetic.moves ? 0 : whole_rows(step->multiple_k, arithmetic.operands)};
}

void shape_rule(const step *step, char *text, size_t size) {
    const multiples rule = required_multiples(step);
    const int length = snprintf(text, size, "m: multiples of %" PRId64 ", n: multiples of %" PRId64,
                                rule.m, rule.n);
    text += length;
    size -= (size_t)length;
    if (rule.k == 0) {
        snprintf(text, size,
                 ", since TMA copies rows of whole 16 bytes and rows of A have n elements%s",
                 arithmetic_of(step).transposes ? ", rows of D m" : "");
    } else if (step->largest_k > 0) {
        snprintf(text, size, ", k: multiples of %" PRId64 " up to %d", rule.k, step->largest_k);
    } else {
        snprintf(text, size, ", k: multiples of %" PRId64, rule.k);
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
