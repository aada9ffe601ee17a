/* The type of the driver's function that makes tensor maps. C. */
#ifndef GEMM_LADDER_EMULATOR_CUDA_TYPEDEFS_H
#define GEMM_LADDER_EMULATOR_CUDA_TYPEDEFS_H

#include <cuda.h>

typedef __typeof__(&cuTensorMapEncodeTiled) PFN_cuTensorMapEncodeTiled_v12000;
typedef PFN_cuTensorMapEncodeTiled_v12000 PFN_cuTensorMapEncodeTiled;

#endif
