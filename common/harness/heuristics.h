/* What is known of the algorithms that cuBLASLt has for a product. */
#ifndef GEMM_LADDER_HARNESS_HEURISTICS_RECORD_H
#define GEMM_LADDER_HARNESS_HEURISTICS_RECORD_H

#ifdef __cplusplus
extern "C" {
#endif

enum { MOST_HEURISTICS = 64, HEURISTIC_NAME_SIZE = 160 };

typedef struct heuristic {
    int number; /* in the order in which cuBLASLt deems them good; 0 is its own choice */
    char name[HEURISTIC_NAME_SIZE]; /* of its kernels */
    double seconds;                 /* per launch, the median; NAN if it was not timed */
} heuristic;

typedef struct heuristics {
    int returned;                     /* how many cuBLASLt has, of MOST_HEURISTICS asked for */
    int count;                        /* that were timed */
    heuristic tried[MOST_HEURISTICS]; /* [count] */
    heuristic winner;                 /* what is timed beside the step */
} heuristics;

#ifdef __cplusplus
}
#endif

#endif
