// Linked to the kernels' tests on the emulator, which take no option for it.
#include "emulator/runtime.h"

static const bool CHOSEN = emulator::policy_from_environment();
