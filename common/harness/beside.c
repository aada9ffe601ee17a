#include "harness/beside.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/message.h"

/* What a process prints on one stream until another one shows it. */
typedef struct held {
    FILE *stream, *file;
} held;

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

/* It ends without atexit's functions, which are for the end of the program, and if the first one
 * ends the program. */
static _Noreturn void run_held(const held held[2], bool (*run)(void *), void *context) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    redirect(&held[0]);
    redirect(&held[1]);
    progress_silence();
    const bool right = run(context);
    _exit(output_end(right ? STATUS_VERIFIED : STATUS_FAILED));
}

bool run_beside(bool (*first)(void *), bool (*second)(void *), void *context) {
    const held held[2] = {{stdout, tmpfile()}, {stderr, tmpfile()}};
    int status;
    fflush(stdout); /* or both processes would print what it holds */
    const pid_t process = held[0].file != NULL && held[1].file != NULL ? fork() : -1;
    if (process == 0) {
        run_held(held, second, context);
    }
    const bool right = first(context);
    if (process < 0) {
        return right && second(context);
    }
    if (!right) {
        kill(process, SIGKILL);
    }
    if (waitpid(process, &status, 0) != process || !right) {
        return false;
    }
    show(&held[0]);
    show(&held[1]);
    if (WIFSIGNALED(status)) {
        raise(WTERMSIG(status));
    }
    if (WEXITSTATUS(status) != STATUS_VERIFIED) {
        exit(output_end(WEXITSTATUS(status)));
    }
    return true;
}
