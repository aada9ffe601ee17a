/* The harness's own GPU parts against plain C: operands, reference, check, guards, cuBLAS, clock.
 * Without a GPU every case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../emulator/tests/test.h"
#include "harness/check.h"
#include "harness/gpu/clocks.h"
#include "harness/message.h"
#include "harness/workload.h"

static device gpu;

typedef struct shape {
    int m, n, k; /* k is 0 where words are moved */
} shape;

/* None of them square; less than a tile, just more than one, several. */
static const shape SHAPES[] = {{7, 13, 9}, {1, 3, 1}, {65, 70, 33}, {130, 64, 200}, {64, 129, 16}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, SEED = 5 };
static const float ALPHA = -2.5f;
static const float BETA = 1;

static int nothing_to_prepare(const problem *problem, void **state) {
    (void)problem;
    (void)state;
    return 0;
}

#define STEP .name = "test", .prepare = nothing_to_prepare

static const step PRODUCTS[] = {
    {STEP, .computes = GEMM_BF16},
    {STEP, .computes = GEMM_FP16},
    {STEP, .computes = GEMM_FP16, .fp16_sums = true},
    {STEP, .computes = ADDMM_FP16},
    {STEP, .computes = GEMM_FP8},
    {STEP, .computes = GEMM_FP8, .promotion = 128},
    {STEP, .computes = GEMM_FP8, .promotion = 128, .block_scales = true}};
enum { PRODUCT_COUNT = sizeof PRODUCTS / sizeof *PRODUCTS };
static const step MOVES[] = {{STEP, .computes = ADD_ONE_INT32}, {STEP, .computes = TRANSPOSE_FP32}};
static const shape MOVED[] = {{4, 4, 0}, {4, 132, 0}, {260, 8, 0}, {100, 228, 0}};
enum { MOVE_COUNT = sizeof MOVES / sizeof *MOVES, MOVED_COUNT = sizeof MOVED / sizeof *MOVED };
static const step *subject = PRODUCTS; /* of the case that runs */

/* Operands, an output and the reference on the GPU, and the expected result on the host. */
typedef struct product {
    workload workload;
    size_t elements; /* of D */
    double *values, *magnitudes, *partials;
    void *output; /* D as it should be */
} product;

/* The output is what the step has written; the second opinions have outputs of their own. */
static const buffer *output_of(const product *p) { return &p->workload.copy[0].d[CONTENDER_STEP]; }

static void *download(const buffer *buffer) {
    void *host = allocate(buffer->bytes, 1);
    if (buffer->bytes > 0) {
        buffer_download(buffer, host, buffer->bytes);
    }
    return host;
}

/* The expected result by plain C, from the operands that the GPU made. */
static void compute_on_host(product *p) {
    const operand_copy *copy = &p->workload.copy[0];
    const arithmetic *arithmetic = &p->workload.arithmetic;
    const size_t m = (size_t)copy->problem[0].m;
    const size_t n = (size_t)copy->problem[0].n;
    const size_t k = (size_t)copy->problem[0].k;
    void *a = download(&copy->a);
    void *b = download(&copy->b);
    float *c = download(&copy->c);
    float *scale_a = download(&copy->scale_a);
    float *scale_b = download(&copy->scale_b);
    problem problem = copy->problem[0];
    problem.a = a;
    problem.b = b;
    problem.scale_a = scale_a;
    problem.scale_b = scale_b;
    for (size_t i = 0; i < m * n && arithmetic->moves; ++i) {
        const size_t to = arithmetic->transposes ? i % n * m + i / n : i;
        ((uint32_t *)p->output)[to] = ((uint32_t *)a)[i] + (arithmetic->transposes ? 0 : 1);
    }
    for (size_t i = 0; i < m * n && !arithmetic->moves; ++i) {
        for (size_t j = 0; j < k; ++j) {
            const double product = (double)number_read(arithmetic->operands, a, i / n * k + j) *
                                   (double)number_read(arithmetic->operands, b, i % n * k + j) *
                                   (double)scale_of_a(arithmetic, &problem, i / n, j) *
                                   (double)scale_of_b(arithmetic, &problem, i % n, j);
            p->values[i] += product;
            p->magnitudes[i] += fabs(product);
            p->partials[i] += (j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k ? fabs(p->values[i]) : 0;
        }
        if (arithmetic->takes_c) {
            const double scaled = (double)BETA * (double)c[i];
            p->values[i] = (double)ALPHA * p->values[i] + scaled;
            p->magnitudes[i] = -(double)ALPHA * p->magnitudes[i] + fabs(scaled);
        }
        const float modelled = arithmetic->scaled ? reference_modelled(arithmetic, &problem, i,
                                                                       NULL, NULL, &p->partials[i])
                                                  : 0;
        number_write(arithmetic->output, p->output, i,
                     arithmetic->scaled ? modelled : (float)p->values[i]);
    }
    free(a);
    free(b);
    free(c);
    free(scale_a);
    free(scale_b);
}

/* Everything is on the GPU: the operands, NaN for an output, the reference. */
static void product_open(product *p, shape shape, enum inputs inputs, enum check_extent check) {
    const options o = {.m = shape.m,
                       .n = shape.n,
                       .k = shape.k,
                       .alpha = ALPHA,
                       .beta = BETA,
                       .seed = SEED,
                       .protocol = PROTOCOL_NONE,
                       .check = check};
    const arithmetic arithmetic = arithmetic_of(subject);
    const integers integers = arithmetic_integers(&arithmetic, shape.k, ALPHA, BETA);
    p->elements = (size_t)shape.m * (size_t)shape.n;
    workload_open(&p->workload, subject, &gpu, &o);
    workload_fill(&p->workload, 1, &o, inputs, &integers);
    workload_poison(&p->workload);
    reference_compute(&p->workload.reference, &p->workload.copy[0].problem[CONTENDER_STEP],
                      gpu.stream);
}

/* The same, and the expected result. */
static void product_make(product *p, shape shape, enum inputs inputs, enum check_extent check) {
    product_open(p, shape, inputs, check);
    p->values = allocate(p->elements, sizeof *p->values);
    p->magnitudes = allocate(p->elements, sizeof *p->magnitudes);
    p->partials = allocate(p->elements, sizeof *p->partials);
    p->output = allocate(output_of(p)->bytes, 1);
    compute_on_host(p);
}

static void product_free(product *p) {
    workload_close(&p->workload);
    free(p->values);
    free(p->magnitudes);
    free(p->partials);
    free(p->output);
}

/* ---- operands and the reference */

static void operands_match_the_host(void) {
    enum { COUNT = 100003 };
    static uint16_t made[COUNT];
    static const enum inputs all[] = {INPUTS_NORMAL, INPUTS_UNIFORM, INPUTS_INTEGERS};
    const buffer buffer = buffer_create(sizeof made, true, "operands");
    for (size_t j = 0; j < sizeof all / sizeof *all; ++j) {
        const enum number format = j % 2 == 0 ? NUMBER_BF16 : NUMBER_FP16;
        const recipe recipe = {.inputs = all[j],
                               .seed = SEED,
                               .stream = RANDOM_STREAM_B,
                               .row = 77,
                               .range = 4,
                               .spacing = 5};
        operands_fill(buffer.payload, format, COUNT, &recipe, gpu.stream);
        device_wait(&gpu, "operands");
        buffer_download(&buffer, made, sizeof made);
        /* The logarithm and the cosine may differ in their last bits: allow one step of bf16. */
        const double tolerance = all[j] == INPUTS_NORMAL ? 0x1p-7 : 0;
        for (uint64_t i = 0; i < COUNT; ++i) {
            const double expected = (double)number_round(format, random_element(&recipe, i));
            const double got = (double)number_read(format, made, i);
            EXPECT(fabs(got - expected) <= tolerance * (fabs(expected) + 1e-5),
                   "inputs %zu, element %d: %g, not %g", j, (int)i, got, expected);
        }
    }
    buffer_destroy(&buffer);
}

/* An array of the reference, in the host's memory. */
static void *fetch(const void *array, size_t bytes) {
    void *host = allocate(bytes, 1);
    if (array != NULL) {
        cuda_check(cudaMemcpy(host, array, bytes, cudaMemcpyDeviceToHost), "reading the reference");
    }
    return host;
}

static void compare_references(enum check_extent check) {
    for (size_t shape = 0; shape < SHAPE_COUNT; ++shape) {
        product p = {.elements = 0};
        product_make(&p, SHAPES[shape], INPUTS_NORMAL, check);
        const reference *reference = &p.workload.reference;
        const size_t count = reference->count;
        double *values = fetch(reference->values, count * sizeof *values);
        float *magnitudes = fetch(reference->magnitudes, count * sizeof *magnitudes);
        float *partials = fetch(reference->partials, count * sizeof *partials);
        uint64_t *positions = allocate(SAMPLE_COUNT, sizeof *positions);
        sample_positions(reference->m, reference->n, positions);
        for (size_t i = 0; i < count; ++i) {
            const size_t at = check == CHECK_SAMPLE ? (size_t)positions[i] : i;
            const double magnitude = p.magnitudes[at];
            const double part = reference->partials != NULL ? p.partials[at] : 0;
            EXPECT(fabs(values[i] - p.values[at]) <= 1e-13 * magnitude,
                   "shape %zu, element %zu: %g, not %g", shape, at, values[i], p.values[at]);
            EXPECT((double)magnitudes[i] >= magnitude * (1 - 1e-13) &&
                       (double)magnitudes[i] <= magnitude * (1 + 0x1p-22),
                   "magnitude %zu: %g, not %g", at, (double)magnitudes[i], magnitude);
            EXPECT(fabs((double)partials[i] - part) <=
                       0x1p-22 * fmax(magnitude, part) * reference->k,
                   "partial sums %zu: %g, not %g", at, (double)partials[i], part);
        }
        free(values);
        free(magnitudes);
        free(partials);
        free(positions);
        product_free(&p);
    }
}

static void compare_full(void) { compare_references(CHECK_FULL); }

static void compare_sampled(void) { compare_references(CHECK_SAMPLE); }

/* ---- the check */

/* What the check says of an output of the contender. */
static verdict check_d(const product *p, enum check_kind kind, int who) {
    const reference reference = workload_reference(&p->workload, who, 0);
    const rounding rounding = workload_rounding(&p->workload, who);
    return check_output(p->workload.copy[0].d[who].payload, &reference, kind, &rounding,
                        gpu.stream);
}

/* What it says of p->output as it is. */
static verdict check_product(const product *p, enum check_kind kind) {
    buffer_upload(output_of(p), p->output, output_of(p)->bytes);
    return check_d(p, kind, CONTENDER_STEP);
}

static void expect_right(verdict found, size_t checked) {
    char text[320];
    verdict_format(&found, text, sizeof text);
    EXPECT(verdict_right(&found) && found.checked == checked, "%s", text);
    EXPECT(found.max_error_over_bound <= 1, "%g", found.max_error_over_bound);
}

static enum check_kind kind_of(enum inputs inputs) {
    return inputs == INPUTS_INTEGERS ? CHECK_EXACT : CHECK_BOUNDED;
}

/* Makes one element wrong, and right again. */
static void plant(const product *p, enum check_kind kind, size_t at, float value) {
    const enum number format = p->workload.arithmetic.output;
    const float right = number_read(format, p->output, at);
    number_write(format, p->output, at, value);
    const verdict found = check_product(p, kind);
    EXPECT(found.wrong == 1 && found.not_finite == (isfinite(value) ? 0 : 1),
           "%d wrong, %d not finite", (int)found.wrong, (int)found.not_finite);
    EXPECT(found.first_row * p->workload.reference.columns + found.first_column == at,
           "found at [%d][%d]", (int)found.first_row, (int)found.first_column);
    EXPECT(found.max_error_over_bound > 1, "%g", found.max_error_over_bound);
    EXPECT(!verdict_right(&found), "kind %d", (int)kind);
    number_write(format, p->output, at, right);
}

/* One element at a time: the first, the last, some in between. */
static void planted_mistakes(enum inputs inputs) {
    const enum check_kind kind = kind_of(inputs);
    product p = {.elements = 0};
    product_make(&p, SHAPES[2], inputs, CHECK_FULL);
    const size_t places[] = {0, 31, 70, p.elements / 2, p.elements - 1};
    expect_right(check_product(&p, kind), p.elements);
    for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
        plant(&p, kind, places[i],
              99 + number_read(p.workload.arithmetic.output, p.output, places[i]));
        plant(&p, kind, places[i], NAN);
        plant(&p, kind, places[i], INFINITY);
    }
    for (size_t i = 77; i < p.elements; ++i) { /* the first of many is reported */
        number_write(p.workload.arithmetic.output, p.output, i, NAN);
    }
    const verdict found = check_product(&p, kind);
    EXPECT(found.wrong == p.elements - 77 && found.not_finite == p.elements - 77,
           "%d wrong, %d not finite", (int)found.wrong, (int)found.not_finite);
    EXPECT(found.first_row == 1 && found.first_column == 7 && found.not_finite_row == 1 &&
               found.not_finite_column == 7,
           "[%d][%d]", (int)found.first_row, (int)found.first_column);
    product_free(&p);
}

static void plant_in_exact(void) { planted_mistakes(INPUTS_INTEGERS); }

static void plant_in_bounded(void) { planted_mistakes(INPUTS_NORMAL); }

/* More elements than the digest's kernel has threads, and a count that no block divides. */
static void digests_match_the_host(void) {
    enum { COUNT = 3000001 };
    const enum number formats[] = {NUMBER_FP32, NUMBER_BF16};
    const buffer buffer = buffer_create(COUNT * sizeof(uint32_t), true, "D");
    uint32_t *words = allocate(COUNT, sizeof *words);
    for (size_t i = 0; i < COUNT; ++i) {
        words[i] = (uint32_t)random_bits(SEED, 1, i);
    }
    buffer_upload(&buffer, words, COUNT * sizeof *words);
    for (size_t format = 0; format < sizeof formats / sizeof *formats; ++format) {
        uint64_t expected = 0;
        for (size_t i = 0; i < COUNT; ++i) {
            expected += digest_element(formats[format], words, i);
        }
        const uint64_t digest = output_digest(buffer.payload, formats[format], COUNT, gpu.stream);
        EXPECT(digest == expected, "format %zu: %#llx, not %#llx", format,
               (unsigned long long)digest, (unsigned long long)expected);
    }
    buffer_destroy(&buffer);
    free(words);
}

/* ---- guards */

static void expect_guard(const buffer *buffer, bool expected, const char *mentions) {
    char text[128];
    const bool intact = buffer_guards_intact(buffer, text, sizeof text);
    EXPECT(intact == expected && strstr(text, mentions) != NULL, "%s", text);
}

static void overwrite(unsigned char *at, int byte) {
    cuda_check(cudaMemset(at, byte, 1), "overwriting a guard");
}

static void guards(void) {
    enum { BYTES = 1000 };
    const buffer buffer = buffer_create(BYTES, true, "a test");
    EXPECT((uintptr_t)buffer.payload % BUFFER_ALIGNMENT == 0, "alignment");
    buffer_poison(&buffer, gpu.stream);
    device_wait(&gpu, "poison");
    unsigned char *content = download(&buffer);
    for (size_t i = 0; i < BYTES; ++i) {
        EXPECT(content[i] == 0xff, "byte %zu is %d", i, content[i]);
    }
    expect_guard(&buffer, true, "");
    overwrite(buffer.payload + BYTES, 0);
    expect_guard(&buffer, false, "byte 1 after its last one");
    overwrite(buffer.payload + BYTES, GUARD_BYTE);
    overwrite(buffer.payload - GUARD_BYTES, 0);
    expect_guard(&buffer, false, "byte 65536 before its first one");
    overwrite(buffer.payload - 1, 0);
    expect_guard(&buffer, false, "byte 65536 before its first one");
    free(content);
    buffer_destroy(&buffer);
}

/* ---- second opinions: cuBLAS, cublasSgeam, the plain kernel, the plain copy */

/* All that there are beside the step. */
static void expect_opinions(const product *p, enum check_kind kind, size_t checked) {
    for (int who = CONTENDER_OTHER; who < CONTENDERS; ++who) {
        if (has_contender(p->workload.contenders.set, who)) {
            workload_launch(&p->workload, who, 0);
            device_wait(&gpu, p->workload.contenders.names[who]);
            expect_right(check_d(p, kind, who), checked);
            expect_guard(&p->workload.copy[0].d[who], true, "");
        }
    }
}

/* k is raised to a multiple of 16 bytes. */
static shape whole_rows(shape shape) {
    shape.k = subject->computes == GEMM_FP8 ? (shape.k + 15) / 16 * 16 : shape.k;
    return shape;
}

static void compare_cublas(void) {
    static const shape shapes[] = {{8, 16, 24}, {200, 264, 72}, {129, 40, 4096}, {1, 8, 8}};
    static const enum inputs all[] = {INPUTS_INTEGERS, INPUTS_NORMAL};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        product p = {.elements = 0};
        product_open(&p, whole_rows(shapes[i / 2]), all[i % 2], CHECK_FULL);
        expect_opinions(&p, kind_of(all[i % 2]), p.elements);
        product_free(&p);
    }
}

/* More than 2^31 elements: the sampled check, the search for NaN and cuBLAS beyond 32 bits. */
static void large_output(void) {
    static const char nan_bytes[] = {(char)0xff, (char)0xff};
    product p = {.elements = 0};
    product_open(&p, whole_rows((shape){65544, 32768, 8}), INPUTS_INTEGERS, CHECK_SAMPLE);
    verdict found = check_d(&p, CHECK_EXACT, CONTENDER_OTHER);
    EXPECT(found.not_finite == p.elements, "an unwritten output has %g NaN",
           (double)found.not_finite);
    expect_opinions(&p, CHECK_EXACT, SAMPLE_COUNT);
    const size_t beside_the_sample = p.elements - 3;
    device_upload(p.workload.copy[0].d[CONTENDER_OTHER].payload + 2 * beside_the_sample, nan_bytes,
                  sizeof nan_bytes);
    found = check_d(&p, CHECK_EXACT, CONTENDER_OTHER);
    EXPECT(!verdict_right(&found) && found.not_finite == 1, "%g not finite",
           (double)found.not_finite);
    EXPECT(found.not_finite_row == 65543 && found.not_finite_column == 32765, "[%d][%d]",
           (int)found.not_finite_row, (int)found.not_finite_column);
    product_free(&p);
}

/* ---- computations that move words */

/* The words, the reference, the check and the second opinions, all against the host's. */
static void expect_moved(shape shape) {
    const recipe recipe = {.inputs = INPUTS_BITS, .seed = SEED, .stream = RANDOM_STREAM_A};
    product p = {.elements = 0};
    product_make(&p, shape, INPUTS_BITS, CHECK_SAMPLE);
    uint32_t *given = download(&p.workload.copy[0].a);
    uint32_t *output = p.output;
    const size_t count = p.elements;
    for (size_t i = 0; i < count; ++i) {
        const uint32_t word = given[i];
        operand_write(given, p.workload.arithmetic.operands, &recipe, i);
        EXPECT(given[i] == word, "word %zu", i);
    }
    EXPECT(check_d(&p, CHECK_WORDS, CONTENDER_STEP).wrong == count, "nothing was written");
    expect_right(check_product(&p, CHECK_WORDS), count);
    output[count - 2] ^= 1;
    const verdict wrong = check_product(&p, CHECK_WORDS);
    const size_t place = wrong.first_row * p.workload.reference.columns + wrong.first_column;
    EXPECT(wrong.wrong == 1 && place == count - 2, "%d wrong, the first is %zu", (int)wrong.wrong,
           place);
    EXPECT(wrong.got == (double)output[count - 2], "got %g", wrong.got);
    expect_opinions(&p, CHECK_WORDS, count);
    free(given);
    product_free(&p);
}

static void moved_words(void) {
    for (int i = 0; i < MOVE_COUNT * MOVED_COUNT; ++i) {
        subject = &MOVES[i / MOVED_COUNT];
        expect_moved(MOVED[i % MOVED_COUNT]);
    }
}

/* More than 2^31 words, and more than 4 GiB. */
static void large_moves(void) {
    for (int i = 0; i < MOVE_COUNT; ++i) {
        product p = {.elements = 0};
        subject = &MOVES[i];
        product_open(&p, (shape){65544, 32768, 0}, INPUTS_BITS, CHECK_SAMPLE);
        expect_opinions(&p, CHECK_WORDS, p.elements);
        product_free(&p);
    }
}

static void clock_is_plausible(void) {
    enum { COUNT = 1 << 26 };
    const recipe recipe = {.inputs = INPUTS_NORMAL, .seed = SEED, .row = 1, .spacing = 1};
    const buffer buffer = buffer_create(COUNT * sizeof(uint16_t), true, "work");
    clocks_clear(gpu.stream);
    double ghz = clocks_mean_ghz(gpu.stream);
    EXPECT(isnan(ghz), "without readings: %g GHz", ghz);
    clocks_read(gpu.info.sms, CLOCK_BEFORE, gpu.stream);
    operands_fill(buffer.payload, NUMBER_BF16, COUNT, &recipe, gpu.stream);
    clocks_read(gpu.info.sms, CLOCK_AFTER, gpu.stream);
    ghz = clocks_mean_ghz(gpu.stream);
    EXPECT(ghz > 0.1 && ghz < 3, "%g GHz", ghz);
    buffer_destroy(&buffer);
}

typedef struct test_case {
    const char *name;
    void (*body)(void);
    int products; /* it runs for the first so many of PRODUCTS */
} test_case;

static const test_case CASES[] = {
    {"gpu: operands match the host's", operands_match_the_host, 1},
    {"gpu: the reference matches the host's", compare_full, PRODUCT_COUNT},
    {"gpu: the sampled reference matches the host's", compare_sampled, PRODUCT_COUNT},
    {"gpu: the exact check passes what is right and finds every planted mistake", plant_in_exact,
     PRODUCT_COUNT},
    {"gpu: the bounded check passes what is right and finds every planted mistake",
     plant_in_bounded, PRODUCT_COUNT},
    {"gpu: the digest matches the host's", digests_match_the_host, 1},
    {"gpu: guard bands find writes beside a buffer", guards, 1},
    {"gpu: cuBLAS agrees with the reference", compare_cublas, PRODUCT_COUNT},
    {"gpu: more than 2^31 elements", large_output, 1},
    {"gpu: words that are moved, their reference, check and second opinions", moved_words, 1},
    {"gpu: more than 2^31 words", large_moves, 1},
    {"gpu: the SM clock is plausible", clock_is_plausible, 1},
};

static const test_case *current;

static void run_products(void) {
    for (int i = 0; i < current->products; ++i) {
        subject = &PRODUCTS[i];
        current->body();
    }
}

int main(void) {
    static const step any = {
        .name = "test_reference", .min_compute_capability = 90, .max_compute_capability = 90};
    int major = 0;
    const bool here =
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0) == cudaSuccess &&
        major == 9;
    if (here) {
        device_open(&any, 0, &gpu);
        gpu.info.l2_bytes = 0; /* as few copies of the operands as there can be */
    }
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        if (here) {
            current = &CASES[i];
            run_case(current->name, run_products);
        } else {
            skip_case(CASES[i].name, "no GPU of compute capability 9.0");
        }
    }
    return test_result();
}
