#include "harness/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exit_status.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/shape.h"

enum { FEWEST_COPIES = 2, MOST_COPIES = 256 };

/* Left to the libraries: cuBLAS's workspace, kernels, what prepare allocates. */
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
    double copy;    /* one copy, as if all of it had guards */
    double once;    /* what is needed once, whatever the number of copies */
} sizes;

static int count_contenders(contender_set set) {
    int count = 0;
    for (int i = 0; i < CONTENDERS; ++i) {
        count += has_contender(set, i) ? 1 : 0;
    }
    return count;
}

static sizes sizes_of(const workload *workload, const options *o) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const double operand = (double)number_bytes(arithmetic->operands);
    const double guards = (double)buffer_footprint(0);
    const double m = o->m;
    const double n = o->n;
    const double k = o->k;
    sizes sizes = {.a = m * (arithmetic->moves ? n : k) * operand,
                   .b = n * k * operand,
                   .d = m * n * (double)number_bytes(arithmetic->output)};
    const int like_d = count_contenders(workload->contender_set) + (arithmetic->takes_c ? 1 : 0);
    sizes.copy =
        sizes.a + sizes.b + (arithmetic->moves ? 1 : 2) * guards + like_d * (sizes.d + guards);
    sizes.once =
        (double)SPARE_BYTES + reference_bytes(arithmetic, o->m, o->n, o->check == CHECK_SAMPLE);
    return sizes;
}

static int refuse(const workload *workload, const options *o, double needed, size_t available) {
    char k[24] = "";
    const bool moves = workload->arithmetic.moves;
    if (!moves) {
        snprintf(k, sizeof k, " k=%d", o->k);
    }
    message("m=%d n=%d%s needs %.3g GB of %s and %.3g GB are free: take a smaller shape%s", o->m,
            o->n, k, needed * 1e-9, workload->device->info.emulated ? "memory" : "GPU memory",
            (double)available * 1e-9,
            o->check == CHECK_FULL && !moves ? ", or --check sample, which needs less" : "");
    return STATUS_USAGE;
}

/* How many copies there will be, by what fits. */
static int choose_copies(workload *workload, const options *o, sizes *sizes) {
    size_t available = 0;
    if (device_free_bytes(&available) != 0) {
        return STATUS_FAILED;
    }
    *sizes = sizes_of(workload, o);
    const double left = (double)available - sizes->once;
    if (sizes->copy > left) {
        return refuse(workload, o, sizes->once + sizes->copy, available);
    }
    const size_t fit = (size_t)(left / sizes->copy);
    const device_info *info = &workload->device->info;
    const double like_d = workload->arithmetic.takes_c ? 2 : 1;
    const double bytes = sizes->a + sizes->b + like_d * sizes->d;
    workload->copies = info->emulated ? 1 : workload_copies((size_t)bytes, info->l2_bytes, fit);
    return STATUS_VERIFIED;
}

/* Whether this contender is the step itself. */
static bool is_step(int who) { return who == CONTENDER_STEP || who == CONTENDER_EARLY; }

static int launch_step(void *context, size_t copy) {
    const seat *seat = context;
    const workload *workload = seat->workload;
    const operand_copy *operands = &workload->copy[copy];
    if (workload->step->launch(&operands->problem[seat->who], operands->state[seat->who]) != 0) {
        return 1; /* the step has printed its line */
    }
    return device_check_launch(workload->contenders[seat->who].name);
}

static int launch_second_opinion(void *context, size_t copy) {
    const seat *seat = context;
    const workload *workload = seat->workload;
    return second_opinion_launch(workload->second_opinion[seat->who],
                                 &workload->copy[copy].problem[seat->who]);
}

static int prepare_step(workload *workload, operand_copy *copy, int who) {
    const double begin = monotonic_seconds();
    if (workload->step->prepare(&copy->problem[who], &copy->state[who]) != 0) {
        return 1; /* the step has printed its line */
    }
    if (device_wait(workload->device, "prepare") != 0) {
        return 1;
    }
    if (copy == &workload->copy[0]) {
        workload->before_seconds[who] = monotonic_seconds() - begin;
    }
    return 0;
}

static int open_copy(workload *workload, operand_copy *copy, const options *o, const sizes *sizes) {
    if (buffer_create(&copy->a, (size_t)sizes->a, false, "A") != 0 ||
        (sizes->b > 0 && buffer_create(&copy->b, (size_t)sizes->b, false, "B") != 0) ||
        (workload->arithmetic.takes_c &&
         buffer_create(&copy->c, (size_t)sizes->d, false, "C") != 0)) {
        return 1;
    }
    for (int i = 0; i < CONTENDERS; ++i) {
        const char *what = is_step(i) ? "D" : "D of the second opinion";
        if (!has_contender(workload->contender_set, i)) {
            continue;
        }
        /* The emulator reports a write beside D by itself, and where it is in the source. */
        if (buffer_create(&copy->d[i], (size_t)sizes->d, !workload->device->info.emulated, what) !=
            0) {
            return 1;
        }
        copy->problem[i] =
            (problem){.a = copy->a.payload,
                      .b = copy->b.payload,
                      .c = copy->c.payload,
                      .d = copy->d[i].payload,
                      .alpha = o->alpha,
                      .beta = o->beta,
                      .m = o->m,
                      .n = o->n,
                      .k = o->k,
                      /* The emulator has the stricter rules for early launches. */
                      .early = i == CONTENDER_EARLY || workload->device->info.emulated,
                      .stream = workload->device->stream};
        if (i == CONTENDER_STEP) {
            machine_watch_output(copy->d[i].payload, (size_t)sizes->d);
        }
        if (is_step(i) && prepare_step(workload, copy, i) != 0) {
            return 1;
        }
    }
    return 0;
}

static int open_copies(workload *workload, const options *o, const sizes *sizes) {
    workload->copy = calloc(workload->copies, sizeof *workload->copy);
    if (workload->copy == NULL) {
        message("no memory for the records of %zu copies", workload->copies);
        return 1;
    }
    for (size_t i = 0; i < workload->copies; ++i) {
        if (open_copy(workload, &workload->copy[i], o, sizes) != 0) {
            return 1;
        }
    }
    return 0;
}

/* Whom the options and the computation ask for, without those whom this machine does not have. */
static contender_set choose_contenders(const workload *workload, const options *o) {
    const enum computation computes = workload->step->computes;
    const bool times = o->protocol != PROTOCOL_NONE && !workload->device->info.emulated;
    const bool wanted[CONTENDERS] = {
        [CONTENDER_FP16_SUMS] = workload->arithmetic.fp16_sums,
        [CONTENDER_COPY] = workload->arithmetic.moves,
        [CONTENDER_HEURISTIC] = o->heuristics > 0 || o->algorithm != NULL,
        [CONTENDER_EARLY] = workload->step->launches_early && times,
    };
    contender_set set = STEP_AND_OTHER;
    for (int who = CONTENDER_OTHER + 1; who < CONTENDERS; ++who) {
        if (wanted[who] && (is_step(who) || second_opinion_name(computes, who) != NULL)) {
            set |= 1U << who;
        }
    }
    return set;
}

static int open_second_opinion(workload *workload, int who) {
    const enum computation computes = workload->step->computes;
    const double begin = monotonic_seconds();
    workload->second_opinion[who] = second_opinion_open(computes, who, workload->device->stream);
    workload->before_seconds[who] = monotonic_seconds() - begin;
    return workload->second_opinion[who] == NULL;
}

static int open_contenders(workload *workload, const options *o) {
    const step *step = workload->step;
    workload->contender_set = choose_contenders(workload, o);
    snprintf(workload->early_name, sizeof workload->early_name, "%s launched early", step->name);
    for (int i = 0; i < CONTENDERS; ++i) {
        const char *name = i == CONTENDER_STEP    ? step->name
                           : i == CONTENDER_EARLY ? workload->early_name
                                                  : second_opinion_name(step->computes, i);
        if (!has_contender(workload->contender_set, i)) {
            continue;
        }
        workload->seats[i] = (seat){workload, i};
        workload->contenders[i] = (contender){
            name, is_step(i) ? launch_step : launch_second_opinion, &workload->seats[i]};
        if (!is_step(i) && open_second_opinion(workload, i) != 0) {
            return 1;
        }
    }
    return 0;
}

int workload_open(workload *workload, const step *step, const device *device,
                  const options *options) {
    memset(workload, 0, sizeof *workload);
    workload->step = step;
    workload->device = device;
    workload->arithmetic = arithmetic_of(step);
    if (open_contenders(workload, options) != 0) {
        return STATUS_FAILED;
    }
    sizes sizes;
    const int status = choose_copies(workload, options, &sizes);
    if (status != STATUS_VERIFIED) {
        return status;
    }
    if (reference_create(&workload->reference, &workload->arithmetic, options->m, options->n,
                         options->k, options->check == CHECK_SAMPLE) != 0 ||
        open_copies(workload, options, &sizes) != 0) {
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

static void close_copy(const workload *workload, operand_copy *copy) {
    for (int i = 0; i < CONTENDERS; ++i) {
        if (copy->state[i] != NULL) {
            workload->step->release(copy->state[i]);
        }
    }
    buffer_destroy(&copy->a);
    buffer_destroy(&copy->b);
    buffer_destroy(&copy->c);
    for (int i = 0; i < CONTENDERS; ++i) {
        buffer_destroy(&copy->d[i]);
    }
}

void workload_close(workload *workload) {
    for (size_t i = 0; workload->copy != NULL && i < workload->copies; ++i) {
        close_copy(workload, &workload->copy[i]);
    }
    free(workload->copy);
    reference_destroy(&workload->reference);
    for (int i = 0; i < CONTENDERS; ++i) {
        second_opinion_close(workload->second_opinion[i]);
    }
    memset(workload, 0, sizeof *workload);
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
    const bool fp16_sums = workload->arithmetic.fp16_sums && contender != CONTENDER_OTHER;
    return arithmetic_rounding(&workload->arithmetic, workload->reference.k, fp16_sums);
}

/* NaN, if `looked_at` says that nobody may look at it. */
static int fill_operand(const workload *workload, const buffer *buffer, enum number format,
                        bool looked_at, const recipe *recipe) {
    struct CUstream_st *stream = workload->device->stream;
    if (!looked_at) {
        return buffer_poison(buffer, stream);
    }
    return operands_fill(buffer->payload, format, buffer->bytes / number_bytes(format), recipe,
                         stream);
}

static int fill_copy(const workload *workload, const operand_copy *copy, const options *o,
                     enum inputs inputs, const integers *integers) {
    const arithmetic *arithmetic = &workload->arithmetic;
    const bool looks_at_ab = !arithmetic->takes_c || o->alpha != 0;
    const recipe b = {.inputs = inputs,
                      .seed = o->seed,
                      .stream = RANDOM_STREAM_B,
                      .row = (uint64_t)o->k,
                      .range = integers->range,
                      .spacing = 1};
    recipe a = b;
    a.stream = RANDOM_STREAM_A;
    a.row = copy->b.bytes > 0 ? b.row : (uint64_t)o->n;
    a.spacing = integers->spacing;
    recipe c = b;
    c.stream = RANDOM_STREAM_C;
    c.row = (uint64_t)o->n;
    c.range = integers->c_range;
    return fill_operand(workload, &copy->a, arithmetic->operands, looks_at_ab, &a) ||
           (copy->b.bytes > 0 &&
            fill_operand(workload, &copy->b, arithmetic->operands, looks_at_ab, &b)) ||
           (arithmetic->takes_c &&
            fill_operand(workload, &copy->c, arithmetic->output, o->beta != 0, &c));
}

/* For a step that does not read the operands as they lie. */
static int tell_step(const workload *workload, const operand_copy *copy) {
    return workload->step->operands_made != NULL &&
           workload->step->operands_made(&copy->problem[CONTENDER_STEP],
                                         copy->state[CONTENDER_STEP]) != 0;
}

int workload_fill(workload *workload, size_t count, const options *o, enum inputs inputs,
                  const integers *integers) {
    for (size_t i = 0; i < count; ++i) {
        if (fill_copy(workload, &workload->copy[i], o, inputs, integers) != 0 ||
            tell_step(workload, &workload->copy[i]) != 0) {
            return 1;
        }
    }
    return device_wait(workload->device, "the kernels that make the operands");
}

int workload_poison(workload *workload) {
    for (size_t i = 0; i < workload->copies; ++i) {
        for (int j = 0; j < CONTENDERS; ++j) {
            if (has_contender(workload->contender_set, j) &&
                buffer_poison(&workload->copy[i].d[j], workload->device->stream) != 0) {
                return 1;
            }
        }
    }
    return device_wait(workload->device, "the filling of the outputs with NaN");
}

int workload_guards_intact(const workload *workload, bool *intact, char *text, size_t size) {
    char where[96];
    *intact = true;
    text[0] = '\0';
    for (size_t i = 0; i < workload->copies * CONTENDERS && *intact; ++i) {
        const size_t copy = i / CONTENDERS;
        const int who = (int)(i % CONTENDERS);
        if (!has_contender(workload->contender_set, who)) {
            continue;
        }
        if (buffer_guards_intact(&workload->copy[copy].d[who], intact, where, sizeof where) != 0) {
            return 1;
        }
        if (!*intact) {
            snprintf(text, size, "guards: D%s%s of copy %zu: %s",
                     who == CONTENDER_STEP ? "" : " of ",
                     who == CONTENDER_STEP ? "" : workload->contenders[who].name, copy, where);
        }
    }
    return 0;
}
