/* The program around a rung: read the options, take the machine, check, measure, report. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* A default run: its own shape, and trials at others. The emulator takes one processor: another
 * process takes every other trial, beside this one. */
typedef struct shapes {
    program *program;
    options trial[MOST_TRIALS];
    size_t count;
    char text[MOST_TRIALS * 40 + 64]; /* the trials, for the report */
    pid_t other;                      /* the process; not positive: there is none */
    FILE *said[2];                    /* what it has printed on stdout and stderr */
} shapes;

/* Checks the rung at one shape, and measures it unless it is a trial: then it has no shapes, and
 * prints nothing unless it is wrong. True if all is right. */
static bool run_shape(program *program, const options *o, const shapes *shapes);

/* Every other trial, from that one on, up to the first that is wrong. */
static bool run_trials(const shapes *shapes, size_t first) {
    bool right = true;
    for (size_t i = first; right && i < shapes->count; i += 2) {
        right = run_shape(shapes->program, &shapes->trial[i], NULL);
    }
    return right;
}

/* Begins the other process: what it prints is held back. It ends with this one, without atexit's
 * functions, which are for the end of the program. */
static void start_other(shapes *shapes) {
    shapes->said[0] = tmpfile();
    shapes->said[1] = tmpfile();
    fflush(stdout); /* or both processes would print what it holds */
    shapes->other = shapes->said[0] == NULL || shapes->said[1] == NULL ? -1 : fork();
    if (shapes->other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(fileno(shapes->said[0]), STDOUT_FILENO);
        dup2(fileno(shapes->said[1]), STDERR_FILENO);
        progress_silence();
        const bool right = run_trials(shapes, 1);
        _exit(output_end(right ? STATUS_VERIFIED : STATUS_FAILED));
    }
}

/* Waits for the other process and prints what it printed. Ends the program as it ended, unless all
 * was right. Its trials are made here if there is none. */
static void end_other(const shapes *shapes) {
    int status;
    if (shapes->other < 0 && !run_trials(shapes, 1)) {
        exit(output_end(STATUS_FAILED));
    } else if (shapes->other < 0) {
        return;
    }
    if (waitpid(shapes->other, &status, 0) != shapes->other) {
        end_with(STATUS_FAILED, "cannot wait for process %d", (int)shapes->other);
    }
    for (int i = 0; i < 2; ++i) {
        rewind(shapes->said[i]);
        for (int c; (c = fgetc(shapes->said[i])) != EOF;) {
            fputc(c, i == 0 ? stdout : stderr);
        }
        fclose(shapes->said[i]);
    }
    if (WIFSIGNALED(status)) {
        raise(WTERMSIG(status));
    } else if (WEXITSTATUS(status) != STATUS_VERIFIED) {
        exit(output_end(WEXITSTATUS(status)));
    }
}

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
        end_other(shapes);
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

static void name_trials(shapes *shapes) {
    size_t used = 0;
    for (size_t i = 0; i < shapes->count; ++i) {
        const options *trial = &shapes->trial[i];
        char k[24] = "";
        if (trial->kernel > 1) {
            continue; /* the same shape */
        }
        snprintf(k, sizeof k, " x %d", trial->k);
        used += (size_t)snprintf(shapes->text + used, sizeof shapes->text - used, "%s%d x %d%s%s",
                                 i > 0 ? ", " : "", trial->m, trial->n, trial->k > 0 ? k : "",
                                 trial->kernel == 1 ? " with each kernel" : "");
    }
}

/* What is found here comes first. */
static bool run_shapes(program *program, const options *o) {
    static shapes shapes; /* too large for the stack */
    shapes = (struct shapes){.program = program};
    shapes.count = machine_trials(program->step, program->device.info.sms, o, shapes.trial);
    if (shapes.count > 0) {
        name_trials(&shapes);
        start_other(&shapes);
    }
    return run_trials(&shapes, 0) && run_shape(program, o, &shapes);
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

/* Prints why the rung takes a kernel, or what each of its kernels is. */
static bool explain(const step *step, const options *o) {
    problem shape = {.m = o->m, .n = o->n, .k = o->k, .kernel = o->every_kernel ? 1 : o->kernel};
    bool good = step->explain(&shape) == 0;
    while (good && o->every_kernel && shape.kernel < step->kernels) {
        ++shape.kernel;
        good = step->explain(&shape) == 0;
    }
    return good;
}

/* The first run takes the machine. */
static bool run(program *program, const options *o) {
    check_request(program->step, o);
    if (!program->has_device) {
        device_open(program->step, o->device, &program->device);
        program->has_device = true;
    }
    if (o->explain) {
        return explain(program->step, o);
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
