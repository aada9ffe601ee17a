/* The harness's own GPU parts against plain C: operands, reference, check, guards, cuBLAS, clock.
 * Without a GPU every case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/test.h"
#include "harness/buffers.h"
#include "harness/check.h"
#include "harness/digest.h"
#include "harness/gpu/clocks.h"
#include "harness/second_opinion.h"
#include "harness/device.h"
#include "harness/exit_status.h"
#include "harness/operands.h"
#include "harness/sample.h"

static device gpu;

typedef struct shape {
    int m, n, k;
} shape;

/* None of them square; less than a tile, just more than one, several. */
static const shape SHAPES[] = {{7, 13, 9}, {1, 3, 1}, {65, 70, 33}, {130, 64, 200}, {64, 129, 16}};
enum { SHAPE_COUNT = sizeof SHAPES / sizeof *SHAPES, SEED = 5 };

/* What is computed. */
static const step COMPUTATIONS[] = {{.computes = GEMM_BF16},
                                    {.computes = GEMM_FP16},
                                    {.computes = GEMM_FP16, .fp16_sums = true},
                                    {.computes = ADDMM_FP16}};
enum { COMPUTATION_COUNT = sizeof COMPUTATIONS / sizeof *COMPUTATIONS };
static const step *subject = &COMPUTATIONS[0]; /* of the case that runs */
static const float ALPHA = -2.5f;
static const float BETA = 1;

/* One product: operands and outputs on the GPU, and the expected result on the host. */
typedef struct product {
    shape shape;
    arithmetic arithmetic;
    rounding rounding;
    size_t elements; /* of D */
    buffer a, b, c, d;
    problem problem;
    reference reference;
    double *values;
    double *magnitudes;
    double *partials;
    void *output;
    uint32_t *given; /* A, where words are moved */
} product;

/* The words that belong in D, from those that the GPU made. */
static bool move_on_host(product *p) {
    const size_t m = (size_t)p->shape.m;
    const size_t n = (size_t)p->shape.n;
    p->given = malloc(p->a.bytes);
    p->output = malloc(p->d.bytes);
    if (p->given == NULL || p->output == NULL ||
        buffer_download(&p->a, p->given, p->a.bytes) != 0) {
        return false;
    }
    for (size_t i = 0; i < m * n; ++i) {
        const size_t to = p->arithmetic.transposes ? i % n * m + i / n : i;
        ((uint32_t *)p->output)[to] = p->given[i] + (p->arithmetic.transposes ? 0 : 1);
    }
    return true;
}

/* The expected result by plain C, from the operands that the GPU made. */
static bool compute_on_host(product *p) {
    void *a = malloc(p->a.bytes);
    void *b = malloc(p->b.bytes);
    float *c = malloc(p->c.bytes);
    const enum number format = p->arithmetic.operands;
    p->values = calloc(p->elements, sizeof(double));
    p->magnitudes = calloc(p->elements, sizeof(double));
    p->partials = calloc(p->elements, sizeof(double));
    p->output = malloc(p->d.bytes);
    const bool good =
        a != NULL && b != NULL && c != NULL && p->values != NULL && p->magnitudes != NULL &&
        p->partials != NULL && p->output != NULL && buffer_download(&p->a, a, p->a.bytes) == 0 &&
        buffer_download(&p->b, b, p->b.bytes) == 0 && buffer_download(&p->c, c, p->c.bytes) == 0;
    if (good) {
        const size_t n = (size_t)p->shape.n;
        const size_t k = (size_t)p->shape.k;
        for (size_t i = 0; i < p->elements; ++i) {
            for (size_t j = 0; j < k; ++j) {
                const double product = (double)number_read(format, a, i / n * k + j) *
                                       (double)number_read(format, b, i % n * k + j);
                p->values[i] += product;
                p->magnitudes[i] += fabs(product);
                p->partials[i] +=
                    (j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k ? fabs(p->values[i]) : 0;
            }
            if (p->arithmetic.takes_c) {
                const double scaled = (double)BETA * (double)c[i];
                p->values[i] = (double)ALPHA * p->values[i] + scaled;
                p->magnitudes[i] = -(double)ALPHA * p->magnitudes[i] + fabs(scaled);
            }
            number_write(p->arithmetic.output, p->output, i, (float)p->values[i]);
        }
    }
    free(a);
    free(b);
    free(c);
    return good;
}

static int fill(const buffer *buffer, enum number format, enum inputs inputs, int range,
                uint64_t stream) {
    const recipe recipe = {
        .inputs = inputs, .seed = SEED, .stream = stream, .row = 1, .range = range, .spacing = 1};
    return operands_fill(buffer->payload, format, buffer->bytes / number_bytes(format), &recipe,
                         gpu.stream);
}

static bool product_open(product *p, shape shape, enum inputs inputs, bool sampled) {
    const size_t m = (size_t)shape.m;
    const size_t n = (size_t)shape.n;
    const size_t k = (size_t)shape.k;
    const bool moves = shape.k == 0;
    memset(p, 0, sizeof *p);
    p->shape = shape;
    p->elements = m * n;
    p->arithmetic = arithmetic_of(subject);
    p->rounding = arithmetic_rounding(&p->arithmetic, shape.k, p->arithmetic.fp16_sums);
    const enum number operands = p->arithmetic.operands;
    const enum number output = p->arithmetic.output;
    const integers integers = arithmetic_integers(&p->arithmetic, shape.k, ALPHA, BETA);
    const bool ready =
        buffer_create(&p->a, m * (moves ? n : k) * number_bytes(operands), true, "A") == 0 &&
        buffer_create(&p->b, moves ? 16 : n * k * number_bytes(operands), true, "B") == 0 &&
        buffer_create(&p->c, p->arithmetic.takes_c ? m * n * sizeof(float) : 16, true, "C") == 0 &&
        buffer_create(&p->d, m * n * number_bytes(output), true, "D") == 0;
    p->problem = (problem){.a = p->a.payload,
                           .b = p->b.payload,
                           .c = p->c.payload,
                           .d = p->d.payload,
                           .alpha = ALPHA,
                           .beta = BETA,
                           .m = shape.m,
                           .n = shape.n,
                           .k = shape.k,
                           .stream = gpu.stream};
    const bool good =
        ready && fill(&p->a, operands, inputs, integers.range, RANDOM_STREAM_A) == 0 &&
        fill(&p->b, operands, inputs, integers.range, RANDOM_STREAM_B) == 0 &&
        fill(&p->c, NUMBER_FP32, inputs, integers.c_range, RANDOM_STREAM_C) == 0 &&
        buffer_poison(&p->d, gpu.stream) == 0 && device_wait(&gpu, "the set-up of a test") == 0 &&
        reference_create(&p->reference, &p->arithmetic, shape.m, shape.n, shape.k, sampled) == 0 &&
        reference_compute(&p->reference, &p->problem, gpu.stream) == 0;
    EXPECT(good, "set-up for m=%d n=%d k=%d", shape.m, shape.n, shape.k);
    return good;
}

static void product_close(product *p) {
    reference_destroy(&p->reference);
    buffer_destroy(&p->a);
    buffer_destroy(&p->b);
    buffer_destroy(&p->c);
    buffer_destroy(&p->d);
    free(p->values);
    free(p->magnitudes);
    free(p->partials);
    free(p->output);
    free(p->given);
}

/* Compares what the GPU computed with what the host did. */
static void expect_same_reference(const product *p) {
    const size_t count = p->reference.count;
    double *values = malloc(count * sizeof *values);
    float *magnitudes = malloc(count * sizeof *magnitudes);
    float *partials = calloc(count, sizeof *partials);
    uint64_t *positions = malloc((size_t)SAMPLE_COUNT * sizeof *positions);
    if (values == NULL || magnitudes == NULL || partials == NULL || positions == NULL ||
        cudaMemcpy(values, p->reference.values, count * sizeof *values, cudaMemcpyDeviceToHost) !=
            cudaSuccess ||
        cudaMemcpy(magnitudes, p->reference.magnitudes, count * sizeof *magnitudes,
                   cudaMemcpyDeviceToHost) != cudaSuccess ||
        (p->reference.partials != NULL &&
         cudaMemcpy(partials, p->reference.partials, count * sizeof *partials,
                    cudaMemcpyDeviceToHost) != cudaSuccess)) {
        EXPECT(false, "the reference could not be read");
    } else {
        sample_positions(p->shape.m, p->shape.n, positions);
        for (size_t i = 0; i < count; ++i) {
            const size_t at = p->reference.positions == NULL ? i : (size_t)positions[i];
            const double magnitude = p->magnitudes[at];
            EXPECT(fabs(values[i] - p->values[at]) <= 1e-13 * magnitude,
                   "m=%d n=%d k=%d, element %zu: %g, not %g", p->shape.m, p->shape.n, p->shape.k,
                   at, values[i], p->values[at]);
            EXPECT((double)magnitudes[i] >= magnitude * (1 - 1e-13) &&
                       (double)magnitudes[i] <= magnitude * (1 + 0x1p-22),
                   "magnitude %zu: %g, not %g", at, (double)magnitudes[i], magnitude);
            const double part = p->arithmetic.fp16_sums ? p->partials[at] : 0;
            EXPECT(fabs((double)partials[i] - part) <= 0x1p-22 * magnitude * p->shape.k,
                   "partial sums %zu: %g, not %g", at, (double)partials[i], part);
        }
    }
    free(values);
    free(magnitudes);
    free(partials);
    free(positions);
}

static void compare_references(bool sampled) {
    for (size_t i = 0; i < SHAPE_COUNT; ++i) {
        product p;
        if (product_open(&p, SHAPES[i], INPUTS_NORMAL, sampled) && compute_on_host(&p)) {
            expect_same_reference(&p);
        } else {
            EXPECT(false, "set-up of shape %zu", i);
        }
        product_close(&p);
    }
}

static void compare_full(void) { compare_references(false); }

static void compare_sampled(void) { compare_references(true); }

static void operands_match_the_host(void) {
    enum { COUNT = 100003 };
    static uint16_t made[COUNT];
    static const enum inputs all[] = {INPUTS_NORMAL, INPUTS_UNIFORM, INPUTS_INTEGERS};
    buffer buffer;
    if (buffer_create(&buffer, sizeof made, true, "operands") != 0) {
        EXPECT(false, "no buffer");
        return;
    }
    for (size_t j = 0; j < sizeof all / sizeof *all; ++j) {
        const enum number format = j % 2 == 0 ? NUMBER_BF16 : NUMBER_FP16;
        const recipe recipe = {.inputs = all[j],
                               .seed = SEED,
                               .stream = RANDOM_STREAM_B,
                               .row = 77,
                               .range = 4,
                               .spacing = 5};
        EXPECT(operands_fill(buffer.payload, format, COUNT, &recipe, gpu.stream) == 0 &&
                   device_wait(&gpu, "operands") == 0 &&
                   buffer_download(&buffer, made, sizeof made) == 0,
               "inputs %zu", j);
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

/* Checks what is in D. */
static verdict check_d(const product *p, enum check_kind kind) {
    verdict result = {.kind = kind};
    EXPECT(check_output(p->d.payload, &p->reference, kind, &p->rounding, gpu.stream, &result) == 0,
           "the check could not run");
    return result;
}

/* Checks p->output as it is. */
static verdict check_product(const product *p, enum check_kind kind) {
    EXPECT(buffer_upload(&p->d, p->output, p->d.bytes) == 0, "upload");
    return check_d(p, kind);
}

static void right_outputs(void) {
    static const enum inputs all[] = {INPUTS_INTEGERS, INPUTS_NORMAL};
    for (size_t i = 0; i < 2 * SHAPE_COUNT; ++i) {
        const enum inputs inputs = all[i % 2];
        product p;
        if (product_open(&p, SHAPES[i / 2], inputs, false) && compute_on_host(&p)) {
            const enum check_kind kind = inputs == INPUTS_INTEGERS ? CHECK_EXACT : CHECK_BOUNDED;
            const verdict found = check_product(&p, kind);
            char text[320];
            verdict_format(&found, text, sizeof text);
            EXPECT(verdict_right(&found) && found.checked == p.elements, "%s", text);
            EXPECT(found.max_error_over_bound <= 1, "%g", found.max_error_over_bound);
        }
        product_close(&p);
    }
}

static void expect_found(const product *p, enum check_kind kind, size_t at, uint64_t not_finite) {
    const verdict found = check_product(p, kind);
    const uint64_t columns = (uint64_t)p->shape.n;
    EXPECT(found.wrong == 1 && found.not_finite == not_finite, "%d wrong, %d not finite",
           (int)found.wrong, (int)found.not_finite);
    EXPECT(found.first_row * columns + found.first_column == at, "found at [%d][%d]",
           (int)found.first_row, (int)found.first_column);
    EXPECT(found.max_error_over_bound > 1, "%g", found.max_error_over_bound);
    EXPECT(!verdict_right(&found), "kind %d", (int)kind);
}

/* One element at a time is made wrong: the first, the last, some in between. */
static void planted_mistakes(enum inputs inputs, enum check_kind kind) {
    product p;
    if (product_open(&p, SHAPES[2], inputs, false) && compute_on_host(&p)) {
        const size_t places[] = {0, 31, 70, p.elements / 2, p.elements - 1};
        for (size_t i = 0; i < sizeof places / sizeof *places; ++i) {
            const enum number format = p.arithmetic.output;
            const float right = number_read(format, p.output, places[i]);
            number_write(format, p.output, places[i], right + 99.0f);
            expect_found(&p, kind, places[i], 0);
            number_write(format, p.output, places[i], NAN);
            expect_found(&p, kind, places[i], 1);
            number_write(format, p.output, places[i], INFINITY);
            expect_found(&p, kind, places[i], 1);
            number_write(format, p.output, places[i], right);
        }
    }
    product_close(&p);
}

static void plant_in_exact(void) { planted_mistakes(INPUTS_INTEGERS, CHECK_EXACT); }

static void plant_in_bounded(void) { planted_mistakes(INPUTS_NORMAL, CHECK_BOUNDED); }

static void first_of_many_is_reported(void) {
    product p;
    if (product_open(&p, SHAPES[3], INPUTS_INTEGERS, false) && compute_on_host(&p)) {
        for (size_t i = 77; i < p.elements; ++i) {
            number_write(p.arithmetic.output, p.output, i, NAN);
        }
        const verdict found = check_product(&p, CHECK_EXACT);
        EXPECT(found.wrong == p.elements - 77, "%d wrong", (int)found.wrong);
        EXPECT(found.not_finite == p.elements - 77, "%d not finite", (int)found.not_finite);
        EXPECT(found.first_row == 1 && found.first_column == 13, "[%d][%d]", (int)found.first_row,
               (int)found.first_column);
        EXPECT(found.not_finite_row == 1 && found.not_finite_column == 13, "[%d][%d]",
               (int)found.not_finite_row, (int)found.not_finite_column);
    }
    product_close(&p);
}

/* More than 2^31 elements: the sampled check, the search for NaN and cuBLAS beyond 32 bits. */
static void large_output(void) {
    static const shape large = {65544, 32768, 8};
    static const char nan_bytes[] = {(char)0xff, (char)0xff};
    product p;
    verdict found;
    second_opinion *cublas = second_opinion_open(GEMM_BF16, CONTENDER_OTHER, gpu.stream);
    const bool opened = product_open(&p, large, INPUTS_INTEGERS, true);
    EXPECT(cublas != NULL, "cuBLAS cannot be started");
    if (cublas != NULL && opened) {
        found = check_d(&p, CHECK_EXACT);
        EXPECT(found.not_finite == p.elements, "an unwritten output has %g NaN",
               (double)found.not_finite);
        EXPECT(second_opinion_launch(cublas, &p.problem) == 0 && device_wait(&gpu, "cuBLAS") == 0,
               "cuBLAS");
        found = check_d(&p, CHECK_EXACT);
        EXPECT(verdict_right(&found) && found.checked == SAMPLE_COUNT, "%g wrong, %g not finite",
               (double)found.wrong, (double)found.not_finite);
        const size_t beside_the_sample = p.elements - 3;
        EXPECT(cudaMemcpy(p.d.payload + 2 * beside_the_sample, nan_bytes, sizeof nan_bytes,
                          cudaMemcpyHostToDevice) == cudaSuccess,
               "planting a NaN");
        found = check_d(&p, CHECK_EXACT);
        EXPECT(!verdict_right(&found) && found.not_finite == 1, "%g not finite",
               (double)found.not_finite);
        EXPECT(found.not_finite_row == 65543 && found.not_finite_column == 32765, "[%d][%d]",
               (int)found.not_finite_row, (int)found.not_finite_column);
    }
    product_close(&p);
    second_opinion_close(cublas);
}

/* More elements than the digest's kernel has threads, and a count that no block divides. */
static void digests_match_the_host(void) {
    enum { COUNT = 3000001 };
    const enum number formats[] = {NUMBER_FP32, NUMBER_BF16};
    buffer buffer = {0};
    uint32_t *words = malloc(COUNT * sizeof *words);
    EXPECT(words != NULL && buffer_create(&buffer, COUNT * sizeof *words, true, "D") == 0,
           "memory");
    if (words == NULL || buffer.payload == NULL) {
        free(words);
        return;
    }
    for (size_t i = 0; i < COUNT; ++i) {
        words[i] = (uint32_t)random_bits(SEED, 1, i);
    }
    EXPECT(buffer_upload(&buffer, words, COUNT * sizeof *words) == 0, "upload");
    for (size_t format = 0; format < sizeof formats / sizeof *formats; ++format) {
        uint64_t expected = 0;
        uint64_t digest = 0;
        for (size_t i = 0; i < COUNT; ++i) {
            expected += digest_element(formats[format], words, i);
        }
        EXPECT(output_digest(buffer.payload, formats[format], COUNT, gpu.stream, &digest) == 0 &&
                   digest == expected,
               "format %zu: %#llx, not %#llx", format, (unsigned long long)digest,
               (unsigned long long)expected);
    }
    buffer_destroy(&buffer);
    free(words);
}

static void expect_guard(const buffer *buffer, bool expected, const char *mentions) {
    bool intact = !expected;
    char text[128];
    EXPECT(buffer_guards_intact(buffer, &intact, text, sizeof text) == 0, "reading the guards");
    EXPECT(intact == expected && strstr(text, mentions) != NULL, "%s", text);
}

static void guards(void) {
    enum { BYTES = 1000 };
    unsigned char content[BYTES];
    buffer buffer;
    if (buffer_create(&buffer, BYTES, true, "a test") != 0) {
        EXPECT(false, "no buffer");
        return;
    }
    EXPECT((uintptr_t)buffer.payload % BUFFER_ALIGNMENT == 0, "alignment");
    EXPECT(buffer_poison(&buffer, gpu.stream) == 0 && device_wait(&gpu, "poison") == 0, "poison");
    EXPECT(buffer_download(&buffer, content, BYTES) == 0, "download");
    for (size_t i = 0; i < BYTES; ++i) {
        EXPECT(content[i] == 0xff, "byte %zu is %d", i, content[i]);
    }
    expect_guard(&buffer, true, "");
    EXPECT(cudaMemset(buffer.payload + BYTES, 0, 1) == cudaSuccess, "memset");
    expect_guard(&buffer, false, "byte 1 after its last one");
    EXPECT(cudaMemset(buffer.payload + BYTES, GUARD_BYTE, 1) == cudaSuccess, "memset");
    EXPECT(cudaMemset(buffer.payload - GUARD_BYTES, 0, 1) == cudaSuccess, "memset");
    expect_guard(&buffer, false, "byte 65536 before its first one");
    EXPECT(cudaMemset(buffer.payload - 1, 0, 1) == cudaSuccess, "memset");
    expect_guard(&buffer, false, "byte 65536 before its first one");
    buffer_destroy(&buffer);
}

static void compare_cublas(void) {
    static const shape shapes[] = {{8, 16, 24}, {200, 264, 72}, {129, 40, 4096}, {1, 8, 8}};
    static const enum inputs all[] = {INPUTS_INTEGERS, INPUTS_NORMAL};
    second_opinion *cublas = second_opinion_open(
        subject->computes, subject->fp16_sums ? CONTENDER_FP16_SUMS : CONTENDER_OTHER, gpu.stream);
    EXPECT(cublas != NULL, "cuBLAS cannot be started");
    for (size_t i = 0; cublas != NULL && i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        const enum inputs inputs = all[i % 2];
        product p;
        if (product_open(&p, shapes[i / 2], inputs, false)) {
            verdict found;
            char text[320] = "";
            EXPECT(second_opinion_launch(cublas, &p.problem) == 0 &&
                       check_output(p.d.payload, &p.reference,
                                    inputs == INPUTS_INTEGERS ? CHECK_EXACT : CHECK_BOUNDED,
                                    &p.rounding, gpu.stream, &found) == 0,
                   "m=%d n=%d k=%d could not run", p.shape.m, p.shape.n, p.shape.k);
            verdict_format(&found, text, sizeof text);
            EXPECT(verdict_right(&found), "m=%d n=%d k=%d: %s", p.shape.m, p.shape.n, p.shape.k,
                   text);
            expect_guard(&p.d, true, "");
        }
        product_close(&p);
    }
    second_opinion_close(cublas);
}

/* ---- computations that move words */

static const step MOVES[] = {{.computes = ADD_ONE_INT32}, {.computes = TRANSPOSE_FP32}};
static const shape MOVED[] = {{4, 4, 0}, {4, 132, 0}, {260, 8, 0}, {100, 228, 0}};
enum { MOVE_COUNT = sizeof MOVES / sizeof *MOVES, MOVED_COUNT = sizeof MOVED / sizeof *MOVED };

/* The words, the reference and the check, all against the host's. */
static void moved_words(void) {
    const recipe recipe = {.inputs = INPUTS_BITS, .seed = SEED, .stream = RANDOM_STREAM_A};
    for (int i = 0; i < MOVE_COUNT * MOVED_COUNT; ++i) {
        product p;
        subject = &MOVES[i / MOVED_COUNT];
        if (product_open(&p, MOVED[i % MOVED_COUNT], INPUTS_BITS, true) && move_on_host(&p)) {
            const size_t count = p.reference.count;
            uint32_t *output = p.output;
            for (size_t j = 0; j < count; ++j) {
                const uint32_t given = p.given[j];
                operand_write(p.given, p.arithmetic.operands, &recipe, j);
                EXPECT(p.given[j] == given, "word %zu", j);
            }
            EXPECT(check_d(&p, CHECK_WORDS).wrong == count, "nothing was written");
            const verdict right = check_product(&p, CHECK_WORDS);
            EXPECT(verdict_right(&right) && right.checked == count, "%d wrong", (int)right.wrong);
            output[count - 2] ^= 1;
            const verdict wrong = check_product(&p, CHECK_WORDS);
            const size_t place = wrong.first_row * p.reference.columns + wrong.first_column;
            EXPECT(wrong.wrong == 1 && place == count - 2, "%d wrong, the first is %zu",
                   (int)wrong.wrong, place);
            EXPECT(wrong.got == (double)output[count - 2], "got %g", wrong.got);
        }
        product_close(&p);
    }
}

/* cublasSgeam, the plain kernel and the plain copy. */
static void expect_movers(const step *step, shape shape) {
    static const int WHO[] = {CONTENDER_OTHER, CONTENDER_COPY};
    product p;
    subject = step;
    const bool opened = product_open(&p, shape, INPUTS_BITS, true);
    for (size_t i = 0; opened && i < sizeof WHO / sizeof *WHO; ++i) {
        const char *name = second_opinion_name(step->computes, WHO[i]);
        second_opinion *mover = second_opinion_open(step->computes, WHO[i], gpu.stream);
        EXPECT(mover != NULL && buffer_poison(&p.d, gpu.stream) == 0 &&
                   second_opinion_launch(mover, &p.problem) == 0 &&
                   device_wait(&gpu, "a mover") == 0,
               "%s could not run", name);
        uint32_t *computed = p.reference.words;
        if (WHO[i] == CONTENDER_COPY) { /* its result is A */
            p.reference.words = (uint32_t *)p.a.payload;
        }
        const verdict found = check_d(&p, CHECK_WORDS);
        EXPECT(verdict_right(&found), "%s: %g wrong", name, (double)found.wrong);
        p.reference.words = computed;
        second_opinion_close(mover);
    }
    if (opened) {
        expect_guard(&p.d, true, "");
    }
    product_close(&p);
}

static void movers_agree(void) {
    for (int i = 0; i < MOVE_COUNT * MOVED_COUNT; ++i) {
        expect_movers(&MOVES[i / MOVED_COUNT], MOVED[i % MOVED_COUNT]);
    }
}

/* More than 2^31 words, and more than 4 GiB. */
static void large_moves(void) {
    for (int i = 0; i < MOVE_COUNT; ++i) {
        expect_movers(&MOVES[i], (shape){65544, 32768, 0});
    }
}

static void clock_is_plausible(void) {
    enum { COUNT = 1 << 26 };
    double ghz = NAN;
    buffer buffer;
    clocks *clocks = clocks_open(gpu.info.sms);
    if (clocks == NULL || buffer_create(&buffer, COUNT * sizeof(uint16_t), true, "work") != 0) {
        EXPECT(false, "set-up");
        clocks_close(clocks);
        return;
    }
    EXPECT(clocks_clear(clocks, gpu.stream) == 0 &&
               clocks_mean_ghz(clocks, gpu.stream, &ghz) == 0 && isnan(ghz),
           "without readings: %g GHz", ghz);
    EXPECT(clocks_read(clocks, CLOCK_BEFORE, gpu.stream) == 0 &&
               fill(&buffer, NUMBER_BF16, INPUTS_NORMAL, 0, RANDOM_STREAM_A) == 0 &&
               clocks_read(clocks, CLOCK_AFTER, gpu.stream) == 0 &&
               clocks_mean_ghz(clocks, gpu.stream, &ghz) == 0,
           "the readings could not run");
    EXPECT(ghz > 0.1 && ghz < 3, "%g GHz", ghz);
    buffer_destroy(&buffer);
    clocks_close(clocks);
}

typedef struct test_case {
    const char *name;
    void (*body)(void);
    int computations; /* it runs for the first so many of COMPUTATIONS */
} test_case;

static const test_case CASES[] = {
    {"gpu: operands match the host's", operands_match_the_host, 1},
    {"gpu: the reference matches the host's", compare_full, COMPUTATION_COUNT},
    {"gpu: the sampled reference matches the host's", compare_sampled, COMPUTATION_COUNT},
    {"gpu: a right output passes", right_outputs, COMPUTATION_COUNT},
    {"gpu: the exact check finds every planted mistake", plant_in_exact, COMPUTATION_COUNT},
    {"gpu: the bounded check finds every planted mistake", plant_in_bounded, COMPUTATION_COUNT},
    {"gpu: the first of many mistakes is reported", first_of_many_is_reported, 1},
    {"gpu: the digest matches the host's", digests_match_the_host, 1},
    {"gpu: guard bands find writes beside a buffer", guards, 1},
    {"gpu: cuBLAS agrees with the reference", compare_cublas, COMPUTATION_COUNT},
    {"gpu: more than 2^31 elements", large_output, 1},
    {"gpu: words that are moved, their reference and check", moved_words, 1},
    {"gpu: cublasSgeam, plain kernel and plain copy agree", movers_agree, 1},
    {"gpu: more than 2^31 words", large_moves, 1},
    {"gpu: the SM clock is plausible", clock_is_plausible, 1},
};

static const test_case *current;

static void run_computations(void) {
    for (int i = 0; i < current->computations; ++i) {
        subject = &COMPUTATIONS[i];
        current->body();
    }
    subject = &COMPUTATIONS[0];
}

int main(void) {
    static const step any = {
        .name = "test_reference", .min_compute_capability = 90, .max_compute_capability = 90};
    const int status = device_open(&any, 0, &gpu);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; ++i) {
        if (status == STATUS_CANNOT_RUN) {
            skip_case(CASES[i].name, "no GPU of compute capability 9.0");
        } else if (status == STATUS_VERIFIED) {
            current = &CASES[i];
            run_case(current->name, run_computations);
        }
    }
    if (status == STATUS_VERIFIED) {
        device_close(&gpu);
    } else if (status != STATUS_CANNOT_RUN) {
        printf("not ok - gpu: the GPU cannot be opened\n");
        return 1;
    }
    return test_result();
}
