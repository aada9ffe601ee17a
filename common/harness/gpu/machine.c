/* A GPU: its properties, and its one order of events. */
#include "harness/machine.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "harness/arithmetic.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

enum { DEFAULT_SIZE = 8192, DEFAULT_MOVED_SIZE = 32768 };

static void find_device(const step *step, int index) {
    int count = 0;
    char why[256];
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        snprintf(why, sizeof why, "none was found (%s)",
                 status != cudaSuccess ? cudaGetErrorString(status) : "no device");
        device_cannot_run(step, why);
    }
    if (index >= count) {
        end_with(STATUS_USAGE, "--device %d: this machine has %d GPU%s, numbered from 0", index,
                 count, count == 1 ? "" : "s");
    }
}

/* Before this process has a context of its own: those of others. */
static void read_others(device_info *info) {
    unsigned int pids[MOST_OTHERS];
    info->others = nvml_processes(pids, MOST_OTHERS);
    for (int i = 0; i < info->others; ++i) {
        char path[32];
        char name[32] = "";
        snprintf(path, sizeof path, "/proc/%u/comm", pids[i]);
        FILE *file = fopen(path, "r"); /* there is none if it runs in another container */
        if (file != NULL) {
            (void)!fscanf(file, "%31[^\n]", name);
            fclose(file);
        }
        snprintf(info->other[i], sizeof info->other[i], "%u%s%s", pids[i], *name == 0 ? "" : " ",
                 name);
    }
}

static void read_versions(device_info *info) {
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
    nvml_driver_version(info->driver, sizeof info->driver);
    nvml_card(info->card, sizeof info->card);
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

static void read_info(int index, device_info *info) {
    struct cudaDeviceProp properties;
    char pci[32] = "";
    int limited = 0;
    cuda_check(cudaGetDeviceProperties(&properties, index), "asking for the properties of GPU %d",
               index);
    cuda_check(cudaDeviceGetPCIBusId(pci, (int)sizeof pci, index),
               "asking for the PCI bus id of GPU %d", index);
    nvml_open(pci);
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    info->compute_capability = 10 * properties.major + properties.minor;
    info->sms = properties.multiProcessorCount;
    info->shared_memory_bytes = properties.sharedMemPerBlockOptin;
    info->l2_bytes = (size_t)properties.l2CacheSize;
    info->memory_bytes = properties.totalGlobalMem;
    info->memory_bytes_per_second = memory_peak(index);
    info->power_limit_watts = nvml_power_limit_watts();
    info->default_power_watts = nvml_default_power_watts();
    read_others(info);
    info->draws =
        cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, index) == cudaSuccess &&
        limited != 0;
    info->under_windows = access("/dev/dxg", F_OK) == 0;
    read_versions(info);
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

option_rules machine_option_rules(const step *step) {
    const arithmetic arithmetic = arithmetic_of(step);
    const int size = arithmetic.moves ? DEFAULT_MOVED_SIZE : DEFAULT_SIZE;
    return (option_rules){.has = HAS_DEVICES | (machine_traces() ? HAS_TRACE : HAS_TIMES) |
                                 (arithmetic.moves ? 0 : HAS_K | HAS_CUBLASLT) |
                                 (arithmetic.takes_c ? HAS_SCALARS : 0) |
                                 (step->kernels > 0 ? HAS_KERNELS : 0),
                          .m = size,
                          .n = size,
                          .k = arithmetic.moves ? 0 : size,
                          .kernels = step->kernels};
}

size_t machine_orders(const options *options) {
    (void)options;
    return 1;
}

const char *machine_choose_order(const options *options, size_t order) {
    (void)options;
    (void)order;
    return NULL;
}

void machine_watch_output(const void *d, size_t bytes) {
    (void)d;
    (void)bytes;
}

size_t machine_trials(const step *step, int sms, const options *options,
                      struct options trials[MOST_TRIALS]) {
    (void)step;
    (void)sms;
    (void)options;
    (void)trials;
    return 0;
}
