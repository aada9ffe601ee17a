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
    device device;    /* once a run has taken it */
    bool interrupted; /* by Ctrl-C, while a run was timed */
} program;

/* Checks everything that must be right before a GPU is looked for. */
static void check_request(const step *step, const options *o) {
    char error[ERROR_SIZE];
    const char *why = o->json != NULL ? json_refusal(o->json) : NULL;
    if (arithmetic_of(step).name == NULL) {
        end_with(STATUS_USAGE, "computes something that this program cannot check (%d)",
                 (int)step->computes);
    }
    if (shape_check(step, o->m, o->n, o->k, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "%s", error);
    }
    if (why != NULL) {
        end_with(STATUS_USAGE, "--json: cannot write '%s': %s", o->json, why);
    }
}

/* The trials of a default run, at other shapes. The emulator takes one processor: another process
 * makes trials from the last one on while this one makes them from the first on, until they meet.
 * So what is reported does not depend on time: it is the first that is wrong. */
typedef struct trials {
    trial of[MOST_TRIALS];
    size_t count;
    int untaken; /* a pipe with a byte for each */
    pid_t other;
} trials;

/* Checks the rung at one shape, and prints nothing unless it is wrong. */
static bool run_trial(const program *program, const options *o) {
    workload workload;
    verification verification;
    workload_open(&workload, program->step, &program->device, o);
    verify_before_timing(&workload, &verification);
    const bool right = verification_right(&verification, &workload);
    if (!right) {
        const report report = {.workload = &workload, .verification = &verification};
        report_print_setup(stdout, &report);
        report_print_verification(stdout, &report);
    }
    workload_close(&workload);
    return right;
}

/* Trials that no process has taken, up to one that is wrong. */
static bool run_trials(const program *program, const trials *trials, bool from_last) {
    bool right = true;
    char byte;
    for (size_t i = 0; right && read(trials->untaken, &byte, 1) == 1; ++i) {
        right = run_trial(program, &trials->of[from_last ? trials->count - 1 - i : i].options);
    }
    return right;
}

/* Begins the other process, which prints nothing. It ends with this one, without atexit's
 * functions, which are for the end of the program. */
static void start_other(const program *program, trials *trials) {
    static const char bytes[MOST_TRIALS];
    int ends[2];
    fflush(stdout); /* or both processes would print what it holds */
    const bool filled =
        pipe(ends) == 0 && write(ends[1], bytes, trials->count) == (ssize_t)trials->count;
    close(ends[1]);
    trials->untaken = ends[0];
    trials->other = filled ? fork() : -1;
    if (trials->other < 0) {
        end_with(STATUS_FAILED, "cannot start another process: %s", strerror(errno));
    }
    if (trials->other == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("EMULATOR_STORY", "0", 1); /* none is told of what is found here */
        const bool silent =
            freopen("/dev/null", "w", stdout) != NULL && freopen("/dev/null", "w", stderr) != NULL;
        _exit(silent && run_trials(program, trials, true) ? STATUS_VERIFIED : STATUS_FAILED);
    }
}

/* Waits for the other process. Trials that it found wrong are made again here, to print why. */
static bool end_other(const program *program, const trials *trials) {
    int status = 0;
    if (trials->count == 0 ||
        (waitpid(trials->other, &status, 0) == trials->other && status == STATUS_VERIFIED)) {
        return true;
    }
    size_t left = trials->count;
    while (left > 0 && run_trial(program, &trials->of[left - 1].options)) {
        --left;
    }
    if (left == 0) {
        end_with(STATUS_FAILED, "the process that made trials has failed, by status 0x%x",
                 (unsigned)status);
    }
    return false;
}

/* Checks the rung at its own shape, waits for the trials elsewhere, and measures. */
static bool run_shape(program *program, const options *o, const trials *trials) {
    workload workload;
    verification verification;
    report report = {.workload = &workload,
                     .verification = &verification,
                     .trial = trials->of,
                     .trials = trials->count};
    workload_open(&workload, program->step, &program->device, o);
    if (trials->count == 0) {
        report_print_setup(stdout, &report);
    }
    verify_before_timing(&workload, &verification);
    bool right = verification_right(&verification, &workload);
    if (right && !end_other(program, trials)) {
        return false;
    }
    if (trials->count > 0) {
        report_print_setup(stdout, &report);
    }
    if (right) {
        machine_measure(&workload, &verification, &report);
        right = verification_right(&verification, &workload);
    }
    report_print_verification(stdout, &report);
    report_print_measured(stdout, &report);
    if (right && o->json != NULL) {
        report_write(&report, o->json);
    }
    program->interrupted = report.timing != NULL && report.timing->interrupted;
    workload_close(&workload);
    return right;
}

/* Prints the trials of a default run: the name of the edge, a tab, and the options of a run there.
 */
static bool list_trials(const trials *trials) {
    for (const trial *trial = trials->of; trial < trials->of + trials->count; ++trial) {
        char shape[SHAPE_OPTIONS_SIZE];
        options_of_shape(&trial->options, shape);
        print_if(stdout, trial->edge == NULL, "kernel %d", trial->options.kernel);
        printf("%s\t%s --inputs %s\n", trial->edge == NULL ? "" : trial->edge, shape,
               inputs_name(trial->options.inputs));
    }
    return true;
}

/* Prints why the rung takes a kernel, or what each of its kernels is. */
static bool explain(const step *step, const options *o) {
    problem shape = {.m = o->m, .n = o->n, .k = o->k};
    const int last = o->searches ? step->kernels : o->kernel;
    bool good = true;
    for (shape.kernel = o->searches ? 1 : last; good && shape.kernel <= last; ++shape.kernel) {
        good = step->explain(&shape) == 0;
    }
    return good;
}

static bool run(program *program, const options *o) {
    trials trials = {.count = 0};
    check_request(program->step, o);
    if (program->device.info.sms == 0) {
        device_open(program->step, o->device, &program->device);
    }
    if (o->explain) {
        return explain(program->step, o);
    }
    if (o->trials || o->is_default) {
        trials.count = machine_trials(program->step, program->device.info.sms, o, trials.of);
    }
    if (o->trials) {
        return list_trials(&trials);
    }
    if (trials.count > 0) {
        start_other(program, &trials);
        if (!run_trials(program, &trials, false)) {
            return false;
        }
        close(trials.untaken);
    }
    return run_shape(program, o, &trials);
}

static options parse(const program *program, int argc, char **argv) {
    options options;
    char error[ERROR_SIZE];
    if (options_parse(argc, argv, &program->rules, &options, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "%s (--help says more)", error);
    }
    return options;
}

/* A run for each line of the file, which has its options with tabs between, in one process: CUDA
 * and cuBLAS start once. */
static bool run_lines(program *program, const char *path) {
    static char prefix[64]; /* of messages */
    char *line = NULL;
    size_t room = 0;
    bool right = true;
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        end_with(STATUS_USAGE, "--runs: cannot read '%s': %s", path, strerror(errno));
    }
    for (int i = 1; right && !program->interrupted && getline(&line, &room, file) > 0; ++i) {
        char *argv[MOST_WORDS + 2] = {NULL};
        int argc = 1;
        char *word = strtok(line, "\t\n");
        for (; word != NULL && argc <= MOST_WORDS; word = strtok(NULL, "\t\n")) {
            argv[argc++] = word;
        }
        snprintf(prefix, sizeof prefix, "%s: --runs, line %d", program->step->name, i);
        message_prefix(prefix);
        const options o = parse(program, argc, argv);
        if (argc == 1 || word != NULL || o.help || o.runs != NULL) {
            end_with(STATUS_USAGE, "the options of one run, without --help and --runs");
        }
        right = run(program, &o);
    }
    free(line);
    fclose(file);
    return right;
}

int step_main(const step *step, int argc, char **argv) {
    program program = {.step = step, .rules = machine_option_rules(step)};
    message_prefix(step->name);
    const options options = parse(&program, argc, argv);
    if (options.help) {
        options_print_help(stdout, step, &program.rules);
        return output_end(STATUS_VERIFIED);
    }
    const bool right =
        options.runs != NULL ? run_lines(&program, options.runs) : run(&program, &options);
    return output_end(right ? STATUS_VERIFIED : STATUS_FAILED);
}
