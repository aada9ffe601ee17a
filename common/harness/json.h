/* Writes one line of JSON, an object, to a file: whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The text is kept in memory until the end. */
typedef struct json {
    FILE *file; /* which writes the text */
    char *text;
    size_t length;
    bool filled; /* a value has been written at this depth: the next one needs a comma */
} json;

/* Begins the line. Then come values, and json_commit(). */
void json_begin(json *json);

/* An object, or an array, until json_close() with the same kind of bracket. In an array the key is
 * NULL. */
void json_open(json *json, const char *key, char bracket);
void json_close(json *json, char bracket);

/* Values. A text (UTF-8) is escaped; NULL is null. What is not known is left out: an empty text, a
 * number that is not finite; and so are, in an object, what is false, and a count of 0. */
void json_text(json *json, const char *key, const char *value);
void json_number(json *json, const char *key, double value, int digits);
void json_integer(json *json, const char *key, uint64_t value);
void json_count(json *json, const char *key, uint64_t value);
void json_bool(json *json, const char *key, bool value);

/* Puts the line into the file at path, or returns why it cannot; then the file is as before, and no
 * other file is left. A link, a device or a pipe is written to directly. */
const char *json_commit(json *json, const char *path);

/* Why no file could be written at path, as far as that is known before it is; or NULL. */
const char *json_refusal(const char *path);
