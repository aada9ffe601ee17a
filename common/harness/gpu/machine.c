/* A GPU: its properties, and its one order of events. */
#include "harness/machine.h"

#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/arithmetic.h"
#include "harness/gpu/nvml.h"
#include "harness/message.h"

enum { DEFAULT_SIZE = 8192, DEFAULT_MOVED_SIZE = 32768 };

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

static void cannot_run(const step *step, const char *why) {
    char wanted[128];
    wanted_gpu(step, wanted, sizeof wanted);
    end_with(STATUS_CANNOT_RUN,
             "cannot run here: it needs an NVIDIA GPU of %s and its driver, but %s; run it on a "
             "machine that has one, or on the CPU with `make step N=%s EMULATE=1`",
             wanted, why, step->name);
}

static void find_device(const step *step, int index) {
    int count = 0;
    char why[256];
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
        snprintf(why, sizeof why, "none was found (%s)",
                 status != cudaSuccess ? cudaGetErrorString(status) : "no device");
        cannot_run(step, why);
    }
    if (index >= count) {
        end_with(STATUS_USAGE, "--device %d: this machine has %d GPU%s, numbered from 0", index,
                 count, count == 1 ? "" : "s");
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
    read_versions(info);
}

static void check_fit(const step *step, const device_info *info) {
    char why[384];
    if (info->compute_capability < step->min_compute_capability ||
        info->compute_capability > step->max_compute_capability) {
        snprintf(why, sizeof why, "this is a %s of compute capability %d.%d", info->name,
                 info->compute_capability / 10, info->compute_capability % 10);
        cannot_run(step, why);
    }
    if (info->shared_memory_bytes < (size_t)step->min_shared_memory) {
        snprintf(why, sizeof why, "this is a %s, where a CTA can have %zu KB of it", info->name,
                 info->shared_memory_bytes / 1024);
        cannot_run(step, why);
    }
}

void device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    find_device(step, index);
    read_info(index, &device->info);
    check_fit(step, &device->info);
    cuda_check(cudaSetDevice(index), "taking GPU %d", index);
    cuda_check(cudaSetDeviceFlags(cudaDeviceScheduleSpin), "choosing to wait by polling");
    cuda_check(cudaStreamCreate(&device->stream), "making a stream on GPU %d", index);
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
    return (option_rules){.m = size,
                          .n = size,
                          .k = arithmetic.moves ? 0 : size,
                          .takes_scalars = arithmetic.takes_c,
                          .moves = arithmetic.moves,
                          .traces = machine_traces(),
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
