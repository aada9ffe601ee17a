/* The JSON writer: what it writes, and that a failure leaves nothing behind. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/json.h"
#include "../../emulator/tests/test.h"

static char directory[32]; /* of the case that runs, and empty after it */
static char path[64];      /* of a file in it */

static const char *content(const char *of) {
    static char text[2048];
    text[0] = '\0';
    FILE *file = fopen(of, "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    return text;
}

static void write_old(void) {
    FILE *file = fopen(path, "w");
    EXPECT(file != NULL && fputs("old", file) >= 0 && fclose(file) == 0, "%s", path);
}

static json line;

static const char *write_empty(void) {
    json_begin(&line);
    return json_commit(&line, path);
}

/* NULL, or why not. */
static void expect_written(const char *why) { EXPECT(why == NULL, "%s", why); }

/* The file has this text. It is removed. */
static void expect_file(const char *text) {
    EXPECT(strcmp(content(path), text) == 0, "%s", content(path));
    unlink(path);
}

static void nesting(void) {
    json_begin(&line);
    json_integer(&line, "zero", 0);
    json_open(&line, "empty", '{');
    json_close(&line, '}');
    json_open(&line, "inner", '{');
    json_number(&line, "third", 1.0 / 3, 9);
    json_bool(&line, "yes", true);
    json_text(&line, "nothing", NULL);
    json_close(&line, '}');
    json_open(&line, "list", '[');
    json_text(&line, NULL, NULL);
    json_bool(&line, NULL, false);
    json_close(&line, ']');
    json_integer(&line, "large", UINT64_MAX);
    json_text(&line, "k\"ey", "a\\b\n\t\x01 \xc3\xa9");
    /* What is not known is left out. */
    json_text(&line, "unknown", "");
    json_number(&line, "unread", -INFINITY, 9);
    json_bool(&line, "no", false);
    json_count(&line, "none", 0);
    expect_written(json_commit(&line, path));
    expect_file("{\"zero\":0,\"empty\":{},"
                "\"inner\":{\"third\":0.333333333,\"yes\":true,"
                "\"nothing\":null},\"list\":[null,false],\"large\":18446744073709551615,"
                "\"k\\\"ey\":\"a\\\\b\\u000a\\u0009\\u0001 \xc3\xa9\"}\n");
}

static void replaces_a_file(void) {
    write_old();
    json_begin(&line);
    EXPECT(strcmp(content(path), "old") == 0, "changed before the commit");
    expect_written(json_commit(&line, path));
    expect_file("{}\n");
}

/* By way of links: a mistake destroys these, not the machine's devices. */
static void special_files(void) {
    struct stat status;
    char text[8] = "";
    EXPECT(symlink("/dev/null", path) == 0, "symlink");
    expect_written(write_empty());
    EXPECT(stat(path, &status) == 0 && S_ISCHR(status.st_mode), "no device any more");
    unlink(path);
    EXPECT(symlink("/dev/full", path) == 0 && strstr(write_empty(), "No space left"), "written");
    EXPECT(lstat(path, &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
    unlink(path);
    EXPECT(mkfifo(path, 0600) == 0, "mkfifo");
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    expect_written(json_refusal(path));
    expect_written(write_empty());
    EXPECT(read(reader, text, sizeof text - 1) == 3 && strcmp(text, "{}\n") == 0, "%s", text);
    close(reader);
    unlink(path);
}

static void size_limit(void) {
    struct rlimit limit;
    write_old();
    getrlimit(RLIMIT_FSIZE, &limit);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max});
    const char *why = write_empty();
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT(why != NULL && strstr(why, "File too large") != NULL, "%s", why);
    expect_file("old");
}

static void early_refusal(void) {
    expect_written(json_refusal(path));
    write_old();
    expect_written(json_refusal(path));
    expect_file("old");
    EXPECT(json_refusal("/nonexistent/x.json") != NULL, "no such directory");
    EXPECT(json_refusal(directory) != NULL, "a directory is not a file");
}

static const struct row {
    const char *name;
    void (*body)(void);
} ROWS[] = {
    {"nesting, numbers, null, escaping", nesting},
    {"replaces a file when it is whole", replaces_a_file},
    {"a device and a pipe are written to, and stay", special_files},
    {"a file that cannot grow leaves the old one, and nothing else, behind", size_limit},
    {"a bad place is refused early", early_refusal},
};
static const struct row *current;

static void leaves_nothing_behind(void) {
    snprintf(directory, sizeof directory, "/tmp/gemm-ladder-json-XXXXXX");
    EXPECT(mkdtemp(directory) != NULL, "mkdtemp");
    snprintf(path, sizeof path, "%s/file", directory);
    current->body();
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

int main(void) {
    for (current = ROWS; current < ROWS + sizeof ROWS / sizeof *ROWS; ++current) {
        run_row("json", current->name, leaves_nothing_behind);
    }
    return test_result();
}
