/* The JSON file of a run. */
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "harness/arithmetic.h"
#include "harness/json.h"
#include "harness/message.h"
#include "harness/report.h"

enum { SCHEMA = 1 };

/* From the generated build/commit.c. */
extern const char gemm_ladder_commit[];

/* An empty text is an unknown one: null. */
static const char *or_null(const char *text) { return text[0] != '\0' ? text : NULL; }

void report_write_gpu(json *json, const device_info *gpu) {
    char capability[16];
    if (gpu->emulated) {
        json_null(json, "gpu");
        return;
    }
    snprintf(capability, sizeof capability, "%d.%d", gpu->compute_capability / 10,
             gpu->compute_capability % 10);
    json_object_begin(json, "gpu");
    json_string(json, "name", gpu->name);
    if (gpu->card[0] != '\0') {
        json_string(json, "card", gpu->card);
    }
    json_string(json, "compute_capability", capability);
    json_unsigned(json, "sms", (uint64_t)gpu->sms);
    json_unsigned(json, "l2_bytes", gpu->l2_bytes);
    json_unsigned(json, "memory_bytes", gpu->memory_bytes);
    if (isfinite(gpu->memory_bytes_per_second)) {
        json_double(json, "memory_bytes_per_second", gpu->memory_bytes_per_second);
    }
    json_double(json, "power_limit_watts", gpu->power_limit_watts);
    if (gpu->power_limit_watts < gpu->default_power_watts) {
        json_double(json, "default_power_watts", gpu->default_power_watts);
    }
    if (gpu->draws) {
        json_bool(json, "draws", true);
    }
    if (gpu->under_windows) {
        json_bool(json, "under_windows", true);
    }
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
    if (!arithmetic.moves) {
        json_unsigned(json, "k", (uint64_t)o->k);
    }
    if (o->kernel > 0) {
        json_unsigned(json, "kernel", (uint64_t)o->kernel);
    }
    json_string(json, "inputs", inputs_name(o->inputs));
    json_unsigned(json, "seed", o->seed);
    json_unsigned(json, "copies", report->copies);
    json_object_end(json);
}

/* Of a rung that chooses: the kernel that it takes, as --kernel names it. */
static void write_kernel(json *json, const report *report) {
    const options *o = report->options;
    const problem shape = {.m = o->m, .n = o->n, .k = o->k};
    int kernel = o->kernel;
    if (kernel == 0 && report->step->kernel_of != NULL) {
        kernel = report->step->kernel_of(&shape) + 1;
    }
    if (kernel > 0) {
        json_unsigned(json, "kernel", (uint64_t)kernel);
    }
}

/* Elements that cannot be right: outside what is allowed, or (found beside a sample) NaN. */
static uint64_t wrong_elements(const verdict *verdict) {
    return verdict->wrong > verdict->not_finite ? verdict->wrong : verdict->not_finite;
}

/* What narrow sums lose. */
static void write_error(json *json, const report *report, int who) {
    const verification *verification = report->verification;
    if (arithmetic_of(report->step).scaled && verification->made[PHASE_TIMED]) {
        json_double(json, "relative_error",
                    verification->verdicts[PHASE_TIMED][who].relative_error);
    }
}

static void write_verdict(json *json, const char *key, const report *report,
                          enum check_phase phase) {
    const verification *verification = report->verification;
    if (!verification->made[phase]) {
        json_null(json, key);
        return;
    }
    const verdict *verdict = &verification->verdicts[phase][CONTENDER_STEP];
    json_object_begin(json, key);
    json_unsigned(json, "checked", verdict->checked);
    json_unsigned(json, "wrong", wrong_elements(verdict));
    if (phase == PHASE_EXACT && verdict->kind != CHECK_WORDS) {
        json_unsigned(json, "integer_range", (uint64_t)verification->integers.range);
    } else if (phase == PHASE_TIMED && verdict->kind != CHECK_WORDS) {
        json_double(json, "max_error_over_bound", verdict->max_error_over_bound);
        write_error(json, report, CONTENDER_STEP);
    }
    json_object_end(json);
}

static const family *family_of(const report *report) { return arithmetic_of(report->step).family; }

static const rival *rivals_of(const report *report) { return arithmetic_of(report->step).rivals; }

static void write_opinion(json *json, const report *report, const rival *rival) {
    const bool emulated = report->device->emulated;
    const bool other = rival->who == CONTENDER_OTHER;
    const char *const keys[PHASES] = {
        [PHASE_EXACT] = "exact_wrong", [PHASE_AFTER_TIMING] = "after_timing_wrong"};
    char timed_wrong[64];
    snprintf(timed_wrong, sizeof timed_wrong, "%s_wrong", family_of(report)->timed_key);
    json_object_begin(json, emulated && other ? family_of(report)->host_key : rival->key);
    if (arithmetic_of(report->step).moves && other && !emulated) {
        json_string(json, "name", report->names[rival->who]);
    }
    for (int phase = 0; phase < PHASES; ++phase) {
        const char *key = phase == PHASE_TIMED ? timed_wrong : keys[phase];
        const verdict *verdict = &report->verification->verdicts[phase][rival->who];
        const bool made = report->verification->made[phase];
        json_double(json, key, made ? (double)wrong_elements(verdict) : NAN);
    }
    write_error(json, report, rival->who);
    json_object_end(json);
}

/* Of the step's output; null if none was right. As hexadecimal digits: readers of JSON may take a
 * number for a double. */
static void write_digest(json *json, const verification *verification) {
    char text[32];
    snprintf(text, sizeof text, "0x%016" PRIx64, verification->digest);
    json_string(json, "digest", verification->digested ? text : NULL);
}

static void write_verification(json *json, const report *report) {
    const verification *verification = report->verification;
    const family *family = family_of(report);
    json_object_begin(json, "verification");
    json_bool(json, "verified", verification_right(verification));
    json_string(json, "check", check_extent_name(report->options->check));
    write_digest(json, verification);
    write_verdict(json, "exact", report, PHASE_EXACT);
    write_verdict(json, family->timed_key, report, PHASE_TIMED);
    for (const rival *rival = rivals_of(report); rival->who != CONTENDER_STEP; ++rival) {
        /* Nothing is recorded of an early launch but its times. */
        if (has_contender(verification->contenders, rival->who) && rival->who != CONTENDER_EARLY) {
            write_opinion(json, report, rival);
        }
    }
    write_verdict(json, "after_timing", report, PHASE_AFTER_TIMING);
    json_bool(json, "guards_intact", verification->guards_intact);
    if (report->device->emulated) {
        json_string(json, "policies", verification->orders);
        json_string(json, "wrong_policy", verification->wrong_order);
    }
    json_object_end(json);
}

static void write_summary(json *json, const summary *summary) {
    json_double(json, "median", summary->median);
    json_double(json, "low", summary->low);
    json_double(json, "high", summary->high);
}

/* Mean shares of the rounds; null if the driver does not count them. */
static void write_clock_limits(json *json, const timing *timing, int who) {
    static const char *const NAMES[CLOCK_LIMITS] = {"power", "thermal",         "sync_boost",
                                                    "board", "low_utilization", "reliability"};
    const double *limited = timing->samples[who].limited;
    if (!isfinite(limited[LIMIT_POWER])) {
        json_null(json, "clock_limits");
        return;
    }
    json_object_begin(json, "clock_limits");
    for (int i = 0; i < CLOCK_LIMITS; ++i) {
        json_double(json, NAMES[i], limited[i] / (double)timing->rounds);
    }
    json_object_end(json);
}

static void write_contender(json *json, const char *key, const report *report, int who) {
    const timing *timing = report->timing;
    const timing_summary times = timing_summarize(timing, who, report->device);
    json_object_begin(json, key);
    json_doubles(json, "seconds", timing->samples[who].of[SECONDS], timing->rounds);
    json_object_begin(json, family_of(report)->rate_key);
    write_summary(json, &times.rate);
    json_object_end(json);
    json_double(json, family_of(report)->share_key, times.share);
    json_double(json, "sm_clock_ghz", times.of[CLOCK_GHZ]);
    if (timing->work.flop > 0) {
        json_double(json, "peak_tflops_at_mean_clock",
                    1e-3 * times.of[CLOCK_GHZ] * peak_flop_per_cycle(timing, who, report->device));
    }
    json_double(json, "watts", times.of[WATTS]);
    json_double(json, "joules", times.of[JOULES]);
    if (timing->protocol == PROTOCOL_CALL) {
        json_double(json, "before_seconds", timing->before_seconds[who]);
    } else if (timing->protocol == PROTOCOL_SUSTAINED) {
        write_clock_limits(json, timing, who);
    }
    json_object_end(json);
}

static void write_ratio(json *json, const report *report, const rival *rival) {
    const contender_samples *samples = report->timing->samples;
    const timing_summary times = timing_summarize(report->timing, rival->who, report->device);
    char key[64];
    snprintf(key, sizeof key, "ratio_to_%s", rival->key);
    json_object_begin(json, key);
    write_summary(json, &times.ratio);
    json_array_begin(json, "samples");
    for (size_t i = 0; i < report->timing->rounds; ++i) {
        json_double(json, NULL,
                    samples[rival->who].of[SECONDS][i] / samples[CONTENDER_STEP].of[SECONDS][i]);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_heuristic(json *json, const char *key, const heuristic *heuristic) {
    json_object_begin(json, key);
    json_unsigned(json, "number", (uint64_t)heuristic->number);
    json_string(json, "name", heuristic->name);
    json_string(json, "algorithm", heuristic->algorithm);
    json_double(json, "seconds", heuristic->seconds);
    json_object_end(json);
}

/* Which of cuBLASLt's algorithms was timed beside the step, and, if they were timed to find it, how
 * long all of them took. */
static void write_heuristics(json *json, const heuristics *found) {
    json_object_begin(json, "heuristics");
    json_unsigned(json, "asked", MOST_HEURISTICS);
    json_unsigned(json, "returned", (uint64_t)found->returned);
    if (found->enumerated > 0) {
        json_unsigned(json, "enumerated", (uint64_t)found->enumerated);
    }
    if (found->cut) {
        json_bool(json, "cut", true);
    }
    if (found->timed > 0) {
        json_unsigned(json, "launched", (uint64_t)found->timed);
        json_unsigned(json, "checked", (uint64_t)found->finalists);
    }
    write_heuristic(json, "winner", &found->winner);
    json_array_begin(json, "timed");
    for (int i = 0; i < found->count; ++i) {
        write_heuristic(json, NULL, &found->tried[i]);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_timing(json *json, const report *report) {
    const timing *timing = report->timing;
    if (timing == NULL) {
        json_null(json, "timing");
        return;
    }
    const bool is_sustained = timing->protocol == PROTOCOL_SUSTAINED;
    json_object_begin(json, "timing");
    json_string(json, "protocol", protocol_name(timing->protocol));
    json_bool(json, "interrupted", timing->interrupted);
    json_unsigned(json, "rounds", timing->rounds);
    /* A sustained round launches for a time, not a number of times. */
    json_double(json, "launches_per_round", is_sustained ? NAN : (double)timing->launches);
    json_unsigned(json, "idle_ms", is_sustained ? 0 : IDLE_MS);
    if (timing->gated) {
        json_bool(json, "gated", true);
    }
    if (timing->work.bytes > 0) {
        json_double(json, "bytes", timing->work.bytes);
    } else {
        json_double(json, "flop", timing->work.flop);
    }
    write_contender(json, "step", report, CONTENDER_STEP);
    for (const rival *rival = rivals_of(report); rival->who != CONTENDER_STEP; ++rival) {
        if (has_contender(timing->contenders, rival->who)) {
            write_contender(json, rival->key, report, rival->who);
            write_ratio(json, report, rival);
        }
        if (has_contender(timing->contenders, rival->who) && rival->who == CONTENDER_HEURISTIC) {
            write_heuristics(json, &timing->heuristics);
        }
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

void report_write_json(const report *report, const char *path) {
    char error[512];
    json json;
    json_begin(&json);
    json_object_begin(&json, NULL);
    json_unsigned(&json, "schema", SCHEMA);
    json_string(&json, "kind", "step");
    json_string(&json, "step", report->step->name);
    json_string(&json, "idea", report->step->idea);
    if (report->step->below != NULL) {
        json_string(&json, "below", report->step->below);
    }
    if (report->step->computes == GEMM_FP16) {
        json_bool(&json, "fp16_sums", report->step->fp16_sums);
    }
    if (report->step->computes_nothing) {
        json_bool(&json, "computes_nothing", true);
    }
    json_string(&json, "commit", gemm_ladder_commit);
    write_date(&json);
    report_write_gpu(&json, report->device);
    write_problem(&json, report);
    write_kernel(&json, report);
    write_verification(&json, report);
    write_timing(&json, report);
    if (report->trace != NULL) {
        trace_write_json(&json, report->trace);
    }
    if (report->emulation != NULL) {
        emulation_write_json(&json, report->emulation);
    } else if (report->device->emulated) {
        json_null(&json, "emulator");
    }
    json_object_end(&json);
    if (json_commit(&json, path, error, sizeof error) != 0) {
        end_with(STATUS_FAILED, "--json: %s", error);
    }
}
