/* Shape rules, byte counts and the number of operand copies. */
#include <limits.h>
#include <string.h>

#include "harness/reference.h"
#include "harness/arithmetic.h"
#include "harness/workload.h"
#include "test.h"

static const step tiled = {
    .name = "v07", .computes = GEMM_BF16, .multiple_m = 128, .multiple_n = 256, .multiple_k = 64};
static const step loose = {
    .name = "v00", .computes = GEMM_BF16, .multiple_m = 0, .multiple_n = 12, .multiple_k = 1};
static char error[512];

static const step limited = {.name = "a03", .computes = GEMM_FP16, .largest_k = 1 << 23};
static const step fp16 = {.name = "a06", .computes = GEMM_FP16};
static const step addmm = {.name = "a01", .computes = ADDMM_FP16};
static const step moves = {.name = "t01", .computes = ADD_ONE_INT32, .multiple_m = 1};
static const step transposes = {.name = "t02", .computes = TRANSPOSE_FP32, .multiple_n = 8};

typedef struct row {
    const char *name; /* of the case that begins here; NULL: it goes on */
    const step *step;
    int m, n, k;
    const char *error; /* what the error has in it; NULL: the shape is taken */
} row;

static const row ROWS[] = {
    {"supported shapes are taken", &tiled, 128, 256, 64, NULL},
    {NULL, &tiled, 8192, 8192, 8192, NULL},
    {NULL, &loose, 1, 24, 8, NULL},
    {NULL, &loose, 1 << 30, 24, 1 << 24, NULL},
    {"others are refused in words", &tiled, 100, 256, 64,
     "m=100 is not a multiple of 128 (v07 takes m: multiples of 128, n: multiples of 256, k: "
     "multiples of 64)"},
    {NULL, &tiled, 128, 128, 64, "n=128"},
    {NULL, &tiled, 128, 256, 32, "k=32"},
    {NULL, &tiled, 0, 256, 64, "m=0"},
    {NULL, &tiled, 128, -256, 64, "n=-256"},
    {NULL, &loose, (1 << 30) + 1, 24, 8, "m=1073741825: must be from 1 to 1073741824"},
    {"rows are multiples of 16 bytes", &loose, 1, 12, 8, "n: multiples of 24"},
    {NULL, &loose, 1, 24, 4, "k=4"},
    {"fp16 and fp32 rows", &fp16, 3, 8, 8, NULL},
    {NULL, &fp16, 3, 12, 8, "n=12"},
    {NULL, &addmm, 3, 12, 8, NULL},
    {NULL, &addmm, 3, 14, 8, "n=14"},
    {NULL, &addmm, 3, 12, 4, "k=4"},
    {NULL, &fp16, 3, 8, 1 << 25, NULL},
    {"matrices that are moved", &moves, 1, 4, 0, NULL},
    {NULL, &moves, 3, 1 << 30, 0, NULL},
    {NULL, &moves, 3, INT_MAX - 3, 0, "n=2147483644: must be from 1 to 1073741824"},
    {NULL, &moves, 4, 2, 0, "n=2"},
    {NULL, &transposes, 4, 8, 0, NULL},
    {NULL, &transposes, 4, 4, 0, "n=4"},
    {NULL, &transposes, 1, 8, 0,
     "m=1 is not a multiple of 4 (t02 takes m: multiples of 4, n: multiples of 8, since TMA copies "
     "rows of whole 16 bytes and rows of A have n elements, rows of D m)"},
    {"rows that a rung cannot address are refused", &limited, 256, 8, 1 << 23, NULL},
    {NULL, &limited, 256, 8, 8500000, "k=8500000: must be from 1 to 8388608"},
    {"k beyond exact sums is refused", &loose, 1, 24, (1 << 24) + 8, "16777216"},
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static size_t first; /* row of the case that runs */

static void rows(void) {
    for (size_t i = first; i < ROW_COUNT && (i == first || ROWS[i].name == NULL); ++i) {
        const row *row = &ROWS[i];
        const int refused = shape_check(row->step, row->m, row->n, row->k, error, sizeof error);
        EXPECT((refused != 0) == (row->error != NULL), "m=%d n=%d k=%d", row->m, row->n, row->k);
        EXPECT(refused == 0 || strstr(error, row->error) != NULL, "%s", error);
    }
}

static void rounding_up(void) {
    int m = 1;
    int n = 257;
    int k = 64;
    shape_round_up(&tiled, &m, &n, &k);
    EXPECT(m == 128 && n == 512 && k == 64, "m=%d n=%d k=%d", m, n, k);
    shape_round_up(&loose, &m, &n, &k);
    EXPECT(m == 128 && n == 528 && k == 64, "m=%d n=%d k=%d", m, n, k);
    m = 1;
    n = 9;
    k = 0;
    shape_round_up(&transposes, &m, &n, &k);
    EXPECT(m == 4 && n == 16 && k == 0, "m=%d n=%d k=%d", m, n, k);
}

static void integer_range(void) {
    EXPECT(random_integer_range(8, 1 << 24) == 4, "8");
    EXPECT(random_integer_range(1 << 20, 1 << 24) == 4, "2^20");
    EXPECT(random_integer_range((1 << 20) + 1, 1 << 24) == 3, "2^20 + 1");
    EXPECT(random_integer_range((1 << 24) / 9 + 1, 1 << 24) == 2, "2^24 / 9 + 1");
    EXPECT(random_integer_range(1 << 24, 1 << 24) == 1, "2^24");
    EXPECT(random_integer_range((1 << 24) + 1, 1 << 24) == 0, "2^24 + 1");
}

static void flop(void) {
    EXPECT(shape_flop(2, 3, 5) == 60, "flop");
    EXPECT(shape_flop(8192, 8192, 8192) == 1099511627776.0, "flop");
}

static void copies(void) {
    const size_t mib = (size_t)1 << 20;
    EXPECT(workload_copies(384 * mib, 60 * mib, 100) == 2, "large operands");
    EXPECT(workload_copies(6 * mib, 60 * mib, 100) == 20, "20 copies are twice the L2");
    EXPECT(workload_copies(7 * mib, 60 * mib, 100) == 18, "rounded up");
    EXPECT(workload_copies(1024, 60 * mib, 1000) == 256, "at most 256");
    EXPECT(workload_copies(384 * mib, 60 * mib, 1) == 1, "one is all that fits");
    EXPECT(workload_copies(6 * mib, 60 * mib, 5) == 5, "as many as fit");
}

static void samples(void) {
    static uint64_t positions[SAMPLE_COUNT];
    const int shapes[][2] = {{1, 8}, {7, 24}, {8192, 4096}, {INT_MAX, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        const uint64_t m = (uint64_t)shapes[i][0];
        const uint64_t n = (uint64_t)shapes[i][1];
        const uint64_t corners[] = {0, n - 1, (m - 1) * n, m * n - 1};
        sample_positions(shapes[i][0], shapes[i][1], positions);
        EXPECT(memcmp(positions, corners, sizeof corners) == 0, "corners of shape %zu", i);
        uint64_t largest = 0;
        for (size_t j = 0; j < SAMPLE_COUNT; ++j) {
            largest = positions[j] > largest ? positions[j] : largest;
        }
        EXPECT(largest == m * n - 1, "shape %zu", i);
    }
}

int main(void) {
    for (; first < ROW_COUNT; ++first) {
        if (ROWS[first].name != NULL) {
            run_row("shape", ROWS[first].name, rows);
        }
    }
    run_case("shape: rounding up to what is taken", rounding_up);
    run_case("shape: range of exact integers", integer_range);
    run_case("shape: floating-point operations", flop);
    run_case("shape: number of operand copies", copies);
    run_case("shape: sampled positions", samples);
    return test_result();
}
