/* Power and energy of one GPU, from the driver's management library if there is one. It is opened
 * at run time: without it nothing fails, the values are just absent. */
#pragma once

#include <stddef.h>

#include "harness/device.h"

/* Finds the GPU with this PCI bus id ("0000:1b:00.0"), which all other functions query. */
void nvml_open(const char *pci_bus_id);

/* NAN if unknown, as in all of these. */
double nvml_power_limit_watts(void);
double nvml_default_power_watts(void);
double nvml_power_watts(void); /* the mean of about the last second; NAN if unknown */
/* Energy used since the driver was loaded, NAN if unknown. The driver updates it about every
 * 100 ms, so take differences between two of its changes, a second or more apart. */
double nvml_energy_joules(void);
/* Seconds since the driver was loaded in which it held the clock down for that reason, as it counts
 * them; NAN if unknown. (NVML API Reference Guide: nvmlDeviceGetViolationStatus.) */
double nvml_limited_seconds(enum clock_limit limit);
/* Stores the ids of at most `most` processes that compute on it. Returns how many they are, 0 also
 * if that is unknown. */
int nvml_processes(unsigned int *pids, int most);
/* Identifies one card among others of its kind: "1f2e3d4c", the first digits of its UUID, or an
 * empty text if unknown. */
void nvml_card(char *text, size_t size);
/* "580.65.06", or an empty text if unknown. */
void nvml_driver_version(char *text, size_t size);
