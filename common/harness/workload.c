#include "harness/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/exit_status.h"
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

typedef struct sizes {
    size_t a, b, d;
    size_t copy; /* one copy with all of its guards */
    size_t once; /* what is needed once, whatever the number of copies */
} sizes;

static bool add(size_t *total, size_t bytes) {
    return !__builtin_add_overflow(*total, bytes, total);
}

static bool compute_sizes(const options *o, sizes *sizes) {
    size_t reference = 0;
    if (!shape_bytes(o->m, o->k, sizeof(bf16_bits), &sizes->a) ||
        !shape_bytes(o->n, o->k, sizeof(bf16_bits), &sizes->b) ||
        !shape_bytes(o->m, o->n, sizeof(bf16_bits), &sizes->d) ||
        !reference_bytes(o->m, o->n, o->check == CHECK_SAMPLE, &reference)) {
        return false;
    }
    sizes->copy = 0;
    sizes->once = SPARE_BYTES;
    return add(&sizes->copy, buffer_footprint(sizes->a)) &&
           add(&sizes->copy, buffer_footprint(sizes->b)) &&
           add(&sizes->copy, buffer_footprint(sizes->d)) &&
           add(&sizes->copy, buffer_footprint(sizes->d)) && add(&sizes->once, reference);
}

static int refuse(const workload *workload, const options *o, double needed, size_t available) {
    message("m=%d n=%d k=%d needs %.3g GB of %s and %.3g GB are free: take a smaller shape%s", o->m,
            o->n, o->k, needed * 1e-9, workload->device->info.emulated ? "memory" : "GPU memory",
            (double)available * 1e-9,
            o->check == CHECK_FULL ? ", or --check sample, which needs less" : "");
    return STATUS_USAGE;
}

/* How many copies there will be, by what fits. */
static int choose_copies(workload *workload, const options *o, sizes *sizes) {
    size_t available = 0;
    if (device_free_bytes(&available) != 0) {
        return STATUS_FAILED;
    }
    if (!compute_sizes(o, sizes)) {
        /* More bytes than a size_t holds; a double is good enough to say how many. */
        const double m = o->m;
        const double n = o->n;
        const double k = o->k;
        return refuse(workload, o, 2 * (m * k + n * k + 2 * m * n), available);
    }
    if (sizes->once > available || sizes->copy > available - sizes->once) {
        return refuse(workload, o, (double)sizes->once + (double)sizes->copy, available);
    }
    const size_t fit = (available - sizes->once) / sizes->copy;
    const device_info *info = &workload->device->info;
    workload->copies =
        info->emulated ? 1 : workload_copies(sizes->a + sizes->b + sizes->d, info->l2_bytes, fit);
    return STATUS_VERIFIED;
}

static int launch_step(void *context, size_t copy) {
    const workload *workload = context;
    const operand_copy *operands = &workload->copy[copy];
    const problem *problem = &operands->problem[CONTENDER_STEP];
    if (workload->step->launch(problem, operands->state) != 0) {
        return 1; /* the step has printed its line */
    }
    return device_check_launch(workload->contenders[CONTENDER_STEP].name);
}

static int launch_second_opinion(void *context, size_t copy) {
    const workload *workload = context;
    return second_opinion_launch(workload->second_opinion,
                                 &workload->copy[copy].problem[CONTENDER_OTHER]);
}

static int open_copy(workload *workload, operand_copy *copy, const options *o, const sizes *sizes) {
    if (buffer_create(&copy->a, sizes->a, "A") != 0 ||
        buffer_create(&copy->b, sizes->b, "B") != 0 ||
        buffer_create(&copy->d[CONTENDER_STEP], sizes->d, "D") != 0 ||
        buffer_create(&copy->d[CONTENDER_OTHER], sizes->d, "D of the second opinion") != 0) {
        return 1;
    }
    for (int i = 0; i < CONTENDERS; ++i) {
        copy->problem[i] = (problem){.a = copy->a.payload,
                                     .b = copy->b.payload,
                                     .d = copy->d[i].payload,
                                     .m = o->m,
                                     .n = o->n,
                                     .k = o->k,
                                     .stream = workload->device->stream};
    }
    if (workload->step->prepare(&copy->problem[CONTENDER_STEP], &copy->state) != 0) {
        return 1; /* the step has printed its line */
    }
    return device_wait(workload->device, "prepare");
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

int workload_open(workload *workload, const step *step, const device *device,
                  const options *options) {
    memset(workload, 0, sizeof *workload);
    workload->step = step;
    workload->device = device;
    workload->contenders[CONTENDER_STEP] = (contender){step->name, launch_step, workload};
    workload->contenders[CONTENDER_OTHER] =
        (contender){second_opinion_name, launch_second_opinion, workload};
    workload->second_opinion = second_opinion_open(device->stream);
    if (workload->second_opinion == NULL) {
        return STATUS_FAILED;
    }
    sizes sizes;
    const int status = choose_copies(workload, options, &sizes);
    if (status != STATUS_VERIFIED) {
        return status;
    }
    if (reference_create(&workload->reference, options->m, options->n, options->k,
                         options->check == CHECK_SAMPLE) != 0 ||
        open_copies(workload, options, &sizes) != 0) {
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

static void close_copy(const workload *workload, operand_copy *copy) {
    if (copy->state != NULL) {
        workload->step->release(copy->state);
    }
    buffer_destroy(&copy->a);
    buffer_destroy(&copy->b);
    buffer_destroy(&copy->d[CONTENDER_STEP]);
    buffer_destroy(&copy->d[CONTENDER_OTHER]);
}

void workload_close(workload *workload) {
    for (size_t i = 0; workload->copy != NULL && i < workload->copies; ++i) {
        close_copy(workload, &workload->copy[i]);
    }
    free(workload->copy);
    reference_destroy(&workload->reference);
    second_opinion_close(workload->second_opinion);
    memset(workload, 0, sizeof *workload);
}

size_t workload_operand_bytes(const workload *workload) {
    const operand_copy *copy = &workload->copy[0];
    return copy->a.bytes + copy->b.bytes + copy->d[CONTENDER_STEP].bytes;
}

static int fill_operand(const workload *workload, const buffer *buffer, enum inputs inputs,
                        int integer_range, uint64_t seed, enum random_stream which) {
    return operands_fill((bf16_bits *)(void *)buffer->payload, buffer->bytes / sizeof(bf16_bits),
                         inputs, integer_range, seed, which, workload->device->stream);
}

int workload_fill(workload *workload, size_t count, enum inputs inputs, int integer_range,
                  uint64_t seed) {
    for (size_t i = 0; i < count; ++i) {
        const operand_copy *copy = &workload->copy[i];
        if (fill_operand(workload, &copy->a, inputs, integer_range, seed, RANDOM_STREAM_A) != 0 ||
            fill_operand(workload, &copy->b, inputs, integer_range, seed, RANDOM_STREAM_B) != 0) {
            return 1;
        }
    }
    return device_wait(workload->device, "the kernels that make the operands");
}

int workload_poison(workload *workload) {
    for (size_t i = 0; i < workload->copies; ++i) {
        for (int j = 0; j < CONTENDERS; ++j) {
            if (buffer_poison(&workload->copy[i].d[j], workload->device->stream) != 0) {
                return 1;
            }
        }
    }
    return device_wait(workload->device, "the filling of the outputs with NaN");
}

/* Looks at one buffer, unless one before it was found damaged. */
static int check_guards(const buffer *buffer, const char *what, size_t copy, bool *intact,
                        char *text, size_t size) {
    char where[96];
    if (!*intact) {
        return 0;
    }
    if (buffer_guards_intact(buffer, intact, where, sizeof where) != 0) {
        return 1;
    }
    if (!*intact) {
        snprintf(text, size, "guards: %s of copy %zu: %s", what, copy, where);
    }
    return 0;
}

int workload_guards_intact(const workload *workload, bool *intact, char *text, size_t size) {
    char other[64];
    snprintf(other, sizeof other, "D of %s", second_opinion_name);
    *intact = true;
    text[0] = '\0';
    for (size_t i = 0; i < workload->copies; ++i) {
        const operand_copy *copy = &workload->copy[i];
        if (check_guards(&copy->a, "A", i, intact, text, size) != 0 ||
            check_guards(&copy->b, "B", i, intact, text, size) != 0 ||
            check_guards(&copy->d[CONTENDER_STEP], "D", i, intact, text, size) != 0 ||
            check_guards(&copy->d[CONTENDER_OTHER], other, i, intact, text, size) != 0) {
            return 1;
        }
    }
    return 0;
}
