// An instruction that the emulator does not know.
__global__ void kernel(int *to) {
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(to[0]) : "r"(0));
}

int main() {
    int *to = nullptr;
    cudaMalloc(&to, 4);
    kernel<<<1, 1>>>(to);
}
