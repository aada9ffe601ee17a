/* The printed lines and the JSON file, from a made-up run. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report.h"
#include "test.h"

static const step rung = {.name = "v07", .idea = "raw mbarrier", .computes = GEMM_BF16};
static const options asked = {.m = 128, .n = 256, .k = 64, .seed = 1, .rounds = 2};
static const device_info gpu = {.name = "Test GPU",
                                .compute_capability = 90,
                                .sms = 132,
                                .l2_bytes = 60000000,
                                .memory_bytes = 1000000000,
                                .power_limit_watts = NAN,
                                .cuda = "13.0",
                                .cublas = "13.1.0"};
static double seconds[] = {1e-3, 1e-3};
static double cublas_seconds[] = {2e-3, 2e-3};
static double half_seconds[] = {5e-4, 5e-4};
static double clock_ghz[] = {1.5, 1.5};
static double unknown[] = {NAN, NAN};
static timing measured = {.rounds = 2,
                          .launches = 14,
                          .contenders = STEP_AND_OTHER,
                          .work = {.flop = 8e11},
                          .samples = {{{seconds, clock_ghz, unknown, unknown}, 10},
                                      {{cublas_seconds, clock_ghz, unknown, unknown}, 10},
                                      {{half_seconds, clock_ghz, unknown, unknown}, 10},
                                      {{half_seconds, clock_ghz, unknown, unknown}, 10},
                                      {{half_seconds, clock_ghz, unknown, unknown}, 10}}};

static verification right_result(void) {
    verification result = {.contenders = STEP_AND_OTHER,
                           .integers = {.exact = true, .range = 4},
                           .guards_intact = true};
    for (int phase = 0; phase < PHASES; ++phase) {
        result.made[phase] = true;
        for (int who = 0; who < CONTENDERS; ++who) {
            result.verdicts[phase][who] =
                (verdict){.kind = phase == PHASE_EXACT ? CHECK_EXACT : CHECK_BOUNDED,
                          .checked = 32768,
                          .max_error_over_bound = phase == PHASE_EXACT ? 0 : 0.25};
        }
    }
    return result;
}

static const contender PRODUCTS[CONTENDERS] = {
    [CONTENDER_OTHER] = {.name = "cuBLAS"},
    [CONTENDER_FP16_SUMS] = {.name = "cuBLAS with fp16 sums"},
    [CONTENDER_HEURISTIC] = {.name = "cuBLASLt's best"}};
static const contender MOVERS[CONTENDERS] = {
    [CONTENDER_OTHER] = {.name = "cublasSgeam"}, [CONTENDER_COPY] = {.name = "the device copy"}};
static const contender HOST[CONTENDERS] = {[CONTENDER_OTHER] = {.name = "the host product"}};

static report make_report(const verification *verification, timing *timing) {
    return (report){.step = &rung,
                    .options = &asked,
                    .device = &gpu,
                    .copies = 256,
                    .operand_bytes = 114688,
                    .contenders = PRODUCTS,
                    .verification = verification,
                    .timing = timing};
}

static char text[8192];

/* Runs one of the printing functions and keeps what it prints in text. */
static void print(void (*printer)(FILE *, const report *), const report *report) {
    FILE *out = tmpfile();
    text[0] = '\0';
    EXPECT(out != NULL, "tmpfile");
    if (out != NULL) {
        printer(out, report);
        rewind(out);
        text[fread(text, 1, sizeof text - 1, out)] = '\0';
        fclose(out);
    }
}

static void expect_line(const char *line) {
    EXPECT(strstr(text, line) != NULL, "'%s' is not in:\n%s", line, text);
}

static void setup_lines(void) {
    const verification result = right_result();
    const report report = make_report(&result, NULL);
    print(report_print_setup, &report);
    expect_line("v07  raw mbarrier\n");
    expect_line("device     Test GPU, 132 SMs, compute capability 9.0, CUDA 13.0, cuBLAS 13.1.0, "
                "driver unknown\n");
    expect_line("problem    m=128 n=256 k=64, bf16 in and out, fp32 accumulate\n");
    expect_line("inputs     normal, seed 1, 256 copies of the operands (0.0294 GB, L2 is 60 MB)\n");
}

static void right_lines(void) {
    const verification result = right_result();
    const report report = make_report(&result, &measured);
    print(report_print_verification, &report);
    expect_line("verified   exact: 32768 of 32768 equal; bounded: largest error 0.25 of the bound; "
                "cuBLAS agrees; guards intact; timed buffers checked again\n");
    print(report_print_timing, &report);
    expect_line(
        "time       1 ms  800.0 TFLOPS  (800.0 to 800.0, 2 rounds of 14 launches, burst)\n");
    expect_line("cuBLAS     2 ms  400.0 TFLOPS");
    expect_line("ratio      2.000 of cuBLAS  (2.000 to 2.000)\n");
    expect_line("tensor     98.6 % of the tensor-core peak's cycles   clock 1.500 GHz   "
                "(cuBLAS 49.3 %, 1.500 GHz)\n");
}

static void wrong_lines(void) {
    verification result = right_result();
    verdict *exact = &result.verdicts[PHASE_EXACT][CONTENDER_STEP];
    exact->wrong = 1;
    exact->got = 12;
    exact->expected = 13;
    result.verdicts[PHASE_AFTER_TIMING][CONTENDER_OTHER].not_finite = 1;
    result.guards_intact = false;
    snprintf(result.guards_text, sizeof result.guards_text, "guards: D of copy 0: somewhere");
    const report report = make_report(&result, NULL);
    print(report_print_verification, &report);
    EXPECT(strstr(text, "verified") == NULL, "%s", text);
    expect_line("WRONG      exact: 1 of 32768 differ; first at [0][0]: got 12, expected 13\n");
    expect_line("WRONG      cuBLAS bounded: 1 elements were never written");
    expect_line("(after timing)\n");
    expect_line("WRONG      guards: D of copy 0: somewhere\n");
}

static void every_verdict_counts(void) {
    verification result = right_result();
    EXPECT(verification_right(&result), "right");
    result.verdicts[PHASE_EXACT][CONTENDER_FP16_SUMS].wrong = 1;
    EXPECT(verification_right(&result), "a contender that is not there");
    result.guards_intact = false;
    EXPECT(!verification_right(&result), "guards");
    for (int phase = 0; phase < PHASES; ++phase) {
        for (int who = 0; who < CONTENDERS; ++who) {
            result = right_result();
            result.contenders = (1U << CONTENDERS) - 1;
            result.verdicts[phase][who].wrong = 1;
            EXPECT(!verification_right(&result), "phase %d, contender %d", phase, who);
            result.made[phase] = false;
            EXPECT(verification_right(&result), "phase %d was not made", phase);
        }
    }
}

static void read_json(const report *report) {
    char path[] = "/tmp/gemm-ladder-report-XXXXXX";
    char error[512];
    const int descriptor = mkstemp(path);
    text[0] = '\0';
    EXPECT(descriptor >= 0, "mkstemp");
    EXPECT(report_write_json(report, path, error, sizeof error) == 0, "%s", error);
    close(descriptor);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    unlink(path);
}

/* With a third contender, and with what only addmm has. */
static const step fp16_rung = {.name = "a06", .computes = GEMM_FP16, .fp16_sums = true};
static const step addmm_rung = {.name = "a01", .computes = ADDMM_FP16};

static void third_contender(void) {
    verification result = right_result();
    timing three = measured;
    result.contenders = STEP_AND_OTHER | 1U << CONTENDER_FP16_SUMS;
    three.contenders = STEP_AND_OTHER | 1U << CONTENDER_FP16_SUMS;
    report report = make_report(&result, &three);
    report.step = &fp16_rung;
    print(report_print_setup, &report);
    expect_line("k=64, fp16 in and out, fp16 accumulate\n");
    print(report_print_timing, &report);
    expect_line("ratio      2.000 of cuBLAS  (2.000 to 2.000)\n");
    expect_line("cuBLAS 16  0.5 ms  1600.0 TFLOPS");
    expect_line("ratio      0.500 of cuBLAS with fp16 sums  (0.500 to 0.500)\n");
    read_json(&report);
    expect_line("\"computation\": \"gemm_fp16\"");
    expect_line("\"fp16_sums\": true");
    expect_line("\"ratio_to_cublas\": {\n      \"median\": 2,");
    expect_line("\"ratio_to_cublas_fp16_sums\": {\n      \"median\": 0.5,");
    expect_line("\"cublas_fp16_sums\": {\n      \"exact_wrong\": 0");
    result.verdicts[PHASE_EXACT][CONTENDER_FP16_SUMS].wrong = 1;
    print(report_print_verification, &report);
    expect_line("WRONG      cuBLAS with fp16 sums exact: 1 of 32768");
}

/* One of cuBLASLt's algorithms, without and with the search that found it. */
static void heuristic_contender(void) {
    verification result = right_result();
    timing with = measured;
    const heuristic winner = {.number = 7, .name = "algorithm 66, tile 20", .seconds = 5e-4};
    result.contenders = STEP_AND_OTHER | 1U << CONTENDER_HEURISTIC;
    with.contenders = result.contenders;
    with.heuristics = (heuristics){.returned = 9, .winner = winner};
    report report = make_report(&result, &with);
    print(report_print_timing, &report);
    expect_line("cuBLASLt   0.5 ms  1600.0 TFLOPS");
    expect_line("ratio      0.500 of cuBLASLt's best  (0.500 to 0.500)\n");
    expect_line("           number 7 of 9: algorithm 66, tile 20\n");
    with.heuristics.count = 2;
    with.heuristics.tried[0] = winner;
    with.heuristics.tried[1] = (heuristic){.number = 0, .name = "x", .seconds = 6e-4};
    print(report_print_timing, &report);
    expect_line("algorithm 66, tile 20; the fastest of 2 that were timed\n");
    read_json(&report);
    expect_line("\"ratio_to_cublaslt\": {\n      \"median\": 0.5,");
    expect_line("\"cublaslt\": {\n      \"exact_wrong\": 0");
    expect_line(
        "\"winner\": {\n        \"number\": 7,\n        \"name\": \"algorithm 66, tile 20\"");
    EXPECT(strstr(text, "fp16_sums") == NULL, "%s", text);
    result.verdicts[PHASE_AFTER_TIMING][CONTENDER_HEURISTIC].wrong = 1;
    result.made[PHASE_AFTER_TIMING] = true;
    print(report_print_verification, &report);
    expect_line("WRONG      cuBLASLt's best bounded: 1 of 32768");
}

/* Of a rung that moves words: a plain copy is the third. */
static const step moving_rung = {.name = "t02", .idea = "a transpose", .computes = TRANSPOSE_FP32};
static const options moved = {.m = 128, .n = 256, .seed = 1, .rounds = 2};

static verification right_move(void) {
    verification result = right_result();
    result.contenders = STEP_AND_OTHER | 1U << CONTENDER_COPY;
    for (int i = 0; i < PHASES * CONTENDERS; ++i) {
        verdict *verdict = &result.verdicts[i / CONTENDERS][i % CONTENDERS];
        verdict->kind = CHECK_WORDS;
        verdict->max_error_over_bound = 0;
    }
    return result;
}

static report make_move_report(const verification *verification, timing *timing) {
    report report = make_report(verification, timing);
    report.step = &moving_rung;
    report.options = &moved;
    report.contenders = MOVERS;
    return report;
}

static void moved_lines(void) {
    const verification result = right_move();
    timing times = measured;
    times.contenders = STEP_AND_OTHER | 1U << CONTENDER_COPY;
    times.work = (work){.bytes = 3e9};
    device_info fast = gpu;
    fast.memory_bytes_per_second = 8e12;
    report report = make_move_report(&result, &times);
    report.device = &fast;
    print(report_print_setup, &report);
    expect_line("problem    m=128 n=256, fp32, transposed\n");
    print(report_print_verification, &report);
    expect_line("verified   bits exact: 32768 of 32768 equal; normal exact: 32768 of 32768 equal; "
                "cublasSgeam agrees; guards intact; timed buffers checked again\n");
    print(report_print_timing, &report);
    expect_line("time       1 ms  3000.0 GB/s  (3000.0 to 3000.0, 2 rounds of 14 launches, burst)\n"
                "copy       0.5 ms  6000.0 GB/s");
    expect_line("ratio      0.500 of the device copy  (0.500 to 0.500)\n"
                "second     2 ms  1500.0 GB/s");
    expect_line("ratio      2.000 of cublasSgeam  (2.000 to 2.000)\n");
    expect_line("memory     37.5 % of 8000 GB/s, its peak by clock and bus width   clock 1.500 GHz "
                "  (the device copy 75.0 %, 1.500 GHz)\n");
    fast.memory_bytes_per_second = NAN;
    print(report_print_timing, &report);
    expect_line("memory     peak unknown   clock 1.500 GHz   (the device copy 1.500 GHz)\n");
}

static void moved_json(void) {
    const verification result = right_move();
    timing times = measured;
    times.contenders = STEP_AND_OTHER | 1U << CONTENDER_COPY;
    times.work = (work){.bytes = 3e9};
    const report report = make_move_report(&result, &times);
    read_json(&report);
    expect_line("\"computation\": \"transpose_fp32\",\n    \"m\": 128,\n    \"n\": 256,\n    "
                "\"inputs\"");
    expect_line("\"exact\": {\n      \"checked\": 32768,\n      \"wrong\": 0\n    }");
    expect_line("\"second_opinion\": {\n      \"name\": \"cublasSgeam\"");
    expect_line("\"device_copy\": {\n      \"exact_wrong\": 0");
    expect_line("\"bytes\": 3000000000");
    expect_line("\"gb_per_s\": {\n        \"median\": 3000,");
    expect_line("\"ratio_to_device_copy\": {\n      \"median\": 0.5,");
    expect_line("\"ratio_to_second_opinion\": {\n      \"median\": 2,");
    EXPECT(strstr(text, "flop") == NULL && strstr(text, "tensor") == NULL &&
               strstr(text, "cublas\": {") == NULL && strstr(text, "bounded") == NULL,
           "%s", text);
}

static void wrong_moves(void) {
    verification result = right_move();
    verdict *words = &result.verdicts[PHASE_TIMED][CONTENDER_COPY];
    words->wrong = 1;
    words->got = 4294967295.0;
    const report report = make_move_report(&result, NULL);
    print(report_print_verification, &report);
    expect_line("WRONG      the device copy exact: 1 of 32768 differ; first at [0][0]: got "
                "0xffffffff, expected 0x00000000\n");
}

static void scalars(void) {
    const verification result = right_result();
    const options with_scalars = {.m = 128, .n = 256, .k = 64, .alpha = -2.5f, .beta = 1};
    report report = make_report(&result, &measured);
    report.step = &addmm_rung;
    report.options = &with_scalars;
    print(report_print_setup, &report);
    expect_line("k=64, alpha=-2.5 beta=1, A and B fp16, C and D fp32, fp32 accumulate\n");
    read_json(&report);
    expect_line("\"computation\": \"addmm_fp16\",\n    \"alpha\": -2.5,\n    \"beta\": 1,");
    EXPECT(strstr(text, "fp16_sums") == NULL, "%s", text);
}

static void json_of_a_run(void) {
    const verification result = right_result();
    const report report = make_report(&result, &measured);
    read_json(&report);
    expect_line("\"schema\": 1,\n  \"kind\": \"step\",\n  \"step\": \"v07\"");
    expect_line("\"compute_capability\": \"9.0\"");
    expect_line("\"power_limit_watts\": null");
    expect_line("\"verified\": true");
    expect_line("\"protocol\": \"burst\"");
    expect_line("\"seconds\": [0.001, 0.001]");
    expect_line("\"samples\": [2, 2]");
    expect_line("\"integer_range\": 4");
    expect_line("\"computation\": \"gemm_bf16\"");
    EXPECT(strstr(text, "fp16") == NULL && strstr(text, "alpha") == NULL, "%s", text);
}

static void json_of_a_wrong_run(void) {
    verification result = right_result();
    result.made[PHASE_AFTER_TIMING] = false;
    result.verdicts[PHASE_TIMED][CONTENDER_STEP].wrong = 7;
    result.verdicts[PHASE_TIMED][CONTENDER_STEP].max_error_over_bound = HUGE_VAL;
    const report report = make_report(&result, NULL);
    read_json(&report);
    expect_line("\"verified\": false");
    expect_line("\"wrong\": 7");
    expect_line("\"max_error_over_bound\": null");
    expect_line("\"after_timing\": null");
    expect_line("\"timing\": null");
}

static const device_info emulator = {
    .emulated = true, .name = "CPU emulator", .compute_capability = 90, .sms = 4};
static emulator_access_site accesses[] = {{"steps/v07.cu", 120, true, 4, 64, 512, 64, 8},
                                          {"steps/v07.cu", 130, false, 16, 64, 256, 256, 1}};
static emulation counted = {.order = "eager",
                            .counts = {.tma_read_bytes = 786432,
                                       .tma_loads = 48,
                                       .global_written_bytes = 262144,
                                       .multicast_bytes = 1500000,
                                       .wgmmas = 512,
                                       .multiply_adds = 33554432,
                                       .mbarrier_arrivals = 150,
                                       .mbarrier_waits = 100,
                                       .mbarrier_waits_blocked = 40,
                                       .barrier_waits = 24,
                                       .ring_slots = 4,
                                       .ring_ahead_most = 3,
                                       .ring_ahead_mean = 2.5,
                                       .threads = 3072,
                                       .ctas = 8,
                                       .clusters = 4},
                            .sites = 2,
                            .site = accesses};

static report make_emulated_report(verification *verification) {
    report report = make_report(verification, NULL);
    verification->made[PHASE_AFTER_TIMING] = false;
    snprintf(verification->orders, sizeof verification->orders, "eager, lazy");
    report.device = &emulator;
    report.contenders = HOST;
    report.emulation = &counted;
    return report;
}

static void emulated_lines(void) {
    verification result = right_result();
    const report report = make_emulated_report(&result);
    print(report_print_setup, &report);
    expect_line("machine    CPU emulator, compute capability 9.0, 4 SMs; no speed is measured\n");
    expect_line("inputs     normal, seed 1\n");
    print(report_print_verification, &report);
    expect_line("the host product agrees\npolicies   eager, lazy\n");
}

static void print_emulation(FILE *out, const report *report) {
    emulation_print(out, report->emulation);
}

static void emulated_counts(void) {
    verification result = right_result();
    const report report = make_emulated_report(&result);
    print(print_emulation, &report);
    expect_line("launch     8 CTAs in 4 clusters, 3072 threads; counted under the policy eager\n");
    expect_line("read       786.4 kB by TMA in 48 loads; multicast brought 1.5 MB more to other "
                "CTAs\n");
    expect_line("written    262.1 kB by threads\n");
    expect_line("tensor     512 wgmma instructions, 33554432 multiply-adds\n");
    expect_line("waits      100 for mbarriers, 40 of them blocked, with 150 arrivals; 24 at other "
                "barriers, 0 blocked\n");
    expect_line("ring       the loads ran at most 3 of 4 stages ahead, 2.5 on average\n");
    expect_line("banks      conflicts in 1 of the 2 lines that access shared memory:\n");
    expect_line("              8         512            448  write   steps/v07.cu:120\n");
    EXPECT(strstr(text, ":130") == NULL, "a line without conflicts is shown:\n%s", text);
}

static void wrong_policy(void) {
    verification result = right_result();
    const report report = make_emulated_report(&result);
    result.verdicts[PHASE_EXACT][CONTENDER_STEP].wrong = 1;
    result.wrong_order = "lazy";
    print(report_print_verification, &report);
    expect_line("WRONG      exact: 1 of 32768 differ");
    expect_line("policy     lazy\n");
}

static void json_of_an_emulated_run(void) {
    verification result = right_result();
    const report report = make_emulated_report(&result);
    read_json(&report);
    expect_line("\"gpu\": null");
    expect_line("\"host_product\": {");
    expect_line("\"policies\": \"eager, lazy\"");
    expect_line("\"timing\": null");
    expect_line("\"counted_policy\": \"eager\"");
    expect_line("\"wgmmas\": 512");
    expect_line("\"extra_wavefronts\": 448");
}

int main(void) {
    run_case("report: the lines of the set-up", setup_lines);
    run_case("report: the lines of a right result", right_lines);
    run_case("report: the lines of a wrong result", wrong_lines);
    run_case("report: every check counts", every_verdict_counts);
    run_case("report: cuBLAS with fp16 sums beside it", third_contender);
    run_case("report: one of cuBLASLt's algorithms", heuristic_contender);
    run_case("report: the lines of what moves words", moved_lines);
    run_case("report: JSON of what moves words", moved_json);
    run_case("report: words that are wrong", wrong_moves);
    run_case("report: alpha and beta", scalars);
    run_case("report: JSON of a timed run", json_of_a_run);
    run_case("report: JSON of a wrong run", json_of_a_wrong_run);
    run_case("report: the lines of an emulated run", emulated_lines);
    run_case("report: the counts of an emulated run", emulated_counts);
    run_case("report: the policy under which a result is wrong", wrong_policy);
    run_case("report: JSON of an emulated run", json_of_an_emulated_run);
    return test_result();
}
