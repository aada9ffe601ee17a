#include "harness/beside.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/message.h"

static void redirect(const held *held) { dup2(fileno(held->file), fileno(held->stream)); }

static void show(const held *held) {
    char part[4096];
    rewind(held->file);
    for (size_t size; (size = fread(part, 1, sizeof part, held->file)) > 0;) {
        fwrite(part, 1, size, held->stream);
    }
    fclose(held->file);
    fflush(held->stream);
}

/* It ends without atexit's functions, which are for the end of the program, and if the program
 * ends. */
static _Noreturn void run_held(const beside *beside, bool (*run)(void *), void *context) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(&beside->held[0]);
    redirect(&beside->held[1]);
    progress_silence();
    const bool right = run(context);
    _exit(output_end(right ? STATUS_VERIFIED : STATUS_FAILED));
}

void beside_start(beside *beside, bool (*run)(void *), void *context) {
    *beside = (struct beside){{{stdout, tmpfile()}, {stderr, tmpfile()}}, -1};
    fflush(stdout); /* or both processes would print what it holds */
    if (beside->held[0].file != NULL && beside->held[1].file != NULL) {
        beside->process = fork();
    }
    if (beside->process == 0) {
        run_held(beside, run, context);
    }
}

void beside_end(const beside *beside) {
    int status;
    if (beside->process < 0) {
        return;
    }
    if (waitpid(beside->process, &status, 0) != beside->process) {
        end_with(STATUS_FAILED, "cannot wait for process %d", (int)beside->process);
    }
    show(&beside->held[0]);
    show(&beside->held[1]);
    if (WIFSIGNALED(status)) {
        raise(WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != STATUS_VERIFIED) {
        exit(output_end(WEXITSTATUS(status)));
    }
}
