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

/* ---- the operands */

/* How one is made. Sizes are doubles, which hold any that fits in a memory and do not overflow. */
typedef struct operand {
    const char *name;
    enum number format;
    double elements; /* 0: there is none */
    bool is_read;    /* else it is NaN */
    recipe recipe;
} operand;

static double bytes_of(const operand *operand) {
    return operand->elements * (double)number_bytes(operand->format);
}

static double output_bytes(const workload *workload) {
    return (double)workload->options->m * (double)workload->options->n *
           (double)number_bytes(workload->arithmetic.output);
}

static void describe_operands(const workload *workload, enum inputs inputs,
                              const integers *integers, operand operands[OPERANDS]) {
    const arithmetic *is = &workload->arithmetic;
    const options *o = workload->options;
    const enum inputs scales = inputs == INPUTS_INTEGERS ? INPUTS_POWERS : INPUTS_SCALES;
    const int columns = is->moves ? o->n : o->k; /* of A */
    const uint64_t seed = o->seed;
    const bool reads_ab = !is->takes_c || o->alpha != 0;
    const double m = o->m, n = o->n;
    const operand all[OPERANDS] = {
        {"A",
         is->operands,
         m * columns,
         reads_ab,
         {inputs, seed, RANDOM_STREAM_A, (uint64_t)columns, integers->range, integers->spacing}},
        {"B",
         is->operands,
         n * o->k,
         reads_ab,
         {inputs, seed, RANDOM_STREAM_B, (uint64_t)o->k, integers->range, 1}},
        {"C",
         is->output,
         is->takes_c ? m * n : 0,
         o->beta != 0,
         {inputs, seed, RANDOM_STREAM_C, (uint64_t)o->n, integers->c_range, 1}},
        {"the scales of A",
         NUMBER_FP32,
         (double)arithmetic_scales_of_a(is, o->m, o->k),
         true,
         {scales, seed, RANDOM_STREAM_SCALES, 0, 0, 0}},
        {"the scales of B",
         NUMBER_FP32,
         (double)arithmetic_scales_of_b(is, o->n, o->k),
         true,
         {scales, seed, RANDOM_STREAM_SCALES + 1, 0, 0, 0}}};
    memcpy(operands, all, sizeof all);
}

/* Of one of the step's own functions: it has printed its line. */
static void check_step(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

void workload_fill(workload *workload, size_t count, enum inputs inputs, const integers *integers) {
    struct CUstream_st *stream = workload->device->stream;
    const step *step = workload->step;
    operand operands[OPERANDS];
    describe_operands(workload, inputs, integers, operands);
    for (size_t i = 0; i < count * OPERANDS; ++i) {
        const operand *operand = &operands[i % OPERANDS];
        const buffer *buffer = &workload->copy[i / OPERANDS].operand[i % OPERANDS];
        if (buffer->bytes > 0 && operand->is_read) {
            operands_fill(buffer->payload, operand->format, (size_t)operand->elements,
                          &operand->recipe, stream);
        } else if (buffer->bytes > 0) {
            buffer_poison(buffer, stream);
        }
    }
    for (size_t i = 0; i < count && step->operands_made != NULL; ++i) {
        const share *share = &workload->copy[i].of[0];
        check_step(step->operands_made(&share->problem, share->state));
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
    return &workload->copy[copy].of[contender - workload->contender];
}

static void launch_step(const contender *contender, size_t copy) {
    const workload *workload = contender->context;
    const share *share = workload_share(workload, contender, copy);
    check_step(workload->step->launch(&share->problem, share->state));
    cuda_check(cudaGetLastError(), "launching %s", contender->title);
}

static void launch_opinion(const contender *contender, size_t copy) {
    second_opinion_launch(contender->opinion,
                          &workload_share(contender->context, contender, copy)->problem);
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

/* A kernel beside the step's choice is prepared for its turn alone: what all of them need at once
 * may not fit. */
void workload_turn(const contender *contender, bool begins) {
    const workload *workload = contender->context;
    for (size_t i = 0; contender->role == CONTENDER_KERNEL && i < workload->copies; ++i) {
        (begins ? prepare : release)(workload, workload_share(workload, contender, i));
    }
}

static contender *add(workload *workload, enum contender_role role, const char *label,
                      const char *key, const char *title) {
    contender *added = &workload->contender[workload->contenders++];
    *added = (contender){.role = role,
                         .label = label,
                         .context = workload,
                         .launch = is_step(role) ? launch_step : launch_opinion};
    snprintf(added->key, sizeof added->key, "%s", key);
    snprintf(added->title, sizeof added->title, "%s", title);
    return added;
}

/* Where tiles can't be cut, a kernel that would cut them is the same as another that doesn't: that
 * one is no contender. */
static void add_kernels(workload *workload) {
    const options *o = workload->options;
    for (int kernel = 1; kernel <= workload->step->kernels; ++kernel) {
        const problem named = {.m = o->m, .n = o->n, .k = o->k, .kernel = kernel};
        char key[24];
        char title[24];
        snprintf(key, sizeof key, "kernel-%d", kernel);
        snprintf(title, sizeof title, "kernel %d", kernel);
        if (workload->step->kernel_of(&named) + 1 == kernel) {
            add(workload, CONTENDER_KERNEL, "kernel", key, title)->kernel = kernel;
        }
    }
}

/* cuBLASLt is asked for its algorithms with scales that it does not read yet. One that does not
 * take the problem is left out. */
static void add_rival(workload *workload, const rival *rival) {
    static const _Alignas(256) float scales[64];
    const options *o = workload->options;
    const problem shape = {.m = o->m, .n = o->n, .k = o->k, .scale_a = scales, .scale_b = scales};
    const double begin = monotonic_seconds();
    second_opinion *opinion =
        second_opinion_open(workload->step, rival->role, workload->device->stream);
    if (second_opinion_takes(opinion, &shape)) {
        contender *added = add(workload, rival->role, rival->label, rival->key, rival->title);
        added->opinion = opinion;
        added->before_seconds = monotonic_seconds() - begin;
    } else {
        const size_t used = strlen(workload->without);
        snprintf(workload->without + used, sizeof workload->without - used, "%s%s",
                 used > 0 ? ", " : "", rival->title);
        second_opinion_close(opinion);
    }
}

/* The step, and what the options and the computation request beside it. */
static void add_contenders(workload *workload) {
    enum { OTHERS = 8 };
    /* The emulator has no cuBLAS. */
    static const rival HOST[] = {{CONTENDER_OTHER, "host", "host", "the host product"},
                                 {.title = NULL}};
    static const rival HOST_LOOP[] = {{CONTENDER_OTHER, "host", "host", "the host loop"},
                                      {.title = NULL}};
    const arithmetic *is = &workload->arithmetic;
    const step *step = workload->step;
    const options *o = workload->options;
    const bool wanted[] = {[CONTENDER_OTHER] = !o->alone,
                           [CONTENDER_COPY] = true,
                           [CONTENDER_NARROW_SUMS] =
                               is->fp16_sums || (is->scaled && !is->block_scales),
                           [CONTENDER_HEURISTIC] = o->heuristics > 0 || o->algorithm != NULL};
    workload->contender = allocate((size_t)step->kernels + OTHERS, sizeof *workload->contender);
    add(workload, CONTENDER_STEP, "time", "step", step->name);
    if (step->launches_early && o->protocol != PROTOCOL_NONE) {
        add(workload, CONTENDER_EARLY, "early", "early", "the early launch");
    }
    for (const rival *rival = !workload->device->info.emulated ? is->rivals
                              : is->moves                      ? HOST_LOOP
                                                               : HOST;
         rival->title != NULL && !step->computes_nothing; ++rival) {
        if (wanted[rival->role]) {
            add_rival(workload, rival);
        }
    }
    if (o->every_kernel) {
        add_kernels(workload);
    }
}

/* ---- all of it */

/* The number of copies, by what one takes as if all of it had guards, and what is needed once. */
static void choose_copies(workload *workload, const operand operands[OPERANDS]) {
    const device_info *device = &workload->device->info;
    const options *o = workload->options;
    const double guards = (double)buffer_footprint(0);
    const double d = output_bytes(workload);
    const double available = (double)device_free_bytes();
    const double once = (double)SPARE_BYTES + reference_bytes(&workload->arithmetic, o->m, o->n);
    double copy = workload->contenders * (d + guards);
    workload->operand_bytes = (size_t)d;
    for (int i = 0; i < OPERANDS; ++i) {
        copy += operands[i].elements > 0 ? bytes_of(&operands[i]) + guards : 0;
        workload->operand_bytes += i <= OPERAND_C ? (size_t)bytes_of(&operands[i]) : 0;
    }
    if (once + copy > available) {
        char k[24] = "";
        snprintf(k, workload->arithmetic.moves ? 1 : sizeof k, " k=%d", o->k);
        end_with(STATUS_USAGE,
                 "m=%d n=%d%s needs %.3g GB of %s and %.3g GB are free: take a smaller shape", o->m,
                 o->n, k, (once + copy) * 1e-9, device->emulated ? "memory" : "GPU memory",
                 available * 1e-9);
    }
    workload->copies = device->emulated ? 1
                                        : workload_copies(workload->operand_bytes, device->l2_bytes,
                                                          (size_t)((available - once) / copy));
}

static void open_share(workload *workload, operand_copy *copy, int who) {
    const options *o = workload->options;
    const bool emulated = workload->device->info.emulated;
    contender *contender = &workload->contender[who];
    share *share = &copy->of[who];
    const bool is_own = is_step(contender->role);
    const size_t bytes = (size_t)output_bytes(workload);
    /* The emulator itself reports a write outside D, with its line of source. */
    share->d = buffer_create(bytes, !emulated, is_own ? "D" : "D of the second opinion");
    share->problem =
        (problem){.a = copy->operand[OPERAND_A].payload,
                  .b = copy->operand[OPERAND_B].payload,
                  .c = copy->operand[OPERAND_C].payload,
                  .d = share->d.payload,
                  .scale_a = (const float *)copy->operand[OPERAND_SCALE_A].payload,
                  .scale_b = (const float *)copy->operand[OPERAND_SCALE_B].payload,
                  .alpha = o->alpha,
                  .beta = o->beta,
                  .m = o->m,
                  .n = o->n,
                  .k = o->k,
                  /* The emulator has the stricter rules for early launches; a trace is written
                     before any wait. */
                  .early = contender->role == CONTENDER_EARLY || (emulated && !machine_traces()),
                  .kernel = contender->kernel > 0 ? contender->kernel : o->kernel,
                  .stream = workload->device->stream};
    if (who == 0) {
        machine_watch_output(share->d.payload, bytes);
    }
    if (is_own && contender->role != CONTENDER_KERNEL) {
        const double begin = monotonic_seconds();
        prepare(workload, share);
        if (copy == workload->copy) {
            contender->before_seconds = monotonic_seconds() - begin;
        }
    }
}

void workload_open(workload *workload, const step *step, const device *device, const options *o) {
    operand operands[OPERANDS];
    memset(workload, 0, sizeof *workload);
    workload->step = step;
    workload->options = o;
    workload->device = device;
    workload->arithmetic = arithmetic_of(step);
    add_contenders(workload);
    describe_operands(workload, o->inputs, &(integers){.exact = false}, operands);
    choose_copies(workload, operands);
    workload->reference = reference_create(&workload->arithmetic, o->m, o->n, o->k);
    workload->copy = allocate(workload->copies, sizeof *workload->copy);
    for (operand_copy *copy = workload->copy; copy < workload->copy + workload->copies; ++copy) {
        for (int i = 0; i < OPERANDS; ++i) {
            if (operands[i].elements > 0) {
                copy->operand[i] =
                    buffer_create((size_t)bytes_of(&operands[i]), false, operands[i].name);
            }
        }
        copy->of = allocate((size_t)workload->contenders, sizeof *copy->of);
        for (int who = 0; who < workload->contenders; ++who) {
            open_share(workload, copy, who);
        }
    }
}

void workload_close(workload *workload) {
    for (size_t i = 0; i < workload->copies; ++i) {
        operand_copy *copy = &workload->copy[i];
        for (int who = 0; who < workload->contenders; ++who) {
            release(workload, &copy->of[who]);
            buffer_destroy(&copy->of[who].d);
        }
        for (int j = 0; j < OPERANDS; ++j) {
            buffer_destroy(&copy->operand[j]);
        }
        free(copy->of);
    }
    for (contender *c = workload->contender; c < workload->contender + workload->contenders; ++c) {
        second_opinion_close(c->opinion);
        for (int i = 0; i < MEASURES; ++i) {
            free(c->of[i]);
        }
    }
    free(workload->contender);
    free(workload->copy);
    reference_destroy(&workload->reference);
}

reference workload_reference(const workload *workload, const contender *contender, size_t copy) {
    reference result = workload->reference;
    if (contender->role == CONTENDER_COPY) {
        result.words = (uint32_t *)workload->copy[copy].operand[OPERAND_A].payload;
        result.rows = (size_t)result.m;
        result.columns = (size_t)result.n;
    }
    return result;
}

rounding workload_rounding(const workload *workload, const contender *contender) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const bool own =
        arithmetic->scaled ? is_step(contender->role) : contender->role != CONTENDER_OTHER;
    return arithmetic_rounding(arithmetic, workload->reference.k, own);
}

void workload_poison(const workload *workload) {
    for (size_t i = 0; i < workload->copies; ++i) {
        for (int who = 0; who < workload->contenders; ++who) {
            buffer_poison(&workload->copy[i].of[who].d, workload->device->stream);
        }
    }
    device_wait(workload->device, "the filling of the outputs with NaN");
}

bool workload_guards_intact(const workload *workload, char *text, size_t size) {
    char where[96];
    text[0] = '\0';
    for (size_t i = 0; i < workload->copies; ++i) {
        for (int who = 0; who < workload->contenders; ++who) {
            if (!buffer_guards_intact(&workload->copy[i].of[who].d, where, sizeof where)) {
                snprintf(text, size, "guards: D%s%s of copy %zu: %s", who == 0 ? "" : " of ",
                         who == 0 ? "" : workload->contender[who].title, i, where);
                return false;
            }
        }
    }
    return true;
}
