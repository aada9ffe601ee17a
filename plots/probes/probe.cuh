// What the probes share. A probe is a small program for the emulator that asks the project's own
// functions what lies where, or comes when, and prints the answer: lines of words and whole
// numbers, with blanks between them. plots/ draws it.
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
