/* The command line of a rung's program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/operands.h"
#include "step.h"

enum protocol { PROTOCOL_BURST, PROTOCOL_SUSTAINED, PROTOCOL_CALL, PROTOCOL_NONE };
/* Of cuBLASLt's algorithms; one is a cublasLtMatmulAlgo_t in hexadecimal digits: cuBLASLt of the
 * same version takes it back. */
enum { MOST_HEURISTICS = 64, ALGORITHM_DIGITS = 128 };

/* What a program has, and an option may need. */
enum {
    HAS_TIMES = 1,     /* it measures times */
    HAS_CUBLASLT = 2,  /* beside it */
    HAS_DEVICES = 4,   /* to choose from */
    HAS_POLICIES = 8,  /* for the order of events */
    HAS_KERNELS = 16,  /* to choose among */
    HAS_K = 32,        /* it multiplies; else it moves words */
    HAS_SCALARS = 64,  /* alpha and beta */
    HAS_RANKING = 128, /* of its kernels, for a shape */
    HAS_REASONS = 256, /* for its choice of a kernel */
};

/* What differs between the command lines of programs. */
typedef struct option_rules {
    unsigned has;
    int m, n, k;                 /* the shape if none is given; k is 0 if there is none */
    int kernels;                 /* that the step chooses among; 0: it does not choose */
    const char *const *policies; /* names that --policy takes besides "all", NULL after the last */
} option_rules;

typedef struct options {
    int m, n, k;       /* in elements; k is 0 if there is none */
    float alpha, beta; /* 1 and 1 if they are not given; meaningless without HAS_SCALARS */
    enum inputs inputs;
    uint64_t seed;
    enum protocol protocol;
    bool ungated; /* bursts without their gate, for the test of the gate: no argument sets it */
    int rounds;
    int turn;        /* which contender begins the first round, counted round the list */
    int heuristics;  /* of cuBLASLt's, how many to time to find the best; 0: none is timed */
    bool enumerates; /* then also every configuration of its algorithms that takes the shape */
    const char *algorithm; /* one alone: its ALGORITHM_DIGITS; NULL: none; points into argv */
    const char *json;      /* the file to write, or NULL; points into argv */
    const char *runs;      /* the file with a run's options on each line, or NULL; the same */
    int device;
    const char *policy; /* the order of events on the emulator; NULL: all */
    int kernel;         /* the one to take, from 1 on; 0: the step chooses */
    bool searches;      /* all of its kernels: the fastest is timed beside the choice */
    bool tune;          /* time beside it what the quick tuner picks (tune.h) */
    bool explain;       /* print why, and run nothing */
    bool is_default;    /* neither the shape nor the policy was given */
    int first_order;    /* of policy all: the fixed policies before it are left out */
    int random_orders;  /* of all policies, after the fixed ones: their seeds begin at `seed` */
    bool alone;         /* without a second opinion */
    bool trials;        /* print the trials of a default run, and run nothing */
    bool help;
} options;

/* A small shape that takes the step to one of its edges. */
typedef struct trial {
    options options;
    const char *edge; /* its name; NULL: that of the kernel */
} trial;

/* Reads the command line; of options that set the same the last applies. Returns 0, or non-zero
 * with one sentence about the first mistake in error. If --help is met, reading stops there. */
int options_parse(int argc, char **argv, const option_rules *rules, options *options, char *error,
                  size_t size);

/* Prints what the program is, its options and their defaults, and the shapes the step takes. */
void options_print_help(FILE *out, const step *step, const option_rules *rules);

/* "--m 64 --n 64 --k 64 --kernel 2": the options of that shape. */
enum { SHAPE_OPTIONS_SIZE = 96 };
void options_of_shape(const options *options, char text[SHAPE_OPTIONS_SIZE]);

/* The words that --inputs and --protocol take. */
const char *inputs_name(enum inputs inputs);
const char *protocol_name(enum protocol protocol);
