/* The quick tuner with made-up samples, and its file: damaged, foreign, not writable, and written
 * by two processes at once. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tools/test.h"
#include "tune.c"

/* ---- the fastest */

enum { MOST = 4 };
static const double NONE = NAN;

static const struct pick {
    const char *name;
    int count;
    double seconds[MOST];  /* of each candidate, without noise */
    double slow_by_chance; /* the factor of every fifth sample */
    double heat;           /* each sample is slower by this much than the one before */
    int fails_at;          /* the sample, from 1 on, that is NAN; 0: none */
    int best;
    int samples; /* of all */
} PICKS[] = {
    {"there is no candidate", 0, {0}, 1, 0, 0, -1, 0},
    {"one candidate needs no more than two samples", 1, {3}, 1, 0, 0, 0, 2},
    {"none ran", 3, {NONE, NONE, NONE}, 1, 0, 0, -1, 3},
    {"one of three ran", 3, {NONE, 9, NONE}, 1, 0, 0, 1, 4},
    {"what is 6 % slower is dropped", 4, {1.06, 1, 1.2, 1.04}, 1, 0, 0, 1, 8 + 3 * 2},
    {"all but one are dropped", 4, {2, 2, 2, 1}, 1, 0, 0, 3, 8},
    {"some samples are slow by chance", 4, {1.02, 1.01, 1, 1.03}, 1.5, 0, 0, 2, 8 + 3 * 4},
    {"a chip that gets hot", 4, {1.01, 1.005, 1.01, 1}, 1, 0.001, 0, 3, 8 + 3 * 4},
    {"a failure in the first round", 2, {1, 1.01}, 1, 0, 1, 1, 3},
    {"a failure in the second round", 2, {1, 1.01}, 1, 0, 4, 1, 4},
    {"a failure in the last round", 2, {1, 1.01}, 1, 0, 9, 1, 4 + 3 * 2},
};
static const struct pick *pick;
static int taken;

static double sample(void *context, int candidate) {
    const double chance = taken % 5 == 2 ? pick->slow_by_chance : 1;
    const double heat = 1 + pick->heat * taken;
    EXPECT(context == &taken && candidate >= 0 && candidate < pick->count, "%d", candidate);
    return ++taken == pick->fails_at ? NAN : pick->seconds[candidate] * chance * heat;
}

static void picks(void) {
    taken = 0;
    const int best = tune_pick(pick->count, sample, &taken);
    EXPECT(best == pick->best, "%d, not %d", best, pick->best);
    EXPECT(taken == pick->samples, "%d samples, not %d", taken, pick->samples);
}

/* ---- the file */

enum { FAMILY = 0xabc };
static const tune_key KEY = {"Test GPU", FAMILY, 8, 16, 24};
#define KEPT "Test GPU\t8\t16\t24\t7\t0000000000000abc\n"

static char folder[] = "/tmp/gemm-ladder-tune-XXXXXX";
static char path[256];

static const struct content {
    const char *name, *text; /* of the file; NULL: there is none */
    tune_key key;
    int kernel;
} CONTENTS[] = {
    {"no file", NULL, KEY, 0},
    {"an empty file", "", KEY, 0},
    {"the line", KEPT, KEY, 7},
    {"the last line of a key wins", KEPT "Test GPU\t8\t16\t24\t9\t0000000000000abc\n", KEY, 9},
    {"a damaged line leaves the one before", KEPT "Test GPU\t8\t16\t24\t9x\t0000000000000abc\n",
     KEY, 7},
    {"another GPU", KEPT, {"Test GPU 2", FAMILY, 8, 16, 24}, 0},
    {"a GPU whose name is the beginning of another's", KEPT, {"Test", FAMILY, 8, 16, 24}, 0},
    {"another family", KEPT, {"Test GPU", FAMILY + 1, 8, 16, 24}, 0},
    {"another m", KEPT, {"Test GPU", FAMILY, 9, 16, 24}, 0},
    {"another n", KEPT, {"Test GPU", FAMILY, 8, 1, 24}, 0},
    {"another k", KEPT, {"Test GPU", FAMILY, 8, 16, 2}, 0},
    {"a line that was cut off", "Test GPU\t8\t16\t24\t7\t0000000000000a", KEY, 0},
    {"a line without its end", "Test GPU\t8\t16\t24\t7\t0000000000000abc", KEY, 0},
    {"a line that another one follows", "Test GPU\t8\t16\t24\t7" KEPT KEPT, KEY, 7},
    {"no kernel", "Test GPU\t8\t16\t24\t\t0000000000000abc\n", KEY, 0},
    {"kernel 0", "Test GPU\t8\t16\t24\t0\t0000000000000abc\n", KEY, 0},
    {"a negative kernel", "Test GPU\t8\t16\t24\t-7\t0000000000000abc\n", KEY, 0},
    {"a kernel beyond int", "Test GPU\t8\t16\t24\t4294967303\t0000000000000abc\n", KEY, 0},
    {"a kernel beyond 64 bits", "Test GPU\t8\t16\t24\t18446744073709551623\t0000000000000abc\n",
     KEY, 0},
    {"something else in a line", "\n\t\t\t\n\x01\xff\x80\n# 8\n" KEPT "Test GPU\n", KEY, 7},
};
static const struct content *content;

static void write_file(const char *text) {
    unlink(path);
    FILE *file = text == NULL ? NULL : fopen(path, "w");
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

/* What is in the file is found; and what is added to it then, however it ended. */
static void finds(void) {
    write_file(content->text);
    const int found = tune_find(path, &content->key);
    EXPECT(found == content->kernel, "kernel %d, not %d", found, content->kernel);
    EXPECT(tune_add(path, &content->key, 5) == 0, "%s", strerror(errno));
    EXPECT(tune_find(path, &content->key) == 5, "the kernel added is not there");
}

/* Each adds its shapes while the other does; none is lost. */
static void two_processes_add_at_once(void) {
    enum { SHAPES = 500 };
    unlink(path);
    const pid_t other = fork();
    tune_key key = KEY;
    key.n = other == 0 ? 1 : 2;
    for (key.m = 1; key.m <= SHAPES; ++key.m) {
        if (tune_add(path, &key, key.m) != 0) {
            break;
        }
    }
    if (other == 0) {
        _exit(key.m > SHAPES ? 0 : 1);
    }
    int status = 1, found = 0;
    EXPECT(waitpid(other, &status, 0) == other && status == 0, "the other failed");
    for (int i = 0; i < 2 * SHAPES; ++i) {
        key.m = i / 2 + 1;
        key.n = i % 2 + 1;
        found += tune_find(path, &key) == key.m;
    }
    EXPECT(found == 2 * SHAPES, "%d of %d are there", found, 2 * SHAPES);
}

static void what_cannot_be_written_says_why(void) {
    char inside[300];
    write_file("");
    snprintf(inside, sizeof inside, "%s/inside/tuned.txt", path); /* the folder is a file */
    EXPECT(tune_add(inside, &KEY, 1) == ENOTDIR, "a file took the place of a folder");
    EXPECT(tune_add(folder, &KEY, 1) == EISDIR && tune_find(folder, &KEY) == 0, "a folder");
    EXPECT(tune_add("", &KEY, 1) == 0 && tune_find("", &KEY) == 0, "no file");
    const tune_key odd = {"Test\tGPU", FAMILY, 8, 16, 24};
    EXPECT(tune_add(path, &odd, 1) == EINVAL && tune_find(path, &odd) == 0, "a tab in a name");
}

/* ---- where the file is, and whose numbers are in it */

static void the_file_is_where_the_environment_says(void) {
    enum { NAMES = 3 }; /* of variables; after their values is the path */
    static const char *const names[] = {"GEMM_LADDER_TUNED", "XDG_CACHE_HOME", "HOME"};
    static const char *const rows[][NAMES + 1] = {
        {"/a/b", "/cache", "/home/u", "/a/b"},
        {"", "/cache", "/home/u", ""},
        {NULL, "/cache", "/home/u", "/cache/gemm-ladder/tuned.txt"},
        {NULL, "", "/home/u", "/home/u/.cache/gemm-ladder/tuned.txt"},
        {NULL, "relative", "/home/u", "/home/u/.cache/gemm-ladder/tuned.txt"},
        {NULL, NULL, "/home/u", "/home/u/.cache/gemm-ladder/tuned.txt"},
        {NULL, NULL, "", ""},
        {NULL, NULL, NULL, ""},
        {"/longer/than/the/buffer/of/this/test/which/has/room/for/64/characters", NULL, "/", ""},
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; ++row) {
        char buffer[64] = "unchanged";
        for (int i = 0; i < NAMES; ++i) {
            unsetenv(names[i]);
            EXPECT(rows[row][i] == NULL || setenv(names[i], rows[row][i], 1) == 0, "no room");
        }
        const char *found = tune_path(buffer, sizeof buffer);
        EXPECT(strcmp(found, rows[row][NAMES]) == 0, "'%s', not '%s'", found, rows[row][NAMES]);
    }
}

static step_tile tiles[2];
static step_tile tile_of(int kernel) { return tiles[kernel]; }

static void other_kernels_have_another_hash(void) {
    step step = {.name = "s98", .kernels = 2, .tile_of = tile_of};
    tiles[0].m = 64;
    const unsigned long long before = tune_family(&step);
    EXPECT(tune_family(&step) == before, "it differs each time");
    tiles[1].gathers = true;
    const unsigned long long of_tiles = tune_family(&step);
    EXPECT(of_tiles != before, "another tile");
    tiles[0] = tiles[1];
    tiles[1] = (step_tile){.m = 64};
    const unsigned long long of_order = tune_family(&step);
    EXPECT(of_order != before && of_order != of_tiles, "another order");
    step.name = "s99";
    EXPECT(tune_family(&step) != of_order, "another name");
    step.kernels = 1;
    EXPECT(tune_family(&step) != of_order, "fewer kernels");
}

int main(void) {
    for (pick = PICKS; pick < PICKS + sizeof PICKS / sizeof *PICKS; ++pick) {
        run_case(pick->name, picks);
    }
    if (mkdtemp(folder) == NULL) {
        printf("not ok - tune: cannot make %s: %s\n", folder, strerror(errno));
        return 1;
    }
    snprintf(path, sizeof path, "%s/tuned.txt", folder);
    for (content = CONTENTS; content < CONTENTS + sizeof CONTENTS / sizeof *CONTENTS; ++content) {
        run_case(content->name, finds);
    }
    run_case("tune: two processes add lines at once", two_processes_add_at_once);
    run_case("tune: what cannot be written says why", what_cannot_be_written_says_why);
    run_case("tune: the file is where the environment says",
             the_file_is_where_the_environment_says);
    run_case("tune: other kernels have another hash", other_kernels_have_another_hash);
    unlink(path);
    rmdir(folder);
    return test_result();
}
