/* One part of a rung, alone, for seconds: its energy by the driver's counter.
 *
 * The program is linked with the rung's object, whose main() calls the step_main() here: what the
 * parts compute is compared with what the rung computes. bench/energy/measure.py runs one part
 * after the other, each in a process of its own. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/parts.h"
#include "harness/buffers.h"
#include "harness/gpu/meter.h"
#include "harness/json.h"
#include "harness/message.h"
#include "harness/operands.h"
#include "harness/report.h"
#include "harness/timing.h"

/* From the generated build/commit.c. */
extern const char gemm_ladder_commit[];

enum {
    SCHEMA = 1,
    COPIES = 2,
    ERROR_SIZE = 512,
    LEAST_EDGES = 8 /* steps of the energy counter */
};

typedef struct request {
    const part *part;
    const char *json;
    double size; /* m = n = k */
    double device, seed;
    double warm_up, seconds, pace;
    double launches; /* 0: enough to fill the seconds, and their energy is read */
} request;

/* A copy of the operands, so that timed launches do not find them in the L2. */
typedef struct copy {
    buffer a, b, d;
    problem problem;
    void *state; /* what part_prepare() made */
} copy;

typedef struct run {
    const step *rung;
    const request *request;
    device device;
    copy copies[COPIES];
} run;

static const char USAGE[] =
    "usage: parts --part NAME --json FILE [--pace SECONDS] [--size N] [--seed N] [--device N]\n"
    "             [--warm-up SECONDS] [--seconds SECONDS]\n"
    "       parts --part NAME --launches N [--pace SECONDS] [--size N] [--seed N] [--device N]\n"
    "       parts --list\n"
    "--launches: only these, for a profiler, and the check of D: no energy, no file\n"
    "--pace: how long a launch of a paced part takes: as long as the whole\n";

/* ---- the command line */

static int list_parts(void) {
    for (size_t i = 0; i < parts_count; ++i) {
        printf("%s\t%s\t%s\n", parts[i].name, parts[i].paced ? "paced" : "", parts[i].what);
    }
    return STATUS_VERIFIED;
}

/* True if the option and its value are good. */
static bool take(request *request, const char *option, const char *value) {
    const struct {
        const char *option;
        double low, high, multiple; /* 0: any number */
        double *to;
    } numbers[] = {{"--size", 256, 32768, 256, &request->size},
                   {"--device", 0, 1023, 1, &request->device},
                   {"--seed", 0, 1e15, 1, &request->seed},
                   {"--launches", 1, 1000, 1, &request->launches},
                   {"--pace", 1e-6, 600, 0, &request->pace},
                   {"--warm-up", 1e-6, 600, 0, &request->warm_up},
                   {"--seconds", 1e-6, 600, 0, &request->seconds}};
    if (value == NULL || *value == '\0') {
        return false;
    }
    if (strcmp(option, "--json") == 0) {
        request->json = value;
        return true;
    }
    for (size_t i = 0; strcmp(option, "--part") == 0 && i < parts_count; ++i) {
        if (strcmp(parts[i].name, value) == 0) {
            request->part = &parts[i];
            return true;
        }
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        if (strcmp(option, numbers[i].option) == 0) {
            char *end = NULL;
            const double number = strtod(value, &end);
            *numbers[i].to = number;
            return *end == '\0' && number >= numbers[i].low && number <= numbers[i].high &&
                   (numbers[i].multiple == 0 || fmod(number, numbers[i].multiple) == 0);
        }
    }
    return false;
}

/* True if the command line can be followed; else one line has been printed. */
static bool parse(request *request, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!take(request, argv[i], value)) {
            message("%s '%s' is not understood; --help says more", argv[i],
                    value == NULL ? "" : value);
            return false;
        }
    }
    const part *part = request->part;
    if (part == NULL || (request->json == NULL) == (request->launches == 0)) {
        message("give --part and either --json or --launches; --help says more");
    } else if (part->paced && isnan(request->pace)) {
        message("the part %s is paced: say with --pace how many seconds a launch takes",
                part->name);
    } else if (part->kind == PART_IDLE && request->launches > 0) {
        message("--launches: the part %s launches nothing", part->name);
    } else {
        return true;
    }
    return false;
}

/* ---- operands */

/* Ends the program if a function of the rung or of the part has failed; it has printed why. */
static void check(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

/* A and B of such numbers, or of zeros, which are whole numbers from 0 to 0; D of NaN. */
static void fill(const run *run, const copy *copy, enum inputs inputs) {
    const uint64_t size = (uint64_t)run->request->size;
    const bool zeros = run->request->part->zeros;
    recipe recipe = {.inputs = zeros ? INPUTS_INTEGERS : inputs,
                     .range = zeros ? 0 : random_integer_range((int64_t)size, EXACT_INTEGER_LIMIT),
                     .seed = (uint64_t)run->request->seed,
                     .stream = RANDOM_STREAM_A,
                     .row = size,
                     .spacing = 1};
    operands_fill(copy->a.payload, NUMBER_BF16, size * size, &recipe, run->device.stream);
    recipe.stream = RANDOM_STREAM_B;
    operands_fill(copy->b.payload, NUMBER_BF16, size * size, &recipe, run->device.stream);
    buffer_poison(&copy->d, run->device.stream);
}

/* Operands, and what the part needs to run on them. */
static void make_copy(const run *run, const part *part, enum inputs inputs, copy *copy) {
    const int size = (int)run->request->size;
    const size_t bytes = (size_t)size * (size_t)size * number_bytes(NUMBER_BF16);
    copy->a = buffer_create(bytes, false, "A");
    copy->b = buffer_create(bytes, false, "B");
    copy->d = buffer_create(bytes, true, "D");
    fill(run, copy, inputs);
    copy->problem = (problem){.a = copy->a.payload,
                              .b = copy->b.payload,
                              .d = copy->d.payload,
                              .alpha = 1,
                              .m = size,
                              .n = size,
                              .k = size,
                              .stream = run->device.stream};
    check(part_prepare(part, run->rung, &copy->problem, run->request->pace, &copy->state));
}

static void free_copy(copy *copy) {
    part_release(copy->state);
    buffer_destroy(&copy->a);
    buffer_destroy(&copy->b);
    buffer_destroy(&copy->d);
}

static void launch(void *context, size_t number) {
    copy *copy = &((run *)context)->copies[number % COPIES];
    check(part_launch(&copy->problem, copy->state));
}

/* ---- is the result right? */

/* Compares all of both D, byte for byte, and looks at the guard bands. Returns an enum exit_status.
 */
static int compare_d(const char *name, const buffer *wanted, const buffer *found) {
    const size_t bytes = found->bytes;
    const size_t element = number_bytes(NUMBER_BF16);
    unsigned char *const memory = allocate(2, bytes);
    char text[256];
    size_t wrong = 0;
    buffer_download(wanted, memory, bytes);
    buffer_download(found, memory + bytes, bytes);
    for (size_t i = 0; i < bytes; i += element) {
        wrong += memcmp(memory + i, memory + bytes + i, element) != 0;
    }
    free(memory);
    if (!buffer_guards_intact(found, text, sizeof text)) {
        printf("WRONG      %s: %s\n", name, text);
        return STATUS_FAILED;
    }
    if (wrong > 0) {
        printf("WRONG      %s: %zu elements of D are not what they have to be\n", name, wrong);
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

/* D has to be what the rung makes of the same operands, or what it was before. Every other tile of
 * a CTA walks k backwards: with fewer CTAs than the rung's those are other tiles, and the sums
 * round otherwise. Then there is one more launch, on small whole numbers: their sums are exact in
 * any order. */
static int verify(run *run) {
    const part *part = run->request->part;
    copy *const found = &run->copies[0];
    copy wanted = {0};
    enum inputs inputs = INPUTS_NORMAL;
    if (part->stores && part->quarters != PART_QUARTERS) {
        inputs = INPUTS_INTEGERS;
        fill(run, found, inputs);
        launch(run, 0);
    }
    make_copy(run, &parts[0], inputs, &wanted);
    if (part->stores) {
        check(part_launch(&wanted.problem, wanted.state));
    }
    device_wait(&run->device, run->rung->name);
    const int status = compare_d(part->name, &wanted.d, &found->d);
    free_copy(&wanted);
    return status;
}

/* ---- the file */

/* Null of what counts nothing. */
static void write_counts(json *json, const run *run) {
    const enum part_kind kind = run->request->part->kind;
    if (kind == PART_RUNG || kind == PART_IDLE) {
        json_null(json, "counts");
        return;
    }
    const part_counts counts = part_count(&run->copies[0].problem, run->copies[0].state);
    json_object_begin(json, "counts");
    json_double(json, "flop", counts.flop);
    json_double(json, "operand_bytes", counts.operand_bytes);
    json_double(json, "loaded_bytes", counts.loaded_bytes);
    json_double(json, "stored_bytes", counts.stored_bytes);
    json_double(json, "exchanges", counts.exchanges);
    json_bool(json, "operands_in_dram", counts.operands_in_dram);
    json_object_end(json);
}

static void write_part(json *json, const run *run, const metered *metered) {
    const request *request = run->request;
    const part *part = request->part;
    const device_info *gpu = &run->device.info;
    const edges *edges = &metered->edges;
    json_object_begin(json, NULL);
    json_unsigned(json, "schema", SCHEMA);
    json_string(json, "kind", "energy part");
    json_string(json, "rung", run->rung->name);
    json_string(json, "part", part->name);
    json_string(json, "what", part->what);
    json_string(json, "commit", gemm_ladder_commit);
    report_write_gpu(json, gpu);
    json_object_begin(json, "problem");
    json_string(json, "computation", "gemm_bf16");
    json_unsigned(json, "m", (uint64_t)request->size);
    json_unsigned(json, "n", (uint64_t)request->size);
    json_unsigned(json, "k", (uint64_t)request->size);
    json_string(json, "inputs", "normal");
    json_unsigned(json, "seed", (uint64_t)request->seed);
    json_unsigned(json, "copies", COPIES);
    json_object_end(json);
    json_double(json, "peak_flop_per_cycle", gpu->sms * tensor_core_flop_per_cycle(gpu, false));
    json_bool(json, "zeros", part->zeros);
    json_double(json, "sm_share", part->quarters / (double)PART_QUARTERS);
    json_double(json, "pace", part->paced ? request->pace : NAN);
    json_double(json, "warm_up", request->warm_up);
    json_unsigned(json, "launches", metered->launches);
    json_double(json, "seconds", metered->seconds);
    json_double(json, "sm_clock_ghz", metered->clock_ghz);
    json_doubles(json, "celsius", metered->celsius, 2);
    json_object_begin(json, "edges");
    json_doubles(json, "before", edges->before, edges->count);
    json_doubles(json, "after", edges->after, edges->count);
    json_doubles(json, "joules", edges->joules, edges->count);
    json_object_end(json);
    write_counts(json, run);
    json_object_end(json);
}

/* ---- one part */

/* Launches, checks D, and writes what the launches took. The energy of a wrong result is not
 * reported. Returns an enum exit_status. */
static int run_part(run *run) {
    static metered metered; /* too large for the stack */
    const request *request = run->request;
    const part *part = request->part;
    const metered_work work = {part->name, part->kind == PART_IDLE ? NULL : launch, run};
    for (size_t i = 0; i < COPIES; ++i) {
        make_copy(run, part, INPUTS_NORMAL, &run->copies[i]);
    }
    device_wait(&run->device, "making the operands");
    if (request->json == NULL) { /* a profiler looks at these launches */
        for (size_t i = 0; i < (size_t)request->launches; ++i) {
            launch(run, i);
        }
        device_wait(&run->device, part->name);
        return verify(run);
    }
    meter(&run->device, &work, request->warm_up, request->seconds, &metered);
    const int status = verify(run);
    if (status != STATUS_VERIFIED) {
        return status;
    }
    if (metered.edges.count < LEAST_EDGES) {
        end_with(STATUS_FAILED,
                 "the energy counter moved %zu times in %g s, and %d are needed: measure longer, "
                 "or on a GPU that has one",
                 metered.edges.count, request->seconds, (int)LEAST_EDGES);
    }
    printf("%s: %zu launches of %.4g ms, %zu steps of the energy counter\n", part->name,
           metered.launches, 1e3 * metered.seconds, metered.edges.count);
    char error[ERROR_SIZE];
    json json;
    json_begin(&json);
    write_part(&json, run, &metered);
    if (json_commit(&json, request->json, error, sizeof error) != 0) {
        end_with(STATUS_FAILED, "--json: %s", error);
    }
    return STATUS_VERIFIED;
}

static int run_program(const step *rung, int argc, char **argv) {
    request request = {.size = 8192, .seed = 1, .warm_up = 0.9, .seconds = 2.0, .pace = NAN};
    run run = {.rung = rung, .request = &request};
    message_prefix("parts");
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        return list_parts();
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(USAGE, stdout);
        return STATUS_VERIFIED;
    }
    if (!parse(&request, argc, argv)) {
        return STATUS_USAGE;
    }
    device_open(rung, (int)request.device, &run.device);
    const int status = run_part(&run);
    for (size_t i = 0; i < COPIES; ++i) {
        free_copy(&run.copies[i]);
    }
    return status;
}

int step_main(const step *rung, int argc, char **argv) {
    return output_end(run_program(rung, argc, argv));
}
