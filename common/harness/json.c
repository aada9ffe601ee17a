#define _XOPEN_SOURCE 700 /* realpath */

#include "harness/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char TEMPORARY_END[] = ".XXXXXX";

static char *temporary_template(const char *path) {
    const size_t length = strlen(path);
    char *name = malloc(length + sizeof TEMPORARY_END);
    if (name != NULL) {
        memcpy(name, path, length);
        memcpy(name + length, TEMPORARY_END, sizeof TEMPORARY_END);
    }
    return name;
}

static int refuse(const char *path, int number, char *error, size_t size) {
    snprintf(error, size, "cannot write '%s': %s", path, strerror(number));
    return 1;
}

/* Sets json's path and temporary, or fails with errno 0 and the reason in error, or with errno. */
static int find_place(json *json, const char *path, char *error, size_t size) {
    struct stat status;
    const bool there = stat(path, &status) == 0;
    const bool direct = there && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
    if (there && !direct && !S_ISREG(status.st_mode)) {
        snprintf(error, size, "cannot write '%s': it is %s", path,
                 S_ISDIR(status.st_mode) ? "a directory"
                                         : "neither a file nor a device or pipe to write to");
        errno = 0;
        return 1;
    }
    /* A link stays: what it leads to is replaced. */
    json->path = there && !direct ? realpath(path, NULL) : strdup(path);
    json->temporary = direct || json->path == NULL ? NULL : temporary_template(json->path);
    return json->path == NULL || (!direct && json->temporary == NULL);
}

static void release(json *json) {
    free(json->path);
    free(json->temporary);
    memset(json, 0, sizeof *json);
}

int json_writable(const char *path, char *error, size_t size) {
    json trial = {0};
    if (find_place(&trial, path, error, size) == 0 && trial.temporary == NULL) {
        /* Not opened: the reader of a pipe would see its end. */
        const int number = access(path, W_OK) == 0 ? 0 : errno;
        release(&trial);
        return number == 0 ? 0 : refuse(path, number, error, size);
    }
    release(&trial);
    if (json_begin(&trial, path, error, size) != 0) {
        return 1;
    }
    json_abandon(&trial);
    return 0;
}

/* mkstemp makes a file for its owner alone; a result is an ordinary file. */
static int set_ordinary_mode(int descriptor) {
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(descriptor, 0666 & ~mask);
}

static void unlink_temporary(const json *json) {
    if (json->temporary != NULL) {
        unlink(json->temporary);
    }
}

int json_begin(json *json, const char *path, char *error, size_t size) {
    memset(json, 0, sizeof *json);
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is a failed write, not the end */
    int descriptor = -1;
    if (find_place(json, path, error, size) == 0) {
        descriptor = json->temporary != NULL ? mkstemp(json->temporary) : open(path, O_WRONLY);
    } else if (errno == 0) {
        return 1;
    }
    if (descriptor >= 0 && (json->temporary == NULL || set_ordinary_mode(descriptor) == 0)) {
        json->file = fdopen(descriptor, "w");
    }
    if (json->file == NULL) {
        refuse(path, errno, error, size);
        if (descriptor >= 0) {
            close(descriptor);
            unlink_temporary(json);
        }
        release(json);
        return 1;
    }
    return 0;
}

static void write_text(json *json, const char *text) {
    fputc('"', json->file);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        if (*c == '"' || *c == '\\') {
            fprintf(json->file, "\\%c", *c);
        } else if (*c < 0x20) {
            fprintf(json->file, "\\u%04x", *c);
        } else {
            fputc(*c, json->file);
        }
    }
    fputc('"', json->file);
}

static void new_line(const json *json) { fprintf(json->file, "\n%*s", 2 * json->depth, ""); }

/* What stands before every value: a comma, the line or a space, the key. */
static void write_start(json *json, const char *key) {
    const int depth = json->depth;
    if (json->filled[depth]) {
        fputc(',', json->file);
    }
    if (depth > 0 && !json->is_array[depth]) {
        new_line(json);
    } else if (json->filled[depth]) {
        fputc(' ', json->file);
    }
    json->filled[depth] = true;
    if (key != NULL) {
        write_text(json, key);
        fputs(": ", json->file);
    }
}

static void nest(json *json, const char *key, char bracket, bool is_array) {
    write_start(json, key);
    fputc(bracket, json->file);
    if (json->depth + 1 >= JSON_MOST_NESTED) {
        abort(); /* the schema is fixed and shallow: only a mistake in this program gets here */
    }
    ++json->depth;
    json->filled[json->depth] = false;
    json->is_array[json->depth] = is_array;
}

void json_object_begin(json *json, const char *key) { nest(json, key, '{', false); }

void json_object_end(json *json) {
    const bool filled = json->filled[json->depth];
    --json->depth;
    if (filled) {
        new_line(json);
    }
    fputc('}', json->file);
}

void json_array_begin(json *json, const char *key) { nest(json, key, '[', true); }

void json_array_end(json *json) {
    --json->depth;
    fputc(']', json->file);
}

void json_string(json *json, const char *key, const char *value) {
    if (value == NULL) {
        json_null(json, key);
        return;
    }
    write_start(json, key);
    write_text(json, value);
}

void json_double(json *json, const char *key, double value) {
    if (!isfinite(value)) {
        json_null(json, key);
        return;
    }
    write_start(json, key);
    fprintf(json->file, "%.17g", value);
}

void json_unsigned(json *json, const char *key, uint64_t value) {
    write_start(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void json_bool(json *json, const char *key, bool value) {
    write_start(json, key);
    fputs(value ? "true" : "false", json->file);
}

void json_null(json *json, const char *key) {
    write_start(json, key);
    fputs("null", json->file);
}

int json_commit(json *json, char *error, size_t size) {
    fputc('\n', json->file);
    /* fsync before rename: after a crash the name holds the old file or the whole new one. */
    int failed = fflush(json->file) != 0 || ferror(json->file) ||
                 (json->temporary != NULL && fsync(fileno(json->file)) != 0);
    int number = failed ? errno : 0;
    if (fclose(json->file) != 0 && !failed) {
        failed = 1;
        number = errno;
    }
    if (!failed && json->temporary != NULL && rename(json->temporary, json->path) != 0) {
        failed = 1;
        number = errno;
    }
    if (failed) {
        refuse(json->path, number, error, size);
        unlink_temporary(json);
    }
    release(json);
    return failed;
}

void json_abandon(json *json) {
    fclose(json->file);
    unlink_temporary(json);
    release(json);
}
