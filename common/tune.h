/* The fastest of a step's kernels for a shape, found by timing a few of them for about 10 ms; and
 * the file of the user's that keeps what was found. Plain C, without CUDA. */
#ifndef GEMM_LADDER_TUNE_H
#define GEMM_LADDER_TUNE_H

#include <stddef.h>

#include "step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How many of a step's first choices are worth timing. */
enum { TUNE_CANDIDATES = 8 };

/* The index of the fastest of `count` candidates; -1: none ran, or there is no memory. Two rounds,
 * the second backwards, sample all. Those that are left are within 5 % of the fastest, by the
 * better of their two samples. They have three more rounds, every other one backwards, so that a
 * clock that falls slows none more than another; the lowest median of the five wins.
 * sample(context, candidate) gives the seconds of one launch, from a short gated sample of several
 * launches over rotating copies of the operands. NAN: it failed; then that candidate is out. */
int tune_pick(int count, double (*sample)(void *context, int candidate), void *context);

/* What a kernel was found for. */
typedef struct tune_key {
    const char *gpu;           /* its name, as CUDA gives it */
    unsigned long long family; /* tune_family() */
    int m, n, k;               /* in elements */
} tune_key;

/* A hash of the step's name and of all its kernels, as tile_of describes them: with other tiles the
 * numbers mean other kernels, and what was found for them is not taken. */
unsigned long long tune_family(const step *step);

/* The file's path, in `buffer`, which it returns: $GEMM_LADDER_TUNED, or gemm-ladder/tuned.txt in
 * the user's cache folder ($XDG_CACHE_HOME, else $HOME/.cache). "" means that there is no file: the
 * variable is empty, there is no home, or the path is longer than `size`. */
const char *tune_path(char *buffer, size_t size);

/* The kernel's number that was added last for the key, from 1 on; 0: there is none. The caller
 * checks that the step has so many kernels. Lines that are damaged are skipped; a file that is
 * missing or cannot be read is an empty one. */
int tune_find(const char *path, const tune_key *key);

/* Adds a line to the file, and makes its folder. Several processes and threads may do so at once.
 * Returns 0, which it also does of the path "", or errno: EINVAL of a GPU's name that does not fit
 * a line. */
int tune_add(const char *path, const tune_key *key, int kernel);

#ifdef __cplusplus
}
#endif

#endif
