// Mistakes that are expected to end the program, in a process of their own.
#pragma once

#include "test.h"
#include "machine.h"

#include <cstdio>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

// All files of the emulator are one namespace; a kernel's calls say where they stand.
using namespace emulator;
inline Site here(Site site = Site::current()) { return site; }

// What a process that runs `kernels` prints to stderr, and its exit status.
struct Outcome {
    std::string report;
    int status;
};

inline Outcome outcome_of(const std::function<void()> &kernels) {
    FILE *said = tmpfile();
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); // seconds
        dup2(fileno(said), STDERR_FILENO);
        kernels();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    Outcome outcome{"", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)};
    rewind(said);
    for (int c; (c = fgetc(said)) != EOF;)
        outcome.report += char(c);
    fclose(said);
    return outcome;
}

// Expects the kernels to end the program with a report whose first line has this kind of mistake
// and these words.
inline void expect_mistake(const std::string &kind, const char *words,
                           const std::function<void()> &kernels) {
    const Outcome outcome = outcome_of(kernels);
    const std::string first = outcome.report.substr(0, outcome.report.find('\n'));
    const bool named =
        first.find(": " + kind + ": ") != first.npos && first.find(words) != first.npos;
    EXPECT(outcome.status == 1 && named, "status %d, not a report of \"%s: %s\": %s",
           outcome.status, kind.c_str(), words, outcome.report.c_str());
}
