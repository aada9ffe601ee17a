#include "harness/check.h"

int check_elements(const examination *examination, enum check_pass pass, size_t count,
                   struct CUstream_st *stream, findings *found) {
    (void)stream; /* nothing runs beside the host here */
    *found = (findings)NOTHING_FOUND;
    for (size_t i = 0; i < count; ++i) {
        check_element(examination, pass, i, found);
    }
    return 0;
}
