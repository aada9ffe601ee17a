/* The program around a rung: read the options, take the machine, check, measure, report. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/beside.h"
#include "harness/machine.h"
#include "harness/message.h"

enum { ERROR_SIZE = 512, MOST_WORDS = 64 };

/* What all runs share. */
typedef struct program {
    const step *step;
    option_rules rules;
    device device;
    bool has_device;
    bool interrupted; /* by Ctrl-C, while a run was timed */
} program;

/* Checks everything that must be right before a GPU is looked for. */
static void check_request(const step *step, const options *o) {
    char error[ERROR_SIZE];
    if (arithmetic_of(step).name == NULL) {
        end_with(STATUS_USAGE, "computes something that this program cannot check (%d)",
                 (int)step->computes);
    }
    if (shape_check(step, o->m, o->n, o->k, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "%s", error);
    }
    if (o->json != NULL && json_writable(o->json, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "--json: %s", error);
    }
}

/* A default run: its own shape, and trials at others before it. The emulator takes one processor:
 * another process, beside this one, takes trials from the last one on. */
typedef struct shapes {
    program *program;
    options trial[MOST_TRIALS];
    size_t count;
    int untaken;                      /* a pipe with a byte for each of them */
    char text[MOST_TRIALS * 40 + 64]; /* the trials, for the report */
    beside beside;
} shapes;

/* Checks the rung at one shape, and measures it unless it is a trial: then it has no shapes, and
 * prints nothing unless it is wrong. True if all is right. */
static bool run_shape(program *program, const options *o, const shapes *shapes) {
    workload workload;
    verification verification;
    const bool is_trial = shapes == NULL;
    const bool has_trials = !is_trial && shapes->count > 0;
    workload_open(&workload, program->step, &program->device, o);
    report report = {.workload = &workload,
                     .trials = has_trials ? shapes->text : NULL,
                     .verification = &verification};
    if (!is_trial && !has_trials) {
        report_print_setup(stdout, &report);
    }
    verify_before_timing(&workload, &verification);
    bool right = verification_right(&verification, &workload);
    if (has_trials && right) {
        beside_end(&shapes->beside); /* and the program, if a trial is wrong */
    }
    if (has_trials || (is_trial && !right)) {
        report_print_setup(stdout, &report);
    }
    if (!is_trial && right) {
        machine_measure(&workload, &verification, &report);
        right = verification_right(&verification, &workload);
    }
    if (!is_trial || !right) {
        report_print_verification(stdout, &report);
    }
    report_print_measured(stdout, &report);
    if (!is_trial && right && o->json != NULL) {
        report_write(&report, o->json);
    }
    program->interrupted = report.timing != NULL && report.timing->interrupted;
    workload_close(&workload);
    return right;
}

static bool run_trials(const shapes *shapes, bool from_the_last) {
    bool right = true;
    char byte;
    for (size_t i = 0; right && read(shapes->untaken, &byte, 1) == 1; ++i) {
        const size_t number = from_the_last ? shapes->count - 1 - i : i;
        right = run_shape(shapes->program, &shapes->trial[number], NULL);
    }
    return right;
}

static bool run_apart(void *context) { return run_trials(context, true); }

static void name_trials(shapes *shapes) {
    size_t used = 0;
    for (size_t i = 0; i < shapes->count; ++i) {
        const options *trial = &shapes->trial[i];
        if (trial->kernel > 1) {
            continue; /* the same shape */
        }
        used += (size_t)snprintf(shapes->text + used, sizeof shapes->text - used, "%s%d x %d",
                                 i > 0 ? ", " : "", trial->m, trial->n);
        if (trial->k > 0) {
            used += (size_t)snprintf(shapes->text + used, sizeof shapes->text - used, " x %d%s",
                                     trial->k, trial->kernel == 1 ? " with each kernel" : "");
        }
    }
}

/* A pipe from which that many bytes can be read, by whoever comes first. */
static int pipe_of(size_t bytes) {
    static const char some[MOST_TRIALS];
    int ends[2];
    if (pipe(ends) != 0 || write(ends[1], some, bytes) != (ssize_t)bytes) {
        end_with(STATUS_FAILED, "cannot fill a pipe with %zu bytes: %s", bytes, strerror(errno));
    }
    close(ends[1]);
    return ends[0];
}

/* Which trials a process takes depends on time, but not what is reported: each stops at a mistake,
 * and what this one finds comes first. Without another process this one takes all. */
static bool run_shapes(program *program, const options *o) {
    static shapes shapes; /* too large for the stack */
    shapes = (struct shapes){.program = program};
    shapes.count = machine_trials(program->step, program->device.info.sms, o, shapes.trial);
    if (shapes.count == 0) {
        return run_shape(program, o, &shapes);
    }
    name_trials(&shapes);
    shapes.untaken = pipe_of(shapes.count);
    beside_start(&shapes.beside, run_apart, &shapes);
    const bool right = run_trials(&shapes, false) && run_shape(program, o, &shapes);
    close(shapes.untaken);
    return right;
}

/* where: "", or which line of --runs has these arguments. */
static options parse(const program *program, int argc, char **argv, const char *where) {
    options options;
    char error[ERROR_SIZE];
    if (options_parse(argc, argv, &program->rules, &options, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "%s%s (--help says more)", where, error);
    }
    return options;
}

/* The first run takes the machine. */
static bool run(program *program, const options *o) {
    check_request(program->step, o);
    if (!program->has_device) {
        device_open(program->step, o->device, &program->device);
        program->has_device = true;
    }
    if (o->explain) {
        const problem shape = {.m = o->m, .n = o->n, .k = o->k, .kernel = o->kernel};
        return program->step->explain(&shape) == 0;
    }
    return run_shapes(program, o);
}

/* The options of a line of --runs, with tabs between them. Ends the program if it has none, or one
 * that is of no single run. */
static options parse_line(const program *program, int number, char *line) {
    char *argv[MOST_WORDS + 2] = {NULL};
    char where[32];
    int argc = 1;
    snprintf(where, sizeof where, "--runs, line %d: ", number);
    for (char *word = strtok(line, "\t\n"); word != NULL; word = strtok(NULL, "\t\n")) {
        if (argc > MOST_WORDS) {
            end_with(STATUS_USAGE, "%smore than %d words", where, MOST_WORDS);
        }
        argv[argc++] = word;
    }
    if (argc == 1) {
        end_with(STATUS_USAGE, "%sno options", where);
    }
    const options options = parse(program, argc, argv, where);
    if (options.help || options.runs != NULL) {
        end_with(STATUS_USAGE, "%s%s belongs on the command line", where,
                 options.help ? "--help" : "--runs");
    }
    return options;
}

/* A run for each line of the file, in one process: CUDA and cuBLAS start once. */
static bool run_lines(program *program, const char *path) {
    char *line = NULL;
    size_t room = 0;
    bool right = true;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        end_with(STATUS_USAGE, "--runs: cannot read '%s': %s", path, strerror(errno));
    }
    for (int number = 1; right && !program->interrupted && getline(&line, &room, file) > 0;
         ++number) {
        const options o = parse_line(program, number, line);
        right = run(program, &o);
    }
    free(line);
    fclose(file);
    return right;
}

int step_main(const step *step, int argc, char **argv) {
    program program = {.step = step, .rules = machine_option_rules(step)};
    message_prefix(step->name);
    const options options = parse(&program, argc, argv, "");
    if (options.help) {
        options_print_help(stdout, step, &program.rules);
        return output_end(STATUS_VERIFIED);
    }
    const bool right =
        options.runs != NULL ? run_lines(&program, options.runs) : run(&program, &options);
    return output_end(right ? STATUS_VERIFIED : STATUS_FAILED);
}
