// The runtime's functions that have to do with the device and its memory; launch.cpp has the
// others.
#include "emulator/runtime.h"
#include "emulator/copy.h"
#include "emulator/global_memory.h"
#include "emulator/machine.h"

#include <cuda.h>
#include <cuda_runtime.h>

#include <map>
#include <string>

static constexpr int COMPUTE_CAPABILITY_MAJOR = 9;
static constexpr int COMPUTE_CAPABILITY_MINOR = 0;
static constexpr int RESERVED_SHARED = 1024; // of each CTA, the system's

// The errors that there are, their names and the same in words.
static const struct {
    cudaError_t error;
    const char *name, *words;
} ERRORS[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidClusterSize, "cudaErrorInvalidClusterSize", "misconfigured cluster shape"}};

const char *cudaGetErrorName(cudaError_t error) {
    for (const auto &known : ERRORS)
        if (known.error == error)
            return known.name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
    for (const auto &known : ERRORS)
        if (known.error == error)
            return known.words;
    return "unrecognized error code";
}

cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    static const std::map<cudaDeviceAttr, int> values = {
        {cudaDevAttrMultiProcessorCount, emulator::MULTIPROCESSORS},
        {cudaDevAttrL2CacheSize, 1 << 20}, // there is none: small, so that small products exceed it
        {cudaDevAttrComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR},
        {cudaDevAttrComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, int(emulator::LARGEST_SHARED)},
        {cudaDevAttrReservedSharedMemoryPerBlock, RESERVED_SHARED},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, // room for one CTA of the largest
         int(emulator::LARGEST_SHARED + RESERVED_SHARED)}};
    const auto found = values.find(attribute);
    if (found == values.end())
        return cudaErrorInvalidValue;
    *value = found->second;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
    if (device != 0)
        return cudaErrorInvalidDevice;
    *properties = {"the emulated device", COMPUTE_CAPABILITY_MAJOR, COMPUTE_CAPABILITY_MINOR,
                   emulator::MULTIPROCESSORS};
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() { return cudaSuccess; }

cudaError_t cudaStreamCreate(cudaStream_t *stream) {
    *stream = nullptr; // the default stream serves as any
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

// ---------------------------------------------------------------------------- memory

cudaError_t cudaMalloc(void **memory, size_t bytes) {
    *memory = nullptr;
    if (bytes == 0)
        return cudaSuccess;
    *memory = emulator::global_allocate(bytes);
    return *memory != nullptr ? cudaSuccess
                              : cudaError_t(emulator::failed(cudaErrorMemoryAllocation));
}

cudaError_t cudaFree(void *memory) {
    if (memory != nullptr)
        emulator::global_free(memory);
    return cudaSuccess;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind) {
    emulator::copy_bytes(to, from, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaMemset(void *memory, int value, size_t bytes) {
    emulator::fill_bytes(memory, (unsigned char)value, bytes);
    return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t) {
    return cudaMemset(memory, value, bytes);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult *result) {
    const bool found = std::string(symbol) == "cuTensorMapEncodeTiled";
    *function = found ? reinterpret_cast<void *>(&cuTensorMapEncodeTiled) : nullptr;
    *result = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}
