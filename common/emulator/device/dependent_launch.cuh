// The emulator's launches run one after the other. A kernel that was started early and begins a TMA
// copy before a thread of its CTA has waited for the launch before is a HAZARD.
#pragma once

#include "device/base.cuh"

#include "emulator/runtime.h"

// griddepcontrol.launch_dependents: nobody begins earlier here.
DEVICE void launch_dependents() {}

// griddepcontrol.wait.
DEVICE void wait_for_launch_before() { emulator::wait_for_launch_before(); }
