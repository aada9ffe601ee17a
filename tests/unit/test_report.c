/* The printed lines and the JSON file, from made-up runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report.h"
#include "../../emulator/tests/test.h"

static const device_info GPU = {.name = "Test GPU",
                                .compute_capability = 90,
                                .sms = 132,
                                .l2_bytes = 60000000,
                                .memory_bytes = 1000000000,
                                .power_limit_watts = NAN,
                                .cuda = "13.0",
                                .cublas = "13.1.0"};
static const device_info EMULATOR = {
    .emulated = true, .name = "CPU emulator", .compute_capability = 90, .sms = 4};
static const step V07 = {.name = "v07", .idea = "raw mbarrier", .computes = GEMM_BF16};
static const step A06 = {.name = "a06", .computes = GEMM_FP16, .fp16_sums = true};
static const step A01 = {.name = "a01", .computes = ADDMM_FP16};
static const step T02 = {.name = "t02", .idea = "a transpose", .computes = TRANSPOSE_FP32};
static const step F02 = {.name = "f02", .computes = GEMM_FP8, .promotion = 128};
static const step F03 = {
    .name = "f03", .computes = GEMM_FP8, .promotion = 128, .block_scales = true};
static double seconds[] = {1e-3, 1e-3};
static double cublas_seconds[] = {2e-3, 2e-3};
static double half_seconds[] = {5e-4, 5e-4};
static double clock_ghz[] = {1.5, 1.5};
static double unknown[] = {NAN, NAN};
static const timing MEASURED = {.rounds = 2,
                                .launches = 14,
                                .contenders = STEP_AND_OTHER,
                                .work = {.flop = 8e11},
                                .samples = {{{seconds, clock_ghz, unknown, unknown}, 10},
                                            {{cublas_seconds, clock_ghz, unknown, unknown}, 10},
                                            {{half_seconds, clock_ghz, unknown, unknown}, 10},
                                            {{half_seconds, clock_ghz, unknown, unknown}, 10},
                                            {{half_seconds, clock_ghz, unknown, unknown}, 10}}};

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

static const char *const PRODUCTS[CONTENDERS] = {[CONTENDER_OTHER] = "cuBLAS",
                                                 [CONTENDER_NARROW_SUMS] = "cuBLAS with fp16 sums",
                                                 [CONTENDER_HEURISTIC] = "cuBLASLt's best"};
static const char *const FP8[CONTENDERS] = {
    [CONTENDER_OTHER] = "cuBLASLt (block scales)", [CONTENDER_HEURISTIC] = "cuBLASLt's best"};
static const char *const MOVERS[CONTENDERS] = {
    [CONTENDER_OTHER] = "cublasSgeam", [CONTENDER_COPY] = "the device copy"};
static const char *const HOST[CONTENDERS] = {[CONTENDER_OTHER] = "the host product"};

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

/* The run that is reported, which the rows below change. */
static options asked;
static device_info gpu;
static verification result;
static timing times;
static report run;
static char text[32768]; /* all that it says, and then its file */

static void make_run(void) {
    asked = (options){.m = 128, .n = 256, .k = 64, .seed = 1, .rounds = 2};
    gpu = GPU;
    result = right_result();
    times = MEASURED;
    run = (report){.step = &V07,
                   .options = &asked,
                   .device = &gpu,
                   .copies = 256,
                   .operand_bytes = 114688,
                   .names = PRODUCTS,
                   .verification = &result,
                   .timing = &times};
}

static void say(void) {
    char path[] = "/tmp/gemm-ladder-report-XXXXXX";
    FILE *out = fmemopen(text, sizeof text, "w");
    report_print_setup(out, &run);
    report_print_verification(out, &run);
    report_print_measured(out, &run);
    const size_t printed = (size_t)ftell(out);
    fclose(out);
    const int descriptor = mkstemp(path);
    report_write_json(&run, path);
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL, "%s", path);
    if (file != NULL) {
        text[printed + fread(text + printed, 1, sizeof text - 1 - printed, file)] = '\0';
        fclose(file);
    }
    close(descriptor);
    unlink(path);
}

static void right(void) {}

static void wrong(void) {
    verdict *exact = &result.verdicts[PHASE_EXACT][CONTENDER_STEP];
    exact->wrong = 1;
    exact->got = 12;
    exact->expected = 13;
    result.verdicts[PHASE_AFTER_TIMING][CONTENDER_OTHER].wrong = 1;
    result.guards_intact = false;
    snprintf(result.guards_text, sizeof result.guards_text, "guards: D of copy 0: somewhere");
    run.timing = NULL;
}

static void add_contender(int who) { result.contenders = times.contenders |= 1U << who; }

static void fp16_sums(void) {
    run.step = &A06;
    add_contender(CONTENDER_NARROW_SUMS);
}

static void searched(void) {
    add_contender(CONTENDER_HEURISTIC);
    times.heuristics = (heuristics){.returned = 9,
                                    .timed = 2,
                                    .finalists = 1,
                                    .winner = {.number = 7, .name = "algorithm 66, tile 20"},
                                    .count = 2,
                                    .tried = {{.number = 7}, {.seconds = 6e-4}}};
}

static void of_8_bits(void) {
    run.step = &F03;
    run.names = FP8;
    result.verdicts[PHASE_TIMED][CONTENDER_STEP].relative_error = 0.00125;
    result.verdicts[PHASE_TIMED][CONTENDER_OTHER].relative_error = 0.5;
}

static void of_one_scale(void) {
    static const char *const names[CONTENDERS] = {
        [CONTENDER_OTHER] = "cuBLASLt (accurate)", [CONTENDER_NARROW_SUMS] = "cuBLASLt (fast)"};
    run.step = &F02;
    run.names = names;
    add_contender(CONTENDER_NARROW_SUMS);
}

static void refused(void) {
    of_8_bits();
    run.refused = 1U << CONTENDER_OTHER | 1U << CONTENDER_HEURISTIC;
    result.contenders = times.contenders = 1U << CONTENDER_STEP;
    result.verdicts[PHASE_TIMED][CONTENDER_OTHER].wrong = 1; /* not looked at */
    for (int i = 0; i < MEASURES; ++i) {
        times.samples[CONTENDER_OTHER].of[i] = NULL;
    }
}

static void refused_sustained(void) {
    refused();
    times.protocol = PROTOCOL_SUSTAINED;
    times.samples[CONTENDER_STEP].of[WATTS] = cublas_seconds;
    times.samples[CONTENDER_STEP].of[JOULES] = half_seconds;
}

static void refused_calls(void) {
    refused();
    times.protocol = PROTOCOL_CALL;
}

static void moved(void) {
    add_contender(CONTENDER_COPY);
    for (int i = 0; i < PHASES * CONTENDERS; ++i) {
        verdict *verdict = &result.verdicts[i / CONTENDERS][i % CONTENDERS];
        verdict->kind = CHECK_WORDS;
        verdict->max_error_over_bound = 0;
    }
    asked.k = 0;
    times.work = (work){.bytes = 3e9};
    gpu.memory_bytes_per_second = 8e12;
    run.step = &T02;
    run.names = MOVERS;
}

static void moved_at_an_unknown_peak(void) {
    moved();
    gpu.memory_bytes_per_second = NAN;
}

static void wrong_words(void) {
    moved();
    result.verdicts[PHASE_TIMED][CONTENDER_COPY].wrong = 1;
    result.verdicts[PHASE_TIMED][CONTENDER_COPY].got = 4294967295.0;
}

/* a06 at 100 TFLOPS, cuBLAS with fp32 sums at 50, at 1.5 GHz. */
static void on_card(const char *name, int compute_capability, int sms) {
    snprintf(gpu.name, sizeof gpu.name, "%s", name);
    gpu.compute_capability = compute_capability;
    gpu.sms = sms;
    run.step = &A06;
    times.work = (work){.flop = 1e11, .fp16_sums = true};
}

static void on_laptop(void) {
    on_card("NVIDIA GeForce RTX 3080 Laptop GPU", 86, 82);
    gpu.power_limit_watts = 80;
    gpu.default_power_watts = 115;
    gpu.draws = gpu.under_windows = true;
}

static void on_workstation(void) {
    on_card("NVIDIA RTX 6000 Ada Generation", 89, 142);
    gpu.others = 2;
}

static void on_blackwell(void) { on_card("NVIDIA GeForce RTX 5090", 120, 170); }

static void on_unlisted(void) { on_card("NVIDIA B200", 100, 148); }

static void scalars(void) {
    asked.alpha = -2.5f;
    asked.beta = 1;
    run.step = &A01;
}

static void emulated(void) {
    gpu = EMULATOR;
    result.made[PHASE_AFTER_TIMING] = false;
    snprintf(result.orders, sizeof result.orders, "eager, lazy");
    run.names = HOST;
    run.emulation = &counted;
    run.timing = NULL;
}

/* What is in the text; after a ! what is not. */
typedef struct row {
    const char *name;
    void (*change)(void);
    const char *says[16];
} row;

static const row ROWS[] = {
    {"the lines of the set-up and of a right result",
     right,
     {"v07  raw mbarrier\n",
      "device     Test GPU, 132 SMs, compute capability 9.0, CUDA 13.0, cuBLAS 13.1.0, "
      "driver unknown\n",
      "problem    m=128 n=256 k=64, bf16 in and out, fp32 accumulate\n",
      "inputs     normal, seed 1, 256 copies of the operands (0.0294 GB, L2 is 60 MB)\n",
      "verified   exact: 32768 of 32768 equal; bounded: largest error 0.25 of the bound; "
      "cuBLAS agrees; guards intact; timed buffers checked again\n",
      "time       1 ms  800.0 TFLOPS  (800.0 to 800.0, 2 rounds of 14 launches, burst)\n",
      "cuBLAS     2 ms  400.0 TFLOPS", "ratio      2.000 of cuBLAS  (2.000 to 2.000)\n",
      "tensor     98.6 % of the tensor-core peak's cycles   clock 1.500 GHz   "
      "(cuBLAS 49.3 %, 1.500 GHz)\n"}},
    {"the lines and the JSON of a wrong result",
     wrong,
     {"!verified   ", "WRONG      exact: 1 of 32768 differ; first at [0][0]: got 12, expected 13\n",
      "WRONG      cuBLAS bounded: 1 of 32768 are outside the bound", "(after timing)\n",
      "WRONG      guards: D of copy 0: somewhere\n", "\"verified\": false", "\"wrong\": 1",
      "\"guards_intact\": false", "\"timing\": null"}},
    {"cuBLAS with fp16 sums beside it",
     fp16_sums,
     {"k=64, fp16 in and out, fp16 accumulate\n", "ratio      2.000 of cuBLAS  (2.000 to 2.000)\n",
      "cuBLAS 16  0.5 ms  1600.0 TFLOPS",
      "ratio      0.500 of cuBLAS with fp16 sums  (0.500 to 0.500)\n",
      "\"computation\": \"gemm_fp16\"", "\"fp16_sums\": true",
      "\"ratio_to_cublas\": {\n      \"median\": 2,",
      "\"ratio_to_cublas_fp16_sums\": {\n      \"median\": 0.5,",
      "\"cublas_fp16_sums\": {\n      \"exact_wrong\": 0"}},
    {"one of cuBLASLt's algorithms, after a search",
     searched,
     {"cuBLASLt   0.5 ms  1600.0 TFLOPS", "ratio      0.500 of cuBLASLt's best  (0.500 to 0.500)\n",
      "           number 7 of 9: algorithm 66, tile 20; the fastest of 2 that were timed\n",
      "\"ratio_to_cublaslt\": {\n      \"median\": 0.5,",
      "\"cublaslt\": {\n      \"exact_wrong\": 0",
      "\"winner\": {\n        \"number\": 7,\n        \"name\": \"algorithm 66, tile 20\"",
      "!fp16_sums"}},
    {"the errors of FP8, printed and in the JSON",
     of_8_bits,
     {"error      0.125 % of D, root mean square; cuBLASLt (block scales) 50 %\n",
      "\"max_error_over_bound\": 0.25,\n      \"relative_error\": 0.00125\n",
      "\"after_timing_wrong\": 0,\n      \"relative_error\": 0.5\n", "!without ",
      "\"cublaslt_block_scales\": {", "\"ratio_to_cublaslt_block_scales\": {", "!\"cublas\": {"}},
    {"the modes of FP8 with one scale",
     of_one_scale,
     {"ratio      2.000 of cuBLASLt (accurate)", "ratio      0.500 of cuBLASLt (fast)",
      "\"cublaslt_accurate\": {", "\"ratio_to_cublaslt_fast\": {", "!\"cublas\": {"}},
    {"a shape that cuBLASLt does not take",
     refused,
     {"without    cuBLASLt (block scales), cuBLASLt's best: cuBLASLt does not take this shape with "
      "a "
      "scale of each block\n",
      "of the bound; nothing beside it; guards intact;",
      "error      0.125 % of D, root mean square\n", "time       1 ms  800.0 TFLOPS",
      "of the tensor-core peak's cycles   clock 1.500 GHz\n", "\"relative_error\": 0.00125",
      "\"step\": {\n      \"seconds\"", "!\"cublaslt", "!ratio"}},
    {"its power",
     refused_sustained,
     {"power      0 W, 0.0005 J per GEMM\n", "\"watts\": 0.002", "\"joules\": 0.0005",
      "!\"cublaslt"}},
    {"its calls", refused_calls, {"before     prepare 0 ms\n", "!\"cublaslt"}},
    {"the lines of what moves words",
     moved,
     {"problem    m=128 n=256, fp32, transposed\n",
      "verified   bits exact: 32768 of 32768 equal; normal exact: 32768 of 32768 equal; "
      "cublasSgeam agrees; guards intact; timed buffers checked again\n",
      "time       1 ms  3000.0 GB/s  (3000.0 to 3000.0, 2 rounds of 14 launches, burst)\n"
      "copy       0.5 ms  6000.0 GB/s",
      "ratio      0.500 of the device copy  (0.500 to 0.500)\n"
      "second     2 ms  1500.0 GB/s",
      "ratio      2.000 of cublasSgeam  (2.000 to 2.000)\n",
      "memory     37.5 % of 8000 GB/s, its peak by clock and bus width   clock 1.500 GHz "
      "  (the device copy 75.0 %, 1.500 GHz)\n"}},
    {"a memory whose peak is not known",
     moved_at_an_unknown_peak,
     {"memory     peak unknown   clock 1.500 GHz   (the device copy 1.500 GHz)\n"}},
    {"JSON of what moves words",
     moved,
     {"\"computation\": \"transpose_fp32\",\n    \"m\": 128,\n    \"n\": 256,\n    "
      "\"inputs\"",
      "\"exact\": {\n      \"checked\": 32768,\n      \"wrong\": 0\n    }",
      "\"second_opinion\": {\n      \"name\": \"cublasSgeam\"",
      "\"device_copy\": {\n      \"exact_wrong\": 0", "\"bytes\": 3000000000",
      "\"gb_per_s\": {\n        \"median\": 3000,",
      "\"ratio_to_device_copy\": {\n      \"median\": 0.5,",
      "\"ratio_to_second_opinion\": {\n      \"median\": 2,", "!flop", "!tensor", "!cublas\": {",
      "!bounded"}},
    {"a card of 8.6, whose fp32 sums run at half the speed; what makes its times uncertain",
     on_laptop,
     {"device     NVIDIA GeForce RTX 3080 Laptop GPU, 82 SMs, compute capability 8.6,",
      "display    this GPU draws a screen too",
      "power      limited to 80 W; such a card's default is 115 W",
      "WSL        Windows schedules this GPU", "!in use",
      "\"default_power_watts\": 115,\n    \"draws\": true,\n    \"under_windows\": true",
      "tensor     79.4 % of the tensor-core peak's cycles   clock 1.500 GHz   "
      "(cuBLAS 79.4 %, 1.500 GHz)\n"}},
    {"a card of 8.9 with an unknown speed for fp32 sums, in use",
     on_workstation,
     {"compute capability 8.9,", "in use     by 2 other processes: its times mean little\n",
      "tensor     45.8 % of the tensor-core peak's cycles   clock 1.500 GHz   "
      "(cuBLAS 1.500 GHz)\n",
      "!display  ", "!limited to", "!WSL"}},
    {"a card of 12.0",
     on_blackwell,
     {"compute capability 12.0,", "(cuBLAS 38.3 %, 1.500 GHz)\n",
      "tensor     38.3 % of the tensor-core peak's cycles   clock 1.500 GHz"}},
    {"a card whose peak is not known",
     on_unlisted,
     {"compute capability 10.0,",
      "tensor     peak unknown   clock 1.500 GHz   (cuBLAS 1.500 GHz)\n",
      "\"tensor_core_share\": null", "\"peak_tflops_at_mean_clock\": null"}},
    {"words that are wrong",
     wrong_words,
     {"WRONG      the device copy exact: 1 of 32768 differ; first at [0][0]: got "
      "0xffffffff, expected 0x00000000\n"}},
    {"alpha and beta",
     scalars,
     {"k=64, alpha=-2.5 beta=1, A and B fp16, C and D fp32, fp32 accumulate\n",
      "\"computation\": \"addmm_fp16\",\n    \"alpha\": -2.5,\n    \"beta\": 1,", "!fp16_sums"}},
    {"JSON of a timed run",
     right,
     {"\"schema\": 1,\n  \"kind\": \"step\",\n  \"step\": \"v07\"",
      "\"compute_capability\": \"9.0\"", "\"power_limit_watts\": null", "\"verified\": true",
      "\"protocol\": \"burst\"", "\"seconds\": [0.001, 0.001]", "\"samples\": [2, 2]",
      "\"integer_range\": 4", "\"computation\": \"gemm_bf16\"", "!fp16", "!alpha"}},
    {"the counts of an emulated run",
     emulated,
     {"launch     8 CTAs in 4 clusters, 3072 threads; counted under the policy eager\n",
      "read       786.4 kB by TMA in 48 loads; multicast brought 1.5 MB more to other "
      "CTAs\n",
      "written    262.1 kB by threads\n",
      "tensor     512 wgmma instructions, 33554432 multiply-adds\n",
      "waits      100 for mbarriers, 40 of them blocked, with 150 arrivals; 24 at other "
      "barriers, 0 blocked\n",
      "ring       the loads ran at most 3 of 4 stages ahead, 2.5 on average\n",
      "banks      conflicts in 1 of the 2 lines that access shared memory:\n",
      "              8         512            448  write   steps/v07.cu:120\n",
      "!steps/v07.cu:130"}},
    {"JSON of an emulated run",
     emulated,
     {"\"gpu\": null", "\"host_product\": {", "\"policies\": \"eager, lazy\"", "\"timing\": null",
      "\"after_timing\": null", "\"counted_policy\": \"eager\"", "\"wgmmas\": 512",
      "\"extra_wavefronts\": 448"}},
};

static const row *current; /* the row that runs */

static void says(void) {
    make_run();
    current->change();
    say();
    for (const char *const *part = current->says; *part != NULL; ++part) {
        const bool wanted = **part != '!';
        EXPECT((strstr(text, wanted ? *part : *part + 1) != NULL) == wanted, "'%s' is %s:\n%s",
               *part, wanted ? "missing" : "there", text);
    }
}

static void every_verdict_counts(void) {
    result = right_result();
    EXPECT(verification_right(&result), "right");
    result.verdicts[PHASE_EXACT][CONTENDER_NARROW_SUMS].wrong = 1;
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

/* Of several outputs: what is first stays. */
static void merging(void) {
    verdict total = {.kind = CHECK_BOUNDED};
    const verdict good = {CHECK_BOUNDED, 10, .max_error_over_bound = 0.5};
    const verdict bad = {CHECK_BOUNDED, 10, 1, .max_error_over_bound = 2, .first_row = 3};
    const verdict worse = {CHECK_BOUNDED, 10, 4, .first_row = 5};
    verdict_merge(&total, &good);
    EXPECT(verdict_right(&total) && total.checked == 10, "good");
    verdict_merge(&total, &bad);
    verdict_merge(&total, &worse);
    EXPECT(total.checked == 30 && total.wrong == 5 && total.first_row == 3, "first row %d",
           (int)total.first_row);
    EXPECT(total.max_error_over_bound == 2, "%g", total.max_error_over_bound);
}

int main(void) {
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; ++i) {
        current = &ROWS[i];
        run_row("report", current->name, says);
    }
    run_case("report: every check counts", every_verdict_counts);
    run_case("report: the verdicts of several outputs", merging);
    return test_result();
}
