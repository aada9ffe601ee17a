/* The program around a rung: read the options, take the machine, check, measure, report. */
#include <stdio.h>
#include <string.h>

#include "harness/arithmetic.h"
#include "harness/device.h"
#include "harness/json.h"
#include "harness/machine.h"
#include "harness/message.h"
#include "harness/options.h"
#include "harness/report.h"
#include "harness/verify.h"
#include "harness/workload.h"
#include "step.h"

enum { ERROR_SIZE = 512 };

/* All that must be right before a GPU is looked for. Returns an enum exit_status. */
static int check_request(const step *step, const options *o) {
    char error[ERROR_SIZE];
    if (arithmetic_of(step).name == NULL) {
        message("computes something that this program cannot check (%d)", (int)step->computes);
        return STATUS_USAGE;
    }
    if (shape_check(step, o->m, o->n, o->k, error, sizeof error) != 0) {
        message("%s", error);
        return STATUS_USAGE;
    }
    if (o->json != NULL && json_writable(o->json, error, sizeof error) != 0) {
        message("--json: %s", error);
        return STATUS_USAGE;
    }
    return STATUS_VERIFIED;
}

static report make_report(const workload *workload, const options *o) {
    return (report){.step = workload->step,
                    .options = o,
                    .device = &workload->device->info,
                    .copies = workload->copies,
                    .operand_bytes = workload_operand_bytes(workload),
                    .names = workload->contenders.names};
}

/* Prints what is known, and writes the file if one is wanted. */
static int publish(const report *report) {
    char error[ERROR_SIZE];
    report_print_verification(stdout, report);
    if (report->timing != NULL) {
        report_print_timing(stdout, report);
    }
    if (report->emulation != NULL) {
        emulation_print(stdout, report->emulation);
    }
    if (report->trace != NULL) {
        trace_print(stdout, report->trace);
    }
    const char *path = report->options->json;
    if (path != NULL && report_write_json(report, path, error, sizeof error) != 0) {
        message("--json: %s", error);
        return STATUS_FAILED;
    }
    return verification_right(report->verification) ? STATUS_VERIFIED : STATUS_FAILED;
}

static int run_workload(workload *workload, const options *o, const char *trials) {
    report report = make_report(workload, o);
    verification verification;
    report.trials = trials;
    report.verification = &verification;
    report_print_setup(stdout, &report);
    verify_before_timing(workload, o, &verification);
    if (verification_right(&verification)) {
        machine_measure(workload, o, &verification, &report);
    }
    return publish(&report);
}

/* Checks the rung at one shape; nothing is printed unless it is wrong. */
static int try_shape(workload *workload, const options *o) {
    report report = make_report(workload, o);
    verification verification;
    verify_before_timing(workload, o, &verification);
    if (verification_right(&verification)) {
        return STATUS_VERIFIED;
    }
    report.verification = &verification;
    report_print_setup(stdout, &report);
    report_print_verification(stdout, &report);
    return STATUS_FAILED;
}

/* A trial, or (its shapes are in the text) the run after all of them. */
static int run_on(const device *device, const step *step, const options *o, bool is_trial,
                  const char *trials) {
    workload workload;
    int status = workload_open(&workload, step, device, o);
    if (status == STATUS_VERIFIED) {
        status = is_trial ? try_shape(&workload, o) : run_workload(&workload, o, trials);
    }
    workload_close(&workload);
    return status;
}

/* Then the run that is told of, after the trials of a default run. */
static int try_and_run(const device *device, const step *step, const options *o) {
    options trials[MOST_TRIALS];
    char text[MOST_TRIALS * 40 + 64] = "";
    const size_t count = machine_trials(step, device->info.sms, o, trials);
    int used = 0;
    for (size_t i = 0; i < count; ++i) {
        const int status = run_on(device, step, &trials[i], true, NULL);
        if (status != STATUS_VERIFIED) {
            return status;
        }
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d x %d", i > 0 ? ", " : "",
                         trials[i].m, trials[i].n);
        if (trials[i].k > 0) {
            used += snprintf(text + used, sizeof text - (size_t)used, " x %d", trials[i].k);
        }
    }
    return run_on(device, step, o, false, count > 0 ? text : NULL);
}

static int run_program(const step *step, int argc, char **argv) {
    options options;
    char error[ERROR_SIZE];
    const option_rules rules = machine_option_rules(step);
    message_prefix(step->name);
    if (options_parse(argc, argv, &rules, &options, error, sizeof error) != 0) {
        message("%s (--help says more)", error);
        return STATUS_USAGE;
    }
    if (options.help) {
        options_print_help(stdout, step, &rules);
        return STATUS_VERIFIED;
    }
    int status = check_request(step, &options);
    if (status != STATUS_VERIFIED) {
        return status;
    }
    device device;
    status = device_open(step, options.device, &device);
    return status == STATUS_VERIFIED ? try_and_run(&device, step, &options) : status;
}

int step_main(const step *step, int argc, char **argv) {
    return output_end(run_program(step, argc, argv));
}
