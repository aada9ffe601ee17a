/* The command line: what is taken, and that every kind of mistake is refused in words. */
#include <string.h>

#include "harness/options.h"
#include "../../emulator/tests/test.h"

enum { MOST_ARGUMENTS = 16 };

static char error[512];
static options parsed;

static const char *const POLICIES[] = {"eager", "lazy", "random", NULL};
#define OF_GPU HAS_TIMES | HAS_DEVICES
static const option_rules GPU = {
    .has = OF_GPU | HAS_K | HAS_CUBLASLT, .m = 8192, .n = 8192, .k = 8192};
static const option_rules EMULATOR = {
    .has = HAS_POLICIES | HAS_K, .m = 256, .n = 512, .k = 64, .policies = POLICIES};
static const option_rules ADDMM = {
    .has = OF_GPU | HAS_K | HAS_CUBLASLT | HAS_SCALARS, .m = 8192, .n = 8192, .k = 8192};
static const option_rules MOVES = {.has = OF_GPU, .m = 32768, .n = 32768};
static const option_rules CHOOSES = {.has = OF_GPU | HAS_K | HAS_KERNELS | HAS_CUBLASLT,
                                     .m = 8192,
                                     .n = 8192,
                                     .k = 8192,
                                     .kernels = 5};
static const option_rules TRACED = {
    .has = HAS_DEVICES | HAS_K | HAS_TRACE | HAS_CUBLASLT, .m = 8192, .n = 8192, .k = 8192};

/* Parses the words of a command line; in words a ~ stands for an empty argument. */
static int parse(const option_rules *rules, const char *words) {
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

static const char *or_none(const char *text) { return text == NULL ? "none" : text; }

/* What was parsed, as the rows below write it. */
static const char *shown(void) {
    static char text[512];
    const options *o = &parsed;
    snprintf(
        text, sizeof text,
        " m=%d n=%d k=%d inputs=%s seed=%llu protocol=%s rounds=%d turn=%d device=%d "
        "json=%s policy=%s heuristics=%d%s alpha=%g beta=%g cta=%d events=%d kernel=%d%s%s%s%s ",
        o->m, o->n, o->k, inputs_name(o->inputs), (unsigned long long)o->seed,
        protocol_name(o->protocol), o->rounds, o->turn, o->device, or_none(o->json),
        or_none(o->policy), o->heuristics, o->enumerates ? " enumerates" : "", (double)o->alpha,
        (double)o->beta, o->cta, o->events, o->kernel, o->every_kernel ? " every" : "",
        o->explain ? " explain" : "", o->help ? " help" : "", o->is_default ? " default" : "");
    return text;
}

static void expect_refused(const option_rules *rules, const char *words, const char *mentions) {
    EXPECT(parse(rules, words) != 0, "'%s' was taken", words);
    EXPECT(strstr(error, mentions) != NULL, "'%s' says: %s", words, error);
    EXPECT(strchr(error, '\n') == NULL, "'%s' says more than one line", words);
}

typedef struct row {
    const char *name; /* of the case that begins here; NULL: it goes on */
    const option_rules *rules;
    const char *words;
    const char *gives; /* words of shown(); after a "!", what the error has in it */
} row;

static const row ROWS[] = {
    {"defaults", &GPU, "",
     "m=8192 n=8192 k=8192 inputs=normal seed=1 protocol=burst rounds=10 turn=0 "
     "device=0 json=none policy=none heuristics=0 alpha=1 beta=1 cta=-1 events=8192 kernel=0 "
     "default"},
    {"every option is read", &GPU,
     "--m 128 --n=256 --k 64 --inputs=integers --seed 18446744073709551615",
     "m=128 n=256 k=64 inputs=integers seed=18446744073709551615"},
    {NULL, &GPU, "--size=1073741824 --protocol none",
     "m=1073741824 n=1073741824 k=1073741824 protocol=none"},
    {NULL, &GPU, "--json out=1.json --device 3 --rounds 7 --inputs uniform --turn 2",
     "json=out=1.json device=3 rounds=7 inputs=uniform turn=2"},
    {"rounds follow the protocol", &GPU, "--protocol sustained", "rounds=3"},
    {NULL, &GPU, "--rounds 5 --protocol sustained", "rounds=5"},
    {"cuBLASLt's algorithms", &GPU, "--heuristics 64", "heuristics=64"},
    {NULL, &GPU, "--heuristics all", "heuristics=64 enumerates"},
    {NULL, &GPU, "--heuristics 65", "!from 1 to 64"},
    {NULL, &GPU, "--heuristics 0", "!from 1 to 64"},
    {NULL, &MOVES, "--heuristics 64", "!--heuristics 64: there is no cuBLASLt to compare with"},
    {"of a traced rung, and only of it", &GPU, "--cta 3",
     "!--cta 3: this program does not trace; use make trace"},
    {NULL, &TRACED, "--cta 3 --events=100", "cta=3 events=100 protocol=none"},
    {NULL, &TRACED, "--protocol burst", "!nothing is timed"},
    {NULL, &TRACED, "--rounds 3", "!nothing is timed"},
    {NULL, &TRACED, "--cta -1", "!whole number from 0"},
    {NULL, &TRACED, "--events 0", "!whole number from 1"},
    {"of a rung that chooses, and only of it", &CHOOSES, "--kernel 5", "kernel=5 default"},
    {NULL, &CHOOSES, "--kernel all", "kernel=0 every default"},
    {NULL, &CHOOSES, "--kernel all --kernel 2", "kernel=2 default"},
    {NULL, &CHOOSES, "--kernel 6", "!--kernel '6': must be a whole number from 1 to 5"},
    {NULL, &CHOOSES, "--explain --m 8", "m=8 kernel=0 explain"},
    {NULL, &GPU, "--kernel 1", "!--kernel 1: this rung has one kernel"},
    {NULL, &GPU, "--explain", "!--explain: this rung has one kernel"},
    {"the last of several counts", &GPU, "--size 64 --size 128", "n=128"},
    {NULL, &GPU, "--size 64 --m 8", "m=8 n=64 k=64"},
    {"--help ends reading", &GPU, "--help", "help"},
    {NULL, &GPU, "--help --bogus", "help"},
    {NULL, &GPU, "--bogus --help", "!--bogus"},
    {"bad numbers are refused", &GPU, "--seed -1",
     "!--seed '-1': must be a whole number from 0 to 18446744073709551615"},
    {NULL, &ADDMM, "--alpha 1,5", "!must be a number such as -2.5"},
    {NULL, &GPU, "--device 2147483648", "!--device"},
    {NULL, &GPU, "--rounds 100001", "!100000"},
    {"bad names are refused", &GPU, "--inputs bits", "!must be normal or uniform or integers"},
    {NULL, &GPU, "--protocol Burst", "!burst or sustained or call or none"},
    {NULL, &GPU, "--json=", "!--json ''"},
    {NULL, &GPU, "--json --size", "!--json '--size'"},
    {"unknown arguments are refused", &GPU, "--sise 4096", "!unknown argument '--sise'"},
    {NULL, &GPU, "~", "!''"},
    {NULL, &GPU, "--", "!'--'"},
    {"missing values are refused", &GPU, "--size", "!--size needs a value"},
    {"a GPU takes no policy", &GPU, "--policy eager",
     "!--policy eager: a GPU orders events itself"},
    {"alpha and beta, where a rung has them", &GPU, "--alpha 1",
     "!--alpha 1: this rung takes no alpha"},
    {NULL, &GPU, "--beta=0", "!--beta 0: this rung"},
    {NULL, &ADDMM, "--alpha -2.5 --beta=1e-3", "alpha=-2.5 beta=0.001"},
    {NULL, &ADDMM, "--alpha 0 --beta +.5", "alpha=0 beta=0.5"},
    {"of a rung that moves words", &MOVES, "", "m=32768 k=0 default"},
    {NULL, &MOVES, "--size 64", "m=64 n=64 k=0"},
    {NULL, &MOVES, "--m 4 --n 8 --inputs bits", "m=4 n=8 k=0 inputs=bits"},
    {NULL, &MOVES, "--k 4", "!--k 4: this rung moves a matrix of m rows and n columns"},
    {"the emulator's defaults", &EMULATOR, "",
     "m=256 n=512 k=64 protocol=none seed=1 policy=none default"},
    {"the emulator's policies", &EMULATOR, "--policy lazy", "policy=lazy"},
    {NULL, &EMULATOR, "--policy=random --seed 7", "policy=random seed=7"},
    {NULL, &EMULATOR, "--policy lazy --policy all", "policy=none"},
    {NULL, &EMULATOR, "--policy hasty", "!must be eager or lazy or random or all"},
    {"the emulator times nothing", &EMULATOR, "--protocol burst",
     "!--protocol burst: nothing is timed on the emulator"},
    {NULL, &EMULATOR, "--device 0", "!one device"},
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

static size_t first; /* of the rows of the case that runs */

static void check_row(const row *row) {
    char words[256];
    char found[64];
    if (row->gives[0] == '!') {
        expect_refused(row->rules, row->words, row->gives + 1);
        return;
    }
    EXPECT(parse(row->rules, row->words) == 0, "'%s': %s", row->words, error);
    snprintf(words, sizeof words, "%s", row->gives);
    for (const char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        snprintf(found, sizeof found, " %s ", word);
        EXPECT(strstr(shown(), found) != NULL, "'%s' gives%s, not %s", row->words, shown(), word);
    }
}

static void rows(void) {
    for (size_t i = first; i < ROW_COUNT && (i == first || ROWS[i].name == NULL); ++i) {
        check_row(&ROWS[i]);
    }
}

static void algorithms(void) {
    char words[ALGORITHM_DIGITS + 32];
    snprintf(words, sizeof words, "--algorithm %0*d", (int)ALGORITHM_DIGITS, 7);
    EXPECT(parse(&GPU, words) == 0 && strlen(parsed.algorithm) == ALGORITHM_DIGITS, "%s", error);
    words[strlen(words) - 1] = '\0';
    expect_refused(&GPU, words, "must be 128 digits");
}

static void long_arguments_are_cut(void) {
    static char word[4096];
    static char inputs[] = "--inputs";
    char *argv[] = {inputs, word, word};
    memset(word, 'x', sizeof word - 1);
    EXPECT(options_parse(2, argv, &GPU, &parsed, error, sizeof error) != 0, "taken");
    EXPECT(strlen(error) == sizeof error - 1, "length %zu", strlen(error));
}

int main(void) {
    for (; first < ROW_COUNT; ++first) {
        if (ROWS[first].name != NULL) {
            run_row("options", ROWS[first].name, rows);
        }
    }
    run_case("options: one algorithm by its digits", algorithms);
    run_case("options: an overlong argument is cut in the message", long_arguments_are_cut);
    return test_result();
}
