/* Writes one JSON file: whole or not at all. The text is kept in memory until the end. A device or
 * a pipe is written to directly. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { JSON_MOST_NESTED = 16 };

/* The values go between json_begin and json_commit; the outermost value is an object that the
 * caller begins and ends. In an array the key is NULL. */
typedef struct json {
    FILE *file; /* which writes the text */
    char *text;
    size_t length;
    int depth;
    bool filled[JSON_MOST_NESTED];   /* something has been written at this depth */
    bool is_array[JSON_MOST_NESTED]; /* arrays hold plain values and stay on one line */
} json;

/* Tries whether a file could be written at path, and leaves no file there. Returns 0, or non-zero
 * with one sentence in error. */
int json_writable(const char *path, char *error, size_t size);

/* Starts the text. */
void json_begin(json *json);

/* Objects, and arrays of plain values. */
void json_object_begin(json *json, const char *key);
void json_object_end(json *json);
void json_array_begin(json *json, const char *key);
void json_array_end(json *json);

/* Values. A text (UTF-8) is escaped; NULL, and a number that is not finite, become null. A double
 * is written so that it reads back as the same one. */
void json_string(json *json, const char *key, const char *value);
void json_double(json *json, const char *key, double value);
void json_doubles(json *json, const char *key, const double *values, size_t count); /* an array */
void json_unsigned(json *json, const char *key, uint64_t value);
void json_bool(json *json, const char *key, bool value);
void json_null(json *json, const char *key);

/* Puts the text into the file at path. Returns 0, or non-zero with one sentence in error; then the
 * file at path is as before, and no other file is left. */
int json_commit(json *json, const char *path, char *error, size_t size);
