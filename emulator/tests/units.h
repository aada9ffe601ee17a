// For the tests of the emulated units: kernels as functions, global memory, and mistakes that are
// expected to end the program, in a process of their own.
#pragma once

#include "test.h"
#include "accesses.h"
#include "emulator/barriers.h"
#include "global_memory.h"
#include "machine.h"
#include "emulator/mbarrier.h"
#include "policy.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// All files of the emulator are one namespace; a kernel's calls say where they stand.
using namespace emulator;
inline Site here(Site site = Site::current()) { return site; }

// A cluster of CTAs with dynamic shared memory, each thread calling body.
inline void run_kernel(int ctas, int threads, std::size_t shared_bytes,
                       const std::function<void()> &body) {
    Grid grid{};
    grid.grid = dim3(unsigned(ctas));
    grid.block = dim3(unsigned(threads));
    grid.cluster = dim3(unsigned(ctas));
    grid.dynamic_shared = shared_bytes;
    run_grid(grid, body);
}

template <typename T>
T *shared_at(std::size_t offset) {
    return reinterpret_cast<T *>(current->cta->shared.dynamic() + offset);
}

inline int thread_number() { return current->number; }

// Runs the kernels under a policy, and the ones behind them under the eager one again.
inline void under_policy(const char *name, const std::function<void()> &kernels) {
    EXPECT(emulator_choose_policy(name, 1), "no policy %s", name);
    kernels();
    emulator_choose_policy("eager", 0);
}

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

inline void in_one_thread(const std::function<void()> &body) { run_kernel(1, 1, 8192, body); }

inline void sync_cluster(Site where = Site::current()) {
    cluster_arrive(where);
    cluster_wait(where);
}
