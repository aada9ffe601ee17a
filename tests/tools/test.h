/* The smallest test frame: each case prints a line, "ok - NAME" or "not ok - NAME", after what was
 * not as expected in it; the program exits 1 if any case failed. */
#ifndef GEMM_LADDER_TESTS_TEST_H
#define GEMM_LADDER_TESTS_TEST_H

#include <stdarg.h>
#include <stdio.h>

typedef struct test_state {
    int failed_cases;
    int failed_here; /* expectations of the case that runs */
} test_state;

static test_state test;

/* Ends nothing: the case runs on, and its first message is printed. */
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
    va_list arguments;
    va_start(arguments, format);
    printf("line %d: %s; ", line, condition);
    vprintf(format, arguments);
    puts("");
    va_end(arguments);
}

static inline void run_case(const char *name, void (*body)(void)) {
    test.failed_here = 0;
    body();
    test.failed_cases += test.failed_here > 0;
    printf("%s - %s\n", test.failed_here > 0 ? "not ok" : "ok", name);
    fflush(stdout);
}

/* The exit status of the program. */
static inline int test_result(void) { return test.failed_cases > 0 ? 1 : 0; }

#endif
