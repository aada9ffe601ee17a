/* The printed lines; report_json.c writes the file. */
#include "harness/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "harness/arithmetic.h"

static const char *or_unknown(const char *text) { return text[0] != '\0' ? text : "unknown"; }

static void print_machine(FILE *out, const device_info *gpu) {
    const int major = gpu->compute_capability / 10;
    const int minor = gpu->compute_capability % 10;
    if (gpu->emulated) {
        fprintf(out, "machine    %s, compute capability %d.%d, %d SMs; no speed is measured\n",
                gpu->name, major, minor, gpu->sms);
        return;
    }
    fprintf(out, "device     %s, %d SMs, compute capability %d.%d, CUDA %s, cuBLAS %s, driver %s\n",
            gpu->name, gpu->sms, major, minor, or_unknown(gpu->cuda), or_unknown(gpu->cublas),
            or_unknown(gpu->driver));
}

/* Copies are for timing: they keep the operands out of the L2. */
static void print_copies(FILE *out, const report *report) {
    const size_t copies = report->copies;
    fprintf(out, ", %zu cop%s of the operands (%.3g GB, L2 is %.3g MB)", copies,
            copies == 1 ? "y" : "ies", (double)copies * (double)report->operand_bytes * 1e-9,
            (double)report->device->l2_bytes * 1e-6);
}

static void print_product(FILE *out, const options *o, const arithmetic *arithmetic) {
    fprintf(out, "problem    m=%d n=%d k=%d, ", o->m, o->n, o->k);
    if (arithmetic->takes_c) {
        fprintf(out, "alpha=%g beta=%g, ", (double)o->alpha, (double)o->beta);
    }
    fprintf(out, "%s, %s accumulate\n", arithmetic->formats,
            arithmetic->fp16_sums ? "fp16" : "fp32");
}

void report_print_setup(FILE *out, const report *report) {
    const options *o = report->options;
    fprintf(out, "%s  %s\n", report->step->name, report->step->idea);
    print_machine(out, report->device);
    const arithmetic arithmetic = arithmetic_of(report->step);
    if (arithmetic.moves) {
        fprintf(out, "problem    m=%d n=%d, %s\n", o->m, o->n, arithmetic.formats);
    } else {
        print_product(out, o, &arithmetic);
    }
    fprintf(out, "inputs     %s, seed %" PRIu64, inputs_name(o->inputs), o->seed);
    if (!report->device->emulated) {
        print_copies(out, report);
    }
    fputc('\n', out);
    fflush(out);
}

static void print_right(FILE *out, const report *report) {
    const verification *verification = report->verification;
    fputs("verified   ", out);
    for (int phase = PHASE_EXACT; phase <= PHASE_TIMED; ++phase) {
        if (verification->made[phase]) {
            char text[256];
            const verdict *verdict = &verification->verdicts[phase][CONTENDER_STEP];
            verdict_format(verdict, text, sizeof text);
            /* Where all checks are exact, only their inputs tell them apart. */
            const enum inputs inputs = phase == PHASE_EXACT ? INPUTS_BITS : report->options->inputs;
            fprintf(out, "%s%s%s; ", verdict->kind == CHECK_WORDS ? inputs_name(inputs) : "",
                    verdict->kind == CHECK_WORDS ? " " : "", text);
        }
    }
    const char *again =
        report->trace != NULL ? "; the traced launch is right" : "; timed buffers checked again";
    fprintf(out, "%s agrees%s%s\n", report->second_opinion,
            report->device->emulated ? "" : "; guards intact",
            verification->made[PHASE_AFTER_TIMING] ? again : "");
    if (verification->orders[0] != '\0') {
        fprintf(out, "policies   %s\n", verification->orders);
    }
    if (report->trials != NULL) {
        fprintf(out, "shapes     also right, before, at %s\n", report->trials);
    }
}

/* Of one of those that the step is compared with. */
static const char *name_of(const report *report, int contender) {
    if (contender == CONTENDER_HEURISTIC || contender == CONTENDER_EARLY) {
        return contender == CONTENDER_EARLY ? "the early launch" : "cuBLASLt's best";
    }
    return contender == CONTENDER_OTHER ? report->second_opinion : report->third;
}

static void print_wrong(FILE *out, const report *report) {
    const verification *verification = report->verification;
    static const char *const when[PHASES] = {"", "", " (after timing)"};
    for (int phase = 0; phase < PHASES; ++phase) {
        for (int who = 0; who < CONTENDERS && verification->made[phase]; ++who) {
            const verdict *verdict = &verification->verdicts[phase][who];
            if (has_contender(verification->contenders, who) && !verdict_right(verdict)) {
                char text[320];
                verdict_format(verdict, text, sizeof text);
                fprintf(out, "WRONG      %s%s%s%s\n",
                        who == CONTENDER_STEP ? "" : name_of(report, who),
                        who == CONTENDER_STEP ? "" : " ", text, when[phase]);
            }
        }
    }
    if (verification->unlike[0] != '\0') {
        fprintf(out, "WRONG      %s\n", verification->unlike);
    }
    if (!verification->guards_intact) {
        fprintf(out, "WRONG      %s\n", verification->guards_text);
    }
    if (verification->wrong_order != NULL) {
        fprintf(out, "policy     %s\n", verification->wrong_order);
    }
}

void report_print_verification(FILE *out, const report *report) {
    if (verification_right(report->verification)) {
        print_right(out, report);
    } else {
        print_wrong(out, report);
    }
    fflush(out);
}

static void print_time(FILE *out, const char *label, const timing *timing,
                       const timing_summary *times) {
    fprintf(out, "%-9s  %.4g ms  %.1f %s  (%.1f to %.1f, %zu round%s", label, times->seconds * 1e3,
            times->rate.median, timing->work.bytes > 0 ? "GB/s" : "TFLOPS", times->rate.low,
            times->rate.high, timing->rounds, timing->rounds == 1 ? "" : "s");
    if (timing->protocol == PROTOCOL_SUSTAINED) {
        fputs(", sustained", out);
    } else {
        fprintf(out, " of %zu %s", timing->launches,
                timing->protocol == PROTOCOL_CALL ? "calls" : "launches, burst");
    }
    fprintf(out, "%s)\n", timing->interrupted ? ", interrupted" : "");
}

static void print_share(FILE *out, const timing_summary *step, const timing_summary *cublas) {
    if (isfinite(cublas->share) && !isfinite(step->share)) { /* it leaves the tensor cores idle */
        fprintf(out, "tensor     -   clock %.3f GHz   (cuBLAS %.1f %%, %.3f GHz)\n",
                step->clock_ghz, 100 * cublas->share, cublas->clock_ghz);
    } else if (isfinite(step->share)) {
        fprintf(out,
                "tensor     %.1f %% of the tensor-core peak's cycles   clock %.3f GHz   "
                "(cuBLAS %.1f %%, %.3f GHz)\n",
                100 * step->share, step->clock_ghz, 100 * cublas->share, cublas->clock_ghz);
    } else {
        fputs("tensor     share and clock unknown\n", out);
    }
}

/* The same of the memory; copy is what the step is compared with. */
static void print_memory_share(FILE *out, const report *report, const timing_summary *step,
                               const timing_summary *copy) {
    const double peak = report->device->memory_bytes_per_second;
    if (isfinite(step->share)) {
        fprintf(out, "memory     %.1f %% of %.0f GB/s, its peak by clock and bus width   ",
                100 * step->share, 1e-9 * peak);
    } else {
        fputs("memory     peak unknown   ", out);
    }
    fprintf(out, "clock %.3f GHz   (%s", step->clock_ghz, report->third);
    if (isfinite(copy->share)) {
        fprintf(out, " %.1f %%,", 100 * copy->share);
    }
    fprintf(out, " %.3f GHz)\n", copy->clock_ghz);
}

static void print_power(FILE *out, const char *what, const timing_summary *step, const char *other,
                        const timing_summary *beside) {
    if (isfinite(step->watts)) {
        fprintf(out, "power      %.0f W, %.3g J per %s   (%s %.0f W, %.3g J)\n", step->watts,
                step->joules, what, other, beside->watts, beside->joules);
    } else {
        fputs("power      unknown: the driver's energy counter cannot be read\n", out);
    }
}

static void print_ratio(FILE *out, const report *report, int contender) {
    summary ratio;
    free(timing_make_ratios(report->timing, contender, &ratio));
    fprintf(out, "ratio      %.3f of %s  (%.3f to %.3f)\n", ratio.median,
            name_of(report, contender), ratio.low, ratio.high);
}

/* A contender's time, and its ratio to the step's. */
static timing_summary print_beside(FILE *out, const report *report, const char *label,
                                   int contender) {
    const timing_summary times = timing_summarize(report->timing, contender, report->device);
    print_time(out, label, report->timing, &times);
    print_ratio(out, report, contender);
    return times;
}

/* Which algorithm it was, and of how many. */
static void print_heuristics(FILE *out, const heuristics *found) {
    fprintf(out, "           number %d of %d: %s", found->winner.number, found->returned,
            found->winner.name);
    if (found->enumerated > 0) {
        fprintf(out, "; the fastest of them and of %d configurations", found->enumerated);
    } else if (found->count > 0) {
        fprintf(out, "; the fastest of %d that were timed", found->count);
    }
    fputc('\n', out);
}

/* What each did before its first call. */
static void print_before(FILE *out, const timing *timing) {
    const double *seconds = timing->before_seconds;
    fprintf(out, "before     prepare %.3g ms   (starting cuBLAS %.3g ms",
            1e3 * seconds[CONTENDER_STEP], 1e3 * seconds[CONTENDER_OTHER]);
    if (has_contender(timing->contenders, CONTENDER_HEURISTIC) &&
        isfinite(seconds[CONTENDER_HEURISTIC])) {
        fprintf(out, ", cuBLASLt's search %.3g ms", 1e3 * seconds[CONTENDER_HEURISTIC]);
    }
    fputs(")\n", out);
}

static void print_product_timing(FILE *out, const report *report, const timing_summary *step) {
    const timing *timing = report->timing;
    if (has_contender(timing->contenders, CONTENDER_EARLY)) {
        print_beside(out, report, "early", CONTENDER_EARLY);
    }
    const timing_summary cublas = print_beside(out, report, "cuBLAS", CONTENDER_OTHER);
    if (has_contender(timing->contenders, CONTENDER_FP16_SUMS)) {
        print_beside(out, report, "cuBLAS 16", CONTENDER_FP16_SUMS);
    }
    if (has_contender(timing->contenders, CONTENDER_HEURISTIC)) {
        print_beside(out, report, "cuBLASLt", CONTENDER_HEURISTIC);
        print_heuristics(out, &timing->heuristics);
    }
    if (timing->protocol != PROTOCOL_CALL) {
        print_share(out, step, &cublas);
    } else {
        print_before(out, timing);
    }
    if (timing->protocol == PROTOCOL_SUSTAINED) {
        print_power(out, "GEMM", step, "cuBLAS", &cublas);
    }
}

static void print_move_timing(FILE *out, const report *report, const timing_summary *step) {
    const timing_summary copy = print_beside(out, report, "copy", CONTENDER_COPY);
    print_beside(out, report, "second", CONTENDER_OTHER);
    print_memory_share(out, report, step, &copy);
    if (report->timing->protocol == PROTOCOL_SUSTAINED) {
        print_power(out, "launch", step, report->third, &copy);
    }
}

void report_print_timing(FILE *out, const report *report) {
    const timing *timing = report->timing;
    const timing_summary step = timing_summarize(timing, CONTENDER_STEP, report->device);
    print_time(out, "time", timing, &step);
    if (timing->work.bytes > 0) {
        print_move_timing(out, report, &step);
    } else {
        print_product_timing(out, report, &step);
    }
    fflush(out);
}
