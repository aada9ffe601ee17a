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
static const step PARTS = {.name = "parts", .computes = GEMM_BF16, .computes_nothing = true};
static const step T02 = {.name = "t02", .idea = "a transpose", .computes = TRANSPOSE_FP32};
static const step F03 = {
    .name = "f03", .computes = GEMM_FP8, .promotion = 128, .block_scales = true};
static double seconds[] = {1e-3, 1e-3};
static double cublas_seconds[] = {2e-3, 2e-3};
static double half_seconds[] = {5e-4, 5e-4};
static double clock_ghz[] = {1.5, 1.5};
static double unknown[] = {NAN, NAN};

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

/* The run that is reported, which the rows below change. */
static options asked;
static device gpu;
static verification result;
static timing times;
static contender contenders[8];
static workload work;
static report run;
static char text[32768]; /* all that it says, and then its row */

/* One more contender; its times are half of the step's, or twice. */
static contender *add(enum contender_role role, const char *label, const char *key,
                      const char *title, bool fast) {
    contender *added = &contenders[work.contenders++];
    *added = (contender){.role = role,
                         .label = label,
                         .of = {fast ? half_seconds : cublas_seconds, clock_ghz, unknown, unknown}};
    snprintf(added->key, sizeof added->key, "%s", key);
    snprintf(added->title, sizeof added->title, "%s", title);
    for (int phase = 0; phase < PHASES; ++phase) {
        added->verdicts[phase] =
            (verdict){.kind = phase == PHASE_EXACT ? CHECK_EXACT : CHECK_BOUNDED,
                      .checked = 32768,
                      .max_error_over_bound = phase == PHASE_EXACT ? 0 : 0.25};
    }
    return added;
}

static void set_step(const step *step) {
    work.step = step;
    work.arithmetic = arithmetic_of(step);
}

/* v07 at 800 TFLOPS. */
static void make_run(void) {
    asked = (options){.m = 100000, .n = 40000, .k = 100, .seed = 1, .rounds = 2};
    gpu.info = GPU;
    result = (verification){.guards_intact = true};
    result.made[0] = result.made[1] = result.made[2] = true;
    times = (timing){.rounds = 2, .launches = 14};
    work = (workload){.options = &asked,
                      .device = &gpu,
                      .copies = 256,
                      .operand_bytes = 114688,
                      .contender = contenders};
    set_step(&V07);
    add(CONTENDER_STEP, "time", "step", "v07", false)->of[SECONDS] = seconds;
    add(CONTENDER_OTHER, "cuBLAS", "cublas", "cuBLAS", false);
    run = (report){.workload = &work, .verification = &result, .timing = &times};
}

static void say(void) {
    char path[] = "/tmp/gemm-ladder-report-XXXXXX";
    FILE *out = fmemopen(text, sizeof text, "w");
    report_print_setup(out, &run);
    report_print_verification(out, &run);
    report_print_measured(out, &run);
    const size_t printed = (size_t)ftell(out);
    fclose(out);
    if (!verification_right(&result, &work)) {
        return; /* there is no row */
    }
    const int descriptor = mkstemp(path);
    report_write(&run, path);
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
    verdict *exact = &contenders[0].verdicts[PHASE_EXACT];
    exact->wrong = 1;
    exact->got = 12;
    exact->expected = 13;
    contenders[1].verdicts[PHASE_AFTER_TIMING].wrong = 1;
    result.guards_intact = false;
    snprintf(result.guards_text, sizeof result.guards_text, "guards: D of copy 0: somewhere");
    run.timing = NULL;
}

static void fp16_sums(void) {
    set_step(&A06);
    add(CONTENDER_NARROW_SUMS, "cuBLAS 16", "cublas_fp16_sums", "cuBLAS with fp16 sums", true);
}

static void searched(void) {
    add(CONTENDER_HEURISTIC, "cuBLASLt", "cublaslt", "cuBLASLt's best", true);
    times.heuristics = (heuristics){.returned = 9,
                                    .timed = 2,
                                    .checked = 1,
                                    .winner = {.number = 7, .name = "algorithm 66, tile 20"}};
}

static void every_kernel(void) {
    add(CONTENDER_KERNEL, "kernel", "kernel-1", "kernel 1", false);
    add(CONTENDER_KERNEL, "kernel", "kernel-3", "kernel 3", true);
    contenders[3].of[SECONDS] = seconds;
}

static void of_8_bits(void) {
    set_step(&F03);
    work.contenders = 1;
    add(CONTENDER_OTHER, "blocks", "cublaslt_block_scales", "cuBLASLt (block scales)", false);
    contenders[0].verdicts[PHASE_TIMED].relative_error = 0.00125;
    contenders[1].verdicts[PHASE_TIMED].relative_error = 0.5;
}

static void refused(void) {
    of_8_bits();
    work.contenders = 1;
    snprintf(work.without, sizeof work.without, "cuBLASLt (block scales), cuBLASLt's best");
}

static void refused_sustained(void) {
    refused();
    asked.protocol = PROTOCOL_SUSTAINED;
    contenders[0].of[WATTS] = cublas_seconds;
    contenders[0].of[JOULES] = half_seconds;
}

static void refused_calls(void) {
    refused();
    asked.protocol = PROTOCOL_CALL;
    contenders[0].before_seconds = 3e-3;
}

static void moved(void) {
    asked.m = 25000;
    asked.n = 15000;
    asked.k = 0;
    gpu.info.memory_bytes_per_second = 8e12;
    set_step(&T02);
    work.contenders = 1;
    add(CONTENDER_COPY, "copy", "device_copy", "the device copy", true);
    add(CONTENDER_OTHER, "second", "second_opinion", "cublasSgeam", false);
    for (int i = 0; i < PHASES * work.contenders; ++i) {
        contenders[i / PHASES].verdicts[i % PHASES].kind = CHECK_WORDS;
    }
}

static void wrong_words(void) {
    moved();
    contenders[1].verdicts[PHASE_TIMED].wrong = 1;
    contenders[1].verdicts[PHASE_TIMED].got = 4294967295.0;
}

/* a06 at 100 TFLOPS, cuBLAS with fp32 sums at 50, at 1.5 GHz. */
static void on_card(const char *name, int compute_capability, int sms) {
    snprintf(gpu.info.name, sizeof gpu.info.name, "%s", name);
    gpu.info.compute_capability = compute_capability;
    gpu.info.sms = sms;
    set_step(&A06);
    asked.m = 5000;
}

static void on_laptop(void) {
    on_card("NVIDIA GeForce RTX 3080 Laptop GPU", 86, 82);
    gpu.info.power_limit_watts = 80;
    gpu.info.default_power_watts = 115;
    gpu.info.draws = gpu.info.under_windows = true;
    asked.n = 100000;
}

static void on_workstation(void) {
    on_card("NVIDIA RTX 6000 Ada Generation", 89, 142);
    asked.n = 100000;
    gpu.info.others = 2;
    snprintf(gpu.info.other[0], sizeof gpu.info.other[0], "4711 python3");
    snprintf(gpu.info.other[1], sizeof gpu.info.other[1], "12");
}

static void scalars(void) {
    asked.alpha = -2.5f;
    asked.beta = 1;
    set_step(&A01);
}

static void computes_nothing(void) { set_step(&PARTS); }

static void emulated(void) {
    gpu.info = EMULATOR;
    result.made[PHASE_AFTER_TIMING] = false;
    snprintf(result.orders, sizeof result.orders, "eager, lazy");
    snprintf(contenders[1].title, sizeof contenders[1].title, "the host product");
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
    {"the lines and the row of a right result",
     right,
     {"v07  raw mbarrier\n",
      "device     Test GPU, 132 SMs, compute capability 9.0, CUDA 13.0, cuBLAS 13.1.0, "
      "driver unknown\n",
      "problem    m=100000 n=40000 k=100, bf16 in and out, fp32 accumulate\n",
      "inputs     normal, seed 1, 256 copies of the operands\n",
      "verified   exact: 32768 of 32768 equal; bounded: largest error 0.25 of the bound; "
      "cuBLAS agrees; guards intact; timed buffers checked again\n",
      "time       1 ms  800.0 TFLOPS  (800.0 to 800.0, 2 rounds of 14 launches, burst), 1.500 GHz, "
      "98.6 % of peak\n"
      "cuBLAS     2 ms  400.0 TFLOPS",
      "49.3 % of peak\nratio      2.000 of cuBLAS  (2.000 to 2.000)\n",
      "{\"step\":\"v07\",\"idea\":\"raw mbarrier\",\"date\":",
      "\"context\":{\"gpu\":{\"name\":\"Test GPU\",\"compute_capability\":\"9.0\",\"sms\":132,",
      "\"protocol\":\"burst\",\"problem\":{\"computation\":\"gemm_bf16\",\"m\":100000,\"n\":40000,"
      "\"k\":100,\"inputs\":\"normal\",\"seed\":1},\"rounds\":2},\"copies\":256,",
      "\"errors\":{\"step\":{\"bound\":0.25},\"cublas\":{\"bound\":0.25}},\"launches\":14,"
      "\"idle_ms\":50,\"timed\":{\"step\":{\"seconds\":[0.001,0.001],"
      "\"ghz\":1.5,\"share\":0.9864268},\"cublas\":"}},
    {"the lines of a wrong result, which has no row",
     wrong,
     {"!verified   ", "WRONG      exact: 1 of 32768 differ; first at [0][0]: got 12, expected 13\n",
      "WRONG      cuBLAS bounded: 1 of 32768 are outside the bound", "(after timing)\n",
      "WRONG      guards: D of copy 0: somewhere\n", "!{"}},
    {"cuBLAS with fp16 sums beside it",
     fp16_sums,
     {"k=100, fp16 in and out, fp16 accumulate\n", "cuBLAS 16  0.5 ms  1600.0 TFLOPS",
      "ratio      0.500 of cuBLAS with fp16 sums  (0.500 to 0.500)\n", "\"fp16_sums\":true",
      "\"cublas_fp16_sums\":{\"seconds\":[0.0005,0.0005]"}},
    {"one of cuBLASLt's algorithms, after a search",
     searched,
     {"cuBLASLt   0.5 ms  1600.0 TFLOPS", "ratio      0.500 of cuBLASLt's best  (0.500 to 0.500)\n",
      "           number 7 of 9: algorithm 66, tile 20\n",
      "\"heuristics\":{\"asked\":64,\"returned\":9,\"launched\":2,\"checked\":1,"
      "\"winner\":{\"number\":7,\"name\":\"algorithm 66, tile 20\",",
      "!fp16_sums"}},
    {"what a choice loses",
     every_kernel,
     {"regret     1.000 of the time of kernel 3, the fastest, 1 ms\n",
      "\"kernel-1\":{\"seconds\":[0.002,0.002]", "\"kernel-3\":{\"seconds\":"}},
    {"the errors of FP8, printed and in the row",
     of_8_bits,
     {"error      0.125 % of D, root mean square; cuBLASLt (block scales) 50 %\n",
      "\"step\":{\"bound\":0.25,\"relative\":0.00125},"
      "\"cublaslt_block_scales\":{\"bound\":0.25,\"relative\":0.5}",
      "!without "}},
    {"a shape that cuBLASLt does not take",
     refused,
     {"without    cuBLASLt (block scales), cuBLASLt's best: cuBLASLt does not take this shape with "
      "a scale of each block\n",
      "of the bound; nothing beside it; guards intact;",
      "error      0.125 % of D, root mean square\n", "time       1 ms  800.0 TFLOPS", "!cublaslt",
      "!ratio"}},
    {"its power",
     refused_sustained,
     {", sustained), 1.500 GHz, 0 W, 0.0005 J per launch, ", "\"watts\":0.002,\"joules\":0.0005",
      "\"protocol\":\"sustained\""}},
    {"its calls", refused_calls, {"calls, 3 ms before the first)", "\"before_seconds\":0.003"}},
    {"the lines and the row of what moves words",
     moved,
     {"problem    m=25000 n=15000, fp32, transposed\n",
      "verified   bits exact: 32768 of 32768 equal; normal exact: 32768 of 32768 equal; "
      "cublasSgeam agrees; guards intact; timed buffers checked again\n",
      "time       1 ms  3000.0 GB/s  (3000.0 to 3000.0, 2 rounds of 14 launches, burst), "
      "1.500 GHz, 37.5 % of peak\n"
      "copy       0.5 ms  6000.0 GB/s",
      "ratio      0.500 of the device copy  (0.500 to 0.500)\n"
      "second     2 ms  1500.0 GB/s",
      "ratio      2.000 of cublasSgeam  (2.000 to 2.000)\n", "\"m\":25000,\"n\":15000,\"inputs\"",
      "\"errors\":{}", "\"share\":0.375", "\"names\":{\"second_opinion\":\"cublasSgeam\"}",
      "!tensor", "!TFLOPS"}},
    {"a card of 8.6, whose fp32 sums run at half the speed; what makes its times uncertain",
     on_laptop,
     {"device     NVIDIA GeForce RTX 3080 Laptop GPU, 82 SMs, compute capability 8.6,",
      "display    this GPU draws a screen too",
      "power      limited to 80 W; such a card's default is 115 W",
      "WSL        Windows schedules this GPU", "!in use",
      "\"default_power_watts\":115,\"draws\":true,\"under_windows\":true",
      ", 79.4 % of peak\ncuBLAS", ", 79.4 % of peak\nratio"}},
    {"a card of 8.9 with an unknown speed for fp32 sums, in use",
     on_workstation,
     {"in use     by process 4711 python3: times mean little\n", ", 45.8 % of peak\ncuBLAS",
      "1.500 GHz, peak unknown\nratio", "\"other_processes\":[\"4711 python3\",\"12\"]",
      "!display  ", "!limited to", "!WSL"}},
    {"words that are wrong",
     wrong_words,
     {"WRONG      the device copy exact: 1 of 32768 differ; first at [0][0]: got "
      "0xffffffff, expected 0x00000000\n"}},
    {"alpha and beta",
     scalars,
     {"k=100, alpha=-2.5 beta=1, A and B fp16, C and D fp32, fp32 accumulate\n",
      "\"alpha\":-2.5,\"beta\":1", "!fp16_sums"}},
    {"a step that computes nothing",
     computes_nothing,
     {"unchecked  it does not compute D", "\"computes_nothing\":true", "!verified"}},
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
      "!steps/v07.cu:130\n", "\"gpu\":null", "\"protocol\":null",
      "\"emulator\":{\"policies\":\"eager, lazy\",\"counted_policy\":\"eager\",", "\"wgmmas\":512",
      "\"extra_wavefronts\":448", "!timed"}},
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
    make_run();
    EXPECT(verification_right(&result, &work), "right");
    result.guards_intact = false;
    EXPECT(!verification_right(&result, &work), "guards");
    for (int i = 0; i < PHASES * 2; ++i) {
        const int phase = i / 2;
        make_run();
        contenders[i % 2].verdicts[phase].wrong = 1;
        EXPECT(!verification_right(&result, &work), "phase %d, contender %d", phase, i % 2);
        result.made[phase] = false;
        EXPECT(verification_right(&result, &work), "phase %d was not made", phase);
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
