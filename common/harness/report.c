/* The printed lines; report_json.c writes the file. */
#include "harness/report.h"

#include <inttypes.h>
#include <math.h>

#include "harness/arithmetic.h"

static const char *or_unknown(const char *text) { return text[0] != '\0' ? text : "unknown"; }

/* What makes times of this GPU uncertain, a line each. */
static void print_conditions(FILE *out, const device_info *gpu) {
    if (gpu->others > 0) {
        fprintf(out, "in use     by %d other process%s: its times mean little\n", gpu->others,
                gpu->others == 1 ? "" : "es");
    }
    if (gpu->draws) {
        fputs("display    this GPU draws a screen too: expect wider spreads\n", out);
    }
    if (gpu->power_limit_watts < gpu->default_power_watts) {
        fprintf(out, "power      limited to %.0f W; such a card's default is %.0f W\n",
                gpu->power_limit_watts, gpu->default_power_watts);
    }
    if (gpu->under_windows) {
        fputs(
            "WSL        Windows schedules this GPU: calls take longer, and energy may be unknown\n",
            out);
    }
}

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
    print_conditions(out, gpu);
}

/* Copies are for timing, so that operands are not read from the L2. */
static void print_copies(FILE *out, const report *report) {
    const size_t copies = report->copies;
    fprintf(out, ", %zu cop%s of the operands (%.3g GB, L2 is %.3g MB)", copies,
            copies == 1 ? "y" : "ies", (double)copies * (double)report->operand_bytes * 1e-9,
            (double)report->device->l2_bytes * 1e-6);
}

/* How e4m3 is added up and scaled. */
static void print_sums(FILE *out, const arithmetic *arithmetic) {
    if (arithmetic->promotion > 0) {
        fprintf(out, ", fp32 adds up sums of %d", arithmetic->promotion);
    } else {
        fprintf(out, ", the tensor cores add up all k");
    }
    fprintf(out, ", a scale %s; sums hold whole numbers up to %d exactly",
            arithmetic->block_scales ? "of each block" : "of A and one of B", E4M3_INTEGERS);
}

/* Whom this run goes on without. */
static void print_refused(FILE *out, const report *report, const arithmetic *arithmetic) {
    const char *separator = "without    ";
    for (int who = 0; who < CONTENDERS; ++who) {
        if (has_contender(report->refused, who)) {
            fprintf(out, "%s%s", separator, report->names[who]);
            separator = ", ";
        }
    }
    fprintf(out, ": cuBLASLt does not take this shape with a scale %s\n",
            arithmetic->block_scales ? "of each block" : "of A and one of B");
}

void report_print_setup(FILE *out, const report *report) {
    const options *o = report->options;
    const arithmetic arithmetic = arithmetic_of(report->step);
    fprintf(out, "%s  %s\n", report->step->name, report->step->idea);
    print_machine(out, report->device);
    fprintf(out, "problem    m=%d n=%d", o->m, o->n);
    if (!arithmetic.moves) {
        fprintf(out, " k=%d", o->k);
    }
    if (arithmetic.takes_c) {
        fprintf(out, ", alpha=%g beta=%g", (double)o->alpha, (double)o->beta);
    }
    if (o->kernel > 0) {
        fprintf(out, ", kernel %d", o->kernel);
    }
    fprintf(out, ", %s", arithmetic.formats);
    if (arithmetic.scaled) {
        print_sums(out, &arithmetic);
    } else if (!arithmetic.moves) {
        fprintf(out, ", %s accumulate", arithmetic.fp16_sums ? "fp16" : "fp32");
    }
    fputc('\n', out);
    fprintf(out, "inputs     %s, seed %" PRIu64, inputs_name(o->inputs), o->seed);
    if (!report->device->emulated) {
        print_copies(out, report);
    }
    fputc('\n', out);
    if (report->refused != 0) {
        print_refused(out, report, &arithmetic);
    }
    fflush(out);
}

/* The name of a contender beside the step. */
static const char *name_of(const report *report, int contender) {
    return contender == CONTENDER_EARLY ? "the early launch" : report->names[contender];
}

/* Of the step beside those of whom it is compared with: what narrow sums lose. */
static void print_errors(FILE *out, const report *report) {
    const verification *verification = report->verification;
    const verdict *verdicts = verification->verdicts[PHASE_TIMED];
    const char *separator = ";";
    fprintf(out, "error      %.3g %% of D, root mean square",
            100 * verdicts[CONTENDER_STEP].relative_error);
    for (int who = CONTENDER_OTHER; who < CONTENDERS; ++who) {
        if (has_contender(verification->contenders, who)) {
            fprintf(out, "%s %s %.3g %%", separator, name_of(report, who),
                    100 * verdicts[who].relative_error);
            separator = ",";
        }
    }
    fputc('\n', out);
}

static void print_right(FILE *out, const report *report) {
    const verification *verification = report->verification;
    if (report->step->computes_nothing) {
        fputs("unchecked  it does not compute D: only its guards are looked at, and intact\n", out);
        return;
    }
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
    const bool beside = has_contender(verification->contenders, CONTENDER_OTHER);
    fprintf(out, "%s%s%s%s\n", beside ? name_of(report, CONTENDER_OTHER) : "nothing beside it",
            beside ? " agrees" : "", report->device->emulated ? "" : "; guards intact",
            verification->made[PHASE_AFTER_TIMING] ? again : "");
    if (arithmetic_of(report->step).scaled && verification->made[PHASE_TIMED]) {
        print_errors(out, report);
    }
    if (verification->orders[0] != '\0') {
        fprintf(out, "policies   %s\n", verification->orders);
    }
    if (report->trials != NULL) {
        fprintf(out, "shapes     also right, in random orders too, at %s\n", report->trials);
    }
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

static void print_time(FILE *out, const char *label, const report *report,
                       const timing_summary *times) {
    const timing *timing = report->timing;
    fprintf(out, "%-9s  %.4g ms  %.1f %s  (%.1f to %.1f, %zu round%s", label,
            times->of[SECONDS] * 1e3, times->rate.median, arithmetic_of(report->step).family->unit,
            times->rate.low, times->rate.high, timing->rounds, timing->rounds == 1 ? "" : "s");
    if (timing->protocol == PROTOCOL_SUSTAINED) {
        fputs(", sustained", out);
    } else {
        fprintf(out, " of %zu %s", timing->launches,
                timing->protocol == PROTOCOL_CALL ? "calls" : "launches, burst");
    }
    fprintf(out, "%s)\n", timing->interrupted ? ", interrupted" : "");
}

/* The share of the tensor cores' or the memory's peak, beside that of the peer: cuBLAS, or a plain
 * copy; NULL: nothing. */
static void print_share(FILE *out, const report *report, const timing_summary *step,
                        const timing_summary *peer) {
    const bool moves = report->timing->work.bytes > 0;
    if (!moves && !isfinite(step->of[CLOCK_GHZ])) {
        fputs("tensor     share and clock unknown\n", out);
        return;
    }
    if (report->timing->work.on_cuda_cores) {
        fputs("tensor     -", out);
    } else if (!isfinite(step->share)) {
        fputs(moves ? "memory     peak unknown" : "tensor     peak unknown", out);
    } else if (moves) {
        fprintf(out, "memory     %.1f %% of %.0f GB/s, its peak by clock and bus width",
                100 * step->share, 1e-9 * report->device->memory_bytes_per_second);
    } else {
        fprintf(out, "tensor     %.1f %% of the tensor-core peak's cycles", 100 * step->share);
    }
    fprintf(out, "   clock %.3f GHz", step->of[CLOCK_GHZ]);
    if (peer == NULL) {
        fputc('\n', out);
        return;
    }
    fprintf(out, "   (%s", name_of(report, moves ? CONTENDER_COPY : CONTENDER_OTHER));
    if (isfinite(peer->share)) {
        fprintf(out, " %.1f %%,", 100 * peer->share);
    }
    fprintf(out, " %.3f GHz)\n", peer->of[CLOCK_GHZ]);
}

static void print_power(FILE *out, const char *what, const timing_summary *step, const char *other,
                        const timing_summary *beside) {
    if (isfinite(step->of[WATTS])) {
        fprintf(out, "power      %.0f W, %.3g J per %s", step->of[WATTS], step->of[JOULES], what);
        if (beside != NULL) {
            fprintf(out, "   (%s %.0f W, %.3g J)", other, beside->of[WATTS], beside->of[JOULES]);
        }
        fputc('\n', out);
    } else {
        fputs("power      unknown: the driver's energy counter cannot be read\n", out);
    }
}

/* Which algorithm it was, and of how many. */
static void print_heuristics(FILE *out, const heuristics *found) {
    fprintf(out, "           number %d of %d: %s", found->winner.number, found->returned,
            found->winner.name);
    if (found->enumerated > 0) {
        fprintf(out, "; the fastest of %d configurations%s, %d checked",
                found->returned + found->enumerated, found->cut ? ", not all timed" : "",
                found->finalists);
    } else if (found->count > 0) {
        fprintf(out, "; the fastest of %d that were timed", found->count);
    }
    fputc('\n', out);
}

/* A contender's time, and its ratio to the step's. */
static void print_rival(FILE *out, const report *report, const rival *rival) {
    const timing_summary times = timing_summarize(report->timing, rival->who, report->device);
    print_time(out, rival->label, report, &times);
    fprintf(out, "ratio      %.3f of %s  (%.3f to %.3f)\n", times.ratio.median,
            name_of(report, rival->who), times.ratio.low, times.ratio.high);
    if (rival->who == CONTENDER_HEURISTIC) {
        print_heuristics(out, &report->timing->heuristics);
    }
}

/* The time that each took before its first call. */
static void print_before(FILE *out, const timing *timing) {
    const double *seconds = timing->before_seconds;
    fprintf(out, "before     prepare %.3g ms", 1e3 * seconds[CONTENDER_STEP]);
    if (!has_contender(timing->contenders, CONTENDER_OTHER)) {
        fputc('\n', out);
        return;
    }
    fprintf(out, "   (starting cuBLAS %.3g ms", 1e3 * seconds[CONTENDER_OTHER]);
    if (has_contender(timing->contenders, CONTENDER_HEURISTIC) &&
        isfinite(seconds[CONTENDER_HEURISTIC])) {
        fprintf(out, ", cuBLASLt's search %.3g ms", 1e3 * seconds[CONTENDER_HEURISTIC]);
    }
    fputs(")\n", out);
}

static void print_timing(FILE *out, const report *report) {
    const timing *timing = report->timing;
    const arithmetic arithmetic = arithmetic_of(report->step);
    const family *family = arithmetic.family;
    const timing_summary step = timing_summarize(timing, CONTENDER_STEP, report->device);
    const bool has_peer = has_contender(timing->contenders, family->peer);
    timing_summary summary;
    const timing_summary *peer = has_peer ? &summary : NULL;
    if (has_peer) {
        summary = timing_summarize(timing, family->peer, report->device);
    }
    print_time(out, "time", report, &step);
    for (const rival *rival = arithmetic.rivals; rival->who != CONTENDER_STEP; ++rival) {
        if (has_contender(timing->contenders, rival->who)) {
            print_rival(out, report, rival);
        }
    }
    if (!arithmetic.moves && timing->protocol == PROTOCOL_CALL) {
        print_before(out, timing);
    } else {
        print_share(out, report, &step, peer);
    }
    if (timing->protocol == PROTOCOL_SUSTAINED) {
        print_power(out, family->launch, &step, name_of(report, family->peer), peer);
    }
}

void report_print_measured(FILE *out, const report *report) {
    if (report->timing != NULL) {
        print_timing(out, report);
    }
    if (report->emulation != NULL) {
        emulation_print(out, report->emulation);
    }
    if (report->trace != NULL) {
        trace_print(out, report->trace);
    }
    fflush(out);
}
