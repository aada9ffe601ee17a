// Linked around cudaMemcpy of a standalone program on the emulator: STANDALONE_DAMAGE="2 17" in the
// environment turns a bit of byte 17 over in the second copy, so that a test sees whether the
// program finds it.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

extern "C" cudaError_t __real_cudaMemcpy(void *to, const void *from, size_t bytes,
                                         cudaMemcpyKind kind);

extern "C" cudaError_t __wrap_cudaMemcpy(void *to, const void *from, size_t bytes,
                                         cudaMemcpyKind kind) {
    static int copies = 0;
    const char *wish = std::getenv("STANDALONE_DAMAGE");
    int copy = 0;
    size_t byte = 0;
    const cudaError_t status = __real_cudaMemcpy(to, from, bytes, kind);
    ++copies;
    if (wish != nullptr && std::sscanf(wish, "%d %zu", &copy, &byte) == 2 && copy == copies &&
        byte < bytes)
        static_cast<unsigned char *>(to)[byte] ^= 1;
    return status;
}
