#include "harness/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/arithmetic.h"

enum { BURST_ROUNDS = 10, SUSTAINED_ROUNDS = 3, MOST_ROUNDS = 100000 };

static const char ALL[] = "all";

/* Names in the order of their enums. */
static const char *const INPUTS_NAMES[] = {"normal", "integers", "bits", NULL};
static const char *const INPUTS_OF_PRODUCTS[] = {"normal", "integers", NULL};
static const char *const PROTOCOL_NAMES[] = {"burst", "sustained", "call", "none", NULL};

const char *inputs_name(enum inputs inputs) { return INPUTS_NAMES[inputs]; }
const char *protocol_name(enum protocol protocol) { return PROTOCOL_NAMES[protocol]; }

/* The kind of an option's value, which determines what it sets. */
enum kind { NUMBER, SIZE, COUNT_OR_ALL, KERNEL, SEED, SCALAR, CHOICE, POLICY, TEXT, FLAG };

/* An option is one row. The help, the parser and the error messages use it. */
typedef struct option {
    const char *name;
    const char *argument; /* in the help; NULL: its names */
    const char *help;
    enum kind kind;
    size_t to;          /* its place in struct options */
    unsigned needs;     /* bits: what the program must have */
    uint64_t low, high; /* of a number */
} option;

#define TO(member) offsetof(options, member)

static const option OPTIONS[] = {
    {"--size", "N", "m, n and, for products, k at once", SIZE, TO(m), 0, 1, LARGEST_DIMENSION},
    {"--m", "M", "rows of A", NUMBER, TO(m), 0, 1, LARGEST_DIMENSION},
    {"--n", "N", "rows of B; without a B, columns of A", NUMBER, TO(n), 0, 1, LARGEST_DIMENSION},
    {"--k", "K", "columns of A and B", NUMBER, TO(k), HAS_K, 1, LARGEST_DIMENSION},
    {"--alpha", "X", "in D = alpha * A * B^T + beta * C (default 1)", SCALAR, TO(alpha),
     HAS_SCALARS, 0, 0},
    {"--beta", "Y", "in the same (default 1)", SCALAR, TO(beta), HAS_SCALARS, 0, 0},
    {"--inputs", NULL, "how to draw the operands (default normal)", CHOICE, TO(inputs), 0, 0, 0},
    {"--seed", "S", "of the inputs and of random policies (default 1)", SEED, TO(seed), 0, 0,
     UINT64_MAX},
    {"--policy", NULL, "the order of events; all (default): each one, and one random", POLICY,
     TO(policy), HAS_POLICIES, 0, 0},
    {"--protocol", NULL, "how to time; none: do not time (default burst)", CHOICE, TO(protocol),
     HAS_TIMES, 0, 0},
    {"--rounds", "R", "timed rounds (default 10; sustained: 3)", NUMBER, TO(rounds), HAS_TIMES, 1,
     MOST_ROUNDS},
    {"--turn", "T", "which contender begins: 0 the rung (default), 1 the next", NUMBER, TO(turn),
     HAS_TIMES, 0, MOST_ROUNDS},
    {"--heuristics", "N|all", "time the fastest of N of cuBLASLt's algorithms, or of all, as well",
     COUNT_OR_ALL, TO(heuristics), HAS_TIMES | HAS_CUBLASLT, 1, MOST_HEURISTICS},
    {"--algorithm", "HEX", "time this one of them, by its digits in --json, as well", TEXT,
     TO(algorithm), HAS_TIMES | HAS_CUBLASLT, 0, 0},
    {"--kernel", "N|all", "take this kernel, from 1; all: time the fastest of all as well", KERNEL,
     TO(kernel), HAS_KERNELS, 1, 0},
    {"--tune", "",
     "time what the quick tuner picks of the first choices as well, and keep it in the user's file",
     FLAG, TO(tune), HAS_TIMES | HAS_KERNELS | HAS_RANKING, 0, 0},
    {"--explain", "", "print which kernels the rung would rather take, and why; run nothing", FLAG,
     TO(explain), HAS_KERNELS | HAS_REASONS, 0, 0},
    {"--device", "I", "which GPU (default 0)", NUMBER, TO(device), HAS_DEVICES, 0, INT_MAX},
    {"--trials", "",
     "print the shapes that a run without a shape tries too, and the options for each", FLAG,
     TO(trials), HAS_POLICIES, 0, 0},
    {"--json", "FILE", "also write the result to FILE", TEXT, TO(json), 0, 0, 0},
    {"--runs", "FILE", "a run for each line of FILE, its options with tabs between", TEXT, TO(runs),
     0, 0, 0},
    {"--help", "", "this text", FLAG, TO(help), 0, 0, 0},
};
enum { OPTION_COUNT = sizeof OPTIONS / sizeof *OPTIONS };

/* Why a program that lacks something does not take an option. */
static const struct lack {
    unsigned what;
    const char *why;
} LACKS[] = {
    {HAS_TIMES, "nothing is timed on the emulator"},
    {HAS_CUBLASLT, "there is no cuBLASLt to compare with: this rung moves words"},
    {HAS_DEVICES, "the emulator has one device, a CPU"},
    {HAS_POLICIES, "a GPU orders events itself; this is for the emulator (make step EMULATE=1)"},
    {HAS_KERNELS, "this rung has one kernel"},
    {HAS_RANKING, "this rung does not rank its kernels"},
    {HAS_REASONS, "this rung does not explain its choice"},
    {HAS_K, "this rung moves a matrix of m rows and n columns; there is no k"},
    {HAS_SCALARS, "this rung takes no alpha and no beta"},
};

static bool is_all(const char *value) { return value != NULL && strcmp(value, ALL) == 0; }

/* Why the program does not take this value of the option, or (NULL) any value; NULL if it does. */
static const char *refusal_of(const option_rules *rules, const option *option, const char *value) {
    const bool searches = option->kind == KERNEL && is_all(value);
    const unsigned needs = option->needs | (searches ? HAS_TIMES | HAS_RANKING : 0);
    const unsigned lacks = needs & ~rules->has;
    for (size_t i = 0; i < sizeof LACKS / sizeof *LACKS; ++i) {
        if ((lacks & LACKS[i].what) != 0) {
            return LACKS[i].why;
        }
    }
    return NULL;
}

/* The names that the option takes, NULL after the last; NULL if it takes none. Arbitrary bits may
 * be NaN, which no product has as an input. */
static const char *const *names_of(const option_rules *rules, const option *option) {
    return option->to == TO(policy)     ? rules->policies
           : option->to == TO(protocol) ? PROTOCOL_NAMES
           : option->to != TO(inputs)   ? NULL
           : (rules->has & HAS_K) != 0  ? INPUTS_OF_PRODUCTS
                                        : INPUTS_NAMES;
}

/* "a or b or c" into text: those names. */
static void list_names(const option_rules *rules, const option *option, const char *between,
                       char *text, size_t size) {
    size_t used = 0;
    for (const char *const *name = names_of(rules, option); *name != NULL; ++name) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : between, *name);
    }
    if (option->kind == POLICY) {
        snprintf(text + used, size - used, "%s%s", between, ALL);
    }
}

/* No sign, no space before it, nothing after it. */
static bool parse_number(uint64_t low, uint64_t high, const char *text, uint64_t *number) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)*text) && *end == '\0' && errno == 0 && *number >= low &&
           *number <= high;
}

static bool parse_scalar(const char *text, float *number) {
    char *end;
    *number = strtof(text, &end);
    return end != text && *end == '\0' && isfinite(*number);
}

/* Stores the value where the option says. False if it is not valid; then `must` says what it must
 * be. */
static bool parse_value(const option_rules *rules, options *o, const option *option,
                        const char *value, char *must, size_t size) {
    void *to = (char *)o + option->to;
    const uint64_t high = option->kind == KERNEL ? (uint64_t)rules->kernels : option->high;
    const char *const *names = names_of(rules, option);
    const bool all = is_all(value);
    uint64_t number = 0;
    if (names != NULL) {
        list_names(rules, option, " or ", must, size);
        while (names[number] != NULL && strcmp(value, names[number]) != 0) {
            ++number;
        }
    }
    switch (option->kind) {
    case SCALAR:
        snprintf(must, size, "a number such as -2.5");
        return parse_scalar(value, to);
    case CHOICE:
        *(unsigned *)to = (unsigned)number;
        return names[number] != NULL;
    case POLICY:
        o->policy = names[number];
        return all || o->policy != NULL;
    case TEXT:
        snprintf(must, size, "a value");
        *(const char **)to = value;
        return *value != '\0' && strncmp(value, "--", 2) != 0;
    case FLAG:
        *(bool *)to = true;
        return true;
    case COUNT_OR_ALL:
    case KERNEL:
        *(option->kind == KERNEL ? &o->searches : &o->enumerates) = all;
        *(int *)to = (int)option->high; /* of all: as many as there are, or no kernel named */
        if (all) {
            return true;
        }
        break;
    default:
        break;
    }
    snprintf(must, size, "a whole number from %" PRIu64 " to %" PRIu64, option->low, high);
    const bool good = parse_number(option->low, high, value, &number);
    if (option->kind == SEED) {
        o->seed = number;
    } else {
        *(int *)to = (int)number;
    }
    if (option->kind == SIZE) {
        o->n = o->m;
        o->k = (rules->has & HAS_K) != 0 ? o->m : 0;
    }
    return good;
}

/* Reads the option at argv[*i], and steps over its value. Returns it; NULL with a sentence in
 * error. */
static const option *parse_option(char **argv, int *i, const option_rules *rules, options *o,
                                  char *error, size_t size) {
    const char *argument = argv[*i];
    const size_t length = strcspn(argument, "=");
    const option *option = OPTIONS;
    char must[256] = "";
    while (option < OPTIONS + OPTION_COUNT &&
           (strlen(option->name) != length || strncmp(option->name, argument, length) != 0)) {
        ++option;
    }
    if (option == OPTIONS + OPTION_COUNT) {
        snprintf(error, size, "unknown argument '%s'", argument);
        return NULL;
    }
    const bool flag = option->kind == FLAG && argument[length] == '\0';
    const char *value = flag ? "" : argument[length] == '=' ? argument + length + 1 : argv[++*i];
    const char *why = value == NULL ? NULL : refusal_of(rules, option, value);
    if (value == NULL) {
        snprintf(error, size, "%s needs a value", option->name);
    } else if (why != NULL) {
        snprintf(error, size, "%s%s%s: %s", option->name, flag ? "" : " ", value, why);
    } else if (!parse_value(rules, o, option, value, must, sizeof must)) {
        snprintf(error, size, "%s '%.40s': must be %s", option->name, value, must);
    } else {
        return option;
    }
    return NULL;
}

int options_parse(int argc, char **argv, const option_rules *rules, options *o, char *error,
                  size_t size) {
    *o = (options){.m = rules->m,
                   .n = rules->n,
                   .k = rules->k,
                   .alpha = 1,
                   .beta = 1,
                   .inputs = INPUTS_NORMAL,
                   .seed = 1,
                   .protocol = (rules->has & HAS_TIMES) != 0 ? PROTOCOL_BURST : PROTOCOL_NONE,
                   .is_default = true,
                   .random_orders = 1};
    for (int i = 1; i < argc && !o->help; ++i) {
        const option *option = parse_option(argv, &i, rules, o, error, size);
        if (option == NULL) {
            return 1;
        }
        /* Dimensions are the only ones with that limit. */
        o->is_default =
            o->is_default && option->high != LARGEST_DIMENSION && option->kind != POLICY;
    }
    if (o->rounds == 0) {
        o->rounds = o->protocol == PROTOCOL_SUSTAINED ? SUSTAINED_ROUNDS : BURST_ROUNDS;
    }
    if (o->algorithm != NULL && strlen(o->algorithm) != ALGORITHM_DIGITS) {
        snprintf(error, size, "--algorithm: must be %d digits, as --json writes them",
                 ALGORITHM_DIGITS);
        return 1;
    }
    if (o->tune && o->protocol == PROTOCOL_NONE) {
        snprintf(error, size, "--tune: --protocol none times nothing");
        return 1;
    }
    return 0;
}

void options_of_shape(const options *o, char text[SHAPE_OPTIONS_SIZE]) {
    int used = snprintf(text, SHAPE_OPTIONS_SIZE, "--m %d --n %d", o->m, o->n);
    if (o->k > 0) {
        used += snprintf(text + used, SHAPE_OPTIONS_SIZE - (size_t)used, " --k %d", o->k);
    }
    if (o->kernel > 0) {
        snprintf(text + used, SHAPE_OPTIONS_SIZE - (size_t)used, " --kernel %d", o->kernel);
    }
}

void options_print_help(FILE *out, const step *step, const option_rules *rules) {
    enum { COLUMN = 36 };
    char rule[SHAPE_RULE_SIZE];
    shape_rule(step, rule, sizeof rule);
    fprintf(out,
            "%s: %s\n\nRuns the rung, checks its result against an independent reference and %s.\n"
            "It takes %s; by default m=%d n=%d",
            step->name, step->idea,
            (rules->has & HAS_TIMES) != 0 ? "times it\nbeside others"
                                          : "counts\nwhat it moves and waits for",
            rule, rules->m, rules->n);
    fprintf(out, (rules->has & HAS_K) != 0 ? " k=%d.\n\n" : ".\n\n", rules->k);
    for (const option *option = OPTIONS; option < OPTIONS + OPTION_COUNT; ++option) {
        char names[256];
        if (refusal_of(rules, option, NULL) != NULL) {
            continue;
        }
        if (option->argument == NULL) {
            list_names(rules, option, "|", names, sizeof names);
        } else {
            snprintf(names, sizeof names, "%s", option->argument);
        }
        const int used = fprintf(out, "  %s %s", option->name, names);
        fprintf(out, "%s%*s%s\n", used < COLUMN ? "" : "\n", used < COLUMN ? COLUMN - used : COLUMN,
                "", option->help);
    }
    fputs("\nExit status: 0 verified; 1 wrong result or failed call; 2 bad usage or unsupported "
          "shape;\n77 this machine cannot run it.\n",
          out);
}
