/* A GPU tells of no operations. */
#include "emulator/emulator.h"

void emulator_listen(emulator_listener listener, void *context) {
    (void)listener;
    (void)context;
}
