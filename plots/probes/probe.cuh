// What the probes share. A probe is a small program for the emulator that asks the project's own
// functions what lies where, or comes when, and prints the answer as JSON; plots/ draws it.
#pragma once

#include "device/launch.cuh"

#include <algorithm>
#include <string>
#include <vector>

// Ends the program with one line that says what could not be done.
[[noreturn]] inline void give_up(const std::string &why) {
    fprintf(stderr, "%s\n", why.c_str());
    exit(1);
}

// Zeros in device memory, which is the host's.
template <typename T>
struct Array {
    T *device;

    explicit Array(size_t count) : device(upload_array(std::vector<T>(count).data(), count)) {
        if (device == nullptr)
            exit(1);
    }
    Array(const Array &) = delete;
    ~Array() { release_array(device); }
};

// Prints an object of whole numbers, lists of them, texts and such objects. No key and no text
// needs escaping.
class Answer {
public:
    Answer() { printf("{"); }
    ~Answer() { printf("}\n"); }

    void begin(const std::string &key) {
        print_key(key);
        printf("{");
        separator = "";
    }
    void end() {
        printf("}");
        separator = ",";
    }
    void text(const char *key, const std::string &value) {
        print_key(key);
        printf("\"%s\"", value.c_str());
    }
    void number(const char *key, uint64_t value) {
        print_key(key);
        printf("%llu", (unsigned long long)value);
    }
    template <typename T>
    void numbers(const char *key, const std::vector<T> &values) {
        print_key(key);
        for (size_t i = 0; i < values.size(); ++i)
            printf("%s%lld", i == 0 ? "[" : ",", (long long)values[i]);
        printf("]");
    }

private:
    void print_key(const std::string &key) {
        printf("%s\n\"%s\":", separator, key.c_str());
        separator = ",";
    }
    const char *separator = "";
};
