#include "harness/device.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/exit_status.h"
#include "harness/message.h"
#include "harness/gpu/nvml.h"

/* "compute capability 9.0", "... 8.0 to 9.0" or "... 8.0 or later", and the shared memory. */
static void wanted_gpu(const step *step, char *text, size_t size) {
    const int low = step->min_compute_capability;
    const int high = step->max_compute_capability;
    char upper[32] = "";
    char memory[64] = "";
    if (high >= EVERY_LATER_CAPABILITY) {
        snprintf(upper, sizeof upper, " or later");
    } else if (high > low) {
        snprintf(upper, sizeof upper, " to %d.%d", high / 10, high % 10);
    }
    if (step->min_shared_memory > 0) {
        snprintf(memory, sizeof memory, ", with %d KB of shared memory for a CTA,",
                 (step->min_shared_memory + 1023) / 1024);
    }
    snprintf(text, size, "compute capability %d.%d%s%s", low / 10, low % 10, upper, memory);
}

static int cannot_run(const step *step, const char *why) {
    char wanted[128];
    wanted_gpu(step, wanted, sizeof wanted);
    message(
        "cannot run here: it needs an NVIDIA GPU of %s and its driver, but %s; run it on a machine "
        "that has one, or on the CPU with `make step N=%s EMULATE=1`",
        wanted, why, step->name);
    return STATUS_CANNOT_RUN;
}

static int find_device(const step *step, int index) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        char why[256];
        snprintf(why, sizeof why, "none was found (%s)",
                 status != cudaSuccess ? cudaGetErrorString(status) : "no device");
        return cannot_run(step, why);
    }
    if (index >= count) {
        message("--device %d: this machine has %d GPU%s, numbered from 0", index, count,
                count == 1 ? "" : "s");
        return STATUS_USAGE;
    }
    return STATUS_VERIFIED;
}

static void read_versions(const device *device, device_info *info) {
    int runtime = 0;
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess) {
        snprintf(info->cuda, sizeof info->cuda, "%d.%d", runtime / 1000, runtime % 1000 / 10);
    }
    int major = 0;
    int minor = 0;
    int patch = 0;
    if (cublasGetProperty(MAJOR_VERSION, &major) == CUBLAS_STATUS_SUCCESS &&
        cublasGetProperty(MINOR_VERSION, &minor) == CUBLAS_STATUS_SUCCESS &&
        cublasGetProperty(PATCH_LEVEL, &patch) == CUBLAS_STATUS_SUCCESS) {
        snprintf(info->cublas, sizeof info->cublas, "%d.%d.%d", major, minor, patch);
    }
    nvml_driver_version(device->nvml, info->driver, sizeof info->driver);
    nvml_card(device->nvml, info->card, sizeof info->card);
}

/* The memory moves data at both edges of its clock. NAN if the driver does not say. */
static double memory_peak(int index) {
    int kilohertz = 0;
    int bits = 0;
    if (cudaDeviceGetAttribute(&kilohertz, cudaDevAttrMemoryClockRate, index) != cudaSuccess ||
        cudaDeviceGetAttribute(&bits, cudaDevAttrGlobalMemoryBusWidth, index) != cudaSuccess ||
        kilohertz <= 0 || bits <= 0) {
        (void)cudaGetLastError(); /* not known: no failure */
        return NAN;
    }
    return 2 * 1e3 * (double)kilohertz * (double)bits / 8;
}

static int read_info(device *device) {
    struct cudaDeviceProp properties;
    char pci[32] = "";
    if (cuda_failed(cudaGetDeviceProperties(&properties, device->index),
                    "asking for the properties of GPU %d", device->index) ||
        cuda_failed(cudaDeviceGetPCIBusId(pci, (int)sizeof pci, device->index),
                    "asking for the PCI bus id of GPU %d", device->index)) {
        return STATUS_FAILED;
    }
    device->nvml = nvml_open(pci);
    device_info *info = &device->info;
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->compute_capability = 10 * properties.major + properties.minor;
    info->sms = properties.multiProcessorCount;
    info->shared_memory_bytes = properties.sharedMemPerBlockOptin;
    info->l2_bytes = (size_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    info->memory_bytes_per_second = memory_peak(device->index);
    info->power_limit_watts = nvml_power_limit_watts(device->nvml);
    read_versions(device, info);
    return STATUS_VERIFIED;
}

static int check_fit(const step *step, const device_info *info) {
    char why[384];
    if (info->compute_capability < step->min_compute_capability ||
        info->compute_capability > step->max_compute_capability) {
        snprintf(why, sizeof why, "this is a %s of compute capability %d.%d", info->name,
                 info->compute_capability / 10, info->compute_capability % 10);
        return cannot_run(step, why);
    }
    if (info->shared_memory_bytes < (size_t)step->min_shared_memory) {
        snprintf(why, sizeof why, "this is a %s, where a CTA can have %zu KB of it", info->name,
                 info->shared_memory_bytes / 1024);
        return cannot_run(step, why);
    }
    return STATUS_VERIFIED;
}

int device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    device->index = index;
    int status = find_device(step, index);
    if (status == STATUS_VERIFIED) {
        status = read_info(device);
    }
    if (status == STATUS_VERIFIED) {
        status = check_fit(step, &device->info);
    }
    if (status == STATUS_VERIFIED &&
        (cuda_failed(cudaSetDevice(index), "taking GPU %d", index) ||
         cuda_failed(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "choosing to wait by polling") ||
         cuda_failed(cudaStreamCreate(&device->stream), "making a stream on GPU %d", index))) {
        status = STATUS_FAILED;
    }
    if (status != STATUS_VERIFIED) {
        device_close(device);
    }
    return status;
}

void device_close(device *device) {
    if (device->stream != NULL) {
        /* After a fault every call repeats the error that was reported already. */
        (void)cudaStreamDestroy(device->stream);
        device->stream = NULL;
    }
    nvml_close(device->nvml);
    device->nvml = NULL;
}

int device_free_bytes(size_t *bytes) {
    size_t total;
    return cuda_failed(cudaMemGetInfo(bytes, &total), "asking for the free GPU memory");
}

int device_check_launch(const char *what) {
    return cuda_failed(cudaGetLastError(), "launching %s", what);
}

int device_wait(const device *device, const char *what) {
    return cuda_failed(cudaStreamSynchronize(device->stream), "running %s", what) ||
           cuda_failed(cudaGetLastError(), "running %s", what);
}

double device_energy_joules(const device *device) { return nvml_energy_joules(device->nvml); }
