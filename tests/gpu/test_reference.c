/* The harness's own GPU parts against plain C: operands, reference, check, guards, cuBLAS.
 * Without a GPU every case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../emulator/tests/test.h"
#include "harness/elements.h"
#include "harness/message.h"
#include "harness/workload.h"

static device gpu;

typedef struct shape {
    int m, n, k; /* k is 0 where words are moved */
} shape;

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
static const step MOVES[] = {{STEP, .computes = ADD_ONE_INT32}, {STEP, .computes = TRANSPOSE_FP32}};
enum { SEED = 5, PRODUCT_COUNT = sizeof PRODUCTS / sizeof *PRODUCTS, MOVE_COUNT = 2 };
static const float ALPHA = -2.5f;
static const float BETA = 1;
static const step *subject; /* of the case that runs */

/* An element of the reference by plain C, before anything is rounded to fp32. */
typedef struct element {
    double value, magnitude, partials;
    float modelled;
} element;

/* A workload with its reference, and D as it should be on the host. */
typedef struct product {
    options options;
    workload workload;
    size_t count; /* elements of D */
    void *operand[OPERANDS];
    element *elements; /* of products */
    void *output;
} product;

static const buffer *d_of(const product *p, int who) { return &p->workload.copy[0].of[who].d; }

static void *download(const buffer *buffer) {
    void *host = allocate(buffer->bytes + 1, 1);
    if (buffer->bytes > 0) {
        buffer_download(buffer, host, buffer->bytes);
    }
    return host;
}

/* Everything is on the GPU: the operands, NaN for an output, the reference. */
static void product_open(product *p, shape shape, enum inputs inputs) {
    const arithmetic arithmetic = arithmetic_of(subject);
    const integers integers = arithmetic_integers(&arithmetic, shape.k, ALPHA, BETA);
    memset(p, 0, sizeof *p);
    p->options = (options){.m = shape.m,
                           .n = shape.n,
                           .k = shape.k,
                           .alpha = ALPHA,
                           .beta = BETA,
                           .seed = SEED,
                           .protocol = PROTOCOL_NONE};
    workload_open(&p->workload, subject, &gpu, &p->options);
    workload_fill(&p->workload, 1, inputs, &integers);
    workload_poison(&p->workload);
    reference_compute(&p->workload.reference, &p->workload.copy[0].of[0].problem, gpu.stream);
    p->count = p->workload.reference.count;
}

/* An element of a product by its definition. */
static element element_on_host(const product *p, const problem *problem, size_t i) {
    const arithmetic *arithmetic = &p->workload.arithmetic;
    const size_t row = i / (size_t)problem->n;
    const size_t column = i % (size_t)problem->n;
    const size_t k = (size_t)problem->k;
    element e = {0, 0, 0, 0};
    for (size_t j = 0; j < k; ++j) {
        const double product =
            (double)number_read(arithmetic->operands, problem->a, row * k + j) *
            (double)number_read(arithmetic->operands, problem->b, column * k + j) *
            (double)scale_of_a(arithmetic, problem, row, j) *
            (double)scale_of_b(arithmetic, problem, column, j);
        e.value += product;
        e.magnitude += fabs(product);
        e.partials += (j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k ? fabs(e.value) : 0;
    }
    if (arithmetic->takes_c) {
        const double scaled = (double)BETA * (double)((const float *)problem->c)[i];
        e.value = (double)ALPHA * e.value + scaled;
        e.magnitude = -(double)ALPHA * e.magnitude + fabs(scaled);
    }
    if (arithmetic->scaled) {
        e.modelled = reference_modelled(arithmetic, problem, i, NULL, NULL, &e.partials);
    }
    return e;
}

/* The same as product_open(), and D by plain C, from the operands that the GPU made. */
static void product_make(product *p, shape shape, enum inputs inputs) {
    product_open(p, shape, inputs);
    const arithmetic *arithmetic = &p->workload.arithmetic;
    problem problem = p->workload.copy[0].of[0].problem;
    for (int i = 0; i < OPERANDS; ++i) {
        p->operand[i] = download(&p->workload.copy[0].operand[i]);
    }
    problem.a = p->operand[OPERAND_A];
    problem.b = p->operand[OPERAND_B];
    problem.c = p->operand[OPERAND_C];
    problem.scale_a = p->operand[OPERAND_SCALE_A];
    problem.scale_b = p->operand[OPERAND_SCALE_B];
    p->output = allocate(d_of(p, 0)->bytes, 1);
    p->elements = allocate(p->count, sizeof *p->elements);
    for (size_t i = 0; i < p->count; ++i) {
        if (arithmetic->moves) {
            const size_t m = (size_t)shape.m, n = (size_t)shape.n;
            const uint32_t word = ((const uint32_t *)problem.a)[i];
            ((uint32_t *)p->output)[arithmetic->transposes ? i % n * m + i / n : i] =
                word + (arithmetic->transposes ? 0 : 1);
        } else {
            p->elements[i] = element_on_host(p, &problem, i);
            number_write(arithmetic->output, p->output, i,
                         arithmetic->scaled ? p->elements[i].modelled
                                            : (float)p->elements[i].value);
        }
    }
}

static void product_free(product *p) {
    workload_close(&p->workload);
    for (int i = 0; i < OPERANDS; ++i) {
        free(p->operand[i]);
    }
    free(p->elements);
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
            const double wanted = (double)number_round(format, random_element(&recipe, i));
            const double got = (double)number_read(format, made, i);
            EXPECT(fabs(got - wanted) <= tolerance * (fabs(wanted) + 1e-5),
                   "inputs %zu, element %d: %g, not %g", j, (int)i, got, wanted);
        }
    }
    buffer_destroy(&buffer);
}

/* None of them square; less than a tile, just more than one, several. */
static void references_match_the_host(void) {
    static const shape shapes[] = {
        {7, 13, 9}, {1, 3, 1}, {65, 70, 33}, {130, 64, 200}, {64, 129, 16}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        product p;
        product_make(&p, shapes[s], INPUTS_NORMAL);
        const bool has_partials = p.workload.arithmetic.fp16_sums || p.workload.arithmetic.scaled;
        expected *found = allocate(p.count, sizeof *found);
        cuda_check(cudaMemcpy(found, p.workload.reference.elements, p.count * sizeof *found,
                              cudaMemcpyDeviceToHost),
                   "reading the reference");
        for (size_t i = 0; i < p.count; ++i) {
            const element *wanted = &p.elements[i];
            const double magnitude = wanted->magnitude;
            const double partials = wanted->partials;
            EXPECT(fabs(found[i].value - wanted->value) <= 1e-13 * magnitude,
                   "shape %zu, element %zu: %g, not %g", s, i, found[i].value, wanted->value);
            EXPECT((double)found[i].magnitude >= magnitude * (1 - 1e-13) &&
                       (double)found[i].magnitude <= magnitude * (1 + 0x1p-22),
                   "magnitude %zu: %g, not %g", i, (double)found[i].magnitude, magnitude);
            EXPECT(!has_partials || fabs((double)found[i].partials - partials) <=
                                        0x1p-22 * fmax(magnitude, partials) * shapes[s].k,
                   "partial sums %zu: %g, not %g", i, (double)found[i].partials, partials);
            EXPECT(found[i].modelled == wanted->modelled, "model %zu: %g, not %g", i,
                   (double)found[i].modelled, (double)wanted->modelled);
        }
        free(found);
        product_free(&p);
    }
}

/* ---- the check */

/* What the check says of a contender's output. */
static verdict check_d(const product *p, enum check_kind kind, int who) {
    const contender *contender = &p->workload.contender[who];
    const reference reference = workload_reference(&p->workload, contender, 0);
    const rounding rounding = workload_rounding(&p->workload, contender);
    return check_output(d_of(p, who)->payload, &reference, kind, &rounding, gpu.stream);
}

/* What it says of p->output as it is. */
static verdict check_host(const product *p, enum check_kind kind) {
    buffer_upload(d_of(p, 0), p->output, d_of(p, 0)->bytes);
    return check_d(p, kind, 0);
}

static void expect_right(verdict found, size_t checked) {
    char text[320];
    verdict_format(&found, text, sizeof text);
    EXPECT(verdict_right(&found) && found.checked == checked, "%s", text);
    EXPECT(found.max_error_over_bound <= 1, "%g", found.max_error_over_bound);
}

static void expect_wrong(const product *p, verdict found, uint64_t wrong, size_t first) {
    const size_t at = found.first_row * p->workload.reference.columns + found.first_column;
    EXPECT(found.wrong == wrong && at == first && !verdict_right(&found),
           "%g wrong, the first is %zu", (double)found.wrong, at);
}

static enum check_kind kind_of(enum inputs inputs) {
    return inputs == INPUTS_INTEGERS ? CHECK_EXACT : CHECK_BOUNDED;
}

/* One element at a time: the first, the last, some in between; and many. */
static void planted_mistakes(void) {
    for (int which = 0; which < 2; ++which) {
        const enum inputs inputs = which == 0 ? INPUTS_INTEGERS : INPUTS_NORMAL;
        const enum check_kind kind = kind_of(inputs);
        product p;
        product_make(&p, (shape){65, 70, 33}, inputs);
        const enum number format = p.workload.arithmetic.output;
        const size_t places[] = {0, 31, 70, p.count / 2, p.count - 1};
        expect_right(check_host(&p, kind), p.count);
        for (size_t i = 0; i < 3 * sizeof places / sizeof *places; ++i) {
            const size_t at = places[i / 3];
            const float right = number_read(format, p.output, at);
            const float planted[] = {99 + right, NAN, INFINITY};
            number_write(format, p.output, at, planted[i % 3]);
            const verdict found = check_host(&p, kind);
            expect_wrong(&p, found, 1, at);
            EXPECT(found.max_error_over_bound > 1, "%g", found.max_error_over_bound);
            number_write(format, p.output, at, right);
        }
        for (size_t i = 77; i < p.count; ++i) { /* the first of many is reported */
            number_write(format, p.output, i, NAN);
        }
        expect_wrong(&p, check_host(&p, kind), p.count - 77, 77);
        product_free(&p);
    }
}

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
        uint64_t wanted = 0;
        for (size_t i = 0; i < COUNT; ++i) {
            wanted += digest_element(formats[format], words, i);
        }
        const uint64_t digest = output_digest(buffer.payload, formats[format], COUNT, gpu.stream);
        EXPECT(digest == wanted, "format %zu: %#llx, not %#llx", format, (unsigned long long)digest,
               (unsigned long long)wanted);
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

static void guards(void) {
    enum { BYTES = 1000 };
    static const struct {
        ptrdiff_t at; /* that is overwritten; once it is, so it stays */
        int byte;
        const char *mentions; /* NULL: they are intact again */
    } rows[] = {{BYTES, 0, "byte 1 after its last one"},
                {BYTES, GUARD_BYTE, NULL},
                {-GUARD_BYTES, 0, "byte 65536 before its first one"},
                {-1, 0, "byte 65536 before its first one"},
                {-GUARD_BYTES, GUARD_BYTE, "byte 1 before its first one"}};
    const buffer buffer = buffer_create(BYTES, true, "a test");
    EXPECT((uintptr_t)buffer.payload % BUFFER_ALIGNMENT == 0, "alignment");
    buffer_poison(&buffer, gpu.stream);
    device_wait(&gpu, "poison");
    unsigned char *content = download(&buffer);
    for (size_t i = 0; i < BYTES; ++i) {
        EXPECT(content[i] == 0xff, "byte %zu is %d", i, content[i]);
    }
    expect_guard(&buffer, true, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        cuda_check(cudaMemset(buffer.payload + rows[i].at, rows[i].byte, 1), "a guard");
        expect_guard(&buffer, rows[i].mentions == NULL,
                     rows[i].mentions == NULL ? "" : rows[i].mentions);
    }
    free(content);
    buffer_destroy(&buffer);
}

/* ---- second opinions: cuBLAS, cublasSgeam, the plain kernel, the plain copy */

/* All that there are beside the step. */
static void expect_opinions(const product *p, enum check_kind kind) {
    for (int who = 1; who < p->workload.contenders; ++who) {
        const contender *contender = &p->workload.contender[who];
        contender->launch(contender, 0);
        device_wait(&gpu, contender->title);
        expect_right(check_d(p, kind, who), p->count);
        expect_guard(d_of(p, who), true, "");
    }
}

static void cublas_agrees(void) {
    static const shape shapes[] = {{8, 16, 24}, {200, 264, 72}, {129, 40, 4096}, {1, 8, 8}};
    static const enum inputs all[] = {INPUTS_INTEGERS, INPUTS_NORMAL};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        product p;
        shape shape = shapes[i / 2];
        shape.k = subject->computes == GEMM_FP8 ? (shape.k + 15) / 16 * 16 : shape.k;
        product_open(&p, shape, all[i % 2]);
        expect_opinions(&p, kind_of(all[i % 2]));
        product_free(&p);
    }
}

/* More than 2^31 elements: the reference, the check and cuBLAS beyond 32 bits. */
static void large_output(void) {
    product p;
    product_open(&p, (shape){65544, 32768, 8}, INPUTS_INTEGERS);
    expect_wrong(&p, check_d(&p, CHECK_EXACT, 1), p.count, 0); /* it is not written yet */
    expect_opinions(&p, CHECK_EXACT);
    cuda_check(cudaMemset(d_of(&p, 1)->payload + 2 * (p.count - 3), 0xff, 2), "writing a NaN");
    expect_wrong(&p, check_d(&p, CHECK_EXACT, 1), 1, p.count - 3);
    product_free(&p);
}

/* The words, the reference, the check and the second opinions, all against the host's. */
static void moved_words(void) {
    static const shape shapes[] = {{4, 4, 0}, {4, 132, 0}, {260, 8, 0}, {100, 228, 0}};
    const recipe recipe = {.inputs = INPUTS_BITS, .seed = SEED, .stream = RANDOM_STREAM_A};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        product p;
        product_make(&p, shapes[s], INPUTS_BITS);
        uint32_t *given = p.operand[OPERAND_A];
        uint32_t *output = p.output;
        for (size_t i = 0; i < p.count; ++i) {
            const uint32_t word = given[i];
            operand_write(given, p.workload.arithmetic.operands, &recipe, i);
            EXPECT(given[i] == word, "word %zu", i);
        }
        EXPECT(check_d(&p, CHECK_WORDS, 0).wrong == p.count, "nothing was written");
        expect_right(check_host(&p, CHECK_WORDS), p.count);
        output[p.count - 2] ^= 1;
        const verdict wrong = check_host(&p, CHECK_WORDS);
        expect_wrong(&p, wrong, 1, p.count - 2);
        EXPECT(wrong.got == (double)output[p.count - 2], "got %g", wrong.got);
        expect_opinions(&p, CHECK_WORDS);
        product_free(&p);
    }
}

/* More than 2^31 words, and more than 4 GiB. */
static void large_moves(void) {
    product p;
    product_open(&p, (shape){65544, 32768, 0}, INPUTS_BITS);
    expect_opinions(&p, CHECK_WORDS);
    product_free(&p);
}

/* A case runs for the first so many steps of a list. */
static const struct test_case {
    const char *name;
    void (*body)(void);
    const step *steps;
    int count;
} CASES[] = {
    {"operands match the host's", operands_match_the_host, PRODUCTS, 1},
    {"the reference matches the host's", references_match_the_host, PRODUCTS, PRODUCT_COUNT},
    {"checks pass what is right and find every planted mistake", planted_mistakes, PRODUCTS,
     PRODUCT_COUNT},
    {"the digest matches the host's", digests_match_the_host, PRODUCTS, 1},
    {"guard bands find writes beside a buffer", guards, PRODUCTS, 1},
    {"cuBLAS agrees with the reference", cublas_agrees, PRODUCTS, PRODUCT_COUNT},
    {"more than 2^31 elements", large_output, PRODUCTS, 1},
    {"words that are moved, their reference, check and second opinions", moved_words, MOVES,
     MOVE_COUNT},
    {"more than 2^31 words", large_moves, MOVES, MOVE_COUNT},
};
static const struct test_case *now;

static void run_steps(void) {
    for (int i = 0; i < now->count; ++i) {
        subject = &now->steps[i];
        now->body();
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
    for (now = CASES; now < CASES + sizeof CASES / sizeof *CASES; ++now) {
        if (here) {
            run_row("gpu", now->name, run_steps);
        } else {
            skip_case(now->name, "no GPU of compute capability 9.0");
        }
    }
    return test_result();
}
