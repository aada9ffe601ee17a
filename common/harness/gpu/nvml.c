#include "harness/gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
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
    nvml_device device;
    nvml_status (*init)(void);
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
    static nvml found; /* until the program ends */
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    for (size_t f = 0; f < sizeof FUNCTIONS / sizeof *FUNCTIONS && library != NULL; ++f) {
        /* The address from dlsym: POSIX promises that the bits fit; C has no cast for it. */
        void *symbol = dlsym(library, FUNCTIONS[f].name);
        memcpy((char *)&found + FUNCTIONS[f].to, &symbol, sizeof symbol);
    }
    const bool good = found.init != NULL && found.init() == 0 &&
                      KNOWN(&found, device_by_pci, pci_bus_id, &found.device);
    return good ? &found : NULL;
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
