#include "harness/gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The few declarations that are needed of nvml.h, which is not installed with every toolkit. */
typedef int nvml_status; /* 0 is success */
typedef struct nvml_device *nvml_device;
enum { DRIVER_VERSION_SIZE = 80 }; /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */
enum { UUID_SIZE = 96 };           /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */

typedef struct violation_time { /* nvmlViolationTime_t */
    unsigned long long reference_microseconds;
    unsigned long long violation_nanoseconds;
} violation_time;

typedef struct process_info { /* nvmlProcessInfo_t */
    unsigned int pid;
    unsigned long long bytes;
    unsigned int gpu_instance, compute_instance;
} process_info;

static void *library; /* until the program ends; NULL if there is none */
static nvml_device gpu;

/* Sets *function. False if there is no library with it: an old driver lacks some. */
static bool find(const char *name, void *function) {
    /* The address from dlsym: POSIX promises that the bits fit; C has no cast for it. */
    void *symbol = library == NULL ? NULL : dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

void nvml_open(const char *pci_bus_id) {
    nvml_status (*init)(void);
    nvml_status (*device_by_pci)(const char *, nvml_device *);
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!find("nvmlInit_v2", &init) || init() != 0 ||
        !find("nvmlDeviceGetHandleByPciBusId_v2", &device_by_pci) ||
        device_by_pci(pci_bus_id, &gpu) != 0) {
        library = NULL;
    }
}

/* A number in this unit; NAN if it is unknown. */
static double ask(const char *name, double unit) {
    nvml_status (*query)(nvml_device, unsigned int *);
    unsigned int value = 0;
    return find(name, &query) && query(gpu, &value) == 0 ? unit * value : NAN;
}

double nvml_power_limit_watts(void) { return ask("nvmlDeviceGetEnforcedPowerLimit", 1e-3); }

double nvml_default_power_watts(void) {
    return ask("nvmlDeviceGetPowerManagementDefaultLimit", 1e-3);
}

double nvml_power_watts(void) { return ask("nvmlDeviceGetPowerUsage", 1e-3); }

double nvml_limited_seconds(enum clock_limit limit) {
    nvml_status (*query)(nvml_device, int policy, violation_time *);
    violation_time time = {0, 0};
    return find("nvmlDeviceGetViolationStatus", &query) && query(gpu, (int)limit, &time) == 0
               ? 1e-9 * (double)time.violation_nanoseconds
               : NAN;
}

double nvml_energy_joules(void) {
    nvml_status (*query)(nvml_device, unsigned long long *);
    unsigned long long millijoules = 0;
    return find("nvmlDeviceGetTotalEnergyConsumption", &query) && query(gpu, &millijoules) == 0
               ? 1e-3 * (double)millijoules
               : NAN;
}

int nvml_processes(unsigned int *pids, int most) {
    enum { ROOM = 64 };
    nvml_status (*query)(nvml_device, unsigned int *count, process_info *processes);
    process_info processes[ROOM];
    unsigned int count = ROOM;
    int found = 0;
    if (find("nvmlDeviceGetComputeRunningProcesses_v3", &query) &&
        query(gpu, &count, processes) == 0) {
        for (; found < most && found < (int)count; ++found) {
            pids[found] = processes[found].pid;
        }
    }
    return found;
}

void nvml_card(char *text, size_t size) {
    static const char PREFIX[] = "GPU-";
    enum { DIGITS = 8 };
    nvml_status (*query)(nvml_device, char *, unsigned int);
    char uuid[UUID_SIZE] = "";
    const bool known = find("nvmlDeviceGetUUID", &query) && query(gpu, uuid, sizeof uuid) == 0 &&
                       strncmp(uuid, PREFIX, sizeof PREFIX - 1) == 0;
    snprintf(text, size, "%.*s", (int)DIGITS, known ? uuid + sizeof PREFIX - 1 : "");
}

void nvml_driver_version(char *text, size_t size) {
    nvml_status (*query)(char *, unsigned int);
    char version[DRIVER_VERSION_SIZE] = "";
    const bool known =
        find("nvmlSystemGetDriverVersion", &query) && query(version, sizeof version) == 0;
    snprintf(text, size, "%.*s", (int)sizeof version - 1, known ? version : "");
}
