/* The command line: what is taken, and that every kind of mistake is refused in words. */
#include <string.h>

#include "harness/heuristics.h"
#include "harness/options.h"
#include "test.h"

enum { MOST_ARGUMENTS = 16 };

static char error[512];
static options parsed;

static const char *const POLICIES[] = {"eager", "lazy", "random", NULL};
static const option_rules GPU = {.m = 8192, .n = 8192, .k = 8192, .has_heuristics = true};
static const option_rules EMULATOR = {
    .emulated = true, .m = 256, .n = 512, .k = 64, .policies = POLICIES};
static const option_rules ADDMM = {.m = 8192, .n = 8192, .k = 8192, .takes_scalars = true};
static const option_rules MOVES = {.m = 32768, .n = 32768, .moves = true};
static const option_rules TRACED = {.m = 8192, .n = 8192, .k = 8192, .traces = true};
static const option_rules *rules = &GPU; /* of the case that runs */

/* Parses the words of a command line; in words a ~ stands for an empty argument. */
static int parse(const char *words) {
    static char storage[512];
    static char empty[] = "";
    char *argv[MOST_ARGUMENTS] = {empty};
    int argc = 1;
    snprintf(storage, sizeof storage, "%s", words);
    for (char *word = strtok(storage, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = strcmp(word, "~") == 0 ? empty : word;
    }
    error[0] = '\0';
    return options_parse(argc, argv, rules, &parsed, error, sizeof error);
}

static void expect_refused(const char *words, const char *mentions) {
    EXPECT(parse(words) != 0, "'%s' was taken", words);
    EXPECT(strstr(error, mentions) != NULL, "'%s' says: %s", words, error);
    EXPECT(strchr(error, '\n') == NULL, "'%s' says more than one line", words);
}

static void defaults(void) {
    EXPECT(parse("") == 0, "%s", error);
    EXPECT(parsed.m == 8192 && parsed.n == 8192 && parsed.k == 8192, "m=%d", parsed.m);
    EXPECT(parsed.inputs == INPUTS_NORMAL && parsed.seed == 1, "inputs or seed");
    EXPECT(parsed.protocol == PROTOCOL_BURST && parsed.rounds == 10, "rounds=%d", parsed.rounds);
    EXPECT(parsed.check == CHECK_FULL && parsed.device == 0, "check or device");
    EXPECT(parsed.json == NULL && !parsed.help, "json or help");
}

static void every_option(void) {
    EXPECT(parse("--m 128 --n=256 --k 64 --inputs=integers --seed 18446744073709551615") == 0, "%s",
           error);
    EXPECT(parsed.m == 128 && parsed.n == 256 && parsed.k == 64, "shape");
    EXPECT(parsed.inputs == INPUTS_INTEGERS && parsed.seed == UINT64_MAX, "inputs or seed");
    EXPECT(parse("--size=1073741824 --protocol none --check=sample") == 0, "%s", error);
    EXPECT(parsed.m == 1 << 30 && parsed.k == 1 << 30, "size");
    EXPECT(parsed.protocol == PROTOCOL_NONE && parsed.check == CHECK_SAMPLE, "protocol or check");
    EXPECT(parse("--json out=1.json --device 3 --rounds 7 --inputs uniform") == 0, "%s", error);
    EXPECT(strcmp(parsed.json, "out=1.json") == 0, "json=%s", parsed.json);
    EXPECT(parsed.device == 3 && parsed.rounds == 7 && parsed.inputs == INPUTS_UNIFORM, "others");
}

static void rounds_follow_the_protocol(void) {
    EXPECT(parse("--protocol sustained") == 0 && parsed.rounds == 3, "rounds=%d", parsed.rounds);
    EXPECT(parse("--rounds 5 --protocol sustained") == 0 && parsed.rounds == 5, "rounds=%d",
           parsed.rounds);
}

static void traces(void) {
    EXPECT(parse("") == 0 && parsed.cta == MIDDLE_CTA && parsed.events > 0, "default");
    expect_refused("--cta 3", "--cta 3: this program traces nothing (make trace)");
    expect_refused("--events 100", "traces nothing");
    rules = &TRACED;
    EXPECT(parse("--cta 3 --events=100") == 0, "%s", error);
    EXPECT(parsed.cta == 3 && parsed.events == 100, "cta=%d events=%d", parsed.cta, parsed.events);
    EXPECT(parsed.protocol == PROTOCOL_NONE && parse("--protocol none") == 0, "%s", error);
    expect_refused("--protocol burst", "a traced rung is not timed");
    expect_refused("--rounds 3", "a traced rung is not timed");
    expect_refused("--turn 3", "a traced rung is not timed");
    expect_refused("--heuristics 3", "a traced rung is not timed");
    expect_refused("--cta -1", "whole number from 0");
    expect_refused("--events 0", "whole number from 1");
    expect_refused("--nothing 1", "--cta --events");
    rules = &GPU;
}

static void heuristics_of_cublaslt(void) {
    char algorithm[ALGORITHM_DIGITS + 32];
    EXPECT(parse("") == 0 && parsed.heuristics == 0 && parsed.algorithm == NULL, "default");
    EXPECT(parse("--heuristics 64") == 0 && parsed.heuristics == 64, "%s", error);
    EXPECT(!parsed.enumerates, "enumerates");
    EXPECT(parse("--heuristics all") == 0 && parsed.heuristics == 64, "%s", error);
    EXPECT(parsed.enumerates, "does not enumerate");
    EXPECT(parse("--heuristics 65") != 0 && parse("--heuristics 0") != 0, "taken");
    snprintf(algorithm, sizeof algorithm, "--algorithm %0*d", (int)ALGORITHM_DIGITS, 7);
    EXPECT(parse(algorithm) == 0 && strlen(parsed.algorithm) == ALGORITHM_DIGITS, "%s", error);
    strcat(algorithm, " --heuristics 4");
    EXPECT(parse(algorithm) != 0, "taken");
    expect_refused("--algorithm 12ab", "must be 128 hexadecimal digits");
    rules = &MOVES;
    EXPECT(parse("--heuristics 64") != 0, "taken");
    EXPECT(strcmp(error, "--heuristics 64: cuBLASLt multiplies; this rung moves words") == 0, "%s",
           error);
    rules = &GPU;
}

static void last_one_counts(void) {
    EXPECT(parse("--size 64 --size 128") == 0 && parsed.n == 128, "n=%d", parsed.n);
    EXPECT(parse("--m 64 --m 8") == 0 && parsed.m == 8 && parsed.n == 8192, "m=%d", parsed.m);
}

static void help_ends_reading(void) {
    EXPECT(parse("--help") == 0 && parsed.help, "%s", error);
    EXPECT(parse("--help --bogus") == 0 && parsed.help, "%s", error);
    expect_refused("--bogus --help", "--bogus");
    expect_refused("--help=1", "--help=1");
}

static void bad_numbers(void) {
    static const char *const bad[] = {"0",
                                      "-1",
                                      "+8",
                                      "8x",
                                      "x",
                                      "0x10",
                                      "1e3",
                                      "8.0",
                                      "2147483648",
                                      "~",
                                      "18446744073709551616",
                                      "184467440737095516160"};
    static const char *const names[] = {"--size", "--m", "--n", "--k", "--rounds"};
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        for (size_t j = 0; j < sizeof bad / sizeof *bad; ++j) {
            char words[64];
            snprintf(words, sizeof words, "%s %s", names[i], bad[j]);
            expect_refused(words, names[i]);
            expect_refused(words, "whole number from 1 to");
        }
    }
    expect_refused("--size=", "--size ''");
    expect_refused("--seed -1", "--seed");
    expect_refused("--seed 18446744073709551616", "--seed");
    expect_refused("--device -1", "--device");
    expect_refused("--device 2147483648", "--device");
    expect_refused("--rounds 100001", "100000");
}

static void bad_names(void) {
    expect_refused("--inputs gauss", "normal or uniform or integers");
    expect_refused("--inputs ~", "--inputs");
    expect_refused("--protocol Burst", "burst or sustained or call or none");
    expect_refused("--check some", "full or sample");
    expect_refused("--json ~", "--json");
    expect_refused("--json=", "--json");
    expect_refused("--json --size", "--json");
}

static void unknown_arguments(void) {
    expect_refused("--sise 4096", "--size");
    expect_refused("--siz 4096", "'--siz'");
    expect_refused("4096", "'4096'");
    expect_refused("-m 8", "'-m'");
    expect_refused("~", "''");
    expect_refused("=5", "'=5'");
    expect_refused("--", "'--'");
}

static void missing_values(void) {
    expect_refused("--size", "--size needs a value");
    expect_refused("--inputs normal --json", "--json needs a value");
    expect_refused("--m --n", "--m '--n'");
}

static void size_excludes_dimensions(void) {
    expect_refused("--size 4096 --k 64", "either --size or");
    expect_refused("--m 64 --size 4096", "either --size or");
}

static void long_arguments_are_cut(void) {
    static char word[4096];
    static char program[] = "program";
    char *argv[] = {program, word};
    memset(word, 'x', sizeof word - 1);
    EXPECT(options_parse(2, argv, rules, &parsed, error, sizeof error) != 0, "taken");
    EXPECT(strlen(error) == sizeof error - 1, "length %zu", strlen(error));
}

static void gpus_follow_no_policy(void) {
    EXPECT(parse("") == 0 && parsed.policy == NULL, "%s", error);
    expect_refused("--policy eager", "--policy eager: a GPU orders events by itself");
    expect_refused("--nothing", "--device --help");
}

static void scalars(void) {
    expect_refused("--alpha 1", "--alpha 1: this rung computes A * B^T and takes no alpha");
    expect_refused("--beta=0", "--beta 0: this rung");
    rules = &ADDMM;
    EXPECT(parse("") == 0 && parsed.alpha == 1 && parsed.beta == 1, "%s", error);
    EXPECT(parse("--alpha -2.5 --beta=1e-3") == 0, "%s", error);
    EXPECT(parsed.alpha == -2.5f && parsed.beta == 1e-3f, "alpha=%g", (double)parsed.alpha);
    EXPECT(parse("--alpha 0 --beta +.5") == 0 && parsed.alpha == 0 && parsed.beta == 0.5f, "zero");
    static const char *const bad[] = {"~", "x", "nan", "inf", "1e39", "0x1", "1,5", "1-", "e"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        char words[64];
        snprintf(words, sizeof words, "--beta %s", bad[i]);
        expect_refused(words, "must be a number such as -2.5");
    }
    expect_refused("--nothing", "--help --alpha --beta");
    rules = &GPU;
}

static void moves(void) {
    expect_refused("--inputs bits", "must be normal or uniform or integers");
    rules = &MOVES;
    EXPECT(parse("") == 0 && parsed.m == 32768 && parsed.k == 0, "k=%d", parsed.k);
    EXPECT(parse("--size 64") == 0 && parsed.m == 64 && parsed.n == 64 && parsed.k == 0, "k=%d",
           parsed.k);
    EXPECT(parse("--m 4 --n 8 --inputs bits --check full") == 0, "%s", error);
    EXPECT(parsed.n == 8 && parsed.k == 0 && parsed.inputs == INPUTS_BITS, "n=%d", parsed.n);
    expect_refused("--k 4", "--k 4: this rung moves a matrix of m rows and n columns");
    expect_refused("--size 64 --m 4", "either --size or --m and --n");
    expect_refused("--check sample", "all of them are always compared");
    expect_refused("--inputs x", "integers or bits");
    expect_refused("--alpha 1", "multiplies nothing and takes no alpha");
    expect_refused("--nothing", "--size --m --n --inputs");
    rules = &GPU;
}

static void emulator_defaults(void) {
    EXPECT(parse("") == 0, "%s", error);
    EXPECT(parsed.m == 256 && parsed.n == 512 && parsed.k == 64, "m=%d", parsed.m);
    EXPECT(parsed.protocol == PROTOCOL_NONE && parsed.seed == 1, "protocol or seed");
    EXPECT(strcmp(parsed.policy, "all") == 0, "%s", parsed.policy);
}

static void emulator_policies_are_read(void) {
    EXPECT(parse("--policy lazy") == 0 && strcmp(parsed.policy, "lazy") == 0, "%s", error);
    EXPECT(parse("--policy=random --seed 7") == 0 && parsed.seed == 7, "%s", error);
    EXPECT(parse("--policy lazy --policy all") == 0 && strcmp(parsed.policy, "all") == 0, "%s",
           error);
    expect_refused("--policy hasty", "must be eager or lazy or random or all");
    expect_refused("--policy ~", "--policy ''");
    expect_refused("--policy", "needs a value");
}

static void emulator_times_nothing(void) {
    EXPECT(parse("--protocol none") == 0, "%s", error);
    expect_refused("--protocol burst", "--protocol burst: the emulator measures no time");
    expect_refused("--protocol sustained", "measures no time");
    expect_refused("--rounds 3", "measures no time");
    expect_refused("--device 0", "one device");
    expect_refused("--nothing", "--policy --check");
}

int main(void) {
    run_case("options: defaults", defaults);
    run_case("options: every option is read", every_option);
    run_case("options: rounds follow the protocol", rounds_follow_the_protocol);
    run_case("options: cuBLASLt's algorithms", heuristics_of_cublaslt);
    run_case("options: of a traced rung, and only of it", traces);
    run_case("options: the last of several counts", last_one_counts);
    run_case("options: --help ends reading", help_ends_reading);
    run_case("options: bad numbers are refused", bad_numbers);
    run_case("options: bad names are refused", bad_names);
    run_case("options: unknown arguments are refused", unknown_arguments);
    run_case("options: missing values are refused", missing_values);
    run_case("options: --size excludes --m, --n and --k", size_excludes_dimensions);
    run_case("options: an overlong argument is cut in the message", long_arguments_are_cut);
    run_case("options: a GPU takes no policy", gpus_follow_no_policy);
    run_case("options: alpha and beta, where a rung has them", scalars);
    run_case("options: of a rung that moves words", moves);
    rules = &EMULATOR;
    run_case("options: the emulator's defaults", emulator_defaults);
    run_case("options: the emulator's policies", emulator_policies_are_read);
    run_case("options: the emulator times nothing", emulator_times_nothing);
    return test_result();
}
