#include "harness/options.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/heuristics.h"
#include "harness/shape.h"

enum { BURST_ROUNDS = 10, SUSTAINED_ROUNDS = 3, MOST_ROUNDS = 100000 };
enum { TRACED_EVENTS = 8192, MOST_EVENTS = 1 << 20 };

static const char GPU_OPTIONS[] = " --inputs --seed --protocol --rounds --turn --check --json "
                                  "--device --help";
static const char EMULATOR_OPTIONS[] = " --inputs --seed --policy --check --json --help";
static const char SCALAR_OPTIONS[] = " --alpha --beta";
static const char TRACE_OPTIONS[] = " --cta --events";
static const char HEURISTIC_OPTIONS[] = " --heuristics --algorithm";
static const char ALL_POLICIES[] = "all";

/* Names in the order of their enums. */
static const char *const INPUTS_NAMES[] = {"normal", "uniform", "integers", "bits", NULL};
static const char *const INPUTS_OF_PRODUCTS[] = {"normal", "uniform", "integers", NULL};
static const char *const PROTOCOL_NAMES[] = {"burst", "sustained", "call", "none", NULL};
static const char *const CHECK_NAMES[] = {"full", "sample", NULL};

const char *inputs_name(enum inputs inputs) { return INPUTS_NAMES[inputs]; }

const char *protocol_name(enum protocol protocol) { return PROTOCOL_NAMES[protocol]; }

const char *check_extent_name(enum check_extent check) { return CHECK_NAMES[check]; }

/* What was given so far, where the result alone does not tell. */
typedef struct parser {
    const option_rules *rules;
    options *options;
    bool size_given;
    bool dimension_given;
    bool rounds_given;
    bool policy_given;
    char *error;
    size_t error_size;
} parser;

/* Digits alone: no sign, no space, no exponent, nothing behind. */
static int parse_number(parser *parser, const char *name, const char *text, uint64_t low,
                        uint64_t high, uint64_t *number) {
    uint64_t value = 0;
    bool good = *text != '\0';
    for (const char *c = text; good && *c != '\0'; ++c) {
        const uint64_t digit = (uint64_t)(*c - '0');
        good = *c >= '0' && *c <= '9' && value <= (UINT64_MAX - digit) / 10;
        value = good ? value * 10 + digit : value;
    }
    if (!good || value < low || value > high) {
        snprintf(parser->error, parser->error_size,
                 "%s '%s': must be a whole number from %" PRIu64 " to %" PRIu64, name, text, low,
                 high);
        return 1;
    }
    *number = value;
    return 0;
}

static int parse_int(parser *parser, const char *name, const char *text, int low, int high,
                     int *number) {
    uint64_t value;
    if (parse_number(parser, name, text, (uint64_t)low, (uint64_t)high, &value) != 0) {
        return 1;
    }
    *number = (int)value;
    return 0;
}

/* A decimal number, with or without a point and an exponent: no hexadecimal one, no infinity. */
static int parse_scalar(parser *parser, const char *name, const char *text, float *number) {
    if (!parser->rules->takes_scalars) {
        snprintf(parser->error, parser->error_size,
                 "%s %s: this rung %s and takes no alpha and no beta", name, text,
                 parser->rules->moves ? "multiplies nothing" : "computes A * B^T");
        return 1;
    }
    char *end = NULL;
    const bool plain = *text != '\0' && strspn(text, "+-.0123456789eE") == strlen(text);
    const float value = plain ? strtof(text, &end) : 0;
    if (!plain || *end != '\0' || !isfinite(value)) {
        snprintf(parser->error, parser->error_size, "%s '%s': must be a number such as -2.5", name,
                 text);
        return 1;
    }
    *number = value;
    return 0;
}

static int parse_name(parser *parser, const char *option, const char *text,
                      const char *const *names, int *index) {
    for (int i = 0; names[i] != NULL; ++i) {
        if (strcmp(text, names[i]) == 0) {
            *index = i;
            return 0;
        }
    }
    int used = snprintf(parser->error, parser->error_size, "%s '%s': must be", option, text);
    for (int i = 0; names[i] != NULL && used > 0 && (size_t)used < parser->error_size; ++i) {
        used += snprintf(parser->error + used, parser->error_size - (size_t)used, "%s %s",
                         i == 0 ? "" : " or", names[i]);
    }
    return 1;
}

/* There is none where words are moved. */
static int parse_k(parser *parser, const char *name, const char *value) {
    parser->dimension_given = true;
    if (parser->rules->moves) {
        snprintf(parser->error, parser->error_size,
                 "%s %s: this rung moves a matrix of m rows and n columns; there is no k", name,
                 value);
        return 1;
    }
    return parse_int(parser, name, value, 1, LARGEST_DIMENSION, &parser->options->k);
}

static int parse_dimension(parser *parser, const char *name, const char *value, int *dimension) {
    parser->dimension_given = true;
    return parse_int(parser, name, value, 1, LARGEST_DIMENSION, dimension);
}

static int parse_size(parser *parser, const char *name, const char *value) {
    options *o = parser->options;
    parser->size_given = true;
    if (parse_int(parser, name, value, 1, LARGEST_DIMENSION, &o->m) != 0) {
        return 1;
    }
    o->n = o->m;
    o->k = parser->rules->moves ? 0 : o->m;
    return 0;
}

static int parse_path(parser *parser, const char *name, const char *value) {
    if (*value == '\0' || strncmp(value, "--", 2) == 0) {
        snprintf(parser->error, parser->error_size, "%s '%s': must be the name of a file", name,
                 value);
        return 1;
    }
    parser->options->json = value;
    return 0;
}

static int parse_choice(parser *parser, const char *name, const char *value) {
    options *o = parser->options;
    int choice = 0;
    if (strcmp(name, "--inputs") == 0) {
        const char *const *names = parser->rules->moves ? INPUTS_NAMES : INPUTS_OF_PRODUCTS;
        const int failed = parse_name(parser, name, value, names, &choice);
        o->inputs = (enum inputs)choice;
        return failed;
    }
    if (strcmp(name, "--protocol") == 0) {
        const int failed = parse_name(parser, name, value, PROTOCOL_NAMES, &choice);
        o->protocol = (enum protocol)choice;
        return failed;
    }
    const int failed = parse_name(parser, name, value, CHECK_NAMES, &choice);
    o->check = (enum check_extent)choice;
    if (!failed && o->check == CHECK_SAMPLE && parser->rules->moves) {
        snprintf(parser->error, parser->error_size,
                 "%s %s: this rung moves words, and all of them are always compared", name, value);
        return 1;
    }
    return failed;
}

static int parse_policy(parser *parser, const char *name, const char *value) {
    int choice = 0;
    parser->policy_given = true;
    if (strcmp(value, ALL_POLICIES) == 0) {
        parser->options->policy = ALL_POLICIES;
        return 0;
    }
    if (parse_name(parser, name, value, parser->rules->policies, &choice) != 0) {
        const size_t used = strlen(parser->error);
        snprintf(parser->error + used, parser->error_size - used, " or %s", ALL_POLICIES);
        return 1;
    }
    parser->options->policy = parser->rules->policies[choice];
    return 0;
}

/* Options that the other machine has, and what is said about them here. */
static int check_machine(parser *parser, const char *name, const char *value) {
    const char *why = NULL;
    const bool heuristics = strcmp(name, "--heuristics") == 0 || strcmp(name, "--algorithm") == 0;
    const bool timed = heuristics || strcmp(name, "--rounds") == 0 || strcmp(name, "--turn") == 0 ||
                       (strcmp(name, "--protocol") == 0 && strcmp(value, "none") != 0);
    if (parser->rules->traces && timed) {
        why = "a traced rung is not timed";
    } else if (!parser->rules->traces &&
               (strcmp(name, "--cta") == 0 || strcmp(name, "--events") == 0)) {
        why = "this program traces nothing (make trace)";
    } else if (heuristics && !parser->rules->has_heuristics) {
        why = parser->rules->emulated ? "the emulator has no cuBLASLt"
                                      : "cuBLASLt multiplies; this rung moves words";
    } else if (!parser->rules->emulated) {
        why = strcmp(name, "--policy") == 0 ? "a GPU orders events by itself; this is for the "
                                              "emulator (make step EMULATE=1)"
                                            : NULL;
    } else if (strcmp(name, "--device") == 0) {
        why = "the emulator has one device, a CPU";
    } else if (timed) {
        why = "the emulator measures no time";
    }
    if (why != NULL) {
        snprintf(parser->error, parser->error_size, "%s %s: %s", name, value, why);
    }
    return why != NULL;
}

static int parse_heuristics(parser *parser, const char *name, const char *value) {
    options *o = parser->options;
    o->enumerates = strcmp(value, "all") == 0;
    if (o->enumerates) {
        o->heuristics = MOST_HEURISTICS;
        return 0;
    }
    return parse_int(parser, name, value, 1, MOST_HEURISTICS, &o->heuristics);
}

static int parse_algorithm(parser *parser, const char *name, const char *value) {
    if (strlen(value) != ALGORITHM_DIGITS ||
        strspn(value, "0123456789abcdef") != ALGORITHM_DIGITS) {
        snprintf(parser->error, parser->error_size,
                 "%s '%.20s': must be %d hexadecimal digits, as --json writes them", name, value,
                 (int)ALGORITHM_DIGITS);
        return 1;
    }
    parser->options->algorithm = value;
    return 0;
}

static int parse_option(parser *parser, const char *name, const char *value) {
    options *o = parser->options;
    if (check_machine(parser, name, value) != 0) {
        return 1;
    }
    if (strcmp(name, "--policy") == 0) {
        return parse_policy(parser, name, value);
    }
    if (strcmp(name, "--size") == 0) {
        return parse_size(parser, name, value);
    }
    if (strcmp(name, "--m") == 0) {
        return parse_dimension(parser, name, value, &o->m);
    }
    if (strcmp(name, "--n") == 0) {
        return parse_dimension(parser, name, value, &o->n);
    }
    if (strcmp(name, "--k") == 0) {
        return parse_k(parser, name, value);
    }
    if (strcmp(name, "--alpha") == 0) {
        return parse_scalar(parser, name, value, &o->alpha);
    }
    if (strcmp(name, "--beta") == 0) {
        return parse_scalar(parser, name, value, &o->beta);
    }
    if (strcmp(name, "--seed") == 0) {
        return parse_number(parser, name, value, 0, UINT64_MAX, &o->seed);
    }
    if (strcmp(name, "--rounds") == 0) {
        parser->rounds_given = true;
        return parse_int(parser, name, value, 1, MOST_ROUNDS, &o->rounds);
    }
    if (strcmp(name, "--turn") == 0) {
        return parse_int(parser, name, value, 0, MOST_ROUNDS, &o->turn);
    }
    if (strcmp(name, "--device") == 0) {
        return parse_int(parser, name, value, 0, INT_MAX, &o->device);
    }
    if (strcmp(name, "--heuristics") == 0) {
        return parse_heuristics(parser, name, value);
    }
    if (strcmp(name, "--algorithm") == 0) {
        return parse_algorithm(parser, name, value);
    }
    if (strcmp(name, "--cta") == 0) {
        return parse_int(parser, name, value, 0, INT_MAX, &o->cta);
    }
    if (strcmp(name, "--events") == 0) {
        return parse_int(parser, name, value, 1, MOST_EVENTS, &o->events);
    }
    if (strcmp(name, "--json") == 0) {
        return parse_path(parser, name, value);
    }
    return parse_choice(parser, name, value);
}

/* The option called text (of the given length), or NULL. */
static const char *known_option(const char *text, size_t length) {
    static const char *const names[] = {
        "--size",      "--m",        "--n",      "--k",    "--inputs", "--seed",   "--check",
        "--json",      "--protocol", "--rounds", "--turn", "--device", "--policy", "--heuristics",
        "--algorithm", "--alpha",    "--beta",   "--cta",  "--events"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) {
            return names[i];
        }
    }
    return NULL;
}

static int finish(parser *parser) {
    options *o = parser->options;
    if (parser->size_given && parser->dimension_given) {
        snprintf(parser->error, parser->error_size,
                 parser->rules->moves
                     ? "--size sets m and n together: give either --size or --m and --n"
                     : "--size sets m, n and k together: give either --size or --m, --n and --k");
        return 1;
    }
    if (o->heuristics > 0 && o->algorithm != NULL) {
        snprintf(parser->error, parser->error_size,
                 "--heuristics looks for the best one and --algorithm names one: give either");
        return 1;
    }
    o->is_default = !parser->size_given && !parser->dimension_given && !parser->policy_given;
    if (!parser->rounds_given && o->protocol == PROTOCOL_SUSTAINED) {
        o->rounds = SUSTAINED_ROUNDS;
    }
    return 0;
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
                   .protocol = rules->emulated || rules->traces ? PROTOCOL_NONE : PROTOCOL_BURST,
                   .rounds = BURST_ROUNDS,
                   .check = CHECK_FULL,
                   .policy = rules->policies == NULL ? NULL : ALL_POLICIES,
                   .cta = MIDDLE_CTA,
                   .events = TRACED_EVENTS};
    parser parser = {.rules = rules, .options = o, .error = error, .error_size = size};
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--help") == 0) {
            o->help = true;
            return 0;
        }
        const size_t length = strcspn(argv[i], "=");
        const char *name = known_option(argv[i], length);
        if (name == NULL) {
            snprintf(
                error, size, "unknown argument '%s'; there are --size --m --n%s%s%s%s%s", argv[i],
                rules->moves ? "" : " --k", rules->emulated ? EMULATOR_OPTIONS : GPU_OPTIONS,
                rules->takes_scalars ? SCALAR_OPTIONS : "",
                rules->has_heuristics ? HEURISTIC_OPTIONS : "", rules->traces ? TRACE_OPTIONS : "");
            return 1;
        }
        const char *value = argv[i][length] == '=' ? argv[i] + length + 1 : NULL;
        if (value == NULL && ++i < argc) {
            value = argv[i];
        }
        if (value == NULL) {
            snprintf(error, size, "%s needs a value", name);
            return 1;
        }
        if (parse_option(&parser, name, value) != 0) {
            return 1;
        }
    }
    return finish(&parser);
}

static void print_gpu_options(FILE *out, const option_rules *rules) {
    if (!rules->traces) {
        fprintf(
            out,
            "  --protocol burst|sustained|call|none\n"
            "                                    how to time, or not at all (default burst)\n"
            "  --rounds R                        timed rounds (default %d; sustained: %d)\n"
            "  --turn T                          who begins: 0 the rung (default), 1 the next\n",
            BURST_ROUNDS, SUSTAINED_ROUNDS);
    }
    fputs("  --device I                        which GPU (default 0)\n", out);
}

static void print_trace_options(FILE *out) {
    fprintf(out,
            "  --cta C                           the CTA to trace, from 0 (default: the middle "
            "one)\n"
            "  --events E                        of each warp, that many are kept (default %d)\n",
            TRACED_EVENTS);
}

static void print_heuristic_options(FILE *out) {
    fprintf(
        out,
        "  --heuristics N|all                time N of cuBLASLt's algorithms (at most %d), or all\n"
        "                                    and every configuration of them, and the fastest\n"
        "                                    beside the rung as well\n"
        "  --algorithm HEX                   time this one beside the rung, as --json names it\n",
        MOST_HEURISTICS);
}

static void print_emulator_options(FILE *out, const option_rules *rules) {
    fprintf(out, "  --policy NAME                     in which order copies and threads get on:\n"
                 "                                   ");
    for (const char *const *name = rules->policies; *name != NULL; ++name) {
        fprintf(out, " %s,", *name);
    }
    fprintf(out,
            "\n"
            "                                    or %s but random, one after the other\n"
            "                                    (default %s); --seed also counts for random\n",
            ALL_POLICIES, ALL_POLICIES);
}

/* What the program does. */
static const char *purpose(const option_rules *rules) {
    if (rules->traces) {
        return "Runs the rung, checks its result against an independent reference, and writes down "
               "what the warps\nof one CTA do in one more launch: who loads, multiplies, stores "
               "and "
               "waits, and when.";
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

static void print_product_options(FILE *out, const option_rules *rules) {
    fprintf(out,
            "  --size N                          m = n = k = N\n"
            "  --m M --n N --k K                 each by itself (default m=%d n=%d k=%d)\n"
            "  --inputs normal|uniform|integers  what A and B are drawn from (default normal)\n"
            "  --seed S                          of the random inputs (default 1)\n"
            "  --check full|sample               compare every element or 65536 of them "
            "(default full)\n",
            rules->m, rules->n, rules->k);
}

static void print_move_options(FILE *out, const option_rules *rules) {
    fprintf(out,
            "  --size N                          m = n = N\n"
            "  --m M --n N                       rows and columns of A (default m=%d n=%d)\n"
            "  --inputs normal|uniform|integers|bits\n"
            "                                    what A is drawn from (default normal); the first "
            "check\n"
            "                                    always has any bits\n"
            "  --seed S                          of the random inputs (default 1)\n"
            "  --check full                      every word is compared\n",
            rules->m, rules->n);
}

void options_print_help(FILE *out, const step *step, const option_rules *rules) {
    char rule[SHAPE_RULE_SIZE];
    shape_rule(step, rule, sizeof rule);
    fprintf(out,
            "%s: %s\n"
            "\n"
            "%s\n"
            "It takes %s.\n"
            "\n",
            step->name, step->idea, purpose(rules), rule);
    if (rules->moves) {
        print_move_options(out, rules);
    } else {
        print_product_options(out, rules);
    }
    if (rules->takes_scalars) {
        fputs(
            "  --alpha X --beta Y                of D = alpha * A * B^T + beta * C (default 1 and "
            "1)\n",
            out);
    }
    if (rules->emulated) {
        print_emulator_options(out, rules);
    } else {
        print_gpu_options(out, rules);
    }
    if (rules->traces) {
        print_trace_options(out);
    }
    if (rules->has_heuristics) {
        print_heuristic_options(out);
    }
    fputs("  --json FILE                       also write the result to FILE\n"
          "  --help                            this text\n"
          "\n"
          "Exit status: 0 verified; 1 wrong result or failed call; 2 bad usage or unsupported "
          "shape;\n"
          "77 this machine cannot run it.\n",
          out);
}
