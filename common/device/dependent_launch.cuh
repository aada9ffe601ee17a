// Programmatic dependent launch: a kernel begins while the previous launch on the stream still
// runs, and waits before it touches memory that the previous launch reads or writes. Started with
// launch_early() of launch.cuh. (CUDA C++ Programming Guide: Programmatic Dependent Launch and
// Synchronization; PTX ISA: griddepcontrol.)
#pragma once

#include "device/base.cuh"

// Allows the next launch to begin. Once every CTA of this launch has called it or
// exited, the CTAs of the next one start on multiprocessors with room for them. One
// thread of a CTA calls it. It makes no memory visible: for that the next launch has to
// wait.
DEVICE void launch_dependents() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// Waits until the previous launches have ended and their writes are visible: to the calling thread,
// and to threads that wait for it at a barrier afterwards. Returns at once in a kernel that was
// launched as usual.
DEVICE void wait_for_launch_before() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
