/* The command line. Each name in test_options.txt is one, of a kind of program and in words, of
 * which a ~ is an empty one. The text is what differs from the defaults then, what is refused and
 * why, or the help; without words, what the defaults are. */
#include "golden.h"
#include "harness/options.h"

enum { MOST_ARGUMENTS = 16, MOST_TEXT = 512 };
enum { OF_GPU = HAS_TIMES | HAS_DEVICES, OF_PRODUCTS = HAS_K | HAS_CUBLASLT };

static const char *const POLICIES[] = {"eager", "lazy", "random", NULL};

static const struct kind {
    option_rules rules;
    step step;
} KINDS[] = {
    {{.has = OF_GPU | OF_PRODUCTS, .m = 8192, .n = 8192, .k = 8192}, {.name = "gpu"}},
    {{HAS_POLICIES | HAS_K, 256, 512, 64, .policies = POLICIES},
     {.name = "emulator", .computes = GEMM_BF16, .any_row = true}},
    {{.has = OF_GPU | OF_PRODUCTS | HAS_SCALARS},
     {.name = "addmm", .computes = ADDMM_FP16, .largest_k = 1 << 20}},
    {{.has = OF_GPU, .m = 32768, .n = 32768}, {.name = "moves", .computes = TRANSPOSE_FP32}},
    {{.has = OF_GPU | OF_PRODUCTS | HAS_KERNELS | HAS_RANKING | HAS_REASONS, .kernels = 5},
     {.name = "chooses", .computes = GEMM_BF16, .multiple_m = 128}},
    {{.has = OF_GPU | HAS_KERNELS, .kernels = 5}, {.name = "unranked", .computes = GEMM_BF16}},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static char error[MOST_TEXT];
static options parsed;

static int parse(const option_rules *rules, const char *line) {
    static char words[MOST_TEXT];
    static char empty[] = "";
    char *argv[MOST_ARGUMENTS] = {empty};
    int argc = 1;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = strcmp(word, "~") == 0 ? empty : word;
    }
    return options_parse(argc, argv, rules, &parsed, error, sizeof error);
}

static const char *or_none(const char *text) { return text == NULL ? "none" : text; }

static void show_all(const options *o, char text[MOST_TEXT]) {
    snprintf(text, MOST_TEXT,
             "m=%d n=%d k=%d alpha=%g beta=%g inputs=%s seed=%llu protocol=%s rounds=%d turn=%d "
             "heuristics=%d enumerates=%d algorithm=%s json=%s runs=%s device=%d policy=%s "
             "kernel=%d candidates=%d tune=%d explain=%d default=%d first_order=%d "
             "random_orders=%d alone=%d trials=%d help=%d",
             o->m, o->n, o->k, (double)o->alpha, (double)o->beta, inputs_name(o->inputs),
             (unsigned long long)o->seed, protocol_name(o->protocol), o->rounds, o->turn,
             o->heuristics, o->enumerates, or_none(o->algorithm), or_none(o->json),
             or_none(o->runs), o->device, or_none(o->policy), o->kernel, o->candidates, o->tune,
             o->explain, o->is_default, o->first_order, o->random_orders, o->alone, o->trials,
             o->help);
}

/* The words of what was parsed that the other options don't have. */
static void print_changed(FILE *out, const options *from) {
    char before[MOST_TEXT], now[MOST_TEXT];
    char *rest[2] = {before, now};
    const char *between = "";
    show_all(from, before);
    show_all(&parsed, now);
    for (const char *word; (word = strtok_r(NULL, " ", &rest[1])) != NULL;) {
        if (strcmp(word, strtok_r(NULL, " ", &rest[0])) != 0) {
            fprintf(out, "%s%s", between, word);
            between = " ";
        }
    }
    fputc('\n', out);
}

static char name[MOST_TEXT]; /* of the case that runs: "gpu: --size 8" */

static void one_line(void) {
    FILE *out = golden_begin();
    const size_t length = strcspn(name, ":");
    const char *words = name + length + strspn(name + length, ": ");
    const struct kind *kind = KINDS;
    while (kind < KINDS + KIND_COUNT - 1 && strncmp(kind->step.name, name, length) != 0) {
        ++kind;
    }
    EXPECT(strlen(kind->step.name) == length, "no such kind");
    options from = {.m = 0};
    if (*words != '\0' && parse(&kind->rules, "") == 0) {
        from = parsed;
    }
    if (parse(&kind->rules, words) != 0) {
        fprintf(out, "refused: %s\n", error);
    } else if (parsed.help) {
        options_print_help(out, &kind->step, &kind->rules);
    } else {
        print_changed(out, &from);
    }
    golden_end(out, name);
}

int main(void) {
    golden_open("tests/unit/test_options.txt");
    for (const char *at = golden_name(kept_texts); at != NULL; at = golden_name(at)) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\n"), at);
        run_row("options", name, one_line);
    }
    return test_result();
}
