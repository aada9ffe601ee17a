// The emulator's launches run one after the other. In a kernel that was started early, a TMA copy
// is a HAZARD if its thread has neither waited for the previous launch nor is ordered after a
// thread that has.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// griddepcontrol.launch_dependents: no launch begins earlier here.
DEVICE void launch_dependents() {}

// griddepcontrol.wait.
DEVICE void wait_for_launch_before() { emulator::wait_for_launch_before(); }
