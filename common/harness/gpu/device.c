#include "harness/device.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "harness/cuda_failed.h"
#include "harness/exit_status.h"
#include "harness/message.h"
#include "harness/gpu/nvml.h"

/* "9.0", "8.0 to 9.0" or "8.0 or later" */
static void wanted_capability(const step *step, char *text, size_t size) {
    const int low = step->min_compute_capability;
    const int high = step->max_compute_capability;
    if (low == high) {
        snprintf(text, size, "%d.%d", low / 10, low % 10);
    } else if (high >= EVERY_LATER_CAPABILITY) {
        snprintf(text, size, "%d.%d or later", low / 10, low % 10);
    } else {
        snprintf(text, size, "%d.%d to %d.%d", low / 10, low % 10, high / 10, high % 10);
    }
}

static int cannot_run(const step *step, const char *why) {
    char wanted[32];
    wanted_capability(step, wanted, sizeof wanted);
    message("cannot run here: it needs an NVIDIA GPU of compute capability %s and its driver, but "
            "%s; run it on a machine that has one, or on the CPU with `make step N=%s EMULATE=1`",
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
    info->l2_bytes = (size_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    info->power_limit_watts = nvml_power_limit_watts(device->nvml);
    read_versions(device, info);
    return STATUS_VERIFIED;
}

static int check_capability(const step *step, const device_info *info) {
    if (info->compute_capability >= step->min_compute_capability &&
        info->compute_capability <= step->max_compute_capability) {
        return STATUS_VERIFIED;
    }
    char why[384];
    snprintf(why, sizeof why, "this is a %s of compute capability %d.%d", info->name,
             info->compute_capability / 10, info->compute_capability % 10);
    return cannot_run(step, why);
}

int device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    device->index = index;
    int status = find_device(step, index);
    if (status == STATUS_VERIFIED) {
        status = read_info(device);
    }
    if (status == STATUS_VERIFIED) {
        status = check_capability(step, &device->info);
    }
    if (status == STATUS_VERIFIED &&
        (cuda_failed(cudaSetDevice(index), "taking GPU %d", index) ||
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
