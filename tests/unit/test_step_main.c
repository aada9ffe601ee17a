/* The whole program for the emulator, around steps that are right, and wrong in every way that the
 * harness promises to find. Their launches are plain functions of the host: the emulator has tests
 * of its own. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/exit_status.h"
#include "harness/second_opinion.h"
#include "step.h"
#include "test.h"

enum { MOST_ARGUMENTS = 16 };

enum mistake {
    NONE,
    WRONG_ELEMENT,
    WRONG_THIRD_TIME,
    NAN_ELEMENT,
    UNWRITTEN,
    WRITES_BEHIND,
    WRITES_BEFORE,
    REFUSES
};

/* What the step of this process does. */
static enum mistake mistake;
static int launches;

static int prepare(const problem *problem, void **state) {
    *state = second_opinion_open(problem->stream);
    return *state == NULL;
}

static void release(void *state) { second_opinion_close(state); }

/* Overwrites two bytes. 0x42 makes 48.5 of a bf16, which no exact result is. */
static void spoil(unsigned char *at, int byte) { memset(at, byte, 2); }

static int launch(const problem *problem, void *state) {
    const size_t bytes = 2 * (size_t)problem->m * (size_t)problem->n;
    unsigned char *d = problem->d;
    ++launches;
    if (mistake == UNWRITTEN) {
        return 0;
    }
    if (mistake == REFUSES) {
        fputs("v98: refuses to launch\n", stderr);
        return 1;
    }
    second_opinion_launch(state, problem);
    if (mistake == WRONG_ELEMENT || (mistake == WRONG_THIRD_TIME && launches == 3)) {
        spoil(d + bytes - 2, 0x42);
    } else if (mistake == NAN_ELEMENT) {
        spoil(d + bytes / 4 * 2, 0xff);
    } else if (mistake == WRITES_BEHIND) {
        spoil(d + bytes, 0);
    } else if (mistake == WRITES_BEFORE) {
        spoil(d - 2, 0);
    }
    return 0;
}

static const step fake = {
    "v98",  "a host product in a rung's clothes", GEMM_BF16, 90, 90, 64, 64, 64, prepare, launch,
    release};

static char output[16384]; /* of the program: stdout and stderr */

/* In the child: runs the program with the words as its command line. */
static void run_program(const char *words, int descriptor) {
    char storage[512];
    char name[] = "v98";
    char *argv[MOST_ARGUMENTS] = {name};
    int argc = 1;
    snprintf(storage, sizeof storage, "%s", words);
    for (char *word = strtok(storage, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (dup2(descriptor, STDOUT_FILENO) < 0 || dup2(descriptor, STDERR_FILENO) < 0) {
        _exit(99);
    }
    const int status = step_main(&fake, argc, argv);
    fflush(NULL);
    _exit(status);
}

/* The exit status of the program with this mistake, or -1 if it did not end by itself. */
static int status_of(enum mistake which, const char *words) {
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
        mistake = which;
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

static void expect_run(enum mistake which, const char *words, int expected, const char *says) {
    const int status = status_of(which, words);
    EXPECT(status == expected, "exit status %d: %s", status, output);
    EXPECT(strstr(output, says) != NULL, "'%s' is missing: %s", says, output);
    EXPECT((strstr(output, "verified  ") != NULL) == (expected == STATUS_VERIFIED), "%s", output);
}

static void right(void) {
    expect_run(NONE, "--m 64 --n 128 --k 64 --policy eager", STATUS_VERIFIED,
               "exact: 8192 of 8192 equal; bounded: largest error");
    EXPECT(strstr(output, "the host product agrees; guards intact") != NULL, "%s", output);
    EXPECT(strstr(output, "no speed is measured") != NULL, "%s", output);
    EXPECT(strstr(output, "TFLOPS") == NULL && strstr(output, "cuBLAS") == NULL, "%s", output);
    expect_run(NONE, "--size 64 --policy eager --inputs integers", STATUS_VERIFIED,
               "exact: 4096 of 4096 equal; the host product");
    expect_run(NONE, "--size 320 --policy eager --check sample", STATUS_VERIFIED,
               "exact: 69636 of 69636 equal");
}

static void policies(void) {
    expect_run(NONE, "--size 64", STATUS_VERIFIED, "policies   eager, lazy, newest-first");
    EXPECT(strstr(output, "random") == NULL, "%s", output);
    EXPECT(strstr(output, "counted under the policy eager") != NULL, "%s", output);
    expect_run(NONE, "--size 64 --policy lazy", STATUS_VERIFIED, "policies   lazy\n");
    expect_run(NONE, "--size 64 --policy random --seed 7", STATUS_VERIFIED,
               "policies   random with seed 7\n");
}

static void wrong(void) {
    expect_run(WRONG_ELEMENT, "--size 64", STATUS_FAILED, "1 of 4096 differ; first at [63][63]");
    EXPECT(strstr(output, "policy     eager\n") != NULL, "%s", output);
    expect_run(WRONG_THIRD_TIME, "--size 64", STATUS_FAILED, "policy     newest-first\n");
    expect_run(NAN_ELEMENT, "--size 64", STATUS_FAILED, "got nan");
    expect_run(UNWRITTEN, "--size 64", STATUS_FAILED, "4096 of 4096 differ");
    expect_run(WRITES_BEHIND, "--size 64", STATUS_FAILED, "0 bytes behind its end");
    expect_run(WRITES_BEFORE, "--size 64", STATUS_FAILED, "2 bytes before its start");
    expect_run(REFUSES, "--size 64", STATUS_FAILED, "refuses to launch");
}

/* Exit status 2 and one line, which mentions something. */
static void expect_refused(const char *words, const char *mentions) {
    expect_run(NONE, words, STATUS_USAGE, mentions);
    EXPECT(strchr(output, '\n') == output + strlen(output) - 1, "'%s' says: %s", words, output);
    EXPECT(strncmp(output, "v98: ", 5) == 0, "'%s' says: %s", words, output);
}

static void bad_usage(void) {
    expect_refused("--bogus", "--bogus");
    expect_refused("--protocol burst", "the emulator measures no time");
    expect_refused("--rounds 3", "the emulator measures no time");
    expect_refused("--device 1", "--device 1");
    expect_refused("--policy bogus", "eager or lazy");
    expect_refused("--m 100", "m=100 is not a multiple of 64");
    expect_refused("--json /nonexistent/x.json", "/nonexistent/x.json");
}

static void json(void) {
    static char content[65536];
    char directory[] = "/tmp/gemm-ladder-unit-XXXXXX";
    char path[64];
    char words[128];
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/x.json", directory);
    snprintf(words, sizeof words, "--size 64 --policy lazy --json %s", path);
    expect_run(NONE, words, STATUS_VERIFIED, "verified");
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL, "there is no %s", path);
    if (file != NULL) {
        content[fread(content, 1, sizeof content - 1, file)] = '\0';
        fclose(file);
    }
    EXPECT(strstr(content, "\"gpu\": null") != NULL, "%s", content);
    EXPECT(strstr(content, "\"verified\": true") != NULL, "%s", content);
    EXPECT(strstr(content, "\"policies\": \"lazy\"") != NULL, "%s", content);
    EXPECT(strstr(content, "\"timing\": null") != NULL, "%s", content);
    unlink(path);
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

static void help(void) {
    EXPECT(status_of(NONE, "--help") == STATUS_VERIFIED, "%s", output);
    EXPECT(strstr(output, "v98: a host product") != NULL, "%s", output);
    EXPECT(strstr(output, "--policy NAME") != NULL, "%s", output);
    EXPECT(strstr(output, "--protocol") == NULL, "%s", output);
}

int main(void) {
    run_case("emulated program: right results", right);
    run_case("emulated program: policies", policies);
    run_case("emulated program: wrong results, and under which policy", wrong);
    run_case("emulated program: bad usage exits with 2", bad_usage);
    run_case("emulated program: JSON", json);
    run_case("emulated program: --help", help);
    return test_result();
}
