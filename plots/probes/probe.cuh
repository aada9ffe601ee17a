// What the probes share. A probe is a small program for the emulator that asks the project's own
// device functions what lies where, and writes the answer as JSON; plots/ideas.py draws it.
#pragma once

#include "device/launch.cuh"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

extern "C" { // a header of C
#include "harness/json.h"
}

// Ends the program with one line that says what could not be done.
[[noreturn]] inline void give_up(const std::string &why) {
    fprintf(stderr, "probe: %s\n", why.c_str());
    exit(1);
}

// An array in device memory.
template <typename T>
struct Array {
    T *device;
    size_t count;

    explicit Array(const std::vector<T> &host)
        : device(upload_array(host.data(), host.size())), count(host.size()) {
        if (device == nullptr)
            give_up("no device memory for " + std::to_string(count) + " elements");
    }
    explicit Array(size_t size) : Array(std::vector<T>(size)) {}
    Array(const Array &) = delete;
    ~Array() { release_array(device); }

    // What it holds now that the kernels are done.
    std::vector<T> read() const {
        std::vector<T> host(count);
        if (launch_check(cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost),
                         "reading an array from the device, elements", (long long)count))
            exit(1);
        return host;
    }
};

// Runs one CTA of `block` threads with `smem` bytes of dynamic shared memory, and waits.
template <typename... Parameters, typename... Arguments>
void run_cta(void (*kernel)(Parameters...), int block, size_t smem, const Arguments &...arguments) {
    if (allow_dynamic_smem(kernel, smem) ||
        launch(kernel, dim3(1), dim3(block), dim3(1), smem, cudaStream_t(nullptr), arguments...) ||
        launch_check(cudaDeviceSynchronize(), "waiting for the kernel, threads", block))
        exit(1);
}

// A JSON file: written whole when finish() is called, or not at all.
struct Report {
    json file;
    const char *path;

    explicit Report(const char *to) : path(to) {
        json_begin(&file);
        json_object_begin(&file, nullptr);
    }

    void number(const char *key, uint64_t value) { json_unsigned(&file, key, value); }
    void text(const char *key, const std::string &value) { json_string(&file, key, value.c_str()); }
    void begin(const std::string &key) { json_object_begin(&file, key.c_str()); }
    void end() { json_object_end(&file); }

    // A list of whole numbers, none of them negative.
    template <typename T>
    void numbers(const char *key, const std::vector<T> &values) {
        json_array_begin(&file, key);
        for (const T value : values)
            json_unsigned(&file, nullptr, uint64_t(value));
        json_array_end(&file);
    }

    void finish() {
        char error[512];
        json_object_end(&file);
        if (json_commit(&file, path, error, sizeof error))
            give_up(error);
    }
};
