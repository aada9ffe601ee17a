/* The whole program for a GPU, around a rung that must never get to run: exit status, messages. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit/test.h"
#include "harness/exit_status.h"
#include "step.h"

enum { MOST_ARGUMENTS = 8 };

static int refuse_to_prepare(const problem *problem, void **state) {
    (void)problem;
    (void)state;
    fputs("prepare was called\n", stderr);
    return 1;
}

static int refuse_to_launch(const problem *problem, void *state) {
    (void)problem;
    (void)state;
    fputs("launch was called\n", stderr);
    return 1;
}

static void release_nothing(void *state) { (void)state; }

static const step fake = {.name = "v99",
                          .idea = "does nothing",
                          .computes = GEMM_BF16,
                          .min_compute_capability = 90,
                          .max_compute_capability = 90,
                          .multiple_m = 128,
                          .multiple_n = 256,
                          .multiple_k = 64,
                          .prepare = refuse_to_prepare,
                          .launch = refuse_to_launch,
                          .release = release_nothing};

static const step fake_addmm = {.name = "v99",
                                .idea = "does nothing with C",
                                .computes = ADDMM_FP16,
                                .min_compute_capability = 80,
                                .max_compute_capability = 999,
                                .prepare = refuse_to_prepare,
                                .launch = refuse_to_launch,
                                .release = release_nothing};

static const step *subject = &fake; /* what the program is made of */

static char output[8192]; /* of the program: stdout and stderr */

/* In the child: runs the program with the words as its command line, without a GPU. */
static void run_program(const char *words, int descriptor) {
    char storage[512];
    char name[] = "v99";
    char *argv[MOST_ARGUMENTS] = {name};
    int argc = 1;
    snprintf(storage, sizeof storage, "%s", words);
    for (char *word = strtok(storage, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (dup2(descriptor, STDOUT_FILENO) < 0 || dup2(descriptor, STDERR_FILENO) < 0 ||
        setenv("CUDA_VISIBLE_DEVICES", "", 1) != 0) {
        _exit(99);
    }
    const int status = step_main(subject, argc, argv);
    fflush(NULL);
    _exit(status);
}

/* The exit status of the program, or -1 if it did not end by itself. */
static int status_of(const char *words) {
    int ends[2];
    int status = 0;
    size_t length = 0;
    output[0] = '\0';
    if (pipe(ends) != 0) {
        return -1;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        run_program(words, ends[1]);
    }
    close(ends[1]);
    ssize_t got;
    while ((got = read(ends[0], output + length, sizeof output - 1 - length)) > 0) {
        length += (size_t)got;
    }
    output[length] = '\0';
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return -1;
    }
    return WEXITSTATUS(status);
}

/* One line, which mentions something, and nothing was prepared or launched. */
static void expect_one_line(const char *words, int expected, const char *mentions) {
    const int status = status_of(words);
    EXPECT(status == expected, "'%s' exits with %d: %s", words, status, output);
    EXPECT(strstr(output, mentions) != NULL, "'%s' says: %s", words, output);
    EXPECT(strchr(output, '\n') == output + strlen(output) - 1, "'%s' says: %s", words, output);
    EXPECT(strncmp(output, "v99: ", 5) == 0, "'%s' says: %s", words, output);
}

static void no_gpu(void) {
    expect_one_line("", STATUS_CANNOT_RUN, "compute capability 9.0");
    expect_one_line("--size 256 --protocol none", STATUS_CANNOT_RUN, "cannot run here");
    expect_one_line("", STATUS_CANNOT_RUN, "make step N=v99 EMULATE=1");
}

static void bad_options_come_first(void) {
    expect_one_line("--bogus", STATUS_USAGE, "--bogus");
    expect_one_line("--size 0", STATUS_USAGE, "--size '0'");
    expect_one_line("--size", STATUS_USAGE, "needs a value");
    expect_one_line("--size 4096 --m 128", STATUS_USAGE, "either");
    expect_one_line("--policy all", STATUS_USAGE, "a GPU orders events by itself");
}

static void bad_shapes_come_first(void) {
    expect_one_line("--m 100", STATUS_USAGE, "m=100 is not a multiple of 128");
    expect_one_line("--n 128", STATUS_USAGE, "multiples of 256");
    expect_one_line("--k 33554432", STATUS_USAGE, "exact check");
}

static void later_gpus(void) {
    subject = &fake_addmm;
    expect_one_line("--alpha -2.5 --beta 0", STATUS_CANNOT_RUN, "compute capability 8.0 or later");
    expect_one_line("--alpha nan", STATUS_USAGE, "--alpha 'nan'");
    EXPECT(status_of("--help") == STATUS_VERIFIED, "%s", output);
    EXPECT(strstr(output, "--alpha X --beta Y") != NULL, "%s", output);
    subject = &fake;
    expect_one_line("--alpha 1", STATUS_USAGE, "takes no alpha and no beta");
}

static void bad_files_come_first(void) {
    expect_one_line("--json /nonexistent/x.json", STATUS_USAGE, "/nonexistent/x.json");
    expect_one_line("--json /tmp", STATUS_USAGE, "directory");
}

static void no_file_without_a_result(void) {
    char path[] = "/tmp/gemm-ladder-main-XXXXXX";
    char words[128];
    EXPECT(mkdtemp(path) != NULL, "mkdtemp");
    snprintf(words, sizeof words, "--json %s/x.json", path);
    EXPECT(status_of(words) == STATUS_CANNOT_RUN, "%s", output);
    EXPECT(rmdir(path) == 0, "something was left in %s", path);
}

static void help(void) {
    EXPECT(status_of("--help") == STATUS_VERIFIED, "%s", output);
    EXPECT(strstr(output, "v99: does nothing") != NULL, "%s", output);
    EXPECT(strstr(output, "--protocol burst|sustained|call|none") != NULL, "%s", output);
}

int main(void) {
    run_case("program: without a GPU it exits with 77", no_gpu);
    run_case("program: bad options exit with 2 before a GPU is looked for", bad_options_come_first);
    run_case("program: bad shapes exit with 2", bad_shapes_come_first);
    run_case("program: what needs no newest GPU says so, and takes alpha and beta", later_gpus);
    run_case("program: a file that cannot be written exits with 2", bad_files_come_first);
    run_case("program: without a result there is no file", no_file_without_a_result);
    run_case("program: --help", help);
    return test_result();
}
