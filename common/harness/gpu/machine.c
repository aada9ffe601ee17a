/* A GPU and its properties. */
#include "harness/machine.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/gpu/nvml.h"
#include "harness/message.h"

static void find_device(const step *step, int index) {
    int count = 0;
    char why[256];
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        snprintf(why, sizeof why, "none was found (%s)", cudaGetErrorString(status));
        device_cannot_run(step, why);
    }
    if (index >= count) {
        end_with(STATUS_USAGE, "--device %d: this machine has %d GPU%s, numbered from 0", index,
                 count, count == 1 ? "" : "s");
    }
}

/* 0 if the driver does not say: no failure. */
static int attribute_of(int index, enum cudaDeviceAttr attribute) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, index) != cudaSuccess) {
        (void)cudaGetLastError();
        value = 0;
    }
    return value;
}

/* The memory moves data at both edges of its clock. NAN if it is not known. */
static double memory_peak(int index) {
    const double hertz = 1e3 * attribute_of(index, cudaDevAttrMemoryClockRate);
    const double bytes = attribute_of(index, cudaDevAttrGlobalMemoryBusWidth) / 8.0;
    return hertz > 0 && bytes > 0 ? 2 * hertz * bytes : NAN;
}

/* Before this process has a context of its own: it is none of those that compute on the GPU. */
static void read_info(int index, device_info *info) {
    struct cudaDeviceProp properties;
    char pci[32] = "";
    const size_t cublas = cublasLtGetVersion();
    cuda_check(cudaGetDeviceProperties(&properties, index), "asking for the properties of GPU %d",
               index);
    cuda_check(cudaDeviceGetPCIBusId(pci, (int)sizeof pci, index),
               "asking for the PCI bus id of GPU %d", index);
    nvml_open(pci, info);
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->compute_capability = 10 * properties.major + properties.minor;
    info->sms = properties.multiProcessorCount;
    info->shared_memory_bytes = properties.sharedMemPerBlockOptin;
    info->l2_bytes = (size_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    info->memory_bytes_per_second = memory_peak(index);
    info->draws = attribute_of(index, cudaDevAttrKernelExecTimeout) != 0;
    info->under_windows = access("/dev/dxg", F_OK) == 0;
    snprintf(info->cuda, sizeof info->cuda, "%d.%d", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    snprintf(info->cublas, sizeof info->cublas, "%zu.%zu.%zu", cublas / 10000, cublas / 100 % 100,
             cublas % 100);
}

void device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    find_device(step, index);
    read_info(index, &device->info);
    device_check(step, &device->info);
    cuda_check(cudaSetDevice(index), "taking GPU %d", index);
    cuda_check(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "choosing to wait by polling");
    /* As PyTorch's streams: nothing on the legacy stream is ordered with what runs on it. */
    cuda_check(cudaStreamCreateWithFlags(&device->stream, cudaStreamNonBlocking),
               "making a stream on GPU %d", index);
}

size_t device_free_bytes(void) {
    size_t bytes;
    size_t total;
    cuda_check(cudaMemGetInfo(&bytes, &total), "asking for the free GPU memory");
    return bytes;
}

void device_wait(const device *device, const char *what) {
    cuda_check(cudaStreamSynchronize(device->stream), "running %s", what);
    cuda_check(cudaGetLastError(), "running %s", what);
}
