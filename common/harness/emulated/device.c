/* The emulator as a device: host memory, and one stream that is always done. */
#include "harness/device.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "emulator/emulator.h"
#include "harness/cuda_failed.h"
#include "harness/emulated/launch_progress.h"
#include "harness/exit_status.h"

int device_open(const step *step, int index, device *device) {
    memset(device, 0, sizeof *device);
    device->index = index;
    device_info *info = &device->info;
    info->emulated = true;
    info->compute_capability = step->max_compute_capability >= EVERY_LATER_CAPABILITY
                                   ? step->min_compute_capability
                                   : step->max_compute_capability;
    info->power_limit_watts = NAN;
    info->memory_bytes_per_second = NAN;
    snprintf(info->name, sizeof info->name, "CPU emulator%s",
             emulator_detects_races() ? " under ThreadSanitizer" : "");
    emulator_report_prefix(step->name);
    if (cuda_failed(cudaDeviceGetAttribute(&info->sms, cudaDevAttrMultiProcessorCount, index),
                    "asking for the number of multiprocessors")) {
        return STATUS_FAILED;
    }
    return STATUS_VERIFIED;
}

void device_close(device *device) { (void)device; }

int device_free_bytes(size_t *bytes) {
    char line[128];
    size_t kilobytes;
    *bytes = SIZE_MAX; /* unknown: too large an allocation will fail */
    FILE *file = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) {
            *bytes = kilobytes * 1024;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return 0;
}

int device_check_launch(const char *what) {
    return cuda_failed(cudaGetLastError(), "launching %s", what);
}

int device_wait(const device *device, const char *what) {
    launch_progress_hide();
    return cuda_failed(cudaStreamSynchronize(device->stream), "running %s", what);
}
