/* The operations on single elements. Nothing runs asynchronously here. */
#include "emulator/emulator.h"
#include "harness/check.h"
#include "harness/operands.h"

void operands_fill(void *to, enum number format, size_t count, const recipe *recipe,
                   struct CUstream_st *stream) {
    for (size_t i = 0; i < count; ++i) {
        operand_write(to, format, recipe, i);
    }
    emulator_wrote(to, count * number_bytes(format), stream);
}

findings check_elements(const examination *examination, enum check_pass pass, size_t count,
                        struct CUstream_st *stream) {
    findings found = NOTHING_FOUND;
    (void)stream;
    for (size_t i = 0; i < count; ++i) {
        check_element(examination, pass, i, &found);
    }
    return found;
}
