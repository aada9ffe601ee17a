// What the programs of test_emulate_ptx.py are made of.
#pragma once

#include "device/launch.cuh"
#include "device/tensor_map.cuh"
#include "emulator/emulator.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdio.h>
#include <string>
#include <vector>

struct Size {
    unsigned grid, block, cluster = 1, smem = 0;
};

// A generic pointer's shared address, as CUDA's function of that name gives it.
#define SHARED(pointer) unsigned(emulator::shared_address(pointer, emulator::Site::current()))

// The CTA's dynamic shared memory.
#define DYNAMIC emulator::dynamic_shared(0, emulator::Site::current())

// Launches a kernel whose first argument is an array of `count` elements, zero before; returns it.
template <typename T, typename... Parameters, typename... Arguments>
std::vector<T> run_on(size_t count, void (*kernel)(T *, Parameters...), Size size,
                      Arguments... arguments) {
    T *out = nullptr;
    cudaMalloc(&out, count * sizeof(T));
    cudaMemset(out, 0, count * sizeof(T));
    if (size.smem > 0)
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(size.smem));
    if (launch(kernel, dim3(size.grid), dim3(size.block), dim3(size.cluster), size.smem,
               cudaStream_t(nullptr), out, Parameters(arguments)...) != 0)
        fprintf(stderr, "not launched\n");
    std::vector<T> values(out, out + count);
    cudaFree(out);
    return values;
}

template <typename T>
std::vector<T> run(void (*kernel)(T *), Size size, size_t count) {
    return run_on<T>(count, kernel, size);
}

template <typename T>
void print(const std::vector<T> &values) {
    for (const T value : values)
        printf("%llu\n", (unsigned long long)value);
}

// An array on the device, filled by its index.
template <typename T, typename Fill>
T *filled(size_t count, const Fill &fill) {
    T *array = nullptr;
    cudaMalloc(&array, count * sizeof(T));
    for (size_t i = 0; i < count; ++i)
        array[i] = fill(i);
    return array;
}

// What is wrong with the values, by the index; empty if nothing is.
template <typename T, typename Expected>
std::string differs(const std::vector<T> &values, const Expected &expected) {
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != T(expected(i)))
            return "[" + std::to_string(i) + "] is " + std::to_string(values[i]) + ", not " +
                   std::to_string(T(expected(i)));
    return "";
}

struct TestCase {
    const char *name;
    std::string (*check)();
};

// PROGRAM --list | PROGRAM CASE POLICY [SEED]
template <size_t COUNT>
int run_cases(const TestCase (&cases)[COUNT], int argc, char **argv) {
    const std::string wanted = argc > 1 ? argv[1] : "--list";
    if (argc > 2)
        emulator_choose_policy(argv[2], argc > 3 ? strtoull(argv[3], nullptr, 10) : 1);
    emulator_report_prefix("test");
    for (const TestCase &one : cases) {
        if (wanted == "--list")
            puts(one.name);
        if (wanted != one.name)
            continue;
        const std::string why = one.check();
        puts(why.c_str());
        return why.empty() ? 0 : 1;
    }
    return wanted == "--list" ? 0 : 2;
}
