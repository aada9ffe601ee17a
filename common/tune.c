#include "tune.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the fastest */

enum { ROUNDS_OF_ALL = 2, ROUNDS = 5 };
static const double SLOWER = 1.05; /* than the fastest: such a candidate is dropped */

/* The samples of a candidate; the first one is INFINITY once it is out. */
typedef double samples[ROUNDS];

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Samples those that are not out, every other round backwards. */
static void run_round(samples *of, int count, int round, double (*sample)(void *, int),
                      void *context) {
    for (int i = 0; i < count; ++i) {
        const int candidate = round % 2 == 0 ? i : count - 1 - i;
        double *seconds = of[candidate];
        if (isfinite(seconds[0])) {
            seconds[round] = sample(context, candidate);
            seconds[0] = isfinite(seconds[round]) ? seconds[0] : INFINITY;
        }
    }
}

/* The index of the fastest, by the lowest sample or by the median; -1: all are out. Sorts each
 * candidate's first `rounds` samples. */
static int fastest(samples *of, int count, int rounds, int place) {
    int best = -1;
    for (int i = 0; i < count; ++i) {
        if (isfinite(of[i][0])) {
            qsort(of[i], (size_t)rounds, sizeof(double), ascending);
            best = best < 0 || of[i][place] < of[best][place] ? i : best;
        }
    }
    return best;
}

int tune_pick(int count, double (*sample)(void *context, int candidate), void *context) {
    samples *of = count > 0 ? calloc((size_t)count, sizeof *of) : NULL;
    if (of == NULL) {
        return -1;
    }
    for (int round = 0; round < ROUNDS_OF_ALL; ++round) {
        run_round(of, count, round, sample, context);
    }
    int best = fastest(of, count, ROUNDS_OF_ALL, 0);
    const double limit = best < 0 ? 0 : SLOWER * of[best][0];
    int left = 0;
    for (int i = 0; i < count; ++i) {
        of[i][0] = of[i][0] > limit ? INFINITY : of[i][0];
        left += isfinite(of[i][0]);
    }
    for (int round = ROUNDS_OF_ALL; round < ROUNDS && left > 1; ++round) {
        run_round(of, count, round, sample, context);
    }
    best = left > 1 ? fastest(of, count, ROUNDS, ROUNDS / 2) : best;
    free(of);
    return best;
}

/* ---- the file: a line for each key that was added, of the GPU, m, n, k, the kernel, and the hash
 * of the kernels. That comes last, so that a line that was cut off has none. */

enum { NAMES_SIZE = 384, END_SIZE = 32, LINE_SIZE = 512 };

/* FNV-1a. */
static unsigned long long hash_bytes(unsigned long long hash, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
    }
    return hash;
}

unsigned long long tune_family(const step *step) {
    unsigned long long hash = hash_bytes(0xcbf29ce484222325, step->name, strlen(step->name) + 1);
    for (int i = 0; i < step->kernels && step->tile_of != NULL; ++i) {
        const step_tile tile = step->tile_of(i);
        /* Number by number: between them a struct may hold anything. */
        const int numbers[] = {tile.m,      tile.n,         tile.k,       tile.wide_n,
                               tile.stages, tile.group,     tile.above,   tile.beside,
                               tile.swaps,  tile.ping_pong, tile.gathers, tile.apart};
        hash = hash_bytes(hash, numbers, sizeof numbers);
    }
    return hash;
}

const char *tune_path(char *buffer, size_t size) {
    const char *named = getenv("GEMM_LADDER_TUNED");
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    const bool has_cache = cache != NULL && *cache == '/'; /* else its specification ignores it */
    const bool has_home = home != NULL && *home != '\0';
    const int length = named != NULL ? snprintf(buffer, size, "%s", named)
                       : has_cache   ? snprintf(buffer, size, "%s/gemm-ladder/tuned.txt", cache)
                       : has_home ? snprintf(buffer, size, "%s/.cache/gemm-ladder/tuned.txt", home)
                                  : 0;
    if (size > 0 && (length <= 0 || (size_t)length >= size)) {
        *buffer = '\0';
    }
    return buffer;
}

/* What is before the kernel's number in a line, and after it. */
typedef struct ends {
    char before[NAMES_SIZE], after[END_SIZE];
} ends;

/* False if the GPU's name does not fit. */
static bool write_ends(const tune_key *key, ends *ends) {
    const int length = snprintf(ends->before, sizeof ends->before, "%s\t%d\t%d\t%d\t", key->gpu,
                                key->m, key->n, key->k);
    snprintf(ends->after, sizeof ends->after, "\t%016llx\n", key->family);
    return length < NAMES_SIZE && strpbrk(key->gpu, "\t\n") == NULL;
}

int tune_find(const char *path, const tune_key *key) {
    ends ends;
    FILE *file = write_ends(key, &ends) ? fopen(path, "r") : NULL;
    char *line = NULL;
    size_t room = 0;
    int found = 0;
    while (file != NULL && getline(&line, &room, file) > 0) {
        char *end = line;
        unsigned long long kernel = 0;
        if (strncmp(line, ends.before, strlen(ends.before)) == 0) {
            end += strlen(ends.before);
            kernel = isdigit((unsigned char)*end) ? strtoull(end, &end, 10) : 0;
        }
        if (kernel > 0 && kernel <= INT_MAX && strcmp(end, ends.after) == 0) {
            found = (int)kernel;
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return found;
}

/* Makes the folders that the path names. If one cannot be made, opening the file fails and says so.
 */
static void make_folders(const char *path) {
    char *folder = strdup(path);
    for (char *slash = folder; slash != NULL && (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash = '/';
    }
    free(folder);
}

int tune_add(const char *path, const tune_key *key, int kernel) {
    ends ends;
    char line[LINE_SIZE];
    if (*path == '\0') {
        return 0;
    }
    if (!write_ends(key, &ends)) {
        return EINVAL;
    }
    /* A file that ends within a line was cut off there. */
    const int length = snprintf(line, sizeof line, "\n%s%d%s", ends.before, kernel, ends.after);
    make_folders(path);
    const int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) {
        return errno;
    }
    /* One write, so that no other process's line gets between. */
    const ssize_t written = write(file, line, (size_t)length);
    const int status = written == length ? 0 : written < 0 ? errno : ENOSPC;
    close(file);
    return status;
}
