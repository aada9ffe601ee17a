/* Power and energy of one GPU, from the driver's management library if there is one. It is opened
 * at run time: without it nothing fails, the values are just absent: NAN, 0 or empty. */
#pragma once

#include "harness/device.h"

/* Finds the GPU with this PCI bus id ("0000:1b:00.0"), which all other functions query, and notes
 * what the library knows of it: the card, the driver, its power limits, and the processes that
 * compute on it. */
void nvml_open(const char *pci_bus_id, device_info *info);

/* Energy used since the driver was loaded. The driver updates it about every 100 ms, so take
 * differences between two of its changes, a second or more apart. */
double nvml_energy_joules(void);
