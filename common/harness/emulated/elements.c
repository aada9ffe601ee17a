/* The operations on single elements. Nothing runs asynchronously here. */
#include "harness/elements.h"

#include "emulator/emulator.h"

void operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                   struct CUstream_st *stream) {
    for (size_t i = 0; i < count; ++i) {
        operand_write(to, format, recipe, i);
    }
    emulator_wrote(to, count * number_bytes(format), stream);
}

findings check_elements(const examination *examination, struct CUstream_st *stream) {
    findings found = NOTHING_FOUND;
    (void)stream;
    for (size_t i = 0; i < examination->reference.count; ++i) {
        check_element(examination, i, &found);
    }
    return found;
}

void elements_add_one(const problem *problem) {
    for (size_t i = 0; i < (size_t)problem->m * (size_t)problem->n; ++i) {
        ((uint32_t *)problem->d)[i] = ((const uint32_t *)problem->a)[i] + 1;
    }
}
