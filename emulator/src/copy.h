// Copies and fills of memory that the kernel uses too. They are the emulator's own loops: in
// ThreadSanitizer's build, which watches the C library, a call of memcpy would count as an access.
#pragma once

#include <cstddef>
#include <cstdint>

namespace emulator {

// Copies `bytes` bytes; the two places do not overlap and need no alignment.
inline void copy_bytes(void *to, const void *from, std::size_t bytes) {
    unsigned char *destination = static_cast<unsigned char *>(to);
    const unsigned char *source = static_cast<const unsigned char *>(from);
    std::size_t i = 0;
    for (std::uint64_t word; i + sizeof word <= bytes; i += sizeof word) {
        __builtin_memcpy(&word, source + i, sizeof word); // one load: no call
        __builtin_memcpy(destination + i, &word, sizeof word);
    }
    for (; i < bytes; ++i)
        destination[i] = source[i];
}

// Sets `bytes` bytes to `value`.
inline void fill_bytes(void *to, unsigned char value, std::size_t bytes) {
    unsigned char *destination = static_cast<unsigned char *>(to);
    const std::uint64_t word = 0x0101010101010101u * value;
    std::size_t i = 0;
    for (; i + sizeof word <= bytes; i += sizeof word)
        __builtin_memcpy(destination + i, &word, sizeof word);
    for (; i < bytes; ++i)
        destination[i] = value;
}

} // namespace emulator
