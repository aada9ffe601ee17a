// Makes a problem, runs the rung on it, checks and times it. Its memory is freed when it ends.

#include <stdio.h>
#include <stdlib.h>

enum ExitStatus { VERIFIED = 0, FAILED = 1, UNSUPPORTED = 2, CANNOT_RUN = 77 };

constexpr int BLOCK = 256; // threads per CTA of the kernels below

// Ends the program, after one line about it, if a call failed. `value` is what it was doing it to.
static void check(cudaError_t status, const char *doing, size_t value) {
    if (launch_check(status, doing, (long long)value))
        exit(status == cudaErrorMemoryAllocation ? UNSUPPORTED : FAILED);
}

// Device memory for `count` elements.
template <typename T>
static T *allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    T *memory = nullptr;
    check(cudaMalloc(&memory, bytes), "allocating device memory, bytes", bytes);
    return memory;
}

// Runs a kernel with a thread for each of `count` elements, and waits for it.
template <typename... Parameters, typename... Arguments>
static void for_each(size_t count, void (*kernel)(Parameters...), const Arguments &...arguments) {
    const dim3 grid(unsigned((count + BLOCK - 1) / BLOCK));
    if (launch(kernel, grid, dim3(BLOCK), dim3(1), 0, nullptr, arguments...))
        exit(FAILED);
    check(cudaDeviceSynchronize(), "running a kernel on so many elements", count);
}

// In such a kernel: the calling thread's element.
DEVICE size_t my_element() { return size_t(blockIdx.x) * BLOCK + threadIdx.x; }
