#include "emulator/counts.h"

namespace emulator {

Counts counts{};

} // namespace emulator
