#include "harness/options.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/arithmetic.h"

enum { BURST_ROUNDS = 10, SUSTAINED_ROUNDS = 3, MOST_ROUNDS = 100000 };
enum { TRACED_EVENTS = 8192, MOST_EVENTS = 1 << 20 };

static const char ALL[] = "all";

/* Names in the order of their enums. */
static const char *const INPUTS_NAMES[] = {"normal", "uniform", "integers", "bits", NULL};
static const char *const PROTOCOL_NAMES[] = {"burst", "sustained", "call", "none", NULL};
static const char *const CHECK_NAMES[] = {"full", "sample", NULL};

const char *inputs_name(enum inputs inputs) { return INPUTS_NAMES[inputs]; }
const char *protocol_name(enum protocol protocol) { return PROTOCOL_NAMES[protocol]; }
const char *check_extent_name(enum check_extent check) { return CHECK_NAMES[check]; }

/* The kind of an option's value, which determines what it sets. */
enum kind {
    NUMBER,
    SIZE,
    COUNT_OR_ALL,
    SEED,
    SCALAR,
    CHOICE,
    POLICY,
    ALGORITHM,
    FILE_NAME,
    KERNEL,
    FLAG
};

/* What an option is about, and what kind of program this is: bits. */
enum { OF_SIZE = 1, OF_M_N = 2, OF_K = 4, OF_INPUTS = 8, OF_CHECKS = 16, OF_SCALARS = 32 };
enum { OF_TIMES = 64, OF_ROUNDS = 128, OF_CUBLASLT = 256, OF_GPUS = 512, OF_POLICIES = 1024 };
enum { OF_TRACES = 2048, OF_KERNELS = 4096 };
enum { EMULATED = 1, TRACES = 2, MOVES = 4, SCALARS = 8, CHOOSES = 16 };

/* An option is one row. The help, the parser and the error messages use it. */
typedef struct option {
    const char *name;
    const char *argument; /* in the help; of a CHOICE its names */
    const char *help;     /* lines; the default comes after the last */
    enum kind kind;
    size_t to; /* its place in struct options */
    unsigned about;
    uint64_t low, high;       /* of a number */
    const char *const *names; /* of a CHOICE */
} option;

#define TO(member) offsetof(options, member)

static const option OPTIONS[] = {
    {"--size", "N", "m, n and, for products, k at once", SIZE, TO(m), OF_SIZE, 1, LARGEST_DIMENSION,
     NULL},
    {"--m", "M", "rows of A", NUMBER, TO(m), OF_M_N, 1, LARGEST_DIMENSION, NULL},
    {"--n", "N", "rows of B; without a B, columns of A", NUMBER, TO(n), OF_M_N, 1,
     LARGEST_DIMENSION, NULL},
    {"--k", "K", "columns of A and B", NUMBER, TO(k), OF_K, 1, LARGEST_DIMENSION, NULL},
    {"--alpha", "X", "alpha in D = alpha * A * B^T + beta * C", SCALAR, TO(alpha), OF_SCALARS, 0, 0,
     NULL},
    {"--beta", "Y", "beta in it", SCALAR, TO(beta), OF_SCALARS, 0, 0, NULL},
    {"--inputs", NULL, "how to draw the operands", CHOICE, TO(inputs), OF_INPUTS, 0, 0,
     INPUTS_NAMES},
    {"--seed", "S", "seed of the inputs and of random policies", SEED, TO(seed), 0, 0, UINT64_MAX,
     NULL},
    {"--check", NULL, "compare all elements, or a sample of 65536", CHOICE, TO(check), OF_CHECKS, 0,
     0, CHECK_NAMES},
    {"--policy", "NAME", "the order in which copies and threads go on:\n", POLICY, TO(policy),
     OF_POLICIES, 0, 0, NULL},
    {"--protocol", NULL, "how to time; none: do not time", CHOICE, TO(protocol), OF_TIMES, 0, 0,
     PROTOCOL_NAMES},
    {"--rounds", "R", "timed rounds; sustained: 3", NUMBER, TO(rounds), OF_TIMES | OF_ROUNDS, 1,
     MOST_ROUNDS, NULL},
    {"--turn", "T", "which contender begins: 0 the rung, 1 the next", NUMBER, TO(turn), OF_TIMES, 0,
     MOST_ROUNDS, NULL},
    {"--heuristics", "N|all",
     "time N of cuBLASLt's algorithms (at most 64), or all\n"
     "in every configuration; then time the fastest beside\nthe rung as well",
     COUNT_OR_ALL, TO(heuristics), OF_TIMES | OF_CUBLASLT, 1, MOST_HEURISTICS, NULL},
    {"--algorithm", "HEX", "time this algorithm beside the rung, as in --json", ALGORITHM,
     TO(algorithm), OF_TIMES | OF_CUBLASLT, 0, 0, NULL},
    {"--kernel", "N", "take this kernel of those that the rung has, from 1", KERNEL, TO(kernel),
     OF_KERNELS, 1, 0, NULL},
    {"--explain", "", "print the kernels that the rung would rather take, and\nwhy; run nothing",
     FLAG, TO(explain), OF_KERNELS, 0, 0, NULL},
    {"--cta", "C", "the CTA to trace, from 0 (default: the middle one)", NUMBER, TO(cta), OF_TRACES,
     0, INT_MAX, NULL},
    {"--events", "E", "how many events of each warp to keep", NUMBER, TO(events), OF_TRACES, 1,
     MOST_EVENTS, NULL},
    {"--device", "I", "which GPU", NUMBER, TO(device), OF_GPUS, 0, INT_MAX, NULL},
    {"--json", "FILE", "also write the result to FILE", FILE_NAME, TO(json), 0, 0, 0, NULL},
    {"--runs", "FILE",
     "one run for each line of FILE, instead: its options,\nwith tabs between; up to the first "
     "wrong result",
     FILE_NAME, TO(runs), 0, 0, 0, NULL},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

/* Options that a program rejects, and its message: the first row that fits. */
static const struct refusal {
    unsigned about;      /* the options: one of these bits */
    unsigned is, is_not; /* the programs: those that are the first and not the second */
    const char *value;   /* this one alone; NULL: any */
    const char *why;
} REFUSALS[] = {
    {OF_TIMES, TRACES, 0, NULL, "a traced rung is not timed"},
    {OF_TRACES, 0, TRACES, NULL, "this program does not trace; use make trace"},
    {OF_CUBLASLT, EMULATED, 0, NULL, "the emulator has no cuBLASLt"},
    {OF_CUBLASLT, MOVES, 0, NULL, "cuBLASLt multiplies; this rung moves words"},
    {OF_KERNELS, 0, CHOOSES, NULL, "this rung has one kernel"},
    {OF_POLICIES, 0, EMULATED, NULL,
     "a GPU orders events itself; this is for the emulator (make step EMULATE=1)"},
    {OF_GPUS, EMULATED, 0, NULL, "the emulator has one device, a CPU"},
    {OF_TIMES, EMULATED, 0, NULL, "the emulator measures no time"},
    {OF_SCALARS, MOVES, 0, NULL, "this rung multiplies nothing and takes no alpha and no beta"},
    {OF_SCALARS, 0, SCALARS, NULL, "this rung computes A * B^T and takes no alpha and no beta"},
    {OF_K, MOVES, 0, NULL, "this rung moves a matrix of m rows and n columns; there is no k"},
    {OF_INPUTS, 0, MOVES, "bits", "this rung multiplies, and arbitrary bits may be NaN"},
    {OF_CHECKS, MOVES, 0, "sample", "this rung moves words, and always compares all of them"},
};

/* Why the program does not take this value of the option, or (NULL) any value; NULL if it does. */
static const char *refusal_of(const option_rules *rules, const option *option, const char *value) {
    const unsigned is = (rules->emulated ? EMULATED : 0U) | (rules->traces ? TRACES : 0U) |
                        (rules->moves ? MOVES : 0U) | (rules->takes_scalars ? SCALARS : 0U) |
                        (rules->kernels > 0 ? CHOOSES : 0U);
    const char *given = value == NULL ? "" : value;
    if (option->names == PROTOCOL_NAMES && strcmp(given, protocol_name(PROTOCOL_NONE)) == 0) {
        return NULL; /* every program can skip timing */
    }
    for (size_t i = 0; i < sizeof REFUSALS / sizeof *REFUSALS; ++i) {
        const struct refusal *r = &REFUSALS[i];
        if ((r->about & option->about) != 0 && (r->is & is) == r->is && (r->is_not & is) == 0 &&
            (r->value == NULL || strcmp(r->value, given) == 0)) {
            return r->why;
        }
    }
    return NULL;
}

/* "a or b or c" into text: the option's names that the program takes. */
static void list_names(const option_rules *rules, const option *option, const char *between,
                       char *text, size_t size) {
    const char *const *names = option->kind == POLICY ? rules->policies : option->names;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; names[i] != NULL && used < size; ++i) {
        if (refusal_of(rules, option, names[i]) == NULL) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : between,
                                     names[i]);
        }
    }
}

/* Only digits: no sign, no space, no exponent, nothing after them. */
static bool parse_number(const option *option, uint64_t high, const char *text, uint64_t *number) {
    uint64_t value = 0;
    bool good = *text != '\0';
    for (const char *c = text; good && *c != '\0'; ++c) {
        const uint64_t digit = (uint64_t)(*c - '0');
        good = *c >= '0' && *c <= '9' && value <= (UINT64_MAX - digit) / 10;
        value = good ? value * 10 + digit : value;
    }
    *number = value;
    return good && value >= option->low && value <= high;
}

/* A decimal number, with or without a point and an exponent: no hexadecimal one, no infinity. */
static bool parse_scalar(const char *text, float *number) {
    char *end = NULL;
    const bool plain = *text != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
    *number = plain ? strtof(text, &end) : 0;
    return plain && *end == '\0' && isfinite(*number);
}

/* The number of the name in the list, or of the NULL after the last. */
static unsigned find_name(const char *const *names, const char *text) {
    unsigned index = 0;
    while (names[index] != NULL && strcmp(text, names[index]) != 0) {
        ++index;
    }
    return index;
}

/* Stores the value where the option says. False if it is not valid; then `must` says what it must
 * be. */
static bool parse_value(const option_rules *rules, options *o, const option *option,
                        const char *value, char *must, size_t size) {
    void *to = (char *)o + option->to;
    const uint64_t high = option->kind == KERNEL ? (uint64_t)rules->kernels : option->high;
    const bool all = strcmp(value, ALL) == 0;
    uint64_t number = MOST_HEURISTICS;
    unsigned choice;
    bool good;
    snprintf(must, size, "a whole number from %" PRIu64 " to %" PRIu64, option->low, high);
    switch (option->kind) {
    case SEED:
        return parse_number(option, high, value, to);
    case SCALAR:
        snprintf(must, size, "a number such as -2.5");
        return parse_scalar(value, to);
    case CHOICE:
        list_names(rules, option, " or ", must, size);
        choice = find_name(option->names, value);
        memcpy(to, &choice, sizeof choice);
        return option->names[choice] != NULL;
    case POLICY:
        list_names(rules, option, " or ", must, size);
        snprintf(must + strlen(must), size - strlen(must), " or %s", ALL);
        o->policy = all ? ALL : rules->policies[find_name(rules->policies, value)];
        return o->policy != NULL;
    case ALGORITHM:
        snprintf(must, size, "%d hexadecimal digits, as --json writes them", ALGORITHM_DIGITS);
        o->algorithm = value;
        return strlen(value) == ALGORITHM_DIGITS &&
               strspn(value, "0123456789abcdef") == ALGORITHM_DIGITS;
    case FILE_NAME:
        snprintf(must, size, "the name of a file");
        *(const char **)to = value;
        return *value != '\0' && strncmp(value, "--", 2) != 0;
    case FLAG:
        snprintf(must, size, "given without a value");
        *(bool *)to = true;
        return *value == '\0';
    case COUNT_OR_ALL:
        o->enumerates = all;
        break;
    case NUMBER:
    case SIZE:
    case KERNEL:
        break;
    }
    good = (option->kind == COUNT_OR_ALL && all) || parse_number(option, high, value, &number);
    *(int *)to = (int)number;
    if (option->kind == SIZE) {
        o->n = o->m;
        o->k = rules->moves ? 0 : o->m;
    }
    return good;
}

/* Checks the options together; given are the bits of all of them. NULL, or what is wrong. */
static const char *finish(const option_rules *rules, options *o, unsigned given) {
    if ((given & OF_SIZE) != 0 && (given & (OF_M_N | OF_K)) != 0) {
        return rules->moves
                   ? "--size sets m and n together: give either --size or --m and --n"
                   : "--size sets m, n and k together: give either --size or --m, --n and --k";
    }
    if (o->heuristics > 0 && o->algorithm != NULL) {
        return "--heuristics finds the best algorithm and --algorithm names one: give only one of "
               "them";
    }
    o->is_default = (given & (OF_SIZE | OF_M_N | OF_K | OF_POLICIES)) == 0;
    if ((given & OF_ROUNDS) == 0 && o->protocol == PROTOCOL_SUSTAINED) {
        o->rounds = SUSTAINED_ROUNDS;
    }
    return NULL;
}

static options defaults(const option_rules *rules) {
    return (options){.m = rules->m,
                     .n = rules->n,
                     .k = rules->k,
                     .alpha = 1,
                     .beta = 1,
                     .inputs = INPUTS_NORMAL,
                     .seed = 1,
                     .protocol = rules->emulated || rules->traces ? PROTOCOL_NONE : PROTOCOL_BURST,
                     .rounds = BURST_ROUNDS,
                     .check = CHECK_FULL,
                     .policy = rules->policies == NULL ? NULL : ALL,
                     .random_orders = 1,
                     .cta = MIDDLE_CTA,
                     .events = TRACED_EVENTS};
}

/* All options that the program takes. */
static void refuse_unknown(const option_rules *rules, const char *argument, char *error,
                           size_t size) {
    snprintf(error, size, "unknown argument '%s'; there are", argument);
    for (size_t i = 0; i <= OPTION_COUNT; ++i) {
        const size_t used = strlen(error);
        if (i == OPTION_COUNT || refusal_of(rules, &OPTIONS[i], NULL) == NULL) {
            snprintf(error + used, size - used, " %s",
                     i == OPTION_COUNT ? "--help" : OPTIONS[i].name);
        }
    }
}

int options_parse(int argc, char **argv, const option_rules *rules, options *o, char *error,
                  size_t size) {
    unsigned given = 0;
    char must[256];
    *o = defaults(rules);
    for (int i = 1; i < argc; ++i) {
        const char *argument = argv[i];
        if (strcmp(argument, "--help") == 0) {
            o->help = true;
            return 0;
        }
        const size_t length = strcspn(argument, "=");
        const option *option = OPTIONS;
        while (option < OPTIONS + OPTION_COUNT &&
               (strlen(option->name) != length || strncmp(option->name, argument, length) != 0)) {
            ++option;
        }
        if (option == OPTIONS + OPTION_COUNT) {
            refuse_unknown(rules, argument, error, size);
            return 1;
        }
        const bool flag = option->kind == FLAG && argument[length] == '\0';
        const char *value = flag ? "" : argument[length] == '=' ? argument + length + 1 : argv[++i];
        if (value == NULL) {
            snprintf(error, size, "%s needs a value", option->name);
            return 1;
        }
        const char *why = refusal_of(rules, option, value);
        if (why != NULL) {
            snprintf(error, size, "%s%s%s: %s", option->name, flag ? "" : " ", value, why);
            return 1;
        }
        if (!parse_value(rules, o, option, value, must, sizeof must)) {
            snprintf(error, size, "%s '%.40s': must be %s", option->name, value, must);
            return 1;
        }
        given |= option->about;
    }
    const char *wrong = finish(rules, o, given);
    if (wrong != NULL) {
        snprintf(error, size, "%s", wrong);
    }
    return wrong != NULL;
}

/* What the program does. */
static const char *purpose(const option_rules *rules) {
    if (rules->traces) {
        return "Runs the rung, checks its result against an independent reference, and records "
               "what the warps\nof one CTA do in one more launch: loads, multiplications, "
               "stores and waits, and their times.";
    }
    if (rules->emulated) {
        return "Runs the rung on the emulator, a CPU, and checks its result against an independent "
               "reference.";
    }
    return rules->moves ? "Runs the rung, checks its result against an independent reference and "
                          "times it beside a plain\ncopy of the same bytes, cudaMemcpyAsync."
                        : "Runs the rung, checks its result against an independent reference "
                          "and times it beside cuBLAS.";
}

/* The value that an option has if it is not given; nothing if it has none. */
static void print_default(FILE *out, const option *option, const option_rules *rules) {
    const options o = defaults(rules);
    const void *at = (const char *)&o + option->to;
    unsigned choice;
    if (option->kind == NUMBER && *(const int *)at >= (int)option->low) {
        fprintf(out, " (default %d)", *(const int *)at);
    } else if (option->kind == SEED) {
        fprintf(out, " (default %" PRIu64 ")", *(const uint64_t *)at);
    } else if (option->kind == SCALAR) {
        fprintf(out, " (default %g)", (double)*(const float *)at);
    } else if (option->kind == CHOICE) {
        memcpy(&choice, at, sizeof choice);
        fprintf(out, " (default %s)", option->names[choice]);
    }
}

static void print_option(FILE *out, const option *option, const option_rules *rules) {
    enum { COLUMN = 36 };
    char list[256];
    if (option->kind == CHOICE) {
        list_names(rules, option, "|", list, sizeof list);
    }
    const int used =
        fprintf(out, "  %s %s", option->name, option->argument != NULL ? option->argument : list);
    fprintf(out, used < COLUMN ? "%*s" : "\n%*s", used < COLUMN ? COLUMN - used : COLUMN, "");
    for (const char *c = option->help; *c != '\0'; ++c) {
        fprintf(out, *c == '\n' ? "%c%*s" : "%c", *c, COLUMN, "");
    }
    if (option->kind == POLICY) {
        list_names(rules, option, ", ", list, sizeof list);
        fprintf(out, "%s,\n%*sor %s but random, one after the other (default %s)", list, COLUMN, "",
                ALL, ALL);
    }
    print_default(out, option, rules);
    fputc('\n', out);
}

void options_print_help(FILE *out, const step *step, const option_rules *rules) {
    char rule[SHAPE_RULE_SIZE];
    shape_rule(step, rule, sizeof rule);
    fprintf(out, "%s: %s\n\n%s\nIt takes %s.\n\n", step->name, step->idea, purpose(rules), rule);
    for (size_t i = 0; i < OPTION_COUNT; ++i) {
        if (refusal_of(rules, &OPTIONS[i], NULL) == NULL) {
            print_option(out, &OPTIONS[i], rules);
        }
    }
    fputs("  --help                            this text\n"
          "\n"
          "Exit status: 0 verified; 1 wrong result or failed call; 2 bad usage or unsupported "
          "shape;\n"
          "77 this machine cannot run it.\n",
          out);
}
