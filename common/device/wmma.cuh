// WMMA: a warp's matrix multiply as C++ knows it. A warp loads fragments of 16 x 16, multiplies
// them and stores them; which lane holds which element is not said, so that what is done to single
// elements must not depend on where they stand. (CUDA C++ Programming Guide: Warp Matrix
// Functions.)
#pragma once

#include "device/base.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;
