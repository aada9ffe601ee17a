#include "harness/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include "harness/message.h"

/* From the generated build/commit.c. */
extern const char gemm_ladder_commit[];

enum { SECONDS_DIGITS = 9, DIGITS = 7 };

/* What is known of a timed contender beside its samples. */
static const struct {
    const char *key, *format; /* in the row, and printed */
    double scale;             /* by which it is printed */
} FIELD[FIELDS] = {[SHARE] = {"share", ", %.1f %% of peak", 100},
                   [CLOCK_GHZ] = {"ghz", ", %.3f GHz", 1},
                   [WATTS] = {"watts", ", %.0f W", 1},
                   [JOULES] = {"joules", ", %.3g J per launch", 1}};

static timing_summary times_of(const report *report, const contender *contender) {
    return timing_summarize(report->workload, contender, report->timing->rounds);
}

/* ---- the printed lines */

void print_if(FILE *out, bool is_so, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (is_so) {
        vfprintf(out, format, arguments);
    }
    va_end(arguments);
}

static void print_machine(FILE *out, const device_info *gpu) {
    const double capability = gpu->compute_capability / 10.0;
    if (gpu->emulated) {
        fprintf(out, "machine    %s, compute capability %.1f, %d SMs; no speed is measured\n",
                gpu->name, capability, gpu->sms);
        return;
    }
    fprintf(out, "device     %s, %d SMs, compute capability %.1f, CUDA %s, cuBLAS %s, driver %s\n",
            gpu->name, gpu->sms, capability, gpu->cuda, gpu->cublas,
            gpu->driver[0] != 0 ? gpu->driver : "unknown");
    /* What makes times of this GPU uncertain. */
    for (int i = 0; i < gpu->others; ++i) {
        fprintf(out, "in use     by process %s: times mean little\n", gpu->other[i]);
    }
    print_if(out, gpu->draws, "display    this GPU draws a screen too: expect wider spreads\n");
    print_if(out, gpu->power_limit_watts < gpu->default_power_watts,
             "power      limited to %.0f W; such a card's default is %.0f W\n",
             gpu->power_limit_watts, gpu->default_power_watts);
    print_if(
        out, gpu->under_windows,
        "WSL        Windows schedules this GPU: calls take longer, and energy may be unknown\n");
}

void report_print_setup(FILE *out, const report *report) {
    const workload *workload = report->workload;
    const options *o = workload->options;
    const device_info *gpu = &workload->device->info;
    const arithmetic *is = &workload->arithmetic;
    const char *scales = is->block_scales ? "of each block" : "of A and one of B";
    fprintf(out, "%s  %s\n", workload->step->name, workload->step->idea);
    print_machine(out, gpu);
    fprintf(out, "problem    m=%d n=%d", o->m, o->n);
    print_if(out, !is->moves, " k=%d", o->k);
    print_if(out, is->takes_c, ", alpha=%g beta=%g", (double)o->alpha, (double)o->beta);
    print_if(out, o->kernel > 0, ", kernel %d", o->kernel);
    fprintf(out, ", %s", is->formats);
    print_if(out, !is->moves && !is->scaled, ", %s accumulate", is->fp16_sums ? "fp16" : "fp32");
    print_if(out, is->promotion > 0, ", fp32 adds up sums of %d", is->promotion);
    print_if(out, is->scaled && is->promotion == 0, ", the tensor cores add up all k");
    print_if(out, is->scaled, ", a scale %s; sums hold whole numbers up to %d exactly", scales,
             E4M3_INTEGERS);
    fprintf(out, "\ninputs     %s, seed %" PRIu64, inputs_name(o->inputs), o->seed);
    /* Copies are for timing, so that operands are not read from the L2. */
    print_if(out, !gpu->emulated, ", %zu copies of the operands", workload->copies);
    print_if(out, workload->without[0] != '\0',
             "\nwithout    %s: cuBLASLt does not take this shape with a scale %s",
             workload->without, scales);
    fputc('\n', out);
    fflush(out);
}

/* The shapes that a default run has tried before. */
static void print_trials(FILE *out, const report *report) {
    size_t kernels = 0;
    for (size_t i = 0; i < report->trials; ++i) {
        const options *o = &report->trial[i].options;
        kernels += o->kernel > 0;
        if (o->kernel == 0) {
            fprintf(out, "%s%d x %d",
                    i == 0 ? "shapes     also right, in random orders too, at " : ", ", o->m, o->n);
            print_if(out, o->k > 0, " x %d", o->k);
        }
    }
    print_if(out, kernels > 0, ", and %zu of its kernels at their edges (--trials)", kernels);
    print_if(out, report->trials > 0, "\n");
}

static void print_right(FILE *out, const report *report) {
    const verification *verification = report->verification;
    const workload *workload = report->workload;
    const contender *other = workload_find(workload, CONTENDER_OTHER);
    if (workload->step->computes_nothing) {
        fputs("unchecked  it does not compute D: only its guards are looked at, and intact\n", out);
        return;
    }
    fputs("verified   ", out);
    for (int phase = PHASE_EXACT; phase <= PHASE_TIMED; ++phase) {
        const verdict *verdict = &workload->contender[0].verdicts[phase];
        char text[256];
        verdict_format(verdict, text, sizeof text);
        /* Where all checks are exact, only their inputs tell them apart. */
        print_if(out, verification->made[phase] && verdict->kind == CHECK_WORDS, "%s ",
                 phase == PHASE_EXACT ? "bits" : inputs_name(workload->options->inputs));
        print_if(out, verification->made[phase], "%s; ", text);
    }
    fprintf(out, "%s%s%s%s\n", other != NULL ? other->title : "nothing beside it",
            other != NULL ? " agrees" : "",
            workload->device->info.emulated ? "" : "; guards intact",
            !verification->made[PHASE_AFTER_TIMING] ? "" : "; timed buffers checked again");
    /* What narrow sums lose: of the step beside those of whom it is compared with. */
    const bool narrow = workload->arithmetic.scaled && verification->made[PHASE_TIMED];
    for (int who = 0; who < workload->contenders && narrow; ++who) {
        const double error = 100 * workload->contender[who].verdicts[PHASE_TIMED].relative_error;
        print_if(out, who == 0, "error      %.3g %% of D, root mean square", error);
        print_if(out, who > 0, "; %s %.3g %%", workload->contender[who].title, error);
    }
    print_if(out, narrow, "\n");
    print_if(out, verification->orders[0] != '\0', "policies   %s\n", verification->orders);
    print_trials(out, report);
}

static void print_wrong(FILE *out, const report *report) {
    const verification *verification = report->verification;
    const workload *workload = report->workload;
    for (int i = 0; i < PHASES * workload->contenders; ++i) {
        const int phase = i / workload->contenders, who = i % workload->contenders;
        const contender *contender = &workload->contender[who];
        char text[320];
        verdict_format(&contender->verdicts[phase], text, sizeof text);
        print_if(out, verification->made[phase] && !verdict_right(&contender->verdicts[phase]),
                 "WRONG      %s%s%s%s\n", who == 0 ? "" : contender->title, who == 0 ? "" : " ",
                 text, phase == PHASE_AFTER_TIMING ? " (after timing)" : "");
    }
    print_if(out, verification->unlike[0] != '\0', "WRONG      %s\n", verification->unlike);
    print_if(out, !verification->guards_intact, "WRONG      %s\n", verification->guards_text);
    print_if(out, verification->wrong_order != NULL, "policy     %s\n", verification->wrong_order);
}

void report_print_verification(FILE *out, const report *report) {
    const bool right = verification_right(report->verification, report->workload);
    (right ? print_right : print_wrong)(out, report);
    fflush(out);
}

static void print_time(FILE *out, const report *report, const contender *contender) {
    const timing *timing = report->timing;
    const enum protocol protocol = report->workload->options->protocol;
    const timing_summary times = times_of(report, contender);
    fprintf(out, "%-9s  %.4g ms  %.1f %s  (%.1f to %.1f, %zu round%s", contender->label,
            times.of[SECONDS] * 1e3, times.rate.median,
            report->workload->arithmetic.moves ? "GB/s" : "TFLOPS", times.rate.low, times.rate.high,
            timing->rounds, timing->rounds == 1 ? "" : "s");
    print_if(out, protocol != PROTOCOL_SUSTAINED, " of %zu %s", timing->launches,
             protocol == PROTOCOL_CALL ? "calls" : "launches, burst");
    print_if(out, protocol == PROTOCOL_SUSTAINED, ", sustained");
    print_if(out, protocol == PROTOCOL_CALL && contender->before_seconds > 0,
             ", %.3g ms before the first", 1e3 * contender->before_seconds);
    print_if(out, timing->interrupted, ", interrupted");
    fputc(')', out);
    for (enum measure field = CLOCK_GHZ; field < FIELDS; ++field) {
        print_if(out, isfinite(times.of[field]), FIELD[field].format,
                 FIELD[field].scale * times.of[field]);
    }
    print_if(out,
             isfinite(times.of[CLOCK_GHZ]) && !isfinite(times.of[SHARE]) &&
                 !(report->workload->step->on_cuda_cores && is_step(contender->role)),
             ", peak unknown");
    print_if(out, protocol == PROTOCOL_SUSTAINED && !isfinite(times.of[WATTS]), ", power unknown");
    fputc('\n', out);
    print_if(out, contender->role != CONTENDER_STEP, "ratio      %.3f of %s  (%.3f to %.3f)\n",
             times.ratio.median, contender->title, times.ratio.low, times.ratio.high);
}

/* Of one that was found by timing. */
static void print_kernel(FILE *out, const report *report, const contender *contender) {
    const tuning *tuning = &report->timing->tuning;
    if (contender->role == CONTENDER_TUNED) {
        fprintf(out,
                "           kernel %d, picked of %d in %.1f ms, and %.1f ms to prepare them in "
                "copies\n",
                contender->kernel, tuning->quick, 1e3 * tuning->quick_seconds,
                1e3 * tuning->ready_seconds);
        print_if(out, tuning->file != NULL, "           kept in %s\n", tuning->file);
    } else {
        print_if(out, contender->kernel > 0, "           kernel %d, the fastest of %d\n",
                 contender->kernel, tuning->count);
    }
}

void report_print_measured(FILE *out, const report *report) {
    const workload *workload = report->workload;
    for (int who = 0; who < workload->contenders && report->timing != NULL; ++who) {
        const contender *contender = &workload->contender[who];
        const heuristics *found = &report->timing->heuristics;
        print_time(out, report, contender);
        print_kernel(out, report, contender);
        print_if(out, contender->role == CONTENDER_HEURISTIC, "           number %d of %d: %s\n",
                 found->winner.number, found->returned + found->enumerated, found->winner.name);
    }
    if (report->emulation != NULL) {
        emulation_print(out, report->emulation);
    }
    fflush(out);
}

/* ---- the row */

static void write_gpu(json *json, const device_info *gpu) {
    char capability[16];
    if (gpu->emulated) {
        json_text(json, "gpu", NULL);
        return;
    }
    snprintf(capability, sizeof capability, "%.1f", gpu->compute_capability / 10.0);
    const bool limited = gpu->power_limit_watts < gpu->default_power_watts;
    json_open(json, "gpu", '{');
    json_text(json, "name", gpu->name);
    json_text(json, "card", gpu->card);
    json_text(json, "compute_capability", capability);
    json_integer(json, "sms", (size_t)gpu->sms);
    json_integer(json, "l2_bytes", gpu->l2_bytes);
    json_integer(json, "memory_bytes", gpu->memory_bytes);
    json_number(json, "memory_bytes_per_second", gpu->memory_bytes_per_second, SECONDS_DIGITS);
    json_number(json, "power_limit_watts", gpu->power_limit_watts, DIGITS);
    json_number(json, "default_power_watts", limited ? gpu->default_power_watts : NAN, DIGITS);
    json_bool(json, "draws", gpu->draws);
    json_bool(json, "under_windows", gpu->under_windows);
    json_text(json, "driver", gpu->driver);
    json_text(json, "cuda", gpu->cuda);
    json_text(json, "cublas", gpu->cublas);
    json_close(json, '}');
}

static void write_context(json *json, const report *report) {
    const workload *workload = report->workload;
    const arithmetic *arithmetic = &workload->arithmetic;
    const options *o = workload->options;
    const bool timed = report->timing != NULL;
    json_open(json, "context", '{');
    write_gpu(json, &workload->device->info);
    json_text(json, "commit", gemm_ladder_commit);
    json_text(json, "protocol", timed ? protocol_name(o->protocol) : NULL);
    json_open(json, "problem", '{');
    json_text(json, "computation", arithmetic->name);
    json_integer(json, "m", (uint64_t)o->m);
    json_integer(json, "n", (uint64_t)o->n);
    json_count(json, "k", (uint64_t)o->k);
    json_text(json, "inputs", inputs_name(o->inputs));
    json_integer(json, "seed", o->seed);
    json_number(json, "alpha", arithmetic->takes_c ? (double)o->alpha : NAN, SECONDS_DIGITS);
    json_number(json, "beta", arithmetic->takes_c ? (double)o->beta : NAN, SECONDS_DIGITS);
    json_close(json, '}');
    json_count(json, "rounds", timed ? (uint64_t)o->rounds : 0);
    json_close(json, '}');
}

static void write_contender(json *json, const report *report, const contender *contender) {
    const timing_summary times = times_of(report, contender);
    const bool calls = report->workload->options->protocol == PROTOCOL_CALL;
    json_open(json, contender->key, '{');
    json_open(json, "seconds", '[');
    for (size_t i = 0; i < report->timing->rounds; ++i) {
        json_number(json, NULL, contender->of[SECONDS][i], SECONDS_DIGITS);
    }
    json_close(json, ']');
    for (enum measure field = CLOCK_GHZ; field < FIELDS; ++field) {
        json_number(json, FIELD[field].key, times.of[field], DIGITS);
    }
    json_number(json, "before_seconds", calls ? contender->before_seconds : NAN, DIGITS);
    json_count(json, "kernel", (size_t)contender->kernel);
    json_close(json, '}');
}

/* The step's kernels among which the fastest was sought, as if they were contenders of one round.
 */
static void write_tuning(json *json, const tuning *tuning) {
    for (int i = 0; i < tuning->count; ++i) {
        char key[24];
        snprintf(key, sizeof key, "kernel-%d", tuning->times[i].number);
        json_open(json, key, '{');
        json_open(json, "seconds", '[');
        json_number(json, NULL, tuning->times[i].seconds, SECONDS_DIGITS);
        json_close(json, ']');
        json_close(json, '}');
    }
}

/* The quick tuner. */
static void write_quick(json *json, const tuning *tuning) {
    json_open(json, "tune", '{');
    json_integer(json, "candidates", (uint64_t)tuning->quick);
    json_number(json, "seconds", tuning->quick_seconds, DIGITS);
    json_number(json, "ready_seconds", tuning->ready_seconds, DIGITS);
    json_close(json, '}');
}

/* Which of cuBLASLt's algorithms was timed beside the step. */
static void write_heuristics(json *json, const heuristics *found) {
    json_open(json, "heuristics", '{');
    json_integer(json, "asked", MOST_HEURISTICS);
    json_integer(json, "returned", (uint64_t)found->returned);
    json_count(json, "enumerated", (size_t)found->enumerated);
    json_bool(json, "cut", found->cut);
    json_count(json, "launched", (size_t)found->timed);
    json_open(json, "winner", '{');
    json_integer(json, "number", (uint64_t)found->winner.number);
    json_text(json, "name", found->winner.name);
    json_text(json, "algorithm", found->winner.algorithm);
    json_number(json, "seconds", found->winner.seconds, SECONDS_DIGITS);
    json_close(json, '}');
    json_close(json, '}');
}

static void write_timing(json *json, const report *report) {
    const workload *workload = report->workload;
    const timing *timing = report->timing;
    const contender *other = workload_find(workload, CONTENDER_OTHER);
    json_bool(json, "interrupted", timing->interrupted);
    json_open(json, "timed", '{');
    for (int who = 0; who < workload->contenders; ++who) {
        write_contender(json, report, &workload->contender[who]);
    }
    write_tuning(json, &timing->tuning);
    json_close(json, '}');
    json_count(json, "candidates", (size_t)timing->tuning.count);
    if (timing->tuning.quick > 0) {
        write_quick(json, &timing->tuning);
    }
    if (workload->arithmetic.moves && other != NULL) {
        json_open(json, "names", '{');
        json_text(json, other->key, other->title);
        json_close(json, '}');
    }
    if (workload_find(workload, CONTENDER_HEURISTIC) != NULL) {
        write_heuristics(json, &timing->heuristics);
    }
}

/* What a run is, whatever it measures. */
static void write_run(json *json, const report *report) {
    const workload *workload = report->workload;
    const step *step = workload->step;
    const options *o = workload->options;
    const problem shape = {.m = o->m, .n = o->n, .k = o->k};
    const bool chooses = o->kernel == 0 && step->kernels > 0;
    const time_t now = time(NULL);
    char date[32] = "";
    char digest[32] = "";
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
    if (report->verification->digested) {
        /* Hexadecimal: readers of JSON may take a number for a double. */
        snprintf(digest, sizeof digest, "0x%016" PRIx64, report->verification->digest);
    }
    json_text(json, "step", step->name);
    json_text(json, "idea", step->idea);
    json_text(json, "below", step->below != NULL ? step->below : "");
    json_text(json, "date", date);
    write_context(json, report);
    json_count(json, "kernel", (size_t)(chooses ? step_kernel(step, &shape) + 1 : o->kernel));
    json_bool(json, "fp16_sums", workload->arithmetic.fp16_sums);
    json_bool(json, "computes_nothing", step->computes_nothing);
    json_text(json, "digest", digest);
}

void report_write(const report *report, const char *path) {
    const device_info *gpu = &report->workload->device->info;
    json json;
    json_begin(&json);
    write_run(&json, report);
    if (report->timing != NULL) {
        write_timing(&json, report);
    }
    if (gpu->others > 0) {
        json_open(&json, "other_processes", '[');
        for (int i = 0; i < gpu->others; ++i) {
            json_text(&json, NULL, gpu->other[i]);
        }
        json_close(&json, ']');
    }
    if (report->emulation != NULL) {
        json_open(&json, "emulator", '{');
        json_text(&json, "policies", report->verification->orders);
        emulation_write(&json, report->emulation);
        json_close(&json, '}');
    }
    const char *why = json_commit(&json, path);
    if (why != NULL) {
        end_with(STATUS_FAILED, "--json: cannot write '%s': %s", path, why);
    }
}
