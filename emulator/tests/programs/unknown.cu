// What the emulator does not know.
#include <cub/cub.cuh>
#include "check.h"

__shared__ int outside_of_functions[4];

__global__ void kernel(int *to) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(to[0]) : "r"(0));
}

int main() {
    std::puts("it ran");
    kernel<<<1, 1>>>(nullptr);
}
