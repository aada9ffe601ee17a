/* The harness's own GPU parts against plain C: operands, reference, check, guards, cuBLAS.
 * Without a GPU every case is skipped. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../emulator/tests/test.h"
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

/* A workload with its reference, and on the host its operands and D as it should be. */
typedef struct product {
    options options;
    workload workload;
    size_t count; /* elements of D */
    problem host; /* its operands, and D */
    expected *elements;
} product;

static const buffer *d_of(const product *p, int who) { return &p->workload.share[who].d; }

static void *download(const void *from, size_t bytes) {
    void *host = allocate(bytes + 1, 1);
    cuda_check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "reading %zu bytes", bytes);
    return host;
}

/* Everything is on the GPU: the operands, NaN for an output, the reference. */
static void product_open(product *p, shape shape, enum inputs inputs) {
    const arithmetic arithmetic = arithmetic_of(subject);
    const integers integers = arithmetic_integers(&arithmetic, shape.k, ALPHA, BETA);
    *p = (product){.options = {.m = shape.m,
                               .n = shape.n,
                               .k = shape.k,
                               .alpha = ALPHA,
                               .beta = BETA,
                               .seed = SEED,
                               .protocol = PROTOCOL_NONE}};
    workload_open(&p->workload, subject, &gpu, &p->options);
    workload_fill(&p->workload, 1, inputs, &integers);
    workload_poison(&p->workload);
    reference_compute(&p->workload.reference, &p->workload.share[0].problem, gpu.stream);
    p->count = p->workload.reference.count;
}

/* An element of a product by its definition. */
static expected element_on_host(const arithmetic *arithmetic, const problem *problem, size_t i) {
    const size_t k = (size_t)problem->k;
    double value = 0, magnitude = 0, partials = 0;
    for (size_t j = 0; j < k; ++j) {
        const double product =
            scaled_element(arithmetic, problem, false, i / (size_t)problem->n, j) *
            scaled_element(arithmetic, problem, true, i % (size_t)problem->n, j);
        value += product;
        magnitude += fabs(product);
        partials += (j + 1) % FP16_SUM_GROUP == 0 || j + 1 == k ? fabs(value) : 0;
    }
    if (arithmetic->takes_c) {
        const double scaled = (double)BETA * (double)((const float *)problem->c)[i];
        value = (double)ALPHA * value + scaled;
        magnitude = -(double)ALPHA * magnitude + fabs(scaled);
    }
    expected e = {value, (float)magnitude, (float)partials, 0};
    if (arithmetic->scaled) {
        reference_model(arithmetic, problem, i, NULL, NULL, &e);
    }
    return e;
}

/* The same as product_open(), and D by plain C, from the operands that the GPU made. What is on the
 * host is there until the test ends. */
static void product_make(product *p, shape shape, enum inputs inputs) {
    void *host[OPERANDS];
    product_open(p, shape, inputs);
    const arithmetic *arithmetic = &p->workload.arithmetic;
    for (int i = 0; i < OPERANDS; ++i) {
        const operand *operand = &p->workload.operand[i];
        host[i] =
            download(p->workload.memory[0][i], operand->count * number_bytes(operand->format));
    }
    p->host = p->workload.share[0].problem;
    p->host.a = host[OPERAND_A];
    p->host.b = host[OPERAND_B];
    p->host.c = host[OPERAND_C];
    p->host.scale_a = host[OPERAND_SCALE_A];
    p->host.scale_b = host[OPERAND_SCALE_B];
    p->host.d = allocate(d_of(p, 0)->bytes, 1);
    p->elements = allocate(p->count, sizeof *p->elements);
    const size_t m = (size_t)shape.m, n = (size_t)shape.n;
    for (size_t i = 0; i < p->count; ++i) {
        if (arithmetic->moves) {
            const uint32_t word = ((const uint32_t *)p->host.a)[i];
            ((uint32_t *)p->host.d)[arithmetic->transposes ? i % n * m + i / n : i] =
                word + (arithmetic->transposes ? 0 : 1);
        } else {
            const expected e = p->elements[i] = element_on_host(arithmetic, &p->host, i);
            number_write(arithmetic->output, p->host.d, i,
                         arithmetic->scaled ? e.modelled : (float)e.value);
        }
    }
}

/* ---- operands and the reference */

static void operands_match_the_host(void) {
    enum { COUNT = 100003 };
    static const enum inputs all[] = {INPUTS_NORMAL, INPUTS_UNIFORM, INPUTS_INTEGERS, INPUTS_BITS};
    static const enum number formats[] = {NUMBER_BF16, NUMBER_FP16, NUMBER_FP32, NUMBER_INT32};
    uint32_t wanted[COUNT];
    void *memory = device_memory(sizeof wanted, "operands");
    for (size_t j = 0; j < sizeof all / sizeof *all; ++j) {
        const operand operand = {"operands", formats[j], COUNT, all[j], RANDOM_STREAM_B,
                                 SEED,       77,         4,     5};
        operand_fill(&operand, memory, gpu.stream);
        device_wait(&gpu, "operands");
        void *made = download(memory, sizeof wanted);
        /* The logarithm and the cosine may differ in their last bits: allow one step of bf16. */
        const double tolerance = all[j] == INPUTS_NORMAL ? 0x1p-7 : 0;
        for (uint64_t i = 0; i < COUNT; ++i) {
            operand_write(&operand, wanted, i);
            const double right = (double)number_read(formats[j], wanted, i);
            const double got = (double)number_read(formats[j], made, i);
            EXPECT(fabs(got - right) <= tolerance * (fabs(right) + 1e-5),
                   "inputs %zu, element %d: %g, not %g", j, (int)i, got, right);
        }
        free(made);
    }
    (void)cudaFree(memory);
}

/* None of them square; less than a tile, just more than one, several. */
static void references_match_the_host(void) {
    static const shape shapes[] = {
        {7, 13, 9}, {1, 3, 1}, {65, 70, 33}, {130, 64, 200}, {64, 129, 16}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        product p;
        product_make(&p, shapes[s], INPUTS_NORMAL);
        const bool has_partials = p.workload.arithmetic.fp16_sums || p.workload.arithmetic.scaled;
        const expected *found = download(p.workload.reference.elements, p.count * sizeof *found);
        for (size_t i = 0; i < p.count; ++i) {
            const expected *wanted = &p.elements[i];
            const double magnitude = (double)wanted->magnitude;
            const double partials = (double)wanted->partials;
            EXPECT(fabs(found[i].value - wanted->value) <= 1e-13 * magnitude,
                   "shape %zu, element %zu: %g, not %g", s, i, found[i].value, wanted->value);
            EXPECT(found[i].magnitude >= wanted->magnitude &&
                       (double)found[i].magnitude <= magnitude * (1 + 0x1p-21),
                   "magnitude %zu: %g, not %g", i, (double)found[i].magnitude, magnitude);
            EXPECT(!has_partials || fabs((double)found[i].partials - partials) <=
                                        0x1p-21 * fmax(magnitude, partials) * shapes[s].k,
                   "partial sums %zu: %g, not %g", i, (double)found[i].partials, partials);
            EXPECT(found[i].modelled == wanted->modelled, "model %zu: %g, not %g", i,
                   (double)found[i].modelled, (double)wanted->modelled);
        }
        workload_close(&p.workload);
    }
}

/* ---- the check */

/* What the check says of a contender's output. */
static verdict check_d(const product *p, bool exact, int who) {
    return workload_check(&p->workload, &p->workload.contender[who], 0, exact);
}

/* What it says of the host's D as it is. */
static verdict check_host(const product *p, bool exact) {
    uint64_t digest = 0;
    buffer_upload(d_of(p, 0), p->host.d, d_of(p, 0)->bytes);
    const verdict found = check_d(p, exact, 0);
    for (size_t i = 0; i < p->count; ++i) {
        digest += digest_element(p->workload.arithmetic.output, p->host.d, i);
    }
    EXPECT(found.digest == digest, "digest %#llx, not %#llx", (unsigned long long)found.digest,
           (unsigned long long)digest);
    return found;
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

/* One element at a time: the first, the last, some in between; and many. There are more than the
 * check has threads, and no block divides them. */
static void planted_mistakes(void) {
    for (int exact = 0; exact < 2; ++exact) {
        product p;
        product_make(&p, (shape){777, 1111, 33}, exact ? INPUTS_INTEGERS : INPUTS_NORMAL);
        const enum number format = p.workload.arithmetic.output;
        const size_t places[] = {0, 31, 70, p.count / 2, p.count - 1};
        expect_right(check_host(&p, exact), p.count);
        for (size_t i = 0; i < 3 * sizeof places / sizeof *places; ++i) {
            const size_t at = places[i / 3];
            const float right = number_read(format, p.host.d, at);
            const float planted[] = {99 + right, NAN, INFINITY};
            number_write(format, p.host.d, at, planted[i % 3]);
            const verdict found = check_host(&p, exact);
            expect_wrong(&p, found, 1, at);
            EXPECT(found.max_error_over_bound > 1, "%g", found.max_error_over_bound);
            number_write(format, p.host.d, at, right);
        }
        for (size_t i = 77; i < p.count; ++i) { /* the first of many is reported */
            number_write(format, p.host.d, i, NAN);
        }
        expect_wrong(&p, check_host(&p, exact), p.count - 77, 77);
        workload_close(&p.workload);
    }
}

/* ---- second opinions: cuBLAS, cublasSgeam, the plain kernel, the plain copy */

/* All that there are beside the step. */
static void expect_opinions(const product *p, bool exact) {
    for (int who = 1; who < p->workload.contenders; ++who) {
        const contender *contender = &p->workload.contender[who];
        contender->launch(contender, 0);
        device_wait(&gpu, contender->title);
        expect_right(check_d(p, exact, who), p->count);
    }
    char text[160] = "";
    EXPECT(workload_guards_intact(&p->workload, text, sizeof text), "%s", text);
}

static void cublas_agrees(void) {
    static const shape shapes[] = {{8, 16, 24}, {200, 264, 72}, {129, 40, 4096}, {1, 8, 8}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        product p;
        shape shape = shapes[i / 2];
        shape.k = subject->computes == GEMM_FP8 ? (shape.k + 15) / 16 * 16 : shape.k;
        product_open(&p, shape, i % 2 == 0 ? INPUTS_INTEGERS : INPUTS_NORMAL);
        expect_opinions(&p, i % 2 == 0);
        workload_close(&p.workload);
    }
}

/* More than 2^31 elements, or words: the reference, the check and cuBLAS beyond 32 bits. */
static void large_output(void) {
    const bool moves = arithmetic_of(subject).moves;
    product p;
    product_open(&p, (shape){65544, 32768, moves ? 0 : 8}, moves ? INPUTS_BITS : INPUTS_INTEGERS);
    if (!moves) { /* of so many words some may be what the output is poisoned with */
        expect_wrong(&p, check_d(&p, true, 0), p.count, 0); /* it is not written yet */
    }
    expect_opinions(&p, true);
    if (!moves) {
        cuda_check(cudaMemset(d_of(&p, 1)->payload + 2 * (p.count - 3), 0xff, 2), "a NaN");
        expect_wrong(&p, check_d(&p, true, 1), 1, p.count - 3);
    }
    workload_close(&p.workload);
}

/* The words, the reference, the check and the second opinions, all against the host's. */
static void moved_words(void) {
    static const shape shapes[] = {{4, 4, 0}, {4, 132, 0}, {260, 8, 0}, {100, 228, 0}};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; ++s) {
        product p;
        product_make(&p, shapes[s], INPUTS_BITS);
        uint32_t *output = p.host.d;
        expect_wrong(&p, check_d(&p, true, 0), p.count, 0); /* nothing was written */
        expect_right(check_host(&p, true), p.count);
        output[p.count - 2] ^= 1;
        const verdict wrong = check_host(&p, true);
        expect_wrong(&p, wrong, 1, p.count - 2);
        EXPECT(wrong.got == (double)output[p.count - 2], "got %g", wrong.got);
        expect_opinions(&p, true);
        workload_close(&p.workload);
    }
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
    {"cuBLAS agrees with the reference", cublas_agrees, PRODUCTS, PRODUCT_COUNT},
    {"more than 2^31 elements", large_output, PRODUCTS, 1},
    {"words that are moved, their reference, check and second opinions", moved_words, MOVES,
     MOVE_COUNT},
    {"more than 2^31 words", large_output, MOVES, MOVE_COUNT},
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
