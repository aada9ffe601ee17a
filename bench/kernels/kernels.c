/* The times of all kernels of a rung that chooses, at shapes that the command line names, in one
 * process and one JSON file: what bench/fit.py fits the model's constants to.
 *
 * The program is linked with the rung's object, whose main() calls the step_main() here. Launches
 * are timed as in a burst: all of them are enqueued before the first may start, and they rotate
 * over copies of the operands. Before that each kernel's product of small whole numbers must be
 * that of the first kernel, bit for bit. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/buffers.h"
#include "harness/check.h"
#include "harness/gpu/clocks.h"
#include "harness/json.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/report.h"
#include "harness/workload.h"

/* From the generated build/commit.c. */
extern const char gemm_ladder_commit[];

enum { SCHEMA = 1, MOST_COPIES_HERE = 64, LEAST_LAUNCHES = 4, MOST_LAUNCHES = 128 };
enum { MOST_ROUNDS = 20, ERROR_SIZE = 512 };
static const double LEAST_SECONDS = 0.4e-3; /* of timed launches */
static const double IDLE_SECONDS = 1e-3;    /* before a burst, at least ... */
static const double IDLE_SHARE = 4;         /* ... and of the one before: else long ones run hot */
static const double SLOW = 1.5;             /* times as long as the fastest kernel so far */
static const double OPERAND_BYTES = 8e9;    /* of all copies, at most */

/* Ctrl-C, or a limit of time: the shape at hand is finished, and what is measured is written. */
static volatile sig_atomic_t stopped;
static void stop(int number) { stopped = number; }

typedef struct session {
    const step *rung;
    device device;
    problem problem[MOST_COPIES_HERE];
    void *state[MOST_COPIES_HERE];
    buffer a[MOST_COPIES_HERE], b[MOST_COPIES_HERE], d[MOST_COPIES_HERE];
    size_t copies;
    double burst; /* seconds of the last one */
} session;

static const char USAGE[] = "usage: kernels --json FILE [--rounds N] MxNxK...\n"
                            "       kernels --list\n";

/* Ends the program if a function of the rung has failed; it has printed why. */
static void check(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

static void release(session *s) {
    for (size_t i = 0; i < s->copies; ++i) {
        if (s->state[i] != NULL) {
            s->rung->release(s->state[i]);
        }
        s->state[i] = NULL;
    }
}

static void prepare(session *s, int kernel) {
    for (size_t i = 0; i < s->copies; ++i) {
        s->problem[i].kernel = kernel;
        check(s->rung->prepare(&s->problem[i], &s->state[i]));
    }
}

/* Whether the kernel of this number differs from the others' at this shape: where tiles can't be
 * cut those that would cut them are the same as those that don't. */
static bool differs(const session *s, int kernel) {
    problem named = s->problem[0];
    named.kernel = kernel;
    return s->rung->kernel_of(&named) + 1 == kernel;
}

static void launch(session *s, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        check(s->rung->launch(&s->problem[i % s->copies], s->state[i % s->copies]));
    }
}

static void fill(session *s, enum inputs inputs, size_t copies) {
    const int k = s->problem[0].k;
    for (size_t i = 0; i < copies; ++i) {
        recipe recipe = {.inputs = inputs,
                         .range = random_integer_range(k, EXACT_INTEGER_LIMIT),
                         .seed = 1 + i,
                         .stream = RANDOM_STREAM_A,
                         .row = (uint64_t)k,
                         .spacing = 1};
        operands_fill(s->a[i].payload, NUMBER_BF16, s->a[i].bytes / 2, &recipe, s->device.stream);
        recipe.stream = RANDOM_STREAM_B;
        operands_fill(s->b[i].payload, NUMBER_BF16, s->b[i].bytes / 2, &recipe, s->device.stream);
        buffer_poison(&s->d[i], s->device.stream);
    }
}

static void open_shape(session *s, int m, int n, int k) {
    const size_t a = 2 * (size_t)m * (size_t)k;
    const size_t b = 2 * (size_t)n * (size_t)k;
    const size_t d = 2 * (size_t)m * (size_t)n;
    const double most = OPERAND_BYTES / (double)(a + b + d);
    s->copies = workload_copies(a + b + d, s->device.info.l2_bytes, most < 2 ? 2 : (size_t)most);
    s->copies = s->copies > MOST_COPIES_HERE ? MOST_COPIES_HERE : s->copies;
    for (size_t i = 0; i < s->copies; ++i) {
        s->a[i] = buffer_create(a, false, "A");
        s->b[i] = buffer_create(b, false, "B");
        s->d[i] = buffer_create(d, true, "D");
        s->problem[i] = (problem){.a = s->a[i].payload,
                                  .b = s->b[i].payload,
                                  .d = s->d[i].payload,
                                  .alpha = 1,
                                  .m = m,
                                  .n = n,
                                  .k = k,
                                  .stream = s->device.stream};
    }
}

static void close_shape(session *s) {
    for (size_t i = 0; i < s->copies; ++i) {
        buffer_destroy(&s->a[i]);
        buffer_destroy(&s->b[i]);
        buffer_destroy(&s->d[i]);
    }
}

/* Every kernel once, on whole numbers: D must be the first one's. It also loads the kernels, which
 * must not happen after a gate. */
static void verify(session *s) {
    const buffer *d = &s->d[0];
    const size_t copies = s->copies;
    uint64_t digest = 0;
    char text[256];
    s->copies = 1;
    fill(s, INPUTS_INTEGERS, 1);
    for (int kernel = 1; kernel <= s->rung->kernels; ++kernel) {
        if (!differs(s, kernel)) {
            continue;
        }
        buffer_poison(d, s->device.stream);
        prepare(s, kernel);
        launch(s, 1);
        device_wait(&s->device, s->rung->name);
        release(s);
        const uint64_t found =
            output_digest(d->payload, NUMBER_BF16, d->bytes / 2, s->device.stream);
        digest = kernel == 1 ? found : digest;
        if (found != digest || !buffer_guards_intact(d, text, sizeof text)) {
            end_with(STATUS_FAILED, "kernel %d is wrong for %dx%dx%d", kernel, s->problem[0].m,
                     s->problem[0].n, s->problem[0].k);
        }
    }
    s->copies = copies;
}

/* Seconds of a launch. */
static double time_launches(session *s, size_t launches) {
    struct CUstream_st *stream = s->device.stream;
    device_wait(&s->device, s->rung->name);
    sleep_seconds(fmax(IDLE_SECONDS, IDLE_SHARE * s->burst));
    gate_close(stream);
    launch(s, 1);
    watch_start(stream);
    launch(s, launches);
    watch_stop(stream);
    gate_open();
    device_wait(&s->device, s->rung->name);
    gate_check();
    s->burst = watch_seconds();
    return s->burst / (double)launches;
}

static void time_shape(session *s, json *json, int rounds) {
    const int kernels = s->rung->kernels;
    double *const seconds = allocate((size_t)(kernels * rounds), sizeof *seconds);
    int *const counts = allocate((size_t)kernels, sizeof *counts); /* of a kernel's rounds */
    const int chosen = s->rung->kernel_of(&s->problem[0]) + 1;
    char text[64];
    verify(s);
    fill(s, INPUTS_NORMAL, s->copies);
    prepare(s, chosen);
    const double first = time_launches(s, 3);
    release(s);
    const double wanted = fmin(fmax(ceil(LEAST_SECONDS / first), LEAST_LAUNCHES), MOST_LAUNCHES);
    const size_t launches = isfinite(wanted) ? (size_t)wanted : LEAST_LAUNCHES;
    /* A kernel's rounds follow each other: for small products preparing takes longer than they do.
     * One that is slow has a single round, a short one. */
    double fastest = HUGE_VAL;
    for (int kernel = 0; kernel < kernels; ++kernel) {
        double *const found = &seconds[kernel * rounds];
        if (!differs(s, kernel + 1)) {
            counts[kernel] = 0;
            continue;
        }
        prepare(s, kernel + 1);
        found[0] = time_launches(s, LEAST_LAUNCHES);
        fastest = fmin(fastest, found[0]);
        counts[kernel] = found[0] > SLOW * fastest ? 1 : rounds;
        for (int round = 0; counts[kernel] > 1 && round < rounds; ++round) {
            found[round] = time_launches(s, launches);
        }
        release(s);
    }
    const problem *p = &s->problem[0];
    snprintf(text, sizeof text, "%dx%dx%d", p->m, p->n, p->k);
    json_object_begin(json, text);
    json_unsigned(json, "chosen", (uint64_t)chosen);
    json_unsigned(json, "copies", s->copies);
    json_unsigned(json, "launches", launches);
    json_object_begin(json, "seconds");
    for (int kernel = 0; kernel < kernels; ++kernel) {
        snprintf(text, sizeof text, "%d", kernel + 1);
        if (counts[kernel] > 0) {
            json_doubles(json, text, &seconds[kernel * rounds], (size_t)counts[kernel]);
        }
    }
    json_object_end(json);
    json_object_end(json);
    free(counts);
    free(seconds);
}

/* What the rung says about each of its kernels: a line has the kernel's name. */
static int list(const step *rung) {
    for (int kernel = 1; kernel <= rung->kernels; ++kernel) {
        const problem p = {.m = 1024, .n = 1024, .k = 1024, .kernel = kernel};
        check(rung->explain(&p));
    }
    return STATUS_VERIFIED;
}

static int run_program(const step *rung, int argc, char **argv) {
    static session s; /* large */
    const char *out = NULL;
    int rounds = 3;
    int first = argc;
    char error[ERROR_SIZE];
    json json;
    message_prefix("kernels");
    if (rung->kernels == 0) {
        end_with(STATUS_USAGE, "%s does not choose", rung->name);
    }
    for (int i = 1; i < argc && first == argc; ++i) {
        if (strcmp(argv[i], "--list") == 0) {
            device_open(rung, 0, &s.device);
            return list(rung);
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            out = argv[++i];
        } else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = atoi(argv[++i]);
        } else {
            first = i;
        }
    }
    if (out == NULL || first == argc || rounds < 1 || rounds > MOST_ROUNDS) {
        fputs(USAGE, stderr);
        return STATUS_USAGE;
    }
    s.rung = rung;
    device_open(rung, 0, &s.device);
    int kilohertz = 0;
    cuda_check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "asking for the clock");
    json_begin(&json);
    json_object_begin(&json, NULL);
    json_unsigned(&json, "schema", SCHEMA);
    json_string(&json, "kind", "kernels");
    json_string(&json, "rung", rung->name);
    json_string(&json, "commit", gemm_ladder_commit);
    report_write_gpu(&json, &s.device.info);
    json_double(&json, "highest_hertz", 1e3 * kilohertz);
    json_object_begin(&json, "shapes");
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    for (int i = first; i < argc && !stopped; ++i) {
        int m, n, k;
        char rest;
        if (sscanf(argv[i], "%dx%dx%d%c", &m, &n, &k, &rest) != 3 ||
            shape_check(rung, m, n, k, error, sizeof error) != 0) {
            end_with(STATUS_USAGE, "'%s' is no shape that the rung takes", argv[i]);
        }
        printf("%d of %d: %s\n", i - first + 1, argc - first, argv[i]);
        fflush(stdout);
        open_shape(&s, m, n, k);
        time_shape(&s, &json, rounds);
        close_shape(&s);
    }
    json_object_end(&json);
    json_object_end(&json);
    if (json_commit(&json, out, error, sizeof error) != 0) {
        end_with(STATUS_FAILED, "--json: %s", error);
    }
    return STATUS_VERIFIED;
}

int step_main(const step *rung, int argc, char **argv) {
    return output_end(run_program(rung, argc, argv));
}
