/* The harness's own kernels against the emulator's plain C. */
#include <cuda_runtime_api.h>

#include "../tools/test.h"
#include "harness/workload.h"

/* The emulator's functions of these names get others here. */
#define operand_fill plain_operand_fill
#define reference_compute plain_reference_compute
#define check_elements plain_check_elements
#define second_opinion_open plain_opinion_open
#define second_opinion_close plain_opinion_close
#define second_opinion_launch plain_opinion_launch
#include "harness/emulated/reference.c"
#undef operand_fill
#undef reference_compute
#undef check_elements

void emulator_wrote(const void *begin, size_t bytes, const void *stream) {
    (void)begin;
    (void)bytes;
    (void)stream;
}

static device gpu;
static const step *subject; /* of the case that runs */

static int nothing_to_prepare(const problem *problem, void **state) {
    (void)problem;
    (void)state;
    return 0;
}

/* On the GPU a workload with its reference; on the host the same. */
typedef struct product {
    options options;
    workload workload;
    examination examination, plain; /* of the step's D */
    problem host;                   /* operands, and D as it should be */
} product;

/* Everything is on the GPU: the operands, NaN for an output, the reference. */
static void product_open(product *p, int m, int n, int k, bool exact) {
    const arithmetic is = arithmetic_of(subject);
    const enum inputs inputs = exact ? INPUTS_INTEGERS : INPUTS_NORMAL;
    const options options = {.m = m, .n = n, .k = is.moves ? 0 : k, .alpha = -2.5f, .beta = 1};
    const integers integers = arithmetic_integers(&is, k, options.alpha, options.beta);
    *p = (product){.options = options};
    p->options.protocol = PROTOCOL_NONE;
    p->options.seed = 5;
    workload_open(&p->workload, subject, &gpu, &p->options);
    workload_fill(&p->workload, 1, is.moves ? INPUTS_BITS : inputs, &integers);
    workload_poison(&p->workload);
    reference_compute(&p->workload.reference, &p->workload.share[0].problem, gpu.stream);
    p->examination = (examination){.d = p->workload.share[0].d.payload,
                                   .reference = p->workload.reference,
                                   .kind = exact ? CHECK_EXACT : CHECK_BOUNDED,
                                   .own = true};
    p->examination.kind = is.moves ? CHECK_WORDS : p->examination.kind;
}

/* An operand as the GPU made it. The host's may differ in the last bits of the logarithm and the
 * cosine: by a step of e4m3 at most. */
static void *operand_on_host(const product *p, int which) {
    const operand *operand = &p->workload.operand[which];
    const size_t bytes = operand->count * number_bytes(operand->format);
    const double tolerance = operand->inputs == INPUTS_NORMAL ? 0x1p-3 : 0;
    void *made = allocate(bytes + 1, 1), *wanted = allocate(bytes + 1, 1);
    cuda_check(cudaMemcpy(made, p->workload.memory[0][which], bytes, cudaMemcpyDeviceToHost),
               "reading %s", operand->name);
    plain_operand_fill(operand, wanted, NULL);
    for (size_t i = 0; i < operand->count; ++i) {
        const double right = (double)number_read(operand->format, wanted, i);
        const double got = (double)number_read(operand->format, made, i);
        EXPECT(fabs(got - right) <= tolerance * (fabs(right) + 0x1p-6), "%s %zu: %g, not %g",
               operand->name, i, got, right);
    }
    free(wanted);
    return made;
}

/* The GPU's reference is that of plain C, from the same operands; and D is as it should be. */
static void compute_on_host(product *p) {
    const reference *reference = &p->examination.reference;
    const arithmetic *is = &reference->arithmetic;
    const size_t bytes = is->moves ? sizeof(uint32_t) : sizeof(expected);
    void *found = allocate(reference->count, bytes), *plain = allocate(reference->count, bytes);
    cuda_check(cudaMemcpy(found, is->moves ? (void *)reference->words : reference->elements,
                          reference->count * bytes, cudaMemcpyDeviceToHost),
               "reading the reference");
    p->host = p->workload.share[0].problem;
    p->host.a = operand_on_host(p, OPERAND_A);
    p->host.b = operand_on_host(p, OPERAND_B);
    p->host.c = operand_on_host(p, OPERAND_C);
    p->host.scale_a = operand_on_host(p, OPERAND_SCALE_A);
    p->host.scale_b = operand_on_host(p, OPERAND_SCALE_B);
    p->host.d = allocate(reference->count, sizeof(uint32_t));
    p->plain = p->examination;
    p->plain.d = p->host.d;
    p->plain.reference.words = plain;
    p->plain.reference.elements = plain;
    plain_reference_compute(&p->plain.reference, &p->host, NULL);
    if (is->moves) {
        memcpy(p->host.d, plain, reference->count * bytes);
        EXPECT(memcmp(found, plain, reference->count * bytes) == 0, "other words");
        return;
    }
    for (size_t i = 0; i < reference->count; ++i) {
        const expected *got = &((expected *)found)[i], *wanted = &((expected *)plain)[i];
        const double magnitude = (double)wanted->magnitude, partials = (double)wanted->partials;
        const double rounding = 0x1p-21 * fmax(magnitude, partials);
        EXPECT(fabs(got->value - wanted->value) <= 1e-13 * magnitude &&
                   fabs((double)got->magnitude - magnitude) <= rounding &&
                   fabs((double)got->partials - partials) <= rounding &&
                   got->modelled == wanted->modelled,
               "%zu: value %g, not %g; magnitude %g, not %g; partial sums %g, not %g", i,
               got->value, wanted->value, (double)got->magnitude, magnitude, (double)got->partials,
               partials);
        number_write(is->output, p->host.d, i,
                     is->scaled ? wanted->modelled : (float)wanted->value);
    }
}

/* The check finds that many wrong elements, of which this is the first. */
static findings expect_wrong(const product *p, size_t wrong, size_t first) {
    const findings found = check_elements(&p->examination, gpu.stream);
    EXPECT(found.wrong == wrong && found.first == (wrong > 0 ? first : ~0ULL) &&
               (p->workload.arithmetic.moves || (found.max_ratio > 1) == (wrong > 0)),
           "%g wrong from %g on, %g of the bound; not %zu from %zu on", (double)found.wrong,
           (double)found.first, found.max_ratio, wrong, first);
    return found;
}

/* The host's D is right, and all else is what the host finds. */
static void expect_host(const product *p) {
    const size_t bytes = p->workload.share[0].d.bytes;
    buffer_upload(&p->workload.share[0].d, p->host.d, bytes);
    const findings found = expect_wrong(p, 0, 0);
    const findings plain = plain_check_elements(&p->plain, NULL);
    EXPECT(found.digest == plain.digest, "another digest");
    EXPECT(fabs(found.max_ratio - plain.max_ratio) <= 1e-9 * plain.max_ratio &&
               fabs(found.errors - plain.errors) <= 1e-9 * plain.errors &&
               fabs(found.values - plain.values) <= 1e-9 * plain.values,
           "ratio %g, not %g; squares %g, not %g", found.max_ratio, plain.max_ratio, found.errors,
           plain.errors);
}

/* Less than a tile, just more than one, several; and last more than the check has threads, and no
 * block divides them. */
static void reference_and_check(void) {
    static const int shapes[][4] = {{7, 13, 9},           {1, 3, 1},     {65, 70, 33},
                                    {130, 64, 200},       {64, 129, 16}, {777, 1111, 33},
                                    {777, 1111, 33, true}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        product p;
        product_open(&p, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3]);
        compute_on_host(&p);
        expect_host(&p);
        workload_close(&p.workload);
    }
}

/* More than 2^31 elements, or words: the reference, the check and contenders beyond 32 bits. */
static void large_output(void) {
    const bool moves = arithmetic_of(subject).moves;
    product p;
    product_open(&p, 65544, 32768, 8, true);
    const size_t count = p.examination.reference.count;
    if (!moves) { /* of so many words some may be what the output is poisoned with */
        expect_wrong(&p, count, 0);
    }
    for (int who = 1; who < p.workload.contenders; ++who) {
        const contender *contender = &p.workload.contender[who];
        if (contender->role == CONTENDER_COPY) {
            continue; /* it leaves the words as they are */
        }
        contender->launch(contender, 0);
        device_wait(&gpu, contender->title);
        p.examination.d = p.workload.share[who].d.payload;
        expect_wrong(&p, 0, 0);
        if (!moves) {
            cuda_check(cudaMemset(p.workload.share[who].d.payload + 2 * (count - 3), 0xff, 2),
                       "a NaN");
            expect_wrong(&p, 1, count - 3);
        }
    }
    workload_close(&p.workload);
}

#define STEP .name = "test", .prepare = nothing_to_prepare, .and_later = true
int main(void) {
    const struct {
        const char *name;
        void (*body)(void);
        step step;
    } cases[] = {
        {"bf16", reference_and_check, {STEP, .computes = GEMM_BF16}},
        {"fp16", reference_and_check, {STEP, .computes = GEMM_FP16}},
        {"fp16 sums", reference_and_check, {STEP, .computes = GEMM_FP16, .fp16_sums = true}},
        {"C", reference_and_check, {STEP, .computes = ADDMM_FP16}},
        {"FP8", reference_and_check, {STEP, .computes = GEMM_FP8}},
        {"promotion", reference_and_check, {STEP, .computes = GEMM_FP8, .promotion = 128}},
        {"block scales",
         reference_and_check,
         {STEP, .computes = GEMM_FP8, .promotion = 128, .block_scales = true}},
        {"words plus 1", reference_and_check, {STEP, .computes = ADD_ONE_INT32}},
        {"words transposed", reference_and_check, {STEP, .computes = TRANSPOSE_FP32}},
        {"more than 2^31 elements", large_output, {STEP, .computes = GEMM_BF16}},
        {"more than 2^31 words plus 1", large_output, {STEP, .computes = ADD_ONE_INT32}},
        {"more than 2^31 words transposed", large_output, {STEP, .computes = TRANSPOSE_FP32}},
    };
    device_open(&cases[0].step, 0, &gpu);
    gpu.info.l2_bytes = 0; /* as few copies of the operands as there can be */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        subject = &cases[i].step;
        run_case(cases[i].name, cases[i].body);
    }
    return test_result();
}
