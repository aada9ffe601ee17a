#include "harness/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/arithmetic.h"
#include "harness/json.h"
#include "harness/shape.h"

enum { SCHEMA = 1 };

/* From the generated build/commit.c. */
extern const char gemm_ladder_commit[];

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

void report_print_setup(FILE *out, const report *report) {
    const options *o = report->options;
    fprintf(out, "%s  %s\n", report->step->name, report->step->idea);
    print_machine(out, report->device);
    const arithmetic arithmetic = arithmetic_of(report->step);
    fprintf(out, "problem    m=%d n=%d k=%d, ", o->m, o->n, o->k);
    if (arithmetic.takes_c) {
        fprintf(out, "alpha=%g beta=%g, ", (double)o->alpha, (double)o->beta);
    }
    fprintf(out, "%s, %s accumulate\n", arithmetic.formats, arithmetic.fp16_sums ? "fp16" : "fp32");
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
    for (int phase = PHASE_EXACT; phase <= PHASE_BOUNDED; ++phase) {
        if (verification->made[phase]) {
            char text[256];
            verdict_format(&verification->verdicts[phase][CONTENDER_STEP], text, sizeof text);
            fprintf(out, "%s; ", text);
        }
    }
    fprintf(out, "%s agrees; guards intact%s\n", report->second_opinion,
            verification->made[PHASE_AFTER_TIMING] ? "; timed buffers checked again" : "");
    if (verification->orders[0] != '\0') {
        fprintf(out, "policies   %s\n", verification->orders);
    }
}

/* Of one of those that the step is compared with. */
static const char *name_of(const report *report, int contender) {
    return contender == CONTENDER_FP16_SUMS ? report->fp16_sums : report->second_opinion;
}

static void print_wrong(FILE *out, const report *report) {
    const verification *verification = report->verification;
    static const char *const when[PHASES] = {"", "", " (after timing)"};
    for (int phase = 0; phase < PHASES; ++phase) {
        for (int who = 0; who < verification->contenders && verification->made[phase]; ++who) {
            const verdict *verdict = &verification->verdicts[phase][who];
            if (!verdict_right(verdict)) {
                char text[320];
                verdict_format(verdict, text, sizeof text);
                fprintf(out, "WRONG      %s%s%s%s\n",
                        who == CONTENDER_STEP ? "" : name_of(report, who),
                        who == CONTENDER_STEP ? "" : " ", text, when[phase]);
            }
        }
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
    fprintf(out, "%-9s  %.4g ms  %.1f TFLOPS  (%.1f to %.1f, %zu round%s", label,
            times->seconds * 1e3, times->tflops.median, times->tflops.low, times->tflops.high,
            timing->rounds, timing->rounds == 1 ? "" : "s");
    if (timing->protocol == PROTOCOL_BURST) {
        fprintf(out, " of %zu launches, burst", timing->burst_launches);
    } else {
        fputs(", sustained", out);
    }
    fprintf(out, "%s)\n", timing->interrupted ? ", interrupted" : "");
}

/* The ratios to one that it is compared with, which the caller frees; NULL without memory. */
static double *make_ratios(const timing *timing, int contender, summary *result) {
    double *ratios = malloc(timing->rounds * sizeof *ratios);
    *result = (summary){NAN, NAN, NAN, 0};
    if (ratios != NULL) {
        timing_ratios(timing, contender, ratios);
        *result = summarize(ratios, timing->rounds);
    }
    return ratios;
}

static void print_share(FILE *out, const timing_summary *step, const timing_summary *cublas) {
    if (isfinite(step->tensor_core_share)) {
        fprintf(out,
                "tensor     %.1f %% of the tensor-core peak's cycles   clock %.3f GHz   "
                "(cuBLAS %.1f %%, %.3f GHz)\n",
                100 * step->tensor_core_share, step->clock_ghz, 100 * cublas->tensor_core_share,
                cublas->clock_ghz);
    } else {
        fputs("tensor     share and clock unknown\n", out);
    }
}

static void print_power(FILE *out, const timing_summary *step, const timing_summary *cublas) {
    if (isfinite(step->watts)) {
        fprintf(out, "power      %.0f W, %.3g J per GEMM   (cuBLAS %.0f W, %.3g J)\n", step->watts,
                step->joules, cublas->watts, cublas->joules);
    } else {
        fputs("power      unknown: the driver's energy counter cannot be read\n", out);
    }
}

void report_print_timing(FILE *out, const report *report) {
    const timing *timing = report->timing;
    const timing_summary step = timing_summarize(timing, CONTENDER_STEP, report->device);
    const timing_summary cublas = timing_summarize(timing, CONTENDER_OTHER, report->device);
    summary ratio;
    free(make_ratios(timing, CONTENDER_OTHER, &ratio));
    print_time(out, "time", timing, &step);
    print_time(out, "cuBLAS", timing, &cublas);
    fprintf(out, "ratio      %.3f of cuBLAS  (%.3f to %.3f)\n", ratio.median, ratio.low,
            ratio.high);
    if (timing->contenders > CONTENDER_FP16_SUMS) {
        const timing_summary fp16_sums =
            timing_summarize(timing, CONTENDER_FP16_SUMS, report->device);
        free(make_ratios(timing, CONTENDER_FP16_SUMS, &ratio));
        print_time(out, "cuBLAS 16", timing, &fp16_sums);
        fprintf(out, "ratio      %.3f of %s  (%.3f to %.3f)\n", ratio.median, report->fp16_sums,
                ratio.low, ratio.high);
    }
    print_share(out, &step, &cublas);
    if (timing->protocol == PROTOCOL_SUSTAINED) {
        print_power(out, &step, &cublas);
    }
    fflush(out);
}

/* An empty text is an unknown one: null. */
static const char *or_null(const char *text) { return text[0] != '\0' ? text : NULL; }

static void write_gpu(json *json, const device_info *gpu) {
    char capability[16];
    if (gpu->emulated) {
        json_null(json, "gpu");
        return;
    }
    snprintf(capability, sizeof capability, "%d.%d", gpu->compute_capability / 10,
             gpu->compute_capability % 10);
    json_object_begin(json, "gpu");
    json_string(json, "name", gpu->name);
    json_string(json, "compute_capability", capability);
    json_unsigned(json, "sms", (uint64_t)gpu->sms);
    json_unsigned(json, "l2_bytes", gpu->l2_bytes);
    json_unsigned(json, "memory_bytes", gpu->memory_bytes);
    json_double(json, "power_limit_watts", gpu->power_limit_watts);
    json_string(json, "driver", or_null(gpu->driver));
    json_string(json, "cuda", or_null(gpu->cuda));
    json_string(json, "cublas", or_null(gpu->cublas));
    json_object_end(json);
}

static void write_problem(json *json, const report *report) {
    const options *o = report->options;
    json_object_begin(json, "problem");
    const arithmetic arithmetic = arithmetic_of(report->step);
    json_string(json, "computation", arithmetic.name);
    if (arithmetic.takes_c) {
        json_double(json, "alpha", (double)o->alpha);
        json_double(json, "beta", (double)o->beta);
    }
    json_unsigned(json, "m", (uint64_t)o->m);
    json_unsigned(json, "n", (uint64_t)o->n);
    json_unsigned(json, "k", (uint64_t)o->k);
    json_string(json, "inputs", inputs_name(o->inputs));
    json_unsigned(json, "seed", o->seed);
    json_unsigned(json, "copies", report->copies);
    json_object_end(json);
}

/* Elements that cannot be right: outside what is allowed, or (found beside a sample) NaN. */
static uint64_t wrong_elements(const verdict *verdict) {
    return verdict->wrong > verdict->not_finite ? verdict->wrong : verdict->not_finite;
}

static void write_verdict(json *json, const char *key, const verification *verification,
                          enum check_phase phase) {
    if (!verification->made[phase]) {
        json_null(json, key);
        return;
    }
    const verdict *verdict = &verification->verdicts[phase][CONTENDER_STEP];
    json_object_begin(json, key);
    json_unsigned(json, "checked", verdict->checked);
    json_unsigned(json, "wrong", wrong_elements(verdict));
    if (phase == PHASE_EXACT) {
        json_unsigned(json, "integer_range", (uint64_t)verification->integers.range);
    } else if (phase == PHASE_BOUNDED) {
        json_double(json, "max_error_over_bound", verdict->max_error_over_bound);
    }
    json_object_end(json);
}

static void write_opinion_wrong(json *json, const char *key, const verification *verification,
                                enum check_phase phase, int who) {
    if (verification->made[phase]) {
        json_unsigned(json, key, wrong_elements(&verification->verdicts[phase][who]));
    } else {
        json_null(json, key);
    }
}

static void write_opinion(json *json, const char *key, const verification *verification, int who) {
    json_object_begin(json, key);
    write_opinion_wrong(json, "exact_wrong", verification, PHASE_EXACT, who);
    write_opinion_wrong(json, "bounded_wrong", verification, PHASE_BOUNDED, who);
    write_opinion_wrong(json, "after_timing_wrong", verification, PHASE_AFTER_TIMING, who);
    json_object_end(json);
}

static void write_verification(json *json, const report *report) {
    const verification *verification = report->verification;
    json_object_begin(json, "verification");
    json_bool(json, "verified", verification_right(verification));
    json_string(json, "check", check_extent_name(report->options->check));
    write_verdict(json, "exact", verification, PHASE_EXACT);
    write_verdict(json, "bounded", verification, PHASE_BOUNDED);
    write_opinion(json, report->device->emulated ? "host_product" : "cublas", verification,
                  CONTENDER_OTHER);
    if (verification->contenders > CONTENDER_FP16_SUMS) {
        write_opinion(json, "cublas_fp16_sums", verification, CONTENDER_FP16_SUMS);
    }
    write_verdict(json, "after_timing", verification, PHASE_AFTER_TIMING);
    json_bool(json, "guards_intact", verification->guards_intact);
    if (report->device->emulated) {
        json_string(json, "policies", verification->orders);
        json_string(json, "wrong_policy", verification->wrong_order);
    }
    json_object_end(json);
}

static void write_doubles(json *json, const char *key, const double *values, size_t count) {
    json_array_begin(json, key);
    for (size_t i = 0; i < count; ++i) {
        json_double(json, NULL, values[i]);
    }
    json_array_end(json);
}

static void write_summary(json *json, const summary *summary) {
    json_double(json, "median", summary->median);
    json_double(json, "low", summary->low);
    json_double(json, "high", summary->high);
}

static void write_contender(json *json, const char *key, const report *report, int who) {
    const timing *timing = report->timing;
    const timing_summary times = timing_summarize(timing, who, report->device);
    json_object_begin(json, key);
    write_doubles(json, "seconds", timing->samples[who].seconds, timing->rounds);
    json_object_begin(json, "tflops");
    write_summary(json, &times.tflops);
    json_object_end(json);
    json_double(json, "tensor_core_share", times.tensor_core_share);
    json_double(json, "sm_clock_ghz", times.clock_ghz);
    json_double(json, "peak_tflops_at_mean_clock",
                1e-3 * times.clock_ghz * report->device->sms *
                    tensor_core_flop_per_cycle(report->device->compute_capability));
    json_double(json, "watts", times.watts);
    json_double(json, "joules", times.joules);
    json_object_end(json);
}

static void write_ratio(json *json, const char *key, const timing *timing, int contender) {
    summary ratio;
    double *ratios = make_ratios(timing, contender, &ratio);
    json_object_begin(json, key);
    write_summary(json, &ratio);
    write_doubles(json, "samples", ratios, ratios == NULL ? 0 : timing->rounds);
    json_object_end(json);
    free(ratios);
}

static void write_timing(json *json, const report *report) {
    const timing *timing = report->timing;
    if (timing == NULL) {
        json_null(json, "timing");
        return;
    }
    const bool is_burst = timing->protocol == PROTOCOL_BURST;
    json_object_begin(json, "timing");
    json_string(json, "protocol", protocol_name(timing->protocol));
    json_bool(json, "interrupted", timing->interrupted);
    json_unsigned(json, "rounds", timing->rounds);
    /* A sustained round launches for a time, not a number of times. */
    json_double(json, "launches_per_round", is_burst ? (double)timing->burst_launches : NAN);
    json_unsigned(json, "idle_ms", is_burst ? BURST_IDLE_MS : 0);
    json_double(json, "flop", timing->flop);
    write_contender(json, "step", report, CONTENDER_STEP);
    write_contender(json, "cublas", report, CONTENDER_OTHER);
    write_ratio(json, "ratio_to_cublas", timing, CONTENDER_OTHER);
    if (timing->contenders > CONTENDER_FP16_SUMS) {
        write_contender(json, "cublas_fp16_sums", report, CONTENDER_FP16_SUMS);
        write_ratio(json, "ratio_to_cublas_fp16_sums", timing, CONTENDER_FP16_SUMS);
    }
    json_object_end(json);
}

static void write_date(json *json) {
    char text[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL) {
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    }
    json_string(json, "date", or_null(text));
}

int report_write_json(const report *report, const char *path, char *error, size_t size) {
    json json;
    if (json_begin(&json, path, error, size) != 0) {
        return 1;
    }
    json_object_begin(&json, NULL);
    json_unsigned(&json, "schema", SCHEMA);
    json_string(&json, "kind", "step");
    json_string(&json, "step", report->step->name);
    json_string(&json, "idea", report->step->idea);
    if (report->step->computes == GEMM_FP16) {
        json_bool(&json, "fp16_sums", report->step->fp16_sums);
    }
    json_string(&json, "commit", gemm_ladder_commit);
    write_date(&json);
    write_gpu(&json, report->device);
    write_problem(&json, report);
    write_verification(&json, report);
    write_timing(&json, report);
    if (report->emulation != NULL) {
        emulation_write_json(&json, report->emulation);
    } else if (report->device->emulated) {
        json_null(&json, "emulator");
    }
    json_object_end(&json);
    return json_commit(&json, error, size);
}
