#include "harness/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/arithmetic.h"

enum { FEWEST_COPIES = 2, MOST_COPIES = 256 };

/* Reserved: for cuBLAS's workspace, kernels, and what prepare allocates. */
static const size_t SPARE_BYTES = (size_t)256 << 20;

size_t workload_copies(size_t operand_bytes, size_t l2_bytes, size_t most_that_fit) {
    size_t copies = (2 * l2_bytes + operand_bytes - 1) / operand_bytes;
    copies = copies < FEWEST_COPIES ? FEWEST_COPIES : copies;
    copies = copies > MOST_COPIES ? MOST_COPIES : copies;
    return copies > most_that_fit ? most_that_fit : copies;
}

/* In bytes. As doubles, which hold every size that fits in a memory, and do not overflow. */
typedef struct sizes {
    double a, b, d; /* C has the size of D; B may be 0 */
    double scale_a, scale_b;
    double copy; /* one copy, as if all of it had guards */
    double once; /* what is needed once, whatever the number of copies */
} sizes;

/* Whether this contender is the step itself. */
static bool is_step(int who) { return who == CONTENDER_STEP || who == CONTENDER_EARLY; }

static sizes sizes_of(const workload *workload, const options *o) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const double operand = (double)number_bytes(arithmetic->operands);
    const double guards = (double)buffer_footprint(0);
    const double m = o->m;
    const double n = o->n;
    const double k = o->k;
    sizes sizes = {
        .a = m * (arithmetic->moves ? n : k) * operand,
        .b = n * k * operand,
        .d = m * n * (double)number_bytes(arithmetic->output),
        .scale_a = (double)(arithmetic_scales_of_a(arithmetic, o->m, o->k) * sizeof(float)),
        .scale_b = (double)(arithmetic_scales_of_b(arithmetic, o->n, o->k) * sizeof(float))};
    int like_d = arithmetic->takes_c ? 1 : 0;
    for (int who = 0; who < CONTENDERS; ++who) {
        like_d += has_contender(workload->contenders.set, who) ? 1 : 0;
    }
    sizes.copy = sizes.a + sizes.b + sizes.scale_a + sizes.scale_b +
                 (arithmetic->moves ? 1 : 2) * guards + like_d * (sizes.d + guards);
    sizes.once =
        (double)SPARE_BYTES + reference_bytes(arithmetic, o->m, o->n, o->check == CHECK_SAMPLE);
    return sizes;
}

static void refuse(const workload *workload, const options *o, double needed, double available) {
    char k[24] = "";
    const bool moves = workload->arithmetic.moves;
    if (!moves) {
        snprintf(k, sizeof k, " k=%d", o->k);
    }
    end_with(STATUS_USAGE,
             "m=%d n=%d%s needs %.3g GB of %s and %.3g GB are free: take a smaller shape%s", o->m,
             o->n, k, needed * 1e-9, workload->device->info.emulated ? "memory" : "GPU memory",
             available * 1e-9,
             o->check == CHECK_FULL && !moves ? ", or --check sample, which needs less" : "");
}

/* The contenders that the options and the computation request, without those that this machine
 * lacks. */
static contender_set choose_contenders(const workload *workload, const options *o) {
    const bool times = o->protocol != PROTOCOL_NONE && !workload->device->info.emulated;
    const bool wanted[CONTENDERS] = {
        [CONTENDER_NARROW_SUMS] =
            workload->arithmetic.fp16_sums ||
            (workload->arithmetic.scaled && !workload->arithmetic.block_scales),
        [CONTENDER_COPY] = workload->arithmetic.moves,
        [CONTENDER_HEURISTIC] = o->heuristics > 0 || o->algorithm != NULL,
        [CONTENDER_EARLY] = workload->step->launches_early && times,
    };
    if (workload->step->computes_nothing) {
        return 1U << CONTENDER_STEP;
    }
    contender_set set = o->alone ? 1U << CONTENDER_STEP : STEP_AND_OTHER;
    for (int who = CONTENDER_OTHER + 1; who < CONTENDERS; ++who) {
        if (wanted[who] && (is_step(who) || second_opinion_name(workload->step, who) != NULL)) {
            set |= 1U << who;
        }
    }
    return set;
}

/* Of one of the step's own functions: it has printed its line. */
static void check_step(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

void workload_launch(const void *context, int who, size_t copy) {
    const workload *workload = context;
    const operand_copy *operands = &workload->copy[copy];
    const problem *problem = &operands->problem[who];
    if (is_step(who)) {
        check_step(workload->step->launch(problem, operands->state[who]));
        cuda_check(cudaGetLastError(), "launching %s", workload->contenders.names[who]);
    } else {
        second_opinion_launch(workload->second_opinion[who], problem);
    }
}

static void open_contenders(workload *workload, contender_set set) {
    contenders *contenders = &workload->contenders;
    *contenders = (struct contenders){set, {NULL}, workload_launch, workload};
    snprintf(workload->early_name, sizeof workload->early_name, "%s launched early",
             workload->step->name);
    contenders->names[CONTENDER_STEP] = workload->step->name;
    contenders->names[CONTENDER_EARLY] = workload->early_name;
    for (int who = 0; who < CONTENDERS; ++who) {
        const double begin = monotonic_seconds();
        if (has_contender(set, who) && !is_step(who)) {
            contenders->names[who] = second_opinion_name(workload->step, who);
            workload->second_opinion[who] =
                second_opinion_open(workload->step, who, workload->device->stream);
            workload->before_seconds[who] = monotonic_seconds() - begin;
        }
    }
}

/* Without those that do not take the problem, of which the first copy tells. */
static void leave_out_refused(workload *workload) {
    for (int who = 0; who < CONTENDERS; ++who) {
        const double begin = monotonic_seconds();
        if (has_contender(workload->contenders.set, who) && !is_step(who)) {
            if (!second_opinion_takes(workload->second_opinion[who],
                                      &workload->copy[0].problem[who])) {
                workload->refused |= 1U << who;
            }
            workload->before_seconds[who] += monotonic_seconds() - begin;
        }
    }
    workload->contenders.set &= ~workload->refused;
}

static void prepare_step(workload *workload, operand_copy *copy, int who) {
    const double begin = monotonic_seconds();
    const int status = workload->step->prepare(&copy->problem[who], &copy->state[who]);
    if (status != 0 && copy->state[who] != NULL) {
        workload->step->release(copy->state[who]);
    }
    check_step(status);
    device_wait(workload->device, "prepare");
    if (copy == &workload->copy[0]) {
        workload->before_seconds[who] = monotonic_seconds() - begin;
    }
}

static void open_copy(workload *workload, operand_copy *copy, const options *o,
                      const sizes *sizes) {
    const bool emulated = workload->device->info.emulated;
    copy->a = buffer_create((size_t)sizes->a, false, "A");
    if (sizes->b > 0) {
        copy->b = buffer_create((size_t)sizes->b, false, "B");
    }
    if (workload->arithmetic.scaled) {
        copy->scale_a = buffer_create((size_t)sizes->scale_a, false, "the scales of A");
        copy->scale_b = buffer_create((size_t)sizes->scale_b, false, "the scales of B");
    }
    if (workload->arithmetic.takes_c) {
        copy->c = buffer_create((size_t)sizes->d, false, "C");
    }
    for (int who = 0; who < CONTENDERS; ++who) {
        if (!has_contender(workload->contenders.set, who)) {
            continue;
        }
        /* The emulator itself reports a write outside D, with its line of source. */
        copy->d[who] = buffer_create((size_t)sizes->d, !emulated,
                                     is_step(who) ? "D" : "D of the second opinion");
        copy->problem[who] =
            (problem){.a = copy->a.payload,
                      .b = copy->b.payload,
                      .c = copy->c.payload,
                      .d = copy->d[who].payload,
                      .scale_a = (const float *)copy->scale_a.payload,
                      .scale_b = (const float *)copy->scale_b.payload,
                      .alpha = o->alpha,
                      .beta = o->beta,
                      .m = o->m,
                      .n = o->n,
                      .k = o->k,
                      /* The emulator has the stricter rules for early launches; a trace is written
                         before any wait. */
                      .early = who == CONTENDER_EARLY || (emulated && !machine_traces()),
                      .kernel = o->kernel,
                      .stream = workload->device->stream};
        if (who == CONTENDER_STEP) {
            machine_watch_output(copy->d[who].payload, (size_t)sizes->d);
        }
        if (is_step(who)) {
            prepare_step(workload, copy, who);
        }
    }
}

void workload_open(workload *workload, const step *step, const device *device, const options *o) {
    memset(workload, 0, sizeof *workload);
    workload->step = step;
    workload->device = device;
    workload->arithmetic = arithmetic_of(step);
    open_contenders(workload, choose_contenders(workload, o));
    const double available = (double)device_free_bytes();
    const sizes sizes = sizes_of(workload, o);
    const double left = available - sizes.once;
    if (sizes.copy > left) {
        refuse(workload, o, sizes.once + sizes.copy, available);
    }
    const double like_d = workload->arithmetic.takes_c ? 2 : 1;
    workload->copies = device->info.emulated
                           ? 1
                           : workload_copies((size_t)(sizes.a + sizes.b + like_d * sizes.d),
                                             device->info.l2_bytes, (size_t)(left / sizes.copy));
    workload->reference =
        reference_create(&workload->arithmetic, o->m, o->n, o->k, o->check == CHECK_SAMPLE);
    workload->copy = allocate(workload->copies, sizeof *workload->copy);
    for (size_t i = 0; i < workload->copies; ++i) {
        open_copy(workload, &workload->copy[i], o, &sizes);
    }
    leave_out_refused(workload);
}

void workload_close(workload *workload) {
    for (size_t i = 0; i < workload->copies; ++i) {
        operand_copy *copy = &workload->copy[i];
        for (int who = 0; who < CONTENDERS; ++who) {
            if (copy->state[who] != NULL) {
                workload->step->release(copy->state[who]);
            }
            buffer_destroy(&copy->d[who]);
        }
        buffer_destroy(&copy->a);
        buffer_destroy(&copy->b);
        buffer_destroy(&copy->c);
        buffer_destroy(&copy->scale_a);
        buffer_destroy(&copy->scale_b);
    }
    free(workload->copy);
    reference_destroy(&workload->reference);
    for (int who = 0; who < CONTENDERS; ++who) {
        second_opinion_close(workload->second_opinion[who]);
    }
}

size_t workload_operand_bytes(const workload *workload) {
    const operand_copy *copy = &workload->copy[0];
    return copy->a.bytes + copy->b.bytes + copy->c.bytes + copy->d[CONTENDER_STEP].bytes;
}

reference workload_reference(const workload *workload, int contender, size_t copy) {
    reference result = workload->reference;
    if (contender == CONTENDER_COPY) {
        result.words = (uint32_t *)workload->copy[copy].a.payload;
        result.rows = (size_t)result.m;
        result.columns = (size_t)result.n;
    }
    return result;
}

rounding workload_rounding(const workload *workload, int contender) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const bool own = arithmetic->scaled ? is_step(contender) : contender != CONTENDER_OTHER;
    return arithmetic_rounding(arithmetic, workload->reference.k, own);
}

/* Fills the operand with NaN if `looked_at` says that the step must not read it. Does nothing if
 * there is no such operand. */
static void fill_operand(const workload *workload, const buffer *buffer, enum number format,
                         bool looked_at, const recipe *recipe) {
    struct CUstream_st *stream = workload->device->stream;
    if (buffer->bytes > 0 && looked_at) {
        operands_fill(buffer->payload, format, buffer->bytes / number_bytes(format), recipe,
                      stream);
    } else if (buffer->bytes > 0) {
        buffer_poison(buffer, stream);
    }
}

static void fill_copy(const workload *workload, const operand_copy *copy, const options *o,
                      enum inputs inputs, const integers *integers) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const step *step = workload->step;
    const bool looks_at_ab = !arithmetic->takes_c || o->alpha != 0;
    const recipe b = {.inputs = inputs,
                      .seed = o->seed,
                      .stream = RANDOM_STREAM_B,
                      .row = (uint64_t)o->k,
                      .range = integers->range,
                      .spacing = 1};
    recipe a = b;
    a.stream = RANDOM_STREAM_A;
    a.row = arithmetic->moves ? (uint64_t)o->n : b.row;
    a.spacing = integers->spacing;
    recipe c = b;
    c.stream = RANDOM_STREAM_C;
    c.row = (uint64_t)o->n;
    c.range = integers->c_range;
    fill_operand(workload, &copy->a, arithmetic->operands, looks_at_ab, &a);
    fill_operand(workload, &copy->b, arithmetic->operands, looks_at_ab, &b);
    fill_operand(workload, &copy->c, arithmetic->output, o->beta != 0, &c);
    recipe scales = {.inputs = inputs == INPUTS_INTEGERS ? INPUTS_POWERS : INPUTS_SCALES,
                     .seed = o->seed,
                     .stream = RANDOM_STREAM_SCALES};
    fill_operand(workload, &copy->scale_a, NUMBER_FP32, true, &scales);
    ++scales.stream;
    fill_operand(workload, &copy->scale_b, NUMBER_FP32, true, &scales);
    if (step->operands_made != NULL) { /* it needs another layout of the operands */
        check_step(
            step->operands_made(&copy->problem[CONTENDER_STEP], copy->state[CONTENDER_STEP]));
    }
}

void workload_fill(workload *workload, size_t count, const options *o, enum inputs inputs,
                   const integers *integers) {
    for (size_t i = 0; i < count; ++i) {
        fill_copy(workload, &workload->copy[i], o, inputs, integers);
    }
    device_wait(workload->device, "the kernels that make the operands");
}

void workload_poison(const workload *workload) {
    for (size_t i = 0; i < workload->copies * CONTENDERS; ++i) {
        if (has_contender(workload->contenders.set, i % CONTENDERS)) {
            buffer_poison(&workload->copy[i / CONTENDERS].d[i % CONTENDERS],
                          workload->device->stream);
        }
    }
    device_wait(workload->device, "the filling of the outputs with NaN");
}

bool workload_guards_intact(const workload *workload, char *text, size_t size) {
    char where[96];
    text[0] = '\0';
    for (size_t i = 0; i < workload->copies * CONTENDERS; ++i) {
        const size_t copy = i / CONTENDERS;
        const int who = (int)(i % CONTENDERS);
        if (has_contender(workload->contenders.set, who) &&
            !buffer_guards_intact(&workload->copy[copy].d[who], where, sizeof where)) {
            snprintf(text, size, "guards: D%s%s of copy %zu: %s",
                     who == CONTENDER_STEP ? "" : " of ",
                     who == CONTENDER_STEP ? "" : workload->contenders.names[who], copy, where);
            return false;
        }
    }
    return true;
}
