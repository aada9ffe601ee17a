// Accesses that the processor refuses, such as behind the end of a stack or a mapping.
#pragma once

namespace emulator {

// From now on such an access by a thread of a kernel, or by an operation that it started, is an
// ADDRESS mistake, reported like any other; one by anything else ends the program as it always did.
void report_faults();

} // namespace emulator
