/* cuBLAS as the second opinion. */
#pragma once

#include "harness/gpu/lt_matmul.h"
#include "harness/reference.h"

/* What CONTENDER_HEURISTIC launches. */
lt_matmul *cublas_matmul(const second_opinion *opinion);
