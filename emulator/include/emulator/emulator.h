/* The emulator as the harness sees it. C. */
#ifndef GEMM_LADDER_EMULATOR_H
#define GEMM_LADDER_EMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The names that emulator_choose_policy takes: the fixed policies, then "random", then NULL. */
const char *const *emulator_policies(void);

/* How many of them are fixed. */
size_t emulator_fixed_policies(void);

/* Chooses the order of completion for the launches that follow; seed counts for "random". False
 * for an unknown name. */
bool emulator_choose_policy(const char *name, uint64_t seed);

/* What the reports' first line starts with: the rung's name. The string must outlive the runs. */
void emulator_report_prefix(const char *prefix);

/* What a report's last line says beside the policy: the options that make the run again, "--m 256".
 * Copied. */
void emulator_report_options(const char *options);

/* A program may define this. It is called at the end of a report of two unordered accesses, with a
 * number for its kind and lines, unless EMULATOR_STORY is set. A run with that number there ends
 * the same report with the story of both (story.h); one with 1 any report. */
void emulator_on_unordered(uint64_t report) __attribute__((weak));

/* From now on a launch that writes an element of [begin, begin + bytes) twice is a mistake. */
void emulator_watch_output(const void *begin, size_t bytes);

/* The host has written these bytes of global memory itself, in place of a kernel on the stream. */
void emulator_wrote(const void *begin, size_t bytes, const void *stream);

/* Called now and then while a kernel runs, with the part of the grid that is done, 0 to 1, and the
 * tensor-core multiply-adds so far. NULL: none. */
void emulator_on_progress(void (*progress)(double grid_done, uint64_t multiply_adds));

/* What the last launch did, in numbers that do not depend on the machine it was emulated on. */
typedef struct emulator_counts {
    uint64_t global_read_bytes, global_written_bytes; /* by plain loads and stores */
    uint64_t tma_read_bytes, tma_written_bytes;       /* from and to global memory */
    uint64_t tma_loads, tma_stores;                   /* instructions */
    uint64_t multicast_bytes;                         /* into shared memory beyond the first CTA */
    uint64_t copied_bytes;                            /* by cp.async, from global memory */
    uint64_t wgmmas, mmas;                            /* instructions: per warpgroup, per warp */
    uint64_t multiply_adds;                           /* on the tensor cores */
    uint64_t mbarrier_arrivals, mbarrier_waits, mbarrier_waits_blocked;
    uint64_t barrier_waits, barrier_waits_blocked; /* bar.sync and barrier.cluster */
    uint64_t ring_slots;      /* mbarriers that loads complete on, in one CTA */
    uint64_t ring_ahead_most; /* phases of loads issued before a consumer waited for them */
    double ring_ahead_mean;   /* one sample per wait of a consumer */
    uint64_t threads, ctas, clusters;
} emulator_counts;
void emulator_get_counts(emulator_counts *counts);
/* Whether what ran decides for all orders of events (notes/proof.md). Good until the next call. */
const char *emulator_proof(void);

/* One line of source that reads or writes shared memory. */
typedef struct emulator_access_site {
    char file[256];
    int line;
    bool is_write;
    int bytes;             /* per lane; 16 for a matrix's row */
    uint64_t instructions; /* warp-wide */
    uint64_t wavefronts;   /* passes over the banks that they took */
    uint64_t ideal;        /* those that they would have taken without conflicts */
    int worst_ways;        /* lanes that used one bank at once, for different words */
    uint32_t worst[32];    /* of the first such access, where each lane begins */
} emulator_access_site;

/* Fills at most `most` sites, the ones with the most extra wavefronts first; returns how many there
 * are. Asks addr2line: takes a fraction of a second. */
size_t emulator_get_access_sites(emulator_access_site *sites, size_t most);

#ifdef __cplusplus
}
#endif

#endif
