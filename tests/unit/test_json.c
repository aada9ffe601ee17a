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

/* Begins an object. */
static void begin(void) {
    json_begin(&json_file);
    json_object_begin(&json_file, NULL);
}

static int end(const char *path) {
    json_object_end(&json_file);
    return json_commit(&json_file, path, error, sizeof error);
}

static int write_empty(const char *path) {
    begin();
    return end(path);
}

/* The file has this text. It is removed. */
static void expect_file(const char *path, const char *text) {
    EXPECT(strcmp(content(path), text) == 0, "%s", content(path));
    unlink(path);
}

static void nesting(void) {
    const char *path = in_directory("nesting.json");
    begin();
    json_unsigned(&json_file, "schema", 1);
    json_object_begin(&json_file, "empty");
    json_object_end(&json_file);
    json_object_begin(&json_file, "inner");
    json_array_begin(&json_file, "values");
    json_double(&json_file, NULL, 0.1);
    json_double(&json_file, NULL, NAN);
    json_double(&json_file, NULL, -INFINITY);
    json_array_end(&json_file);
    json_bool(&json_file, "yes", true);
    json_null(&json_file, "nothing");
    json_object_end(&json_file);
    json_array_begin(&json_file, "none");
    json_array_end(&json_file);
    json_unsigned(&json_file, "large", UINT64_MAX);
    json_string(&json_file, "k\"ey", "a\\b\n\t\x01 \xc3\xa9");
    json_string(&json_file, "absent", NULL);
    EXPECT(end(path) == 0, "%s", error);
    expect_file(path, "{\n"
                      "  \"schema\": 1,\n"
                      "  \"empty\": {},\n"
                      "  \"inner\": {\n"
                      "    \"values\": [0.10000000000000001, null, null],\n"
                      "    \"yes\": true,\n"
                      "    \"nothing\": null\n"
                      "  },\n"
                      "  \"none\": [],\n"
                      "  \"large\": 18446744073709551615,\n"
                      "  \"k\\\"ey\": \"a\\\\b\\u000a\\u0009\\u0001 \xc3\xa9\",\n"
                      "  \"absent\": null\n"
                      "}\n");
}

static void replaces_a_file(void) {
    const char *path = in_directory("old.json");
    write_file(path, "old");
    begin();
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
    EXPECT(strstr(error, "neither a file nor") != NULL, "%s", error);
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
