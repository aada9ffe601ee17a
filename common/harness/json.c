#define _XOPEN_SOURCE 700 /* realpath */

#include "harness/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/message.h"

/* A file under a temporary name beside the one that it will replace; or a device or a pipe, which
 * is written to directly. */
typedef struct place {
    char path[PATH_MAX];
    char temporary[PATH_MAX + 8];
    bool direct; /* there is no file under the temporary name */
    int descriptor;
} place;

static int refuse(const char *path, const char *why, char *error, size_t size) {
    snprintf(error, size, "cannot write '%s': %s", path, why);
    return 1;
}

/* Opens the place for the path: 0, or non-zero with one sentence in error and nothing left behind.
 */
static int open_place(place *place, const char *path, char *error, size_t size) {
    struct stat status;
    const bool there = stat(path, &status) == 0;
    place->direct = there && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode));
    if (there && !place->direct && !S_ISREG(status.st_mode)) {
        return refuse(path,
                      S_ISDIR(status.st_mode)
                          ? "it is a directory"
                          : "it is neither a file nor a device or pipe to write to",
                      error, size);
    }
    /* A link stays: its target is replaced. */
    if (!there || place->direct || realpath(path, place->path) == NULL) {
        snprintf(place->path, sizeof place->path, "%s", path);
    }
    snprintf(place->temporary, sizeof place->temporary, "%s.XXXXXX", place->path);
    place->descriptor = place->direct ? open(path, O_WRONLY) : mkstemp(place->temporary);
    return place->descriptor < 0 ? refuse(path, strerror(errno), error, size) : 0;
}

int json_writable(const char *path, char *error, size_t size) {
    struct stat status;
    place place;
    if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        /* Not opened: closing it would end its reader's input. */
        return access(path, W_OK) == 0 ? 0 : refuse(path, strerror(errno), error, size);
    }
    if (open_place(&place, path, error, size) != 0) {
        return 1;
    }
    close(place.descriptor);
    if (!place.direct) {
        unlink(place.temporary);
    }
    return 0;
}

void json_begin(json *json) {
    memset(json, 0, sizeof *json);
    json->file = open_memstream(&json->text, &json->length);
    if (json->file == NULL) {
        end_with(STATUS_FAILED, "no memory for a file");
    }
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

/* Writes what precedes every value: a comma, the line or a space, the key. */
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
    write_start(json, key);
    if (value != NULL) {
        write_text(json, value);
    } else {
        fputs("null", json->file);
    }
}

void json_double(json *json, const char *key, double value) {
    write_start(json, key);
    fprintf(json->file, isfinite(value) ? "%.17g" : "null", value);
}

void json_doubles(json *json, const char *key, const double *values, size_t count) {
    json_array_begin(json, key);
    for (size_t i = 0; i < count; ++i) {
        json_double(json, NULL, values[i]);
    }
    json_array_end(json);
}

void json_unsigned(json *json, const char *key, uint64_t value) {
    write_start(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void json_bool(json *json, const char *key, bool value) {
    write_start(json, key);
    fputs(value ? "true" : "false", json->file);
}

void json_null(json *json, const char *key) { json_string(json, key, NULL); }

/* mkstemp makes a file for its owner alone; a result is an ordinary file. */
static int set_ordinary_mode(int descriptor) {
    const mode_t mask = umask(0);
    umask(mask);
    return fchmod(descriptor, 0666 & ~mask);
}

/* 0, or non-zero with errno. fsync before rename: after a crash the name holds the old file or the
 * whole new one. */
static int write_place(const place *place, const char *text, size_t length) {
    for (size_t written = 0; written < length;) {
        const ssize_t more = write(place->descriptor, text + written, length - written);
        if (more < 0) {
            return 1;
        }
        written += (size_t)more;
    }
    return !place->direct &&
           (set_ordinary_mode(place->descriptor) != 0 || fsync(place->descriptor) != 0 ||
            rename(place->temporary, place->path) != 0);
}

int json_commit(json *json, const char *path, char *error, size_t size) {
    place place;
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is only a failed write */
    fputc('\n', json->file);
    if (fclose(json->file) != 0) {
        end_with(STATUS_FAILED, "no memory for what is to be written to '%s'", path);
    }
    int failed = open_place(&place, path, error, size);
    if (!failed) {
        if (write_place(&place, json->text, json->length) != 0) {
            failed = refuse(path, strerror(errno), error, size);
            if (!place.direct) {
                unlink(place.temporary);
            }
        }
        close(place.descriptor);
    }
    free(json->text);
    return failed;
}
