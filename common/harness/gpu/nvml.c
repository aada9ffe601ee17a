#include "harness/gpu/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The few declarations that are needed of nvml.h, which is not installed with every toolkit. */
typedef int nvml_status; /* 0 is success */
typedef struct nvml_device *nvml_device;
enum { UUID_SIZE = 96 }; /* NVML_DEVICE_UUID_V2_BUFFER_SIZE */

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

/* A power. */
static double watts(const char *name) {
    nvml_status (*query)(nvml_device, unsigned int *);
    unsigned int milliwatts = 0;
    return find(name, &query) && query(gpu, &milliwatts) == 0 ? 1e-3 * milliwatts : NAN;
}

double nvml_energy_joules(void) {
    nvml_status (*query)(nvml_device, unsigned long long *);
    unsigned long long millijoules = 0;
    return find("nvmlDeviceGetTotalEnergyConsumption", &query) && query(gpu, &millijoules) == 0
               ? 1e-3 * (double)millijoules
               : NAN;
}

/* "4711 python3"; without the name of one that runs in another container. */
static void describe_process(unsigned int pid, char *text, size_t size) {
    char path[32];
    char name[32] = "";
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)!fscanf(file, "%31[^\n]", name);
        fclose(file);
    }
    snprintf(text, size, "%u%s%s", pid, *name == 0 ? "" : " ", name);
}

static void find_processes(device_info *info) {
    enum { ROOM = 64 };
    nvml_status (*query)(nvml_device, unsigned int *count, process_info *processes);
    process_info processes[ROOM];
    unsigned int count = ROOM;
    if (find("nvmlDeviceGetComputeRunningProcesses_v3", &query) &&
        query(gpu, &count, processes) == 0) {
        for (unsigned int i = 0; i < count && i < MOST_OTHERS; ++i) {
            describe_process(processes[i].pid, info->other[i], sizeof info->other[i]);
            ++info->others;
        }
    }
}

void nvml_open(const char *pci_bus_id, device_info *info) {
    nvml_status (*init)(void);
    nvml_status (*device_by_pci)(const char *, nvml_device *);
    nvml_status (*get_uuid)(nvml_device, char *, unsigned int);
    nvml_status (*get_driver)(char *, unsigned int);
    char uuid[UUID_SIZE] = "";
    library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!find("nvmlInit_v2", &init) || init() != 0 ||
        !find("nvmlDeviceGetHandleByPciBusId_v2", &device_by_pci) ||
        device_by_pci(pci_bus_id, &gpu) != 0) {
        library = NULL;
    }
    if (find("nvmlDeviceGetUUID", &get_uuid) && get_uuid(gpu, uuid, sizeof uuid) == 0) {
        (void)sscanf(uuid, "GPU-%8s", info->card);
    }
    if (find("nvmlSystemGetDriverVersion", &get_driver)) {
        (void)get_driver(info->driver, sizeof info->driver);
    }
    info->power_limit_watts = watts("nvmlDeviceGetEnforcedPowerLimit");
    info->default_power_watts = watts("nvmlDeviceGetPowerManagementDefaultLimit");
    find_processes(info);
}
