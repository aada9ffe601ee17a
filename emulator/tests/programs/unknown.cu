// What the emulator does not know.
#include <cub/cub.cuh>
#include "check.h"

__shared__ int outside_of_functions[4];

__global__ void kernel(int *to) { to[0] = outside_of_functions[0]; }

int main() {
    std::puts("it ran");
    kernel<<<1, 1>>>(nullptr);
}
