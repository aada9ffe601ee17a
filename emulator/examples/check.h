// What the mains share: operands of small integers, whose sums are exact, and the comparison.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

// The kernel's number: the program's argument.
inline int number_of(int argc, char **argv, int first, int last) {
    const int number = argc > 1 ? std::atoi(argv[1]) : 0;
    if (number >= first && number <= last)
        return number;
    std::fprintf(stderr, "which kernel? The argument is a number from %d to %d\n", first, last);
    std::exit(2);
}

// From -2 to 2.
template <typename T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> made(count);
    for (T &value : made)
        value = T(float(int(random() % 5) - 2));
    return made;
}

inline void expect_success(cudaError_t error, const char *what) {
    if (error == cudaSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

template <typename T>
T *on_device(const std::vector<T> &values) {
    T *memory = nullptr;
    expect_success(cudaMalloc(&memory, values.size() * sizeof(T)), "cudaMalloc");
    cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice);
    return memory;
}

// a[m][k] * b[n][k], the sum over k.
template <typename T>
std::vector<float> product(const std::vector<T> &a, const std::vector<T> &b, int M, int N, int K) {
    std::vector<float> sums(std::size_t(M) * N);
    for (int m = 0; m < M; ++m)
        for (int n = 0; n < N; ++n)
            for (int k = 0; k < K; ++k)
                sums[m * N + n] += float(a[m * K + k]) * float(b[n * K + k]);
    return sums;
}

// 0 if the matrix, of rows of `columns` elements, is as expected, rounded to its type; else prints
// the first difference.
template <typename T, typename E>
int compare(const T *memory, const std::vector<E> &expected, int columns) {
    expect_success(cudaGetLastError(), "the launch");
    expect_success(cudaDeviceSynchronize(), "the kernel");
    std::vector<T> found(expected.size());
    cudaMemcpy(found.data(), memory, found.size() * sizeof(T), cudaMemcpyDeviceToHost);
    for (std::size_t at = 0; at < found.size(); ++at)
        if (float(found[at]) != float(T(expected[at]))) {
            std::printf("wrong: [%d][%d] is %g, not %g\n", int(at) / columns, int(at) % columns,
                        double(found[at]), double(T(expected[at])));
            return 1;
        }
    return 0;
}
