#include "harness/gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The few declarations that are needed of nvml.h, which is not installed with every toolkit. */
typedef int nvml_status; /* 0 is success */
typedef struct nvml_device *nvml_device;
enum { DRIVER_VERSION_SIZE = 80 }; /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */
enum { TEMPERATURE_GPU = 0 };      /* nvmlTemperatureSensors_t */
enum { CLOCK_SM = 1 };             /* nvmlClockType_t */
enum { UUID_SIZE = 96 };           /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */

typedef struct violation_time { /* nvmlViolationTime_t */
    unsigned long long reference_microseconds;
    unsigned long long violation_nanoseconds;
} violation_time;

struct nvml {
    void *library;
    nvml_device device;
    nvml_status (*init)(void);
    nvml_status (*shutdown)(void);
    nvml_status (*device_by_pci)(const char *, nvml_device *);
    nvml_status (*power_limit)(nvml_device, unsigned int *milliwatts);
    nvml_status (*power)(nvml_device, unsigned int *milliwatts);
    nvml_status (*violation)(nvml_device, int policy, violation_time *);
    nvml_status (*uuid)(nvml_device, char *, unsigned int);
    nvml_status (*energy)(nvml_device, unsigned long long *millijoules);
    nvml_status (*driver_version)(char *, unsigned int);
    nvml_status (*temperature)(nvml_device, int sensor, unsigned int *celsius);
    nvml_status (*clock)(nvml_device, int type, unsigned int *megahertz);
};

/* Where the functions go; what an old driver lacks stays NULL. */
static const struct {
    const char *name;
    size_t to;
} FUNCTIONS[] = {
    {"nvmlInit_v2", offsetof(nvml, init)},
    {"nvmlShutdown", offsetof(nvml, shutdown)},
    {"nvmlDeviceGetHandleByPciBusId_v2", offsetof(nvml, device_by_pci)},
    {"nvmlDeviceGetEnforcedPowerLimit", offsetof(nvml, power_limit)},
    {"nvmlDeviceGetPowerUsage", offsetof(nvml, power)},
    {"nvmlDeviceGetViolationStatus", offsetof(nvml, violation)},
    {"nvmlDeviceGetUUID", offsetof(nvml, uuid)},
    {"nvmlDeviceGetTotalEnergyConsumption", offsetof(nvml, energy)},
    {"nvmlSystemGetDriverVersion", offsetof(nvml, driver_version)},
    {"nvmlDeviceGetTemperature", offsetof(nvml, temperature)},
    {"nvmlDeviceGetClockInfo", offsetof(nvml, clock)},
};

/* True if there is a library with that function, and it did not fail. */
#define KNOWN(nvml, function, ...)                                                                 \
    ((nvml) != NULL && (nvml)->function != NULL && (nvml)->function(__VA_ARGS__) == 0)

nvml *nvml_open(const char *pci_bus_id) {
    nvml *nvml = calloc(1, sizeof *nvml);
    if (nvml == NULL) {
        return NULL;
    }
    nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (nvml->library == NULL) {
        free(nvml);
        return NULL;
    }
    for (size_t f = 0; f < sizeof FUNCTIONS / sizeof *FUNCTIONS; ++f) {
        /* The address from dlsym: POSIX promises that the bits fit; C has no cast for it. */
        void *symbol = dlsym(nvml->library, FUNCTIONS[f].name);
        memcpy((char *)nvml + FUNCTIONS[f].to, &symbol, sizeof symbol);
    }
    if (nvml->init == NULL || nvml->shutdown == NULL || nvml->init() != 0) {
        dlclose(nvml->library);
        free(nvml);
        return NULL;
    }
    if (nvml->device_by_pci == NULL || nvml->device_by_pci(pci_bus_id, &nvml->device) != 0) {
        nvml_close(nvml);
        return NULL;
    }
    return nvml;
}

void nvml_close(nvml *nvml) {
    if (nvml != NULL) {
        nvml->shutdown();
        dlclose(nvml->library);
        free(nvml);
    }
}

double nvml_power_limit_watts(const nvml *nvml) {
    unsigned int milliwatts = 0;
    return KNOWN(nvml, power_limit, nvml->device, &milliwatts) ? 1e-3 * milliwatts : NAN;
}

double nvml_power_watts(const nvml *nvml) {
    unsigned int milliwatts = 0;
    return KNOWN(nvml, power, nvml->device, &milliwatts) ? 1e-3 * milliwatts : NAN;
}

double nvml_limited_seconds(const nvml *nvml, enum clock_limit limit) {
    violation_time time = {0, 0};
    return KNOWN(nvml, violation, nvml->device, (int)limit, &time)
               ? 1e-9 * (double)time.violation_nanoseconds
               : NAN;
}

double nvml_energy_joules(const nvml *nvml) {
    unsigned long long millijoules = 0;
    return KNOWN(nvml, energy, nvml->device, &millijoules) ? 1e-3 * (double)millijoules : NAN;
}

double nvml_celsius(const nvml *nvml) {
    unsigned int celsius = 0;
    return KNOWN(nvml, temperature, nvml->device, TEMPERATURE_GPU, &celsius) ? celsius : NAN;
}

double nvml_sm_clock_ghz(const nvml *nvml) {
    unsigned int megahertz = 0;
    return KNOWN(nvml, clock, nvml->device, CLOCK_SM, &megahertz) ? 1e-3 * megahertz : NAN;
}

void nvml_card(const nvml *nvml, char *text, size_t size) {
    static const char PREFIX[] = "GPU-";
    enum { DIGITS = 8 };
    char uuid[UUID_SIZE] = "";
    const bool known = KNOWN(nvml, uuid, nvml->device, uuid, sizeof uuid) &&
                       strncmp(uuid, PREFIX, sizeof PREFIX - 1) == 0;
    snprintf(text, size, "%.*s", (int)DIGITS, known ? uuid + sizeof PREFIX - 1 : "");
}

void nvml_driver_version(const nvml *nvml, char *text, size_t size) {
    char version[DRIVER_VERSION_SIZE] = "";
    const bool known = KNOWN(nvml, driver_version, version, sizeof version);
    snprintf(text, size, "%.*s", (int)sizeof version - 1, known ? version : "");
}
