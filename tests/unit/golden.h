/* Texts that a program makes, compared whole with those that a file keeps, where each follows a
 * line
 * "==== ITS NAME". With UPDATE=1 in the environment the program writes the file anew and fails. */
#ifndef GEMM_LADDER_TESTS_UNIT_GOLDEN_H
#define GEMM_LADDER_TESTS_UNIT_GOLDEN_H

#include <stdlib.h>
#include <string.h>

#include "../../emulator/tests/test.h"

#define GOLDEN_HEADING "==== "

static char kept_texts[1 << 16];
static FILE *updated; /* NULL without UPDATE=1 */

/* To be called once. Reads the file, whose path is from the repository's root; ends the program
 * without one. */
static inline void golden_open(const char *path) {
    FILE *file = fopen(path, "r");
    const size_t length = file == NULL ? 0 : fread(kept_texts, 1, sizeof kept_texts - 1, file);
    if (length == 0 && getenv("UPDATE") == NULL) {
        printf("not ok - %s: it cannot be read\n", path);
        exit(1);
    }
    if (file != NULL) {
        fclose(file);
    }
    updated = getenv("UPDATE") != NULL ? fopen(path, "w") : NULL;
}

/* The first name after that place in the file, without its end; NULL after the last. */
static inline const char *golden_name(const char *after) {
    const char *found = strstr(after, GOLDEN_HEADING);
    return found == NULL ? NULL : found + strlen(GOLDEN_HEADING);
}

static inline void expect_golden(const char *name, const char *text) {
    enum { BEFORE = 24 }; /* characters that are shown before the first other one */
    char heading[520];
    size_t same = 0;
    snprintf(heading, sizeof heading, GOLDEN_HEADING "%s\n", name);
    EXPECT(updated == NULL, "it was written anew");
    if (updated != NULL) {
        fprintf(updated, "%s%s", heading, text);
        return;
    }
    const char *kept = strstr(kept_texts, heading);
    kept = kept == NULL ? "no such text\n" : kept + strlen(heading);
    const char *end = strstr(kept, GOLDEN_HEADING);
    const size_t length = end == NULL ? strlen(kept) : (size_t)(end - kept);
    while (same < length && text[same] == kept[same]) {
        ++same;
    }
    const size_t from = same < BEFORE ? 0 : same - BEFORE;
    EXPECT(same == length && text[same] == '\0', "'%.90s', not '%.90s'", text + from, kept + from);
}

/* A text to print into, one at a time; and its end. */
static char printed_text[1 << 15];

static inline FILE *golden_begin(void) { return fmemopen(printed_text, sizeof printed_text, "w"); }

static inline void golden_end(FILE *out, const char *name) {
    fclose(out);
    expect_golden(name, printed_text);
}

#endif
