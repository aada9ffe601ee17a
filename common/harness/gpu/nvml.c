#include "harness/gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
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

/* A function's address from dlsym. POSIX promises that the bits fit; C has no cast for it. */
static void find(const nvml *nvml, const char *name, void *function) {
    void *symbol = dlsym(nvml->library, name);
    memcpy(function, &symbol, sizeof symbol);
}

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
    find(nvml, "nvmlInit_v2", &nvml->init);
    find(nvml, "nvmlShutdown", &nvml->shutdown);
    find(nvml, "nvmlDeviceGetHandleByPciBusId_v2", &nvml->device_by_pci);
    find(nvml, "nvmlDeviceGetEnforcedPowerLimit", &nvml->power_limit);
    find(nvml, "nvmlDeviceGetPowerUsage", &nvml->power);
    find(nvml, "nvmlDeviceGetViolationStatus", &nvml->violation);
    find(nvml, "nvmlDeviceGetUUID", &nvml->uuid);
    find(nvml, "nvmlDeviceGetTotalEnergyConsumption", &nvml->energy);
    find(nvml, "nvmlSystemGetDriverVersion", &nvml->driver_version);
    find(nvml, "nvmlDeviceGetTemperature", &nvml->temperature);
    find(nvml, "nvmlDeviceGetClockInfo", &nvml->clock);
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
    if (nvml == NULL || nvml->power_limit == NULL ||
        nvml->power_limit(nvml->device, &milliwatts) != 0) {
        return NAN;
    }
    return 1e-3 * milliwatts;
}

double nvml_power_watts(const nvml *nvml) {
    unsigned int milliwatts = 0;
    if (nvml == NULL || nvml->power == NULL || nvml->power(nvml->device, &milliwatts) != 0) {
        return NAN;
    }
    return 1e-3 * milliwatts;
}

double nvml_limited_seconds(const nvml *nvml, enum clock_limit limit) {
    violation_time time = {0, 0};
    if (nvml == NULL || nvml->violation == NULL ||
        nvml->violation(nvml->device, (int)limit, &time) != 0) {
        return NAN;
    }
    return 1e-9 * (double)time.violation_nanoseconds;
}

double nvml_energy_joules(const nvml *nvml) {
    unsigned long long millijoules = 0;
    if (nvml == NULL || nvml->energy == NULL || nvml->energy(nvml->device, &millijoules) != 0) {
        return NAN;
    }
    return 1e-3 * (double)millijoules;
}

double nvml_celsius(const nvml *nvml) {
    unsigned int celsius = 0;
    if (nvml == NULL || nvml->temperature == NULL ||
        nvml->temperature(nvml->device, TEMPERATURE_GPU, &celsius) != 0) {
        return NAN;
    }
    return celsius;
}

double nvml_sm_clock_ghz(const nvml *nvml) {
    unsigned int megahertz = 0;
    if (nvml == NULL || nvml->clock == NULL ||
        nvml->clock(nvml->device, CLOCK_SM, &megahertz) != 0) {
        return NAN;
    }
    return 1e-3 * megahertz;
}

void nvml_card(const nvml *nvml, char *text, size_t size) {
    static const char PREFIX[] = "GPU-";
    enum { DIGITS = 8 };
    char uuid[UUID_SIZE] = "";
    if (nvml == NULL || nvml->uuid == NULL || nvml->uuid(nvml->device, uuid, sizeof uuid) != 0 ||
        strncmp(uuid, PREFIX, sizeof PREFIX - 1) != 0) {
        uuid[0] = '\0';
    }
    snprintf(text, size, "%.*s", (int)DIGITS, uuid[0] == '\0' ? uuid : uuid + sizeof PREFIX - 1);
}

void nvml_driver_version(const nvml *nvml, char *text, size_t size) {
    char version[DRIVER_VERSION_SIZE] = "";
    if (size == 0) {
        return;
    }
    if (nvml == NULL || nvml->driver_version == NULL ||
        nvml->driver_version(version, sizeof version) != 0) {
        version[0] = '\0';
    }
    version[sizeof version - 1] = '\0';
    const size_t length = strlen(version) < size ? strlen(version) : size - 1;
    memcpy(text, version, length);
    text[length] = '\0';
}
