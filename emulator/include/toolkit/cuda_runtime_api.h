/* The part of CUDA's runtime that the rungs' host code, the harness and small programs use, for
 * the emulated device. C. The functions mean what the CUDA Runtime API says; they are implemented
 * in runtime.cpp. Copies and launches have completed when the call returns, so streams have nothing
 * to wait for. */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#define EMULATOR_DEFAULT(value) = value /* of an argument */
#else
#define EMULATOR_DEFAULT(value)
#endif

/* What the CUDA Toolkit's own headers say they belong to, and that they have been included. */
#define CUDART_VERSION 12080
#define __DRIVER_TYPES_H__
#define __CUDA_RUNTIME_H__

/* clang-format off */
#define EMULATOR_ERRORS(is) /* name, value, the same in words */ \
    is(cudaSuccess, 0, "no error") \
    is(cudaErrorInvalidValue, 1, "invalid argument") \
    is(cudaErrorMemoryAllocation, 2, "out of memory") \
    is(cudaErrorInvalidConfiguration, 9, "invalid configuration argument") \
    is(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version") \
    is(cudaErrorNoDevice, 100, "no CUDA-capable device is detected") \
    is(cudaErrorInvalidDevice, 101, "invalid device ordinal") \
    is(cudaErrorNotReady, 600, "device not ready") \
    is(cudaErrorNotSupported, 801, "operation not supported") \
    is(cudaErrorInvalidClusterSize, 912, "misconfigured cluster shape")
#define EMULATOR_ENUMERATOR(name, value, _) name = value,
typedef enum cudaError { EMULATOR_ERRORS(EMULATOR_ENUMERATOR) } cudaError_t;

#define EMULATOR_ATTRIBUTES(is) /* name, number, type and name in cudaDeviceProp, value */ \
    is(MaxThreadsPerBlock, 1, int, maxThreadsPerBlock, LARGEST_BLOCK) \
    is(MaxSharedMemoryPerBlock, 8, size_t, sharedMemPerBlock, SHARED_WITHOUT_ASKING) \
    is(TotalConstantMemory, 9, size_t, totalConstMem, 65536) \
    is(WarpSize, 10, int, warpSize, WARP_LANES) \
    is(MaxRegistersPerBlock, 12, int, regsPerBlock, 65536) \
    is(ClockRate, 13, int, clockRate, SOME_RATE) \
    is(MultiProcessorCount, 16, int, multiProcessorCount, MULTIPROCESSORS) \
    is(Integrated, 18, int, integrated, 0) \
    is(CanMapHostMemory, 19, int, canMapHostMemory, 1) \
    is(ComputeMode, 20, int, computeMode, cudaComputeModeDefault) \
    is(ConcurrentKernels, 31, int, concurrentKernels, 1) \
    is(MemoryClockRate, 36, int, memoryClockRate, SOME_RATE) \
    is(GlobalMemoryBusWidth, 37, int, memoryBusWidth, 512) \
    is(L2CacheSize, 38, int, l2CacheSize, SMALL_CACHE) \
    is(MaxThreadsPerMultiProcessor, 39, int, maxThreadsPerMultiProcessor, MOST_THREADS) \
    is(AsyncEngineCount, 40, int, asyncEngineCount, 1) \
    is(ComputeCapabilityMajor, 75, int, major, card().capability / 10) \
    is(ComputeCapabilityMinor, 76, int, minor, card().capability % 10) \
    is(MaxSharedMemoryPerMultiprocessor, 81, size_t, sharedMemPerMultiprocessor, \
        card().shared_of_sm) \
    is(MaxRegistersPerMultiprocessor, 82, int, regsPerMultiprocessor, 65536) \
    is(ManagedMemory, 83, int, managedMemory, 1) \
    is(CooperativeLaunch, 95, int, cooperativeLaunch, 1) \
    is(MaxSharedMemoryPerBlockOptin, 97, size_t, sharedMemPerBlockOptin, card().largest_shared()) \
    is(MaxBlocksPerMultiprocessor, 106, int, maxBlocksPerMultiProcessor, MOST_BLOCKS) \
    is(ReservedSharedMemoryPerBlock, 111, size_t, reservedSharedMemPerBlock, RESERVED_SHARED) \
    is(ClusterLaunch, 120, int, clusterLaunch, card().has_clusters())
#define EMULATOR_ATTRIBUTE_NUMBER(name, number, type, property, value) cudaDevAttr##name = number,
#define EMULATOR_PROPERTY(name, number, type, property, value) type property;
enum cudaDeviceAttr { EMULATOR_ATTRIBUTES(EMULATOR_ATTRIBUTE_NUMBER) };
/* clang-format on */

/* "cudaErrorInvalidValue", and the same in words. */
const char *cudaGetErrorName(cudaError_t error);
const char *cudaGetErrorString(cudaError_t error);

/* The first error of a launch since the last call, which forgets it. */
cudaError_t cudaGetLastError(void);
/* The same without forgetting it. */
cudaError_t cudaPeekAtLastError(void);

/* There is one device, number 0. */
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);

/* 0: there is neither a CUDA runtime nor a driver. */
cudaError_t cudaRuntimeGetVersion(int *version);
cudaError_t cudaDriverGetVersion(int *version);

enum cudaComputeMode {
    cudaComputeModeDefault = 0,
    cudaComputeModeExclusive = 1,
    cudaComputeModeProhibited = 2,
    cudaComputeModeExclusiveProcess = 3
};

/* cudaErrorInvalidValue for an attribute that is not listed above. */
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device);

/* What a program says about the machine it ran on. */
typedef struct cudaDeviceProp {
    char name[256];
    size_t totalGlobalMem;
    int maxThreadsDim[3], maxGridSize[3];
    EMULATOR_ATTRIBUTES(EMULATOR_PROPERTY)
} cudaDeviceProp;

/* Of device 0. */
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);

typedef struct CUstream_st *cudaStream_t;

/* What they wait for has already happened. Work on streams that nothing orders is unordered, though
 * it runs at once. */
cudaError_t cudaDeviceSynchronize(void);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);

enum { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
#define cudaStreamLegacy ((cudaStream_t)0x1)

/* Events: the time between two is that of the CPU. */
typedef struct CUevent_st *cudaEvent_t;
enum { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream EMULATOR_DEFAULT(nullptr));
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int flags EMULATOR_DEFAULT(0));
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t begin, cudaEvent_t end);

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

/* Device memory is memory of this process, 256-byte aligned, with unspecified contents. */
cudaError_t cudaMalloc(void **memory, size_t bytes);
cudaError_t cudaFree(void *memory);
/* Host memory, and memory that both see. */
cudaError_t cudaMallocHost(void **memory, size_t bytes);
cudaError_t cudaMallocManaged(void **memory, size_t bytes, unsigned int flags EMULATOR_DEFAULT(0));
cudaError_t cudaFreeHost(void *memory);
enum { cudaHostAllocDefault, cudaHostAllocPortable, cudaHostAllocMapped };
enum { cudaHostAllocWriteCombined = 4, cudaMemAttachGlobal = 1, cudaCpuDeviceId = -1 };
cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total_bytes);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream EMULATOR_DEFAULT(nullptr));
cudaError_t cudaMemset(void *memory, int value, size_t bytes);
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes,
                            cudaStream_t stream EMULATOR_DEFAULT(nullptr));

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9,
    cudaFuncAttributeNonPortableClusterSizeAllowed = 14
};
enum {
    cudaSharedmemCarveoutDefault = -1,
    cudaSharedmemCarveoutMaxShared = 100,
    cudaSharedmemCarveoutMaxL1 = 0
};

/* The last two have no effect. Dynamic shared memory that a launch of the kernel may request; 48 KB
 * before the first call. */
cudaError_t cudaFuncSetAttribute(const void *kernel, enum cudaFuncAttribute attribute, int value);

enum cudaDriverEntryPointQueryResult {
    cudaDriverEntryPointSuccess = 0,
    cudaDriverEntryPointSymbolNotFound = 1
};
enum { cudaEnableDefault = 0 };

/* Finds cuTensorMapEncodeTiled, and no other function. */
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                             unsigned int cuda_version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result);

#ifdef __cplusplus
}
#endif
