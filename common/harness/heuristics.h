/* What is known of the algorithms that cuBLASLt has for a product. */
#ifndef GEMM_LADDER_HARNESS_HEURISTICS_RECORD_H
#define GEMM_LADDER_HARNESS_HEURISTICS_RECORD_H

/* A cublasLtMatmulAlgo_t in hexadecimal digits: cuBLASLt of the same version takes it back. */
enum { MOST_HEURISTICS = 64, HEURISTIC_NAME_SIZE = 160, ALGORITHM_DIGITS = 128 };

typedef struct heuristic {
    int number; /* in the order in which cuBLASLt deems them good; 0 is its own choice. Then come
                 * those that were enumerated */
    char algorithm[ALGORITHM_DIGITS + 1];
    char name[HEURISTIC_NAME_SIZE]; /* of its kernels */
    double seconds;                 /* per launch, the median; NAN if it was not timed */
} heuristic;

typedef struct heuristics {
    int returned;                     /* how many cuBLASLt has, of MOST_HEURISTICS asked for */
    int enumerated;                   /* configurations beside them that take the shape; 0 if they
                                       * were not looked for */
    int count;                        /* of those that were timed the fastest ... */
    heuristic tried[MOST_HEURISTICS]; /* ... [count] */
    heuristic winner;                 /* what is timed beside the step */
} heuristics;

#endif
