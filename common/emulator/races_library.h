// In ThreadSanitizer's build: functions of the C and C++ libraries that it must not watch.
#pragma once

namespace emulator::races {

// Called by whoever depends on them, so that the linker takes them and not ThreadSanitizer's.
void use_own_library();

} // namespace emulator::races
