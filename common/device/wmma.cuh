// WMMA: a warp's matrix multiply in C++. A warp loads fragments of 16 x 16, multiplies them and
// stores them. Which lane holds which element is unspecified: code that changes single elements
// must not depend on where in the fragment they are. (CUDA C++ Programming Guide: Warp Matrix
// Functions.)
#pragma once

#include "device/base.cuh"

#include <mma.h>

namespace wmma = nvcuda::wmma;
