/* The smallest test frame: each case prints one line, "ok - NAME", "not ok - NAME: why" or
 * "skip - NAME: why"; the program exits 1 if any case failed, 77 if none ran. */
#ifndef GEMM_LADDER_TESTS_UNIT_TEST_H
#define GEMM_LADDER_TESTS_UNIT_TEST_H

#include <stdarg.h>
#include <stdio.h>

typedef struct test_state {
    int cases; /* that ran */
    int failed_cases;
    int failed_here; /* expectations of the case that runs */
    char why[768];   /* the first of them */
} test_state;

static test_state test;

/* Ends nothing: the case runs on, and fails with the first message. */
#define EXPECT(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fail_case(__LINE__, #condition, __VA_ARGS__);                                          \
        }                                                                                          \
    } while (0)

__attribute__((format(printf, 3, 4))) static inline void fail_case(int line, const char *condition,
                                                                   const char *format, ...) {
    if (test.failed_here++ > 0) {
        return;
    }
    const int size = (int)sizeof test.why;
    const int used = snprintf(test.why, sizeof test.why, "line %d: %s; ", line, condition);
    if (used > 0 && used < size) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(test.why + used, (size_t)(size - used), format, arguments);
        va_end(arguments);
    }
    for (char *c = test.why; *c != '\0'; ++c) {
        *c = *c == '\n' ? ' ' : *c; /* a case has one line */
    }
}

static inline void run_case(const char *name, void (*body)(void)) {
    test.failed_here = 0;
    ++test.cases;
    body();
    if (test.failed_here == 0) {
        printf("ok - %s\n", name);
    } else {
        printf("not ok - %s: %s\n", name, test.why);
        ++test.failed_cases;
    }
    fflush(stdout);
}

/* The same, of a row in the table that the prefix names. */
static inline void run_row(const char *prefix, const char *row, void (*body)(void)) {
    char name[640];
    snprintf(name, sizeof name, "%s: %s", prefix, row);
    run_case(name, body);
}

static inline void skip_case(const char *name, const char *why) {
    printf("skip - %s: %s\n", name, why);
}

/* The exit status of the program. */
static inline int test_result(void) { return test.failed_cases > 0 ? 1 : test.cases > 0 ? 0 : 77; }

#endif
