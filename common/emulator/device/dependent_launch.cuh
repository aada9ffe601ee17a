// The emulator's launches run one after the other. In a kernel that was started early a TMA
// copy by a thread that has not waited for the launch before, nor comes after one that has, is a
// HAZARD.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// griddepcontrol.launch_dependents: nobody begins earlier here.
DEVICE void launch_dependents() {}

// griddepcontrol.wait.
DEVICE void wait_for_launch_before() { emulator::wait_for_launch_before(); }
