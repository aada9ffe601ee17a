/* Shape rules, byte counts and the number of operand copies. */
#include <limits.h>
#include <string.h>

#include "harness/random.h"
#include "harness/sample.h"
#include "harness/shape.h"
#include "harness/workload.h"
#include "test.h"

static const step tiled = {
    .name = "v07", .computes = GEMM_BF16, .multiple_m = 128, .multiple_n = 256, .multiple_k = 64};
static const step loose = {
    .name = "v00", .computes = GEMM_BF16, .multiple_m = 0, .multiple_n = 12, .multiple_k = 1};
static char error[512];

static void accepted(void) {
    EXPECT(shape_check(&tiled, 128, 256, 64, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&tiled, 8192, 8192, 8192, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&loose, 1, 24, 8, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&loose, 1 << 30, 24, 1 << 24, error, sizeof error) == 0, "%s", error);
}

static void refused(void) {
    EXPECT(shape_check(&tiled, 100, 256, 64, error, sizeof error) != 0, "m=100");
    EXPECT(strcmp(error, "m=100 is not a multiple of 128 (v07 takes m: multiples of 128, n: "
                         "multiples of 256, k: multiples of 64)") == 0,
           "%s", error);
    EXPECT(shape_check(&tiled, 128, 128, 64, error, sizeof error) != 0, "n=128");
    EXPECT(shape_check(&tiled, 128, 256, 32, error, sizeof error) != 0, "k=32");
    EXPECT(shape_check(&tiled, 0, 256, 64, error, sizeof error) != 0, "m=0");
    EXPECT(shape_check(&tiled, 128, -256, 64, error, sizeof error) != 0, "n=-256");
    EXPECT(shape_check(&loose, (1 << 30) + 1, 24, 8, error, sizeof error) != 0, "m=2^30 + 1");
    EXPECT(strcmp(error, "m=1073741825: must be from 1 to 1073741824") == 0, "%s", error);
}

static void rows_that_a_rung_cannot_address(void) {
    static const step limited = {.name = "a03", .computes = GEMM_FP16, .largest_k = 1 << 23};
    EXPECT(shape_check(&limited, 256, 8, 1 << 23, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&limited, 256, 8, 8500000, error, sizeof error) != 0, "k=8500000");
    EXPECT(strcmp(error, "k=8500000: must be from 1 to 8388608") == 0, "%s", error);
}

static void rows_are_16_bytes(void) {
    EXPECT(shape_check(&loose, 1, 12, 8, error, sizeof error) != 0, "n=12");
    EXPECT(strstr(error, "n: multiples of 24") != NULL, "%s", error);
    EXPECT(shape_check(&loose, 1, 24, 4, error, sizeof error) != 0, "k=4");
}

static void rows_of_other_formats(void) {
    static const step fp16 = {.name = "a06", .computes = GEMM_FP16};
    static const step addmm = {.name = "a01", .computes = ADDMM_FP16};
    EXPECT(shape_check(&fp16, 3, 8, 8, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&fp16, 3, 12, 8, error, sizeof error) != 0, "n=12 of fp16");
    EXPECT(shape_check(&addmm, 3, 12, 8, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&addmm, 3, 14, 8, error, sizeof error) != 0, "n=14 of fp32");
    EXPECT(shape_check(&addmm, 3, 12, 4, error, sizeof error) != 0, "k=4 of fp16");
    EXPECT(shape_check(&fp16, 3, 8, 1 << 25, error, sizeof error) == 0, "%s", error);
}

static const step moves = {.name = "t01", .computes = ADD_ONE_INT32, .multiple_m = 1};
static const step transposes = {.name = "t02", .computes = TRANSPOSE_FP32, .multiple_n = 8};

static void moved_matrices(void) {
    EXPECT(shape_check(&moves, 1, 4, 0, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&moves, 3, 1 << 30, 0, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&moves, 3, INT_MAX - 3, 0, error, sizeof error) != 0, "n=INT_MAX - 3");
    EXPECT(strcmp(error, "n=2147483644: must be from 1 to 1073741824") == 0, "%s", error);
    EXPECT(shape_check(&moves, 4, 2, 0, error, sizeof error) != 0, "n=2");
    EXPECT(shape_check(&transposes, 4, 8, 0, error, sizeof error) == 0, "%s", error);
    EXPECT(shape_check(&transposes, 4, 4, 0, error, sizeof error) != 0, "n=4");
    EXPECT(shape_check(&transposes, 1, 8, 0, error, sizeof error) != 0, "m=1");
    EXPECT(strcmp(error,
                  "m=1 is not a multiple of 4 (t02 takes m: multiples of 4, n: multiples of "
                  "8, since TMA copies rows of whole 16 bytes and rows of A have n elements, "
                  "rows of D m)") == 0,
           "%s", error);
    int m = 1;
    int n = 9;
    int k = 0;
    shape_round_up(&transposes, &m, &n, &k);
    EXPECT(m == 4 && n == 16 && k == 0, "m=%d n=%d k=%d", m, n, k);
}

static void inexact_k_is_refused(void) {
    EXPECT(shape_check(&loose, 1, 24, (1 << 24) + 8, error, sizeof error) != 0, "k");
    EXPECT(strstr(error, "16777216") != NULL, "%s", error);
}

static void rounding_up(void) {
    int m = 1;
    int n = 257;
    int k = 64;
    shape_round_up(&tiled, &m, &n, &k);
    EXPECT(m == 128 && n == 512 && k == 64, "m=%d n=%d k=%d", m, n, k);
    shape_round_up(&loose, &m, &n, &k);
    EXPECT(m == 128 && n == 528 && k == 64, "m=%d n=%d k=%d", m, n, k);
}

static void integer_range(void) {
    EXPECT(random_integer_range(8) == 4, "8");
    EXPECT(random_integer_range(1 << 20) == 4, "2^20");
    EXPECT(random_integer_range((1 << 20) + 1) == 3, "2^20 + 1");
    EXPECT(random_integer_range((1 << 24) / 9 + 1) == 2, "2^24 / 9 + 1");
    EXPECT(random_integer_range(1 << 24) == 1, "2^24");
    EXPECT(random_integer_range((1 << 24) + 1) == 0, "2^24 + 1");
}

static void bytes(void) {
    size_t count = 0;
    EXPECT(shape_bytes(7, 13, 2, &count) && count == 182, "%zu", count);
    EXPECT(shape_bytes(INT_MAX, INT_MAX, 2, &count), "the largest matrix of bf16");
    EXPECT(count == (size_t)INT_MAX * INT_MAX * 2, "%zu", count);
    EXPECT(!shape_bytes(INT_MAX, INT_MAX, 12, &count), "2^31 x 2^31 x 12 does not fit");
    EXPECT(!shape_bytes(INT64_MAX, 2, 1, &count), "2^64 does not fit");
    EXPECT(!shape_bytes(-1, 2, 1, &count), "negative");
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
    run_case("shape: supported shapes are taken", accepted);
    run_case("shape: others are refused in words", refused);
    run_case("shape: rows are multiples of 16 bytes", rows_are_16_bytes);
    run_case("shape: fp16 and fp32 rows", rows_of_other_formats);
    run_case("shape: matrices that are moved", moved_matrices);
    run_case("shape: rows that a rung cannot address are refused", rows_that_a_rung_cannot_address);
    run_case("shape: k beyond exact sums is refused", inexact_k_is_refused);
    run_case("shape: rounding up to what is taken", rounding_up);
    run_case("shape: range of exact integers", integer_range);
    run_case("shape: byte counts do not overflow", bytes);
    run_case("shape: number of operand copies", copies);
    run_case("shape: sampled positions", samples);
    return test_result();
}
