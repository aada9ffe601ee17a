// What the programs share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#define EXPECT(condition)                                                                          \
    if (!(condition)) {                                                                            \
        std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                        \
        std::exit(1);                                                                              \
    }
#define CHECK(call) EXPECT((call) == cudaSuccess)

// `count` numbers from `first` on, on the device.
template <typename T>
T *numbers(int count, int first) {
    std::vector<T> values;
    for (int i = 0; i < count; ++i)
        values.push_back(T(float(first + i)));
    T *memory = nullptr;
    CHECK(cudaMalloc((void **)&memory, count * sizeof(T)));
    CHECK(cudaMemcpy(memory, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    return memory;
}

template <typename T>
T at(const T *memory, int index) {
    T value;
    CHECK(cudaMemcpy(&value, memory + index, sizeof(T), cudaMemcpyDeviceToHost));
    return value;
}
