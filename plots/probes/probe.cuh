// What the probes share. A probe is a small program for the emulator that asks the project's own
// device functions what lies where, and prints the answer as JSON; plots/ideas.py draws it.
#pragma once

#include "device/launch.cuh"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

// Ends the program with one line that says what could not be done.
[[noreturn]] inline void give_up(const std::string &why) {
    fprintf(stderr, "%s\n", why.c_str());
    exit(1);
}

// An array in device memory. The emulator's is the host's: read() copies what kernels wrote.
template <typename T>
struct Array {
    size_t count;
    T *device;

    explicit Array(const std::vector<T> &host)
        : count(host.size()), device(upload_array(host.data(), count)) {
        if (device == nullptr)
            exit(1);
    }
    explicit Array(size_t size) : Array(std::vector<T>(size)) {}
    Array(const Array &) = delete;
    ~Array() { release_array(device); }

    std::vector<T> read() const { return {device, device + count}; }
};

// Runs one CTA of `block` threads with `smem` bytes of dynamic shared memory, and waits.
template <typename... Parameters, typename... Arguments>
void run_cta(void (*kernel)(Parameters...), int block, size_t smem, const Arguments &...arguments) {
    if (allow_dynamic_smem(kernel, smem) ||
        launch(kernel, dim3(1), dim3(block), dim3(1), smem, cudaStream_t(nullptr), arguments...) ||
        launch_check(cudaDeviceSynchronize(), "waiting for the kernel, threads", block))
        exit(1);
}

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
