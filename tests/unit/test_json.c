/* Files of JSON: they are replaced when they are whole, and a failure leaves nothing behind.
 * test_report.c has what is in them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/json.h"
#include "../../emulator/tests/test.h"

static char directory[32]; /* of the case that runs, and empty after it */
static char path[64];      /* of a file in it */

static void write_old(void) {
    FILE *file = fopen(path, "w");
    EXPECT(file != NULL && fputs("old", file) >= 0 && fclose(file) == 0, "%s", path);
}

/* Why not; NULL: it was written. */
static const char *write_empty(void) {
    json line;
    json_begin(&line);
    return json_commit(&line, path);
}

static void expect_written(const char *why) { EXPECT(why == NULL, "%s", why); }

/* The file has this text. */
static void expect_file(const char *text) {
    char found[16] = "";
    FILE *file = fopen(path, "r");
    EXPECT(file != NULL && fgets(found, sizeof found, file) && strcmp(found, text) == 0, "%s",
           found);
    if (file != NULL) {
        fclose(file);
    }
}

static void replaces_a_file(void) {
    EXPECT(json_refusal("/nonexistent/x.json") != NULL, "no such directory");
    EXPECT(json_refusal(directory) != NULL, "a directory is not a file");
    expect_written(json_refusal(path));
    write_old();
    expect_written(json_refusal(path));
    expect_file("old");
    expect_written(write_empty());
    expect_file("{}\n");
    unlink(path);
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
    unlink(path);
}

static const struct row {
    const char *name;
    void (*body)(void);
} ROWS[] = {
    {"a file is replaced when it is whole; a bad place is refused before", replaces_a_file},
    {"a device and a pipe are written to, and stay", special_files},
    {"a file that cannot grow leaves the old one, and nothing else, behind", size_limit},
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
