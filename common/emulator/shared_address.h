#pragma once

#include "emulator/site.h"

#include <cstdint>

namespace emulator {

// The shared address of an object in the current CTA's shared memory; fails with ADDRESS for
// anything else. (cvta.to.shared)
std::uint32_t shared_address(const void *object, Site where);

} // namespace emulator
