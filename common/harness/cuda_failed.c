#include "harness/cuda_failed.h"

#include <stdarg.h>
#include <stdio.h>

#include "harness/message.h"

bool cuda_failed(cudaError_t status, const char *format, ...) {
    if (status == cudaSuccess) {
        return false;
    }
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    message("%s failed: %s: %s", what, cudaGetErrorName(status), cudaGetErrorString(status));
    return true;
}
