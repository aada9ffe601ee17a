// What the mains share: operands of small integers, whose sums are exact, and the comparison.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

// From -2 to 2.
template <typename T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<T> made(count);
    for (T &value : made)
        value = T(float(int(random() % 5) - 2));
    return made;
}

template <typename T>
T *on_device(const std::vector<T> &values) {
    T *memory = nullptr;
    cudaMalloc(&memory, values.size() * sizeof(T));
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

// 0 if the matrix is as expected, rounded to its type. A launch that failed has left it as it was.
template <typename T, typename E>
int compare(const T *memory, const std::vector<E> &expected) {
    std::vector<T> found(expected.size());
    cudaMemcpy(found.data(), memory, found.size() * sizeof(T), cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (std::size_t at = 0; at < found.size(); ++at)
        wrong += float(found[at]) != float(T(expected[at]));
    std::printf("%d of %zu elements are wrong\n", wrong, found.size());
    return wrong != 0;
}
