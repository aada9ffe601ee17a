#include "harness/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine.h"
#include "harness/message.h"

enum { FEWEST_COPIES = 2, MOST_COPIES = 256 };

/* Reserved: for cuBLAS's workspace, kernels, and what prepare allocates. */
static const size_t SPARE_BYTES = (size_t)256 << 20;

size_t workload_copies(size_t operand_bytes, size_t l2_bytes, size_t most_that_fit) {
    size_t copies = (2 * l2_bytes + operand_bytes - 1) / operand_bytes;
    copies = copies < FEWEST_COPIES ? FEWEST_COPIES : copies;
    copies = copies > MOST_COPIES ? MOST_COPIES : copies;
    return copies > most_that_fit ? most_that_fit : copies;
}

/* Of one of the step's own functions: it has printed its line. */
static void check_step(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

/* ---- the operands */

/* What the operands are with these inputs. */
static void describe_operands(workload *workload, enum inputs inputs, const integers *integers) {
    const arithmetic *is = &workload->arithmetic;
    const options *o = workload->options;
    const size_t m = (size_t)o->m, n = (size_t)o->n, k = (size_t)o->k;
    const size_t columns = is->moves ? n : k; /* of A */
    const uint64_t seed = o->seed;
    const int range = integers->range;
    const enum inputs of_ab = is->takes_c && o->alpha == 0 ? INPUTS_UNREAD : inputs;
    const enum inputs of_c = o->beta == 0 ? INPUTS_UNREAD : inputs;
    const enum inputs of_scales = inputs == INPUTS_INTEGERS ? INPUTS_POWERS : INPUTS_SCALES;
    const operand all[OPERANDS] = {
        {"A", is->operands, m * columns, of_ab, RANDOM_STREAM_A, seed, columns, range,
         integers->spacing},
        {"B", is->operands, n * k, of_ab, RANDOM_STREAM_B, seed, k, range, 1},
        {"C", is->output, is->takes_c ? m * n : 0, of_c, RANDOM_STREAM_C, seed, n, LARGEST_INTEGER,
         1},
        {"the scales of A", NUMBER_FP32, scale_count(is, false, o->m, o->k), of_scales,
         RANDOM_STREAM_SCALE_A, seed, 0, 0, 0},
        {"the scales of B", NUMBER_FP32, scale_count(is, true, o->n, o->k), of_scales,
         RANDOM_STREAM_SCALE_B, seed, 0, 0, 0}};
    memcpy(workload->operand, all, sizeof all);
}

static size_t operand_bytes(const operand *operand) {
    return operand->count * number_bytes(operand->format);
}

static size_t output_bytes(const workload *workload) {
    return (size_t)workload->options->m * (size_t)workload->options->n *
           number_bytes(workload->arithmetic.output);
}

void workload_fill(workload *workload, size_t count, enum inputs inputs, const integers *integers) {
    describe_operands(workload, inputs, integers);
    for (size_t i = 0; i < count * OPERANDS; ++i) {
        if (workload->operand[i % OPERANDS].count > 0) {
            operand_fill(&workload->operand[i % OPERANDS],
                         workload->memory[i / OPERANDS][i % OPERANDS], workload->device->stream);
        }
    }
    for (size_t copy = 0; copy < count && workload->step->operands_made != NULL; ++copy) {
        const share *share = workload_share(workload, &workload->contender[0], copy);
        check_step(workload->step->operands_made(&share->problem, share->state));
    }
    device_wait(workload->device, "the kernels that make the operands");
}

/* ---- the contenders */

contender *workload_find(const workload *workload, enum contender_role role) {
    for (int who = 0; who < workload->contenders; ++who) {
        if (workload->contender[who].role == role) {
            return &workload->contender[who];
        }
    }
    return NULL;
}

share *workload_share(const workload *workload, const contender *contender, size_t copy) {
    return &workload->share[copy * (size_t)workload->contenders] +
           (contender - workload->contender);
}

static void launch(const contender *contender, size_t copy) {
    const workload *workload = contender->context;
    const share *share = workload_share(workload, contender, copy);
    if (contender->opinion != NULL) {
        second_opinion_launch(contender->opinion, &share->problem);
    } else {
        check_step(workload->step->launch(&share->problem, share->state));
        cuda_check(cudaGetLastError(), "launching %s", contender->title);
    }
}

static void prepare(const workload *workload, share *share) {
    const int status = workload->step->prepare(&share->problem, &share->state);
    if (status != 0 && share->state != NULL) {
        workload->step->release(share->state);
    }
    check_step(status);
    device_wait(workload->device, "prepare");
}

static void release(const workload *workload, share *share) {
    if (share->state != NULL) {
        workload->step->release(share->state);
        share->state = NULL;
    }
}

void workload_take(const workload *workload, contender *contender, int kernel, size_t first,
                   size_t count) {
    contender->kernel = kernel;
    for (size_t i = 0; i < count; ++i) {
        share *share = workload_share(workload, contender, (first + i) % workload->copies);
        release(workload, share);
        share->problem.kernel = kernel;
        prepare(workload, share);
    }
}

static contender *add(workload *workload, enum contender_role role, const char *label,
                      const char *key, const char *title) {
    contender *added = &workload->contender[workload->contenders++];
    *added = (contender){.role = role, .label = label, .context = workload, .launch = launch};
    snprintf(added->key, sizeof added->key, "%s", key);
    snprintf(added->title, sizeof added->title, "%s", title);
    return added;
}

/* cuBLASLt is asked for its algorithms with scales that it does not read yet. One that does not
 * take the problem is left out. */
static void add_rival(workload *workload, enum contender_role role, const char *label,
                      const char *key, const char *title) {
    static const _Alignas(256) float scales[64];
    problem shape = workload->shape;
    shape.scale_a = shape.scale_b = scales;
    const double begin = monotonic_seconds();
    second_opinion *opinion = second_opinion_open(workload->step, role, &shape);
    if (opinion != NULL) {
        contender *added = add(workload, role, label, key, title);
        added->opinion = opinion;
        added->before_seconds = monotonic_seconds() - begin;
    } else {
        const size_t used = strlen(workload->without);
        snprintf(workload->without + used, sizeof workload->without - used, "%s%s",
                 used > 0 ? ", " : "", title);
    }
}

/* What the step is compared with, in the order in which it is timed and reported. The emulator has
 * no cuBLAS; of FP8 the rivals are cuBLASLt's modes. */
static void add_rivals(workload *workload) {
    const arithmetic *is = &workload->arithmetic;
    const options *o = workload->options;
    if (workload->device->info.emulated) {
        add_rival(workload, CONTENDER_OTHER, "host", "host",
                  is->moves ? "the host loop" : "the host product");
    } else if (is->moves) {
        add_rival(workload, CONTENDER_COPY, "copy", "device_copy", "the device copy");
        add_rival(workload, CONTENDER_OTHER, "second", "second_opinion",
                  is->transposes ? "cublasSgeam" : "a plain kernel");
    } else if (is->block_scales) {
        add_rival(workload, CONTENDER_OTHER, "blocks", "cublaslt_block_scales",
                  "cuBLASLt (block scales)");
    } else if (is->scaled) {
        add_rival(workload, CONTENDER_OTHER, "accurate", "cublaslt_accurate",
                  "cuBLASLt (accurate)");
        add_rival(workload, CONTENDER_NARROW_SUMS, "fast", "cublaslt_fast", "cuBLASLt (fast)");
    } else {
        add_rival(workload, CONTENDER_OTHER, "cuBLAS", "cublas", "cuBLAS");
        if (is->fp16_sums) {
            add_rival(workload, CONTENDER_NARROW_SUMS, "cuBLAS 16", "cublas_fp16_sums",
                      "cuBLAS with fp16 sums");
        }
    }
    if (o->heuristics > 0) {
        add_rival(workload, CONTENDER_FIRST, "first", "cublaslt_first", "cuBLASLt's first");
    }
    if (o->heuristics > 0 || o->algorithm != NULL) {
        add_rival(workload, CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best");
    }
}

/* The step, and what the options and the computation request beside it. */
static void add_contenders(workload *workload) {
    enum { MOST = 8 };
    const step *step = workload->step;
    const options *o = workload->options;
    workload->contender = allocate(MOST, sizeof *workload->contender);
    add(workload, CONTENDER_STEP, "time", "step", step->name);
    if (step->launches_early && o->protocol != PROTOCOL_NONE) {
        add(workload, CONTENDER_EARLY, "early", "early", "the early launch");
    }
    if (o->tune) {
        add(workload, CONTENDER_TUNED, "tuned", "tuned", "the quick tuner's pick");
    }
    if (o->searches && o->protocol != PROTOCOL_NONE) {
        add(workload, CONTENDER_BEST, "best", "best", "the fastest of its kernels");
    }
    if (!o->alone && !step->computes_nothing) {
        add_rivals(workload);
    }
}

/* ---- all of it */

/* The number of copies, by what one takes as if all of it had guards, and what is needed once. */
static void choose_copies(workload *workload) {
    const device_info *device = &workload->device->info;
    const options *o = workload->options;
    const size_t d = output_bytes(workload);
    const size_t available = device_free_bytes();
    const size_t once = SPARE_BYTES + reference_bytes(&workload->arithmetic, o->m, o->n);
    size_t copy = (size_t)workload->contenders * buffer_footprint(d);
    workload->operand_bytes = d;
    for (int i = 0; i < OPERANDS; ++i) {
        const size_t bytes = operand_bytes(&workload->operand[i]);
        copy += buffer_footprint(bytes);
        workload->operand_bytes += i <= OPERAND_C ? bytes : 0;
    }
    if (once + copy > available) {
        char k[24] = "";
        snprintf(k, workload->arithmetic.moves ? 1 : sizeof k, " k=%d", o->k);
        end_with(STATUS_USAGE,
                 "m=%d n=%d%s needs %.3g GB of %s and %.3g GB are free: take a smaller shape", o->m,
                 o->n, k, (double)(once + copy) * 1e-9, device->emulated ? "memory" : "GPU memory",
                 (double)available * 1e-9);
    }
    workload->copies = device->emulated ? 1
                                        : workload_copies(workload->operand_bytes, device->l2_bytes,
                                                          (available - once) / copy);
}

static void open_share(workload *workload, contender *contender, size_t copy) {
    const bool emulated = workload->device->info.emulated;
    const bool is_own = is_step(contender->role);
    const size_t bytes = output_bytes(workload);
    void *const *memory = workload->memory[copy];
    share *share = workload_share(workload, contender, copy);
    /* The emulator itself reports a write outside D, with its line of source. */
    share->d = buffer_create(bytes, !emulated, is_own ? "D" : "D of the second opinion");
    share->problem = workload->shape;
    share->problem.a = memory[OPERAND_A];
    share->problem.b = memory[OPERAND_B];
    share->problem.c = memory[OPERAND_C];
    share->problem.d = share->d.payload;
    share->problem.scale_a = memory[OPERAND_SCALE_A];
    share->problem.scale_b = memory[OPERAND_SCALE_B];
    /* The emulator has the stricter rules for early launches. */
    share->problem.early = contender->role == CONTENDER_EARLY || emulated;
    share->problem.kernel = workload->options->kernel;
    if (contender->role == CONTENDER_STEP) {
        machine_watch_output(share->d.payload, bytes);
    }
    if (is_own) {
        const double begin = monotonic_seconds();
        prepare(workload, share);
        contender->before_seconds =
            copy == 0 ? monotonic_seconds() - begin : contender->before_seconds;
    }
}

void workload_open(workload *workload, const step *step, const device *device, const options *o) {
    *workload = (struct workload){
        .step = step, .options = o, .device = device, .arithmetic = arithmetic_of(step)};
    workload->shape = (problem){.alpha = o->alpha,
                                .beta = o->beta,
                                .m = o->m,
                                .n = o->n,
                                .k = o->k,
                                .stream = device->stream};
    add_contenders(workload);
    describe_operands(workload, o->inputs, &(integers){.exact = false});
    choose_copies(workload);
    workload->reference = reference_create(&workload->arithmetic, o->m, o->n, o->k);
    workload->memory = allocate(workload->copies, sizeof *workload->memory);
    workload->shares = workload->copies * (size_t)workload->contenders;
    workload->share = allocate(workload->shares, sizeof *workload->share);
    for (size_t copy = 0; copy < workload->copies; ++copy) {
        for (int i = 0; i < OPERANDS; ++i) {
            const operand *operand = &workload->operand[i];
            workload->memory[copy][i] =
                operand->count > 0 ? device_memory(operand_bytes(operand), operand->name) : NULL;
        }
        for (int who = 0; who < workload->contenders; ++who) {
            open_share(workload, &workload->contender[who], copy);
        }
    }
}

void workload_close(workload *workload) {
    for (size_t i = 0; i < workload->shares; ++i) {
        release(workload, &workload->share[i]);
        buffer_destroy(&workload->share[i].d);
    }
    for (size_t i = 0; i < workload->copies * OPERANDS; ++i) {
        (void)cudaFree(workload->memory[i / OPERANDS][i % OPERANDS]);
    }
    for (contender *c = workload->contender; c < workload->contender + workload->contenders; ++c) {
        second_opinion_close(c->opinion);
        for (int i = 0; i < MEASURES; ++i) {
            free(c->of[i]);
        }
    }
    free(workload->contender);
    free(workload->memory);
    free(workload->share);
    reference_destroy(&workload->reference);
}

verdict workload_check(const workload *workload, const contender *contender, size_t copy,
                       bool exact) {
    const arithmetic *is = &workload->arithmetic;
    examination examination = {.d = workload_share(workload, contender, copy)->d.payload,
                               .reference = workload->reference,
                               .kind = is->moves ? CHECK_WORDS
                                       : exact   ? CHECK_EXACT
                                                 : CHECK_BOUNDED,
                               .own = is->scaled ? is_step(contender->role)
                                                 : contender->role != CONTENDER_OTHER};
    if (contender->role == CONTENDER_COPY) { /* of A */
        examination.reference.words = workload->memory[copy][OPERAND_A];
        examination.reference.columns = (size_t)workload->options->n;
    }
    return check_output(&examination, workload->device->stream);
}

void workload_poison(const workload *workload) {
    for (size_t i = 0; i < workload->shares; ++i) {
        buffer_poison(&workload->share[i].d, workload->device->stream);
    }
    device_wait(workload->device, "the filling of the outputs with NaN");
}

bool workload_guards_intact(const workload *workload, char *text, size_t size) {
    const size_t contenders = (size_t)workload->contenders;
    char where[96];
    for (size_t i = 0; i < workload->shares; ++i) {
        if (!buffer_guards_intact(&workload->share[i].d, where, sizeof where)) {
            const size_t who = i % contenders;
            snprintf(text, size, "guards: D%s%s of copy %zu: %s", who == 0 ? "" : " of ",
                     who == 0 ? "" : workload->contender[who].title, i / contenders, where);
            return false;
        }
    }
    return true;
}
