// Programmatic dependent launch: a kernel begins while the launch before it on the stream still
// runs, and waits before it touches what that one reads or writes. Started with launch_early() of
// launch.cuh. (CUDA C++ Programming Guide: Programmatic Dependent Launch and Synchronization; PTX
// ISA: griddepcontrol.)
#pragma once

#include "device/base.cuh"

// Says that the launch after this one may begin: its CTAs start on multiprocessors with room for
// them, idle ones or those that this launch's have left, once every CTA has said so or ended. One
// thread of a CTA calls it. It promises nothing about memory: that is what the next launch waits
// for.
DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Waits until the launches before this one have ended, and what they wrote is visible. The calling
// thread waits, and through barriers all that wait for it. Returns at once in a kernel that was
// launched as usual.
DEVICE void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
