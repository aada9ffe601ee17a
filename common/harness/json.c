#define _XOPEN_SOURCE 700 /* realpath */

#include "harness/json.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/message.h"

static int refuse(const char *path, const char *why, char *error, size_t size) {
    snprintf(error, size, "cannot write '%s': %s", path, why);
    return 1;
}

/* Where the text goes: to a temporary file, which then gets the path's name. A device or a pipe has
 * no temporary one. */
typedef struct place {
    char path[PATH_MAX], temporary[PATH_MAX + 16];
} place;

/* NULL with one sentence in error. */
static FILE *open_place(place *place, const char *path, char *error, size_t size) {
    struct stat status;
    FILE *file = NULL;
    const bool there = stat(path, &status) == 0;
    place->temporary[0] = '\0';
    if (there && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))) {
        file = fopen(path, "w");
    } else if (there && !S_ISREG(status.st_mode)) {
        refuse(path, S_ISDIR(status.st_mode) ? "it is a directory" : "it is no file to write to",
               error, size);
        return NULL;
    } else {
        /* A link stays: its target is replaced. */
        if (!there || realpath(path, place->path) == NULL) {
            snprintf(place->path, sizeof place->path, "%s", path);
        }
        snprintf(place->temporary, sizeof place->temporary, "%s.%d", place->path, (int)getpid());
        file = fopen(place->temporary, "wx");
    }
    if (file == NULL) {
        refuse(path, strerror(errno), error, size);
    }
    return file;
}

int json_writable(const char *path, char *error, size_t size) {
    struct stat status;
    place place;
    if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) {
        return 0; /* not opened: closing it would end its reader's input */
    }
    FILE *file = open_place(&place, path, error, size);
    if (file != NULL) {
        fclose(file);
        unlink(place.temporary);
    }
    return file == NULL;
}

void json_begin(json *json) {
    *json = (struct json){.filled = false};
    json->file = open_memstream(&json->text, &json->length);
    if (json->file == NULL) {
        end_with(STATUS_FAILED, "no memory for a file");
    }
    fputc('{', json->file);
}

static void write_text(json *json, const char *text) {
    fputc('"', json->file);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; ++c) {
        fprintf(json->file, *c == '"' || *c == '\\' ? "\\%c" : *c < 0x20 ? "\\u%04x" : "%c", *c);
    }
    fputc('"', json->file);
}

/* What precedes every value: a comma, the key. */
static void write_key(json *json, const char *key) {
    fputs(json->filled ? "," : "", json->file);
    json->filled = true;
    if (key != NULL) {
        write_text(json, key);
        fputc(':', json->file);
    }
}

void json_open(json *json, const char *key, char bracket) {
    write_key(json, key);
    fputc(bracket, json->file);
    json->filled = false;
}

void json_close(json *json, char bracket) {
    fputc(bracket, json->file);
    json->filled = true;
}

void json_null(json *json, const char *key) {
    write_key(json, key);
    fputs("null", json->file);
}

void json_text(json *json, const char *key, const char *value) {
    if (value != NULL && (key == NULL || *value != '\0')) {
        write_key(json, key);
        write_text(json, value);
    } else if (key == NULL) {
        json_null(json, key);
    }
}

void json_number(json *json, const char *key, double value, int digits) {
    if (isfinite(value)) {
        write_key(json, key);
        fprintf(json->file, "%.*g", digits, value);
    } else if (key == NULL) {
        json_null(json, key);
    }
}

void json_numbers(json *json, const char *key, const double *values, size_t count, int digits) {
    json_open(json, key, '[');
    for (size_t i = 0; i < count; ++i) {
        json_number(json, NULL, values[i], digits);
    }
    json_close(json, ']');
}

void json_integer(json *json, const char *key, uint64_t value) {
    write_key(json, key);
    fprintf(json->file, "%" PRIu64, value);
}

void json_count(json *json, const char *key, uint64_t value) {
    if (value > 0) {
        json_integer(json, key, value);
    }
}

void json_bool(json *json, const char *key, bool value) {
    if (value || key == NULL) {
        write_key(json, key);
        fputs(value ? "true" : "false", json->file);
    }
}

int json_commit(json *json, const char *path, char *error, size_t size) {
    place place;
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is only a failed write */
    fputs("}\n", json->file);
    if (fclose(json->file) != 0) {
        end_with(STATUS_FAILED, "no memory for what is to be written to '%s'", path);
    }
    FILE *file = open_place(&place, path, error, size);
    int failed = file == NULL;
    if (file != NULL) {
        failed = fwrite(json->text, 1, json->length, file) != json->length;
        failed = fclose(file) != 0 || failed;
        if (failed || (*place.temporary != '\0' && rename(place.temporary, place.path) != 0)) {
            failed = refuse(path, strerror(errno), error, size);
            unlink(place.temporary);
        }
    }
    free(json->text);
    return failed;
}
