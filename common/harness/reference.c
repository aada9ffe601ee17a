/* The memory of a reference; the same on both machines. */
#include "harness/reference.h"

#include "harness/buffers.h"
#include "harness/message.h"

static size_t element_bytes(const arithmetic *arithmetic) {
    return arithmetic->moves ? sizeof(uint32_t) : sizeof(expected);
}

double reference_bytes(const arithmetic *arithmetic, int m, int n) {
    return (double)m * (double)n * (double)element_bytes(arithmetic);
}

reference reference_create(const arithmetic *arithmetic, int m, int n, int k) {
    reference result = {.arithmetic = *arithmetic, .m = m, .n = n, .k = k};
    result.rows = (size_t)(arithmetic->transposes ? n : m);
    result.columns = (size_t)(arithmetic->transposes ? m : n);
    result.count = result.rows * result.columns;
    void *memory = device_memory(result.count * element_bytes(arithmetic), "the reference");
    result.elements = arithmetic->moves ? NULL : memory;
    result.words = arithmetic->moves ? memory : NULL;
    return result;
}

void reference_destroy(const reference *reference) {
    (void)cudaFree(reference->elements);
    (void)cudaFree(reference->words);
}
