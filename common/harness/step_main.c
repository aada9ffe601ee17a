/* The program around a rung: read the options, take the machine, check, measure, report. */
#include <stdio.h>

#include "harness/machine.h"
#include "harness/message.h"

enum { ERROR_SIZE = 512 };

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

/* Measures a step whose result is right, and reports it. */
static void measure_and_report(workload *workload, const options *o, verification *verification,
                               report *report) {
    if (verification_right(verification)) {
        machine_measure(workload, o, verification, report);
    }
    report_print_verification(stdout, report);
    report_print_measured(stdout, report);
    if (o->json != NULL) {
        report_write_json(report, o->json);
    }
}

/* Checks the rung at one shape. A trial is not measured, and prints nothing unless it is wrong;
 * trials: the shapes of the earlier trials. True if all is right. */
static bool run_shape(const device *device, const step *step, const options *o, bool is_trial,
                      const char *trials) {
    workload workload;
    verification verification;
    workload_open(&workload, step, device, o);
    report report = {.step = step,
                     .options = o,
                     .device = &device->info,
                     .trials = trials,
                     .copies = workload.copies,
                     .operand_bytes = workload_operand_bytes(&workload),
                     .names = workload.contenders.names,
                     .verification = &verification};
    if (!is_trial) {
        report_print_setup(stdout, &report);
    }
    verify_before_timing(&workload, o, &verification);
    if (!is_trial) {
        measure_and_report(&workload, o, &verification, &report);
    } else if (!verification_right(&verification)) {
        report_print_setup(stdout, &report);
        report_print_verification(stdout, &report);
    }
    workload_close(&workload);
    return verification_right(&verification);
}

/* The trials of a default run, and then the run that is reported. */
static bool run_shapes(const device *device, const step *step, const options *o) {
    options trials[MOST_TRIALS];
    char text[MOST_TRIALS * 40 + 64] = "";
    const size_t count = machine_trials(step, device->info.sms, o, trials);
    int used = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!run_shape(device, step, &trials[i], true, NULL)) {
            return false;
        }
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%d x %d", i > 0 ? ", " : "",
                         trials[i].m, trials[i].n);
        if (trials[i].k > 0) {
            used += snprintf(text + used, sizeof text - (size_t)used, " x %d", trials[i].k);
        }
    }
    return run_shape(device, step, o, false, count > 0 ? text : NULL);
}

int step_main(const step *step, int argc, char **argv) {
    options options;
    device device;
    char error[ERROR_SIZE];
    const option_rules rules = machine_option_rules(step);
    message_prefix(step->name);
    if (options_parse(argc, argv, &rules, &options, error, sizeof error) != 0) {
        end_with(STATUS_USAGE, "%s (--help says more)", error);
    }
    if (options.help) {
        options_print_help(stdout, step, &rules);
        return output_end(STATUS_VERIFIED);
    }
    check_request(step, &options);
    device_open(step, options.device, &device);
    return output_end(run_shapes(&device, step, &options) ? STATUS_VERIFIED : STATUS_FAILED);
}
