/* Whole programs around steps that are right, and wrong: what they print, the file that they write,
 * and their exit status, as the table in test_step_main.txt has them. Each is a process of its own,
 * since a fault spoils the process that made it. This is compiled three times: here for the
 * emulator, in tests/unit-gpu for a GPU that is hidden, with the sanitizers, and in tests/gpu for a
 * GPU. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/buffers.h"
#include "harness/message.h"
#include "harness/reference.h"
#include "harness/timing.h"
#include "golden.h"

#define EMULATED 0
#define HIDDEN 1
#define ON_GPU 2
#ifndef MACHINE
#define MACHINE EMULATED
#endif

/* The fewest launches before timing starts: on a GPU one exact, and bounded ones on two copies; on
 * the emulator one under each of the policies eager and lazy. */
enum { FIRST_LAUNCHES = MACHINE == EMULATED ? 2 : 3 };

/* What the words in capitals of the table are here. */
static const char *const MEANS[][2] = {
    {"QUICK", MACHINE == EMULATED ? "--policy eager" : "--protocol none"},
    {"TIMED", MACHINE == EMULATED ? "" : "--rounds 1"},
    {"OTHER", MACHINE == EMULATED ? "the host product agrees" : "cuBLAS agrees"},
    {"MOVER", MACHINE == EMULATED ? "the host loop agrees" : "cublasSgeam agrees"}};
static const char MACHINES[][16] = {"emulator", "hidden", "gpu"};

/* ---- a rung that is the second opinion in a rung's clothes, and wrong in every way that the
 * harness promises to find: the same for a GPU and for the emulator, where its launches are plain
 * functions of the host */

static const step *subject; /* what the program is made of ... */
static const char *mistake; /* ... and what it does wrong, as the table says it */
static int launches;        /* of the step of this process */

static bool does(const char *wrong) { return strcmp(mistake, wrong) == 0; }

static int prepare(const problem *problem, void **state) {
    const bool fp16 = subject->fp16_sums && MACHINE == ON_GPU;
    if (does("too much shared memory")) {
        step_cannot_run("a CTA needs too much"); /* as device/launch.cuh does */
    }
    *state = second_opinion_open(subject, fp16 ? CONTENDER_NARROW_SUMS : CONTENDER_OTHER, problem);
    return 0;
}

static void release(void *state) { second_opinion_close(state); }

/* Overwrites bytes; two of 0x42 make 48.5 of a bf16, which no exact result is. */
static int spoil(const problem *problem, unsigned char *at, int byte, size_t count) {
    return cudaMemsetAsync(at, byte, count, problem->stream) != cudaSuccess;
}

/* Changes the last bit of D's first number in later launches, as it was in the first ones: those
 * may be waited for, timed ones may not, since the gate holds them. */
static int change_last_bit_later(const problem *problem, unsigned char *at) {
    static unsigned char *first;
    static unsigned char byte;
    first = launches == 1 ? at : first;
    if (at != first) {
        return 0;
    }
    if (launches > FIRST_LAUNCHES) {
        return spoil(problem, at, byte ^ 1, 1);
    }
    return cudaMemcpyAsync(&byte, at, 1, cudaMemcpyDeviceToHost, problem->stream) != cudaSuccess ||
           cudaStreamSynchronize(problem->stream) != cudaSuccess;
}

/* Adds what a beta of 0 multiplies; on the emulator, where D is in the host's memory. */
static int add_everything(const problem *problem) {
    float *d = problem->d;
    for (size_t i = 0; i < (size_t)problem->m * (size_t)problem->n; ++i) {
        d[i] += 0 * ((const float *)problem->c)[i];
    }
    return 0;
}

static int launch(const problem *problem, void *state) {
    const size_t element = problem->k == 0 ? 4 : 2;
    const size_t bytes = element * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    struct problem elsewhere = *problem;
    const bool later = ++launches > FIRST_LAUNCHES;
    const bool last_trial = problem->m == 64 && problem->n == 320;
    if (does("refuses")) {
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    }
    if (does("faults")) {
        elsewhere.d = (void *)((uintptr_t)1 << 46); /* nothing is mapped there */
    }
    if (!does("unwritten") && !(later && does("unwritten later"))) {
        second_opinion_launch(state, &elsewhere);
    }
    return does("a wrong element")        ? spoil(problem, d + bytes - 2, 0x42, 2)
           : does("a NaN")                ? spoil(problem, d + bytes / 4 * 2, 0xff, 2)
           : does("writes after D")       ? spoil(problem, d + bytes, 0, 2)
           : does("writes before D")      ? spoil(problem, d - 2, 0, 2)
           : does("wrong later") && later ? spoil(problem, d, 0x42, 2)
           : does("wrong in the last trial") && last_trial ? spoil(problem, d, 0x42, 2)
           : does("zeros later") && launches > 1           ? spoil(problem, d, 0, bytes)
           : does("last bit later")                        ? change_last_bit_later(problem, d)
           : does("reads all")                             ? add_everything(problem)
                                                           : 0;
}

/* The third kernel is the second one at every shape. */
static int kernel_of(const problem *problem) { return problem->kernel > 1 ? 1 : 0; }

static int explain(const problem *problem) {
    printf("%d x %d x %d\n", problem->m, problem->n, problem->k);
    return problem->k == 128;
}

#define FAKE(what, computation)                                                                    \
    .name = "v98", .idea = what, .computes = computation, .min_compute_capability = 80,            \
    .max_compute_capability = 999, .prepare = prepare, .launch = launch, .release = release

static const step STEPS[] = {
    {FAKE("bf16", GEMM_BF16)},
    {FAKE("bf16 in tiles", GEMM_BF16), .multiple_m = 64, .multiple_n = 64, .multiple_k = 64,
     .largest_k = 4096},
    {FAKE("bf16, any row", GEMM_BF16), .any_row = true},
    {FAKE("bf16, 3 kernels", GEMM_BF16), .kernels = 3, .kernel_of = kernel_of, .explain = explain},
    {FAKE("nothing", GEMM_BF16), .computes_nothing = true},
    {FAKE("shared memory", GEMM_BF16), .min_shared_memory = 1 << 30},
    {FAKE("fp16 sums", GEMM_FP16), .fp16_sums = true},
    {FAKE("addmm", ADDMM_FP16)},
    {FAKE("a transpose", TRANSPOSE_FP32)},
    {FAKE("one added", ADD_ONE_INT32)},
    {FAKE("unknown", (enum computation)99)},
};
enum { STEP_COUNT = sizeof STEPS / sizeof *STEPS };

static const step *step_of(const char *idea) {
    int i = 0;
    while (i < STEP_COUNT - 1 && strcmp(STEPS[i].idea, idea) != 0) {
        ++i;
    }
    return &STEPS[i];
}

/* ---- the table */

typedef struct run {
    const step *step;
    const char *mistake;
    const char *words;
    int status;
    const char *says; /* lines */
} run;
static run current;

/* The text before the next " | ", or all of the line; steps over both. */
static char *field(char **line) {
    char *begin = *line;
    char *end = begin + strcspn(begin, "|");
    *line = *end == '\0' ? end : end + strlen("| ");
    while (end > begin && end[-1] == ' ') {
        --end;
    }
    *end = '\0';
    return begin;
}

static char line[512]; /* what `current` points to */
static char says[512];

/* Reads the row at that place into `current`, with the machines that it is for. Returns where the
 * next one is; NULL after the last. */
static const char *read_run(const char *at, const char **machines) {
    at += strspn(at, "\n");
    while (*at == '#') {
        at += strcspn(at, "\n") + 1;
    }
    if (*at == '\0') {
        return NULL;
    }
    char *rest = line;
    const char *begin = at + strcspn(at, "\n") + 1;
    const char *end = begin;
    while (*end == ' ') {
        end += strcspn(end, "\n") + 1;
    }
    snprintf(line, sizeof line, "%.*s", (int)(begin - at - 1), at);
    snprintf(says, sizeof says, "%.*s", (int)(end - begin), begin);
    *machines = field(&rest);
    current.step = step_of(field(&rest));
    current.mistake = field(&rest);
    current.words = field(&rest);
    current.status = atoi(rest);
    current.says = says;
    return end;
}

/* With what the words in capitals mean. */
static void expand(const char *from, char *to, size_t size) {
    size_t used = 0;
    while (*from != '\0' && used + 64 < size) {
        size_t i = 0;
        while (i < 4 && strncmp(from, MEANS[i][0], 5) != 0) {
            ++i;
        }
        used += (size_t)snprintf(to + used, size - used, "%.*s", i < 4 ? 64 : 1,
                                 i < 4 ? MEANS[i][1] : from);
        from += i < 4 ? 5 : 1;
    }
    to[used] = '\0';
}

/* ---- runs */

static char output[1 << 17]; /* of the program, and then its file */

/* Appends what is in the file, and closes it. */
static void append(FILE *file) {
    const size_t length = strlen(output);
    output[length + fread(output + length, 1, sizeof output - 1 - length, file)] = '\0';
    fclose(file);
}

/* In the child: runs the program with these words after a file for --json. */
static int run_program(const char *line, int to) {
    char words[512];
    char name[] = "program", option[] = "--json", file[] = "x.json";
    char *argv[24] = {name, option, file};
    int argc = 3;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (dup2(to, STDOUT_FILENO) < 0 || dup2(to, STDERR_FILENO) < 0 ||
        (does("no room") && freopen("/dev/full", "w", stdout) == NULL)) {
        return 99;
    }
    return step_main(subject, argc, argv);
}

/* The exit status of the program, or -1 if it did not end by itself. */
static int status_of(const run *run, const char *words) {
    int status = 0;
    FILE *printed = tmpfile();
    subject = run->step;
    mistake = run->mistake;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int own = run_program(words, fileno(printed));
        fflush(NULL);
        _exit(own);
    }
    const bool ended = child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
    output[0] = '\0';
    rewind(printed);
    append(printed);
    return ended ? WEXITSTATUS(status) : -1;
}

/* A file for --runs with these lines, where tabs are between words. */
static void write_lines(const char *lines) {
    FILE *file = fopen("lines", "w");
    for (const char *c = lines; file != NULL && *c != '\0'; ++c) {
        fputc(*c == ' ' ? '\t' : *c == ';' ? '\n' : *c, file);
    }
    EXPECT(file != NULL && fclose(file) == 0, "lines");
}

static void expect_parts(const char *says) {
    enum { INDENT = 4 };
    char parts[512];
    const char *at = output;
    expand(says, parts, sizeof parts);
    for (char *part = strtok(parts, "\n"); part != NULL; part = strtok(NULL, "\n")) {
        const bool wanted = part[INDENT] != '!';
        part += wanted ? INDENT : INDENT + 2;
        const char *found = strstr(at, part);
        EXPECT((found != NULL) == wanted, "'%s' is %s: %s", part, wanted ? "missing" : "there", at);
        at = wanted && found != NULL ? found + strlen(part) : at;
    }
}

/* In a directory of its own, where nothing is left but the file of a right result. What the program
 * refuses it says in one line. Only what is right is called verified. */
static void expect_run(const run *run) {
    char directory[] = "/tmp/gemm-ladder-main-XXXXXX";
    char words[512];
    const bool several = strchr(run->words, ';') != NULL;
    const bool runs = strstr(run->words, "--help") == NULL &&
                      strstr(run->words, "--explain") == NULL &&
                      strstr(run->words, "--trials") == NULL;
    const bool right = runs && run->status == STATUS_VERIFIED;
    const bool refused = run->status == STATUS_USAGE || run->status == STATUS_CANNOT_RUN;
    EXPECT(mkdtemp(directory) != NULL && chdir(directory) == 0, "mkdtemp");
    expand(run->words, words, sizeof words);
    if (several) {
        write_lines(words);
    }
    const int status = status_of(run, several ? "--runs lines" : words);
    const bool verified = strstr(output, "verified  ") != NULL;
    EXPECT(status == run->status, "it exits with %d: %s", status, output);
    EXPECT(several || verified == (right && !run->step->computes_nothing), "it says: %s", output);
    EXPECT(several || !refused ||
               (strchr(output, '\n') == output + strlen(output) - 1 &&
                strncmp(output, "v98: ", 5) == 0),
           "it says: %s", output);
    FILE *file = fopen("x.json", "r");
    EXPECT((file != NULL) == (right && !several) || strcmp(run->mistake, "no room") == 0,
           "is there a file?");
    if (file != NULL) {
        append(file);
        unlink("x.json");
    }
    expect_parts(run->says);
    EXPECT(!several || unlink("lines") == 0, "no lines");
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

static void one_run(void) { expect_run(&current); }

/* What follows the key in the output, past the first part. */
static const char *text_after(const char *part, const char *key) {
    const char *found = strstr(output, part);
    found = found != NULL ? strstr(found, key) : NULL;
    return found != NULL ? found + strlen(key) : "nan";
}

/* In the search a kernel takes as long as in a burst, and not as long as enqueueing it; and what
 * one process finds, another one takes by its digits. */
static void search_of_cublaslt(void) {
    static const double TOLERANCE = 0.25;
    char words[256];
    expect_run(&(run){STEPS, "right", "--size 512 --rounds 1 --heuristics 4", STATUS_VERIFIED,
                      "    of cuBLASLt's best\n    \"winner\""});
    const double searched = strtod(text_after("\"winner\"", "\"seconds\":"), NULL);
    const double in_burst = strtod(text_after("\"cublaslt\":{\"seconds\"", "["), NULL);
    EXPECT(fabs(searched / in_burst - 1) <= TOLERANCE, "%g s in the search, %g s in the burst",
           searched, in_burst);
    snprintf(words, sizeof words, "--size 512 --rounds 1 --algorithm %.*s", (int)ALGORITHM_DIGITS,
             text_after("\"winner\"", "\"algorithm\":\""));
    expect_run(&(run){STEPS, "right", words, STATUS_VERIFIED, "    of cuBLASLt's best"});
}

/* What a launch writes beside D is found. The emulator's programs have no guards: it finds such
 * writes itself. */
static void guards(void) {
    char text[96];
    const buffer d = buffer_create(6, true, "D");
    EXPECT(buffer_guards_intact(&d, text, sizeof text), "%s", text);
    for (int at = -2; at <= 6; at += 8) {
        d.payload[at] = 0;
        EXPECT(!buffer_guards_intact(&d, text, sizeof text), "byte %d", at);
        EXPECT(strstr(text, at < 0 ? "byte 2 before" : "byte 1 after") != NULL, "%s", text);
        d.payload[at] = GUARD_BYTE;
    }
    buffer_destroy(&d);
}

int main(void) {
    char name[512];
    const char *machines;
    const char *why = NULL; /* why all is skipped */
    read_texts("tests/unit/test_step_main.txt");
    if (MACHINE == HIDDEN) {
        setenv("CUDA_VISIBLE_DEVICES", "", 1);
    }
    if (MACHINE == ON_GPU) {
        step hopper = STEPS[0];
        hopper.min_compute_capability = 90;
        const run run = {.step = &hopper, .mistake = "right"};
        if (status_of(&run, "--size 8 --protocol none --json /dev/null") == STATUS_CANNOT_RUN) {
            why = "no GPU of compute capability 9.0";
        }
    }
    for (const char *at = kept_texts; (at = read_run(at, &machines)) != NULL;) {
        snprintf(name, sizeof name, "%s, %s: '%s'", current.step->idea, current.mistake,
                 current.words);
        if (strstr(machines, MACHINES[MACHINE]) == NULL) {
            continue;
        }
        if (why != NULL) {
            skip_case(name, why);
        } else {
            run_row(MACHINES[MACHINE], name, one_run);
        }
    }
    if (MACHINE == EMULATED) {
        run_case("guard bands", guards);
    }
    if (MACHINE == ON_GPU && why == NULL) {
        run_case("gpu: the search among cuBLASLt's algorithms", search_of_cublaslt);
    }
    return test_result();
}
