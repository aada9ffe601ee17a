#include "harness/json.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/message.h"

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

void json_text(json *json, const char *key, const char *value) {
    if (value == NULL) {
        write_key(json, key);
        fputs("null", json->file);
    } else if (*value != '\0') {
        write_key(json, key);
        write_text(json, value);
    }
}

void json_number(json *json, const char *key, double value, int digits) {
    if (isfinite(value)) {
        write_key(json, key);
        fprintf(json->file, "%.*g", digits, value);
    }
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

/* Opens a temporary file beside it, which then gets its name; a link, a device or a pipe itself. */
static FILE *open_file(const char *path, char temporary[PATH_MAX]) {
    struct stat status;
    char suffix[16] = "";
    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode)) {
        snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
    }
    snprintf(temporary, PATH_MAX, "%s%s", path, suffix);
    return fopen(temporary, "w");
}

const char *json_commit(json *json, const char *path) {
    char temporary[PATH_MAX];
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is only a failed write */
    fputs("}\n", json->file);
    if (fclose(json->file) != 0) {
        end_with(STATUS_FAILED, "no memory for what is to be written to '%s'", path);
    }
    FILE *file = open_file(path, temporary);
    const bool aside = strcmp(temporary, path) != 0;
    bool written = file != NULL && fwrite(json->text, 1, json->length, file) == json->length;
    written = file != NULL && fclose(file) == 0 && written;
    written = written && (!aside || rename(temporary, path) == 0);
    const char *why = written ? NULL : strerror(errno);
    if (file != NULL && !written && aside) {
        unlink(temporary);
    }
    free(json->text);
    return why;
}

const char *json_refusal(const char *path) {
    char folder[PATH_MAX];
    struct stat status;
    if (strcmp(path, "-") == 0) {
        return "the report goes to stdout; name a file";
    }
    if (stat(path, &status) == 0) {
        return S_ISDIR(status.st_mode)   ? strerror(EISDIR)
               : access(path, W_OK) != 0 ? strerror(errno)
                                         : NULL;
    }
    snprintf(folder, sizeof folder, "%s", path);
    return access(dirname(folder), W_OK) != 0 ? strerror(errno) : NULL;
}
