/* One part of a rung, by itself, for seconds: what it takes by the driver's energy counter.
 *
 * The program is linked with the rung's object, whose main() calls the step_main() here: what the
 * parts compute is compared with what the rung computes. bench/energy/measure.py runs one part
 * after the other, each in a process of its own. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

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
    SMALLEST = 256,
    LARGEST = 32768,
    RUNG_QUARTERS = 4,
    LEAST_EDGES = 8 /* steps of the energy counter */
};

typedef struct request {
    const part *part;
    int size; /* m = n = k */
    int device;
    uint64_t seed;
    double warm_up, seconds, pace;
    size_t launches; /* 0: as many as fill the seconds, and their energy is read */
    const char *json;
} request;

/* A copy of the operands, so that timed launches do not find them in the L2. */
typedef struct copy {
    buffer a, b, d;
    problem problem;
    void *state; /* what the rung's, or the part's, prepare made */
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

static int bad_usage(const char *option, const char *value) {
    message("%s '%s' is not understood; --help says more", option, value == NULL ? "" : value);
    return STATUS_USAGE;
}

static int list_parts(void) {
    for (size_t i = 0; i < parts_count; ++i) {
        printf("%s\t%s\t%s\n", parts[i].name, parts[i].paced ? "paced" : "", parts[i].what);
    }
    return STATUS_VERIFIED;
}

static bool read_number(const char *text, double low, double high, double *number) {
    char *end = NULL;
    *number = text == NULL ? NAN : strtod(text, &end);
    return text != NULL && *text != '\0' && *end == '\0' && *number >= low && *number <= high;
}

static bool read_whole(const char *text, double low, double high, double *number) {
    return read_number(text, low, high, number) && *number == floor(*number);
}

/* True if the option and its value are good. */
static bool take(request *request, const char *option, const char *value) {
    double number = 0;
    if (strcmp(option, "--part") == 0) {
        request->part = value == NULL ? NULL : part_named(value);
        return request->part != NULL;
    }
    if (strcmp(option, "--json") == 0) {
        request->json = value;
        return value != NULL;
    }
    if (strcmp(option, "--size") == 0 && read_whole(value, SMALLEST, LARGEST, &number)) {
        request->size = (int)number;
        return request->size % SMALLEST == 0;
    }
    if (strcmp(option, "--device") == 0 && read_whole(value, 0, 1023, &number)) {
        request->device = (int)number;
        return true;
    }
    if (strcmp(option, "--launches") == 0 && read_whole(value, 1, 1000, &number)) {
        request->launches = (size_t)number;
        return true;
    }
    if (strcmp(option, "--seed") == 0 && read_whole(value, 0, 1e15, &number)) {
        request->seed = (uint64_t)number;
        return true;
    }
    double *const seconds = strcmp(option, "--pace") == 0      ? &request->pace
                            : strcmp(option, "--warm-up") == 0 ? &request->warm_up
                            : strcmp(option, "--seconds") == 0 ? &request->seconds
                                                               : NULL;
    if (seconds == NULL || !read_number(value, 1e-6, 600, &number)) {
        return false;
    }
    *seconds = number;
    return true;
}

/* Returns an enum exit_status. */
static int parse(request *request, int argc, char **argv) {
    char error[ERROR_SIZE];
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (!take(request, argv[i], value)) {
            return bad_usage(argv[i], value);
        }
    }
    if (request->part == NULL || (request->json == NULL) == (request->launches == 0)) {
        message("--part and either --json or --launches are wanted; --help says more");
        return STATUS_USAGE;
    }
    if (request->part->paced && isnan(request->pace)) {
        message("the part %s is paced: say with --pace how many seconds a launch takes",
                request->part->name);
        return STATUS_USAGE;
    }
    if (request->json != NULL && json_writable(request->json, error, sizeof error) != 0) {
        message("--json: %s", error);
        return STATUS_USAGE;
    }
    return STATUS_VERIFIED;
}

/* ---- operands */

static void fill(const run *run, const buffer *to, enum inputs inputs, enum random_stream stream) {
    const size_t count = to->bytes / number_bytes(NUMBER_BF16);
    const recipe recipe = {.inputs = inputs,
                           .range = random_integer_range(run->request->size, EXACT_INTEGER_LIMIT),
                           .seed = run->request->seed,
                           .stream = (uint64_t)stream,
                           .row = (uint64_t)run->request->size};
    if (run->request->part->zeros) {
        cuda_check(cudaMemsetAsync(to->payload, 0, to->bytes, run->device.stream),
                   "filling an operand with zeros");
    } else {
        operands_fill(to->payload, NUMBER_BF16, count, &recipe, run->device.stream);
    }
}

static void fill_operands(const run *run, const copy *copy, enum inputs inputs) {
    fill(run, &copy->a, inputs, RANDOM_STREAM_A);
    fill(run, &copy->b, inputs, RANDOM_STREAM_B);
    buffer_poison(&copy->d, run->device.stream);
}

static void make_copy(const run *run, copy *copy) {
    const int size = run->request->size;
    const size_t bytes = (size_t)size * (size_t)size * number_bytes(NUMBER_BF16);
    copy->a = buffer_create(bytes, false, "A");
    copy->b = buffer_create(bytes, false, "B");
    copy->d = buffer_create(bytes, true, "D");
    fill_operands(run, copy, INPUTS_NORMAL);
    copy->problem = (problem){.a = copy->a.payload,
                              .b = copy->b.payload,
                              .d = copy->d.payload,
                              .alpha = 1,
                              .m = size,
                              .n = size,
                              .k = size,
                              .stream = run->device.stream};
}

static bool is_rung(const run *run) { return run->request->part->kind == PART_RUNG; }

/* Of a function of the rung's, or of the part's: it has printed its line. */
static void check(int status) {
    if (status != 0) {
        exit(output_end(STATUS_FAILED));
    }
}

static void prepare(const run *run, copy *copy) {
    check(is_rung(run)
              ? run->rung->prepare(&copy->problem, &copy->state)
              : part_prepare(run->request->part, &copy->problem, run->request->pace, &copy->state));
}

static void launch(void *context, size_t number) {
    run *run = context;
    copy *copy = &run->copies[number % COPIES];
    check(is_rung(run) ? run->rung->launch(&copy->problem, copy->state)
                       : part_launch(&copy->problem, copy->state));
}

static void make_copies(run *run) {
    for (size_t i = 0; i < COPIES; ++i) {
        make_copy(run, &run->copies[i]);
        prepare(run, &run->copies[i]);
    }
    device_wait(&run->device, "making the operands");
}

static void free_copy(const run *run, copy *copy) {
    if (is_rung(run) && copy->state != NULL) {
        run->rung->release(copy->state);
    } else {
        part_release(copy->state);
    }
    buffer_destroy(&copy->a);
    buffer_destroy(&copy->b);
    buffer_destroy(&copy->d);
}

/* ---- is the result right? */

/* What the rung computes from a copy's operands, into `to`. */
static void run_rung(const run *run, const copy *copy, const buffer *to) {
    problem problem = copy->problem;
    void *state = NULL;
    problem.d = to->payload;
    check(run->rung->prepare(&problem, &state));
    check(run->rung->launch(&problem, state));
    device_wait(&run->device, run->rung->name);
    if (state != NULL) {
        run->rung->release(state);
    }
}

/* What D has to be after the part ran: the rung's product, or what it was before. */
static void make_wanted(const run *run, const copy *copy, unsigned char *host) {
    const buffer product = buffer_create(copy->d.bytes, true, "the rung's D");
    buffer_poison(&product, run->device.stream);
    device_wait(&run->device, "filling the rung's D");
    if (run->request->part->stores) {
        run_rung(run, copy, &product);
    }
    buffer_download(&product, host, product.bytes);
    buffer_destroy(&product);
}

/* Compares all of D, byte for byte, and looks at the guard bands. Returns an enum exit_status. */
static int check_d(const copy *copy, const unsigned char *wanted, unsigned char *found,
                   const char *name) {
    char text[256];
    buffer_download(&copy->d, found, copy->d.bytes);
    if (!buffer_guards_intact(&copy->d, text, sizeof text)) {
        printf("WRONG      %s: %s\n", name, text);
        return STATUS_FAILED;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < copy->d.bytes; i += number_bytes(NUMBER_BF16)) {
        wrong += memcmp(wanted + i, found + i, number_bytes(NUMBER_BF16)) != 0;
    }
    if (wrong > 0) {
        printf("WRONG      %s: %zu elements of D are not what they have to be\n", name, wrong);
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

/* True if the part adds each element's products in the rung's order. Every other tile of a CTA
 * walks k backwards: with fewer CTAs those are other tiles, and the sums round otherwise. */
static bool adds_as_the_rung(const part *part) { return part->quarters == RUNG_QUARTERS; }

/* One more launch, on small whole numbers: their sums are exact in any order. */
static void launch_on_integers(run *run) {
    fill_operands(run, &run->copies[0], INPUTS_INTEGERS);
    launch(run, 0);
    device_wait(&run->device, run->request->part->name);
}

static int verify(run *run) {
    const copy *copy = &run->copies[0];
    const part *part = run->request->part;
    if (part->stores && !adds_as_the_rung(part)) {
        launch_on_integers(run);
    }
    unsigned char *wanted = allocate(copy->d.bytes, 1);
    unsigned char *found = allocate(copy->d.bytes, 1);
    make_wanted(run, copy, wanted);
    const int status = check_d(copy, wanted, found, part->name);
    free(wanted);
    free(found);
    return status;
}

/* ---- the file */

static void write_edges(json *json, const edges *edges) {
    json_object_begin(json, "edges");
    json_doubles(json, "before", edges->before, edges->count);
    json_doubles(json, "after", edges->after, edges->count);
    json_doubles(json, "joules", edges->joules, edges->count);
    json_object_end(json);
}

static void write_counts(json *json, const run *run) {
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

static void write_problem(json *json, const request *request) {
    json_object_begin(json, "problem");
    json_string(json, "computation", "gemm_bf16");
    json_unsigned(json, "m", (uint64_t)request->size);
    json_unsigned(json, "n", (uint64_t)request->size);
    json_unsigned(json, "k", (uint64_t)request->size);
    json_string(json, "inputs", "normal");
    json_unsigned(json, "seed", request->seed);
    json_unsigned(json, "copies", COPIES);
    json_object_end(json);
}

static int write_json(const run *run, const metered *metered) {
    char error[ERROR_SIZE];
    const request *request = run->request;
    const device_info *gpu = &run->device.info;
    const bool counted = !is_rung(run);
    json json;
    json_begin(&json);
    json_object_begin(&json, NULL);
    json_unsigned(&json, "schema", SCHEMA);
    json_string(&json, "kind", "energy part");
    json_string(&json, "rung", run->rung->name);
    json_string(&json, "part", request->part->name);
    json_string(&json, "what", request->part->what);
    json_string(&json, "commit", gemm_ladder_commit);
    report_write_gpu(&json, gpu);
    write_problem(&json, request);
    json_double(&json, "peak_flop_per_cycle",
                gpu->sms * tensor_core_flop_per_cycle(gpu->compute_capability));
    json_bool(&json, "zeros", request->part->zeros);
    json_double(&json, "sm_share", request->part->quarters / (double)RUNG_QUARTERS);
    json_double(&json, "pace", request->part->paced ? request->pace : NAN);
    json_double(&json, "warm_up", request->warm_up);
    json_unsigned(&json, "launches", metered->launches);
    json_double(&json, "seconds", metered->seconds);
    json_double(&json, "sm_clock_ghz", metered->clock_ghz);
    json_doubles(&json, "celsius", metered->celsius, 2);
    write_edges(&json, &metered->edges);
    if (counted && request->part->kind != PART_IDLE) {
        write_counts(&json, run);
    } else {
        json_null(&json, "counts");
    }
    json_object_end(&json);
    if (json_commit(&json, request->json, error, sizeof error) != 0) {
        message("--json: %s", error);
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

/* ---- one part */

/* The launches that a profiler is to look at, and whether D is right after them. Returns an enum
 * exit_status. */
static int only_launch(run *run) {
    const request *request = run->request;
    if (request->part->kind == PART_IDLE) {
        message("--launches: the part %s launches nothing", request->part->name);
        return STATUS_USAGE;
    }
    make_copies(run);
    for (size_t i = 0; i < request->launches; ++i) {
        launch(run, i);
    }
    device_wait(&run->device, request->part->name);
    return verify(run);
}

static int measure(run *run) {
    static metered metered; /* too large for the stack */
    const request *request = run->request;
    const bool idle = request->part->kind == PART_IDLE;
    const metered_work work = {request->part->name, idle ? NULL : launch, run};
    make_copies(run);
    meter(&run->device, &work, request->warm_up, request->seconds, &metered);
    const int status = verify(run);
    if (status != STATUS_VERIFIED) {
        return status; /* the energy of a wrong result is not reported */
    }
    if (metered.edges.count < LEAST_EDGES) {
        message("the energy counter moved %zu times in %g s, and %d are needed: measure longer, or "
                "on a GPU that has one",
                metered.edges.count, request->seconds, (int)LEAST_EDGES);
        return STATUS_FAILED;
    }
    printf("%s: %zu launches of %.4g ms, %zu steps of the energy counter\n", request->part->name,
           metered.launches, 1e3 * metered.seconds, metered.edges.count);
    return write_json(run, &metered);
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
    int status = parse(&request, argc, argv);
    if (status != STATUS_VERIFIED) {
        return status;
    }
    device_open(rung, request.device, &run.device);
    status = request.launches > 0 ? only_launch(&run) : measure(&run);
    for (size_t i = 0; i < COPIES; ++i) {
        free_copy(&run, &run.copies[i]);
    }
    return status;
}

int step_main(const step *rung, int argc, char **argv) {
    return output_end(run_program(rung, argc, argv));
}
