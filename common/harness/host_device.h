/* HOST_DEVICE marks a small function that both the C harness and the kernels use. */
#ifndef GEMM_LADDER_HARNESS_HOST_DEVICE_H
#define GEMM_LADDER_HARNESS_HOST_DEVICE_H

#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

#endif
