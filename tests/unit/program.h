/* Whole programs, each run a process of its own: what they print, and their exit status. */
#ifndef GEMM_LADDER_TESTS_UNIT_PROGRAM_H
#define GEMM_LADDER_TESTS_UNIT_PROGRAM_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/message.h"
#include "step.h"
#include "../../emulator/tests/test.h"

/* A run. Rows from one name to the next are one case. */
typedef struct run {
    const char *name; /* of the case that begins here; NULL: it goes on */
    const step *step;
    int mistake;       /* what the step does wrong; 0: nothing */
    const char *words; /* the command line */
    int status;
    const char *says; /* what is in the output, with | between; after a ! what is not */
} run;

static const step *subject;   /* what the program is made of ... */
static int mistake;           /* ... and what it does wrong */
static char output[16384];    /* of the program: stdout and stderr */
static const char *output_to; /* then stdout goes there; NULL */

/* In the child: runs the program with the words as its command line. */
static inline void run_program(const char *words, int descriptor) {
    char storage[512];
    char name[] = "program";
    char *argv[16] = {name};
    int argc = 1;
    snprintf(storage, sizeof storage, "%s", words);
    for (char *word = strtok(storage, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = word;
    }
    if (dup2(descriptor, STDOUT_FILENO) < 0 || dup2(descriptor, STDERR_FILENO) < 0 ||
        (output_to != NULL && freopen(output_to, "w", stdout) == NULL)) {
        _exit(99);
    }
    const int status = step_main(subject, argc, argv);
    fflush(NULL);
    _exit(status);
}

/* The exit status of the program, or -1 if it did not end by itself. */
static inline int status_of(const step *step, int wrong, const char *words) {
    int ends[2];
    int status = 0;
    size_t length = 0;
    output[0] = '\0';
    if (pipe(ends) != 0) {
        return -1;
    }
    fflush(NULL);
    subject = step;
    mistake = wrong;
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

/* What the program refuses it says in one line. Only what is right is called verified. */
static inline void expect_run(const run *run) {
    char says[512];
    const int status = status_of(run->step, run->mistake, run->words);
    const bool refused = run->status == STATUS_USAGE || run->status == STATUS_CANNOT_RUN;
    EXPECT(status == run->status, "'%s' exits with %d: %s", run->words, status, output);
    snprintf(says, sizeof says, "%s", run->says);
    for (const char *part = strtok(says, "|"); part != NULL; part = strtok(NULL, "|")) {
        const bool wanted = *part != '!';
        EXPECT((strstr(output, wanted ? part : part + 1) != NULL) == wanted, "'%s': '%s' is %s: %s",
               run->words, part, wanted ? "missing" : "there", output);
    }
    EXPECT(!refused || (strchr(output, '\n') == output + strlen(output) - 1 &&
                        strncmp(output, run->step->name, strlen(run->step->name)) == 0),
           "'%s' says: %s", run->words, output);
    EXPECT(strstr(run->words, "--help") != NULL || strstr(run->words, "--explain") != NULL ||
               strstr(run->words, "--trials") != NULL ||
               (strstr(output, "verified  ") != NULL || run->step->computes_nothing) ==
                   (run->status == STATUS_VERIFIED),
           "'%s' says: %s", run->words, output);
}

static const run *first_run; /* of the case that runs */

static inline void expect_runs(void) {
    const run *run = first_run;
    do {
        expect_run(run++);
    } while (run->name == NULL && run->step != NULL);
}

/* All cases of a list that ends with a row of zeros, or why they are skipped. */
static inline void run_all(const char *prefix, const run *runs, const char *skipped) {
    char name[128];
    for (first_run = runs; first_run->step != NULL; ++first_run) {
        snprintf(name, sizeof name, "%s: %s", prefix, first_run->name);
        if (first_run->name != NULL && skipped != NULL) {
            skip_case(name, skipped);
        } else if (first_run->name != NULL) {
            run_case(name, expect_runs);
        }
    }
}

#endif
