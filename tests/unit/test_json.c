/* The JSON writer: what it writes, and that a failure leaves nothing behind. */
#include <dirent.h>
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
#include "test.h"

static char directory[] = "/tmp/gemm-ladder-json-XXXXXX";
static char error[512];

static const char *in_directory(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static int entries(void) {
    int count = 0;
    DIR *listing = opendir(directory);
    while (listing != NULL && readdir(listing) != NULL) {
        ++count;
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return count - 2; /* . and .. */
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

static void nesting(void) {
    const char *path = in_directory("nesting.json");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    json_object_begin(&json, NULL);
    json_unsigned(&json, "schema", 1);
    json_object_begin(&json, "empty");
    json_object_end(&json);
    json_object_begin(&json, "inner");
    json_array_begin(&json, "values");
    json_double(&json, NULL, 0.1);
    json_double(&json, NULL, NAN);
    json_double(&json, NULL, -INFINITY);
    json_array_end(&json);
    json_bool(&json, "yes", true);
    json_null(&json, "nothing");
    json_object_end(&json);
    json_array_begin(&json, "none");
    json_array_end(&json);
    json_unsigned(&json, "large", UINT64_MAX);
    json_object_end(&json);
    EXPECT(json_commit(&json, error, sizeof error) == 0, "%s", error);
    EXPECT(strcmp(content(path), "{\n"
                                 "  \"schema\": 1,\n"
                                 "  \"empty\": {},\n"
                                 "  \"inner\": {\n"
                                 "    \"values\": [0.10000000000000001, null, null],\n"
                                 "    \"yes\": true,\n"
                                 "    \"nothing\": null\n"
                                 "  },\n"
                                 "  \"none\": [],\n"
                                 "  \"large\": 18446744073709551615\n"
                                 "}\n") == 0,
           "%s", content(path));
    unlink(path);
}

static void escaping(void) {
    const char *path = in_directory("escaping.json");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    json_object_begin(&json, NULL);
    json_string(&json, "k\"ey", "a\\b\n\t\x01 \xc3\xa9");
    json_string(&json, "absent", NULL);
    json_object_end(&json);
    EXPECT(json_commit(&json, error, sizeof error) == 0, "%s", error);
    EXPECT(strcmp(content(path), "{\n  \"k\\\"ey\": \"a\\\\b\\u000a\\u0009\\u0001 \xc3\xa9\",\n"
                                 "  \"absent\": null\n}\n") == 0,
           "%s", content(path));
    unlink(path);
}

static void replaces_a_file(void) {
    const char *path = in_directory("old.json");
    write_file(path, "old");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    json_object_begin(&json, NULL);
    json_object_end(&json);
    EXPECT(strcmp(content(path), "old") == 0, "changed before the commit");
    EXPECT(json_commit(&json, error, sizeof error) == 0, "%s", error);
    EXPECT(strcmp(content(path), "{}\n") == 0, "%s", content(path));
    struct stat status;
    const mode_t mask = umask(0);
    umask(mask);
    EXPECT(stat(path, &status) == 0 && (status.st_mode & 0777) == (0666 & ~mask), "mode");
    EXPECT(entries() == 1, "%d entries", entries());
    unlink(path);
}

static void abandoning(void) {
    const char *path = in_directory("kept.json");
    write_file(path, "kept");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    json_object_begin(&json, NULL);
    json_abandon(&json);
    EXPECT(strcmp(content(path), "kept") == 0, "%s", content(path));
    EXPECT(entries() == 1, "%d entries", entries());
    unlink(path);
}

static void failing_commit(void) {
    /* Something appears under the name that a file cannot replace. */
    const char *path = in_directory("taken.json");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    json_object_begin(&json, NULL);
    json_object_end(&json);
    EXPECT(mkdir(path, 0700) == 0, "mkdir");
    EXPECT(json_commit(&json, error, sizeof error) != 0, "replaced a directory");
    EXPECT(strstr(error, path) != NULL && strstr(error, "directory") != NULL, "%s", error);
    EXPECT(entries() == 1, "%d entries", entries());
    rmdir(path);
}

static void full_disk(void) {
    const char *path = in_directory("full.json");
    write_file(path, "kept");
    json json;
    EXPECT(json_begin(&json, path, error, sizeof error) == 0, "%s", error);
    FILE *full = freopen("/dev/full", "w", json.file);
    if (full == NULL) {
        json_abandon(&json);
        return;
    }
    json_object_begin(&json, NULL);
    json_object_end(&json);
    EXPECT(json_commit(&json, error, sizeof error) != 0, "written to a full disk");
    EXPECT(strstr(error, "No space left") != NULL, "%s", error);
    EXPECT(strcmp(content(path), "kept") == 0, "%s", content(path));
    EXPECT(entries() == 1, "%d entries", entries());
    unlink(path);
}

static int write_empty(const char *path) {
    json json;
    if (json_begin(&json, path, error, sizeof error) != 0) {
        return 1;
    }
    json_object_begin(&json, NULL);
    json_object_end(&json);
    return json_commit(&json, error, sizeof error);
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
    EXPECT(strcmp(content(file), "{}\n") == 0, "%s", content(file));
    unlink(file);
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
    EXPECT(entries() == 1, "%d entries", entries());
    unlink(path);
}

static void size_limit(void) {
    const char *path = in_directory("limited.json");
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &none);
    EXPECT(write_empty(path) != 0, "written");
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT(strstr(error, "File too large") != NULL, "%s", error);
    EXPECT(entries() == 0, "%d entries", entries());
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
    EXPECT(entries() == 0, "%d entries", entries());
}

int main(void) {
    if (mkdtemp(directory) == NULL) {
        printf("not ok - json: cannot make a directory in /tmp\n");
        return 1;
    }
    run_case("json: nesting, numbers, null", nesting);
    run_case("json: escaping", escaping);
    run_case("json: replaces a file when it is whole", replaces_a_file);
    run_case("json: giving up leaves nothing behind", abandoning);
    run_case("json: a failed rename leaves nothing behind", failing_commit);
    run_case("json: a full disk leaves the old file", full_disk);
    run_case("json: a device and a pipe are written to, and stay", special_files);
    run_case("json: a limit on the size of files leaves nothing behind", size_limit);
    run_case("json: a bad place is refused early", early_refusal);
    rmdir(directory);
    return test_result();
}
