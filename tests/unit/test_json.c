/* The JSON writer: what it writes, and that a failure leaves nothing behind. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/json.h"
#include "../../emulator/tests/test.h"

static char directory[32]; /* of the case that runs, and empty after it */
static char error[512];

static const char *in_directory(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static const char *content(const char *path) {
    static char text[2048];
    text[0] = '\0';
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
    }
    return text;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    EXPECT(file != NULL, "%s", path);
    if (file != NULL) {
        fputs(text, file);
        fclose(file);
    }
}

static json json_file;

static int end(const char *path) { return json_commit(&json_file, path, error, sizeof error); }

static int write_empty(const char *path) {
    json_begin(&json_file);
    return end(path);
}

/* The file has this text. It is removed. */
static void expect_file(const char *path, const char *text) {
    EXPECT(strcmp(content(path), text) == 0, "%s", content(path));
    unlink(path);
}

static void nesting(void) {
    static const double SECONDS[] = {0.1, 1.0 / 3, NAN};
    const char *path = in_directory("nesting.json");
    json_begin(&json_file);
    json_integer(&json_file, "zero", 0);
    json_open(&json_file, "empty", '{');
    json_close(&json_file, '}');
    json_open(&json_file, "inner", '{');
    json_numbers(&json_file, "values", SECONDS, 3, 9);
    json_bool(&json_file, "yes", true);
    json_null(&json_file, "nothing");
    json_close(&json_file, '}');
    json_open(&json_file, "list", '[');
    json_text(&json_file, NULL, NULL);
    json_bool(&json_file, NULL, false);
    json_close(&json_file, ']');
    json_integer(&json_file, "large", UINT64_MAX);
    json_text(&json_file, "k\"ey", "a\\b\n\t\x01 \xc3\xa9");
    /* What is not known is left out. */
    json_text(&json_file, "absent", NULL);
    json_text(&json_file, "unknown", "");
    json_number(&json_file, "unread", -INFINITY, 9);
    json_bool(&json_file, "no", false);
    json_count(&json_file, "none", 0);
    EXPECT(end(path) == 0, "%s", error);
    expect_file(path, "{\"zero\":0,\"empty\":{},"
                      "\"inner\":{\"values\":[0.1,0.333333333,null],\"yes\":true,"
                      "\"nothing\":null},\"list\":[null,false],\"large\":18446744073709551615,"
                      "\"k\\\"ey\":\"a\\\\b\\u000a\\u0009\\u0001 \xc3\xa9\"}\n");
}

static void replaces_a_file(void) {
    const char *path = in_directory("old.json");
    write_file(path, "old");
    json_begin(&json_file);
    EXPECT(strcmp(content(path), "old") == 0, "changed before the commit");
    EXPECT(end(path) == 0, "%s", error);
    struct stat status;
    const mode_t mask = umask(0);
    umask(mask);
    EXPECT(stat(path, &status) == 0 && (status.st_mode & 0777) == (0666 & ~mask), "mode");
    expect_file(path, "{}\n");
}

/* A file behind a symbolic link is replaced where it is; a device and a pipe are written to. */
static void special_files(void) {
    char file[256], text[8] = "";
    const char *path = in_directory("link");
    snprintf(file, sizeof file, "%s/file.json", directory);
    write_file(file, "old");
    EXPECT(symlink("file.json", path) == 0 && write_empty(path) == 0, "%s", error);
    struct stat status;
    EXPECT(lstat(path, &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
    expect_file(file, "{}\n");
    unlink(path);
    /* By way of links: a mistake destroys these, not the machine's devices. */
    EXPECT(symlink("/dev/null", path) == 0 && write_empty(path) == 0, "%s", error);
    EXPECT(stat(path, &status) == 0 && S_ISCHR(status.st_mode), "no device any more");
    unlink(path);
    EXPECT(symlink("/dev/full", path) == 0 && write_empty(path) != 0, "written to /dev/full");
    EXPECT(strstr(error, "No space left") != NULL, "%s", error);
    EXPECT(lstat(path, &status) == 0 && S_ISLNK(status.st_mode), "the link is gone");
    unlink(path);
    EXPECT(mkfifo(path, 0600) == 0, "mkfifo");
    const int reader = open(path, O_RDONLY | O_NONBLOCK);
    EXPECT(json_writable(path, error, sizeof error) == 0 && write_empty(path) == 0, "%s", error);
    EXPECT(read(reader, text, sizeof text - 1) == 3 && strcmp(text, "{}\n") == 0, "%s", text);
    close(reader);
    unlink(path);
}

static void size_limit(void) {
    const char *path = in_directory("limited.json");
    write_file(path, "kept");
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    EXPECT(write_empty(path) != 0, "written");
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT(strstr(error, "File too large") != NULL, "%s", error);
    expect_file(path, "kept");
}

static void early_refusal(void) {
    const char *path = in_directory("socket");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    const int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    EXPECT(bind(listener, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    EXPECT(json_writable(path, error, sizeof error) != 0, "a socket is not a file");
    EXPECT(strstr(error, "no file to write to") != NULL, "%s", error);
    close(listener);
    unlink(path);
    EXPECT(json_writable(in_directory("new.json"), error, sizeof error) == 0, "%s", error);
    EXPECT(json_writable("/nonexistent/x.json", error, sizeof error) != 0, "no such directory");
    EXPECT(strstr(error, "/nonexistent/x.json") != NULL, "%s", error);
    EXPECT(json_writable(directory, error, sizeof error) != 0, "a directory is not a file");
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
    current->body();
    EXPECT(rmdir(directory) == 0, "something was left in %s", directory);
}

int main(void) {
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; ++i) {
        current = &ROWS[i];
        run_row("json", current->name, leaves_nothing_behind);
    }
    return test_result();
}
