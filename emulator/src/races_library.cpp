// ThreadSanitizer replaces memcpy, operator new and others, and takes what they touch for
// accesses of the thread that runs. The emulator works with its own data in any of these threads,
// without an order between them that ThreadSanitizer knows: so the program has its own versions
// of those functions. Nothing is lost of a kernel's accesses, each of which the compiler
// announces.
#include "copy.h"

#include <cstdint>
#include <cstdlib>
#include <new>

extern "C" {
void *__libc_malloc(std::size_t bytes);
void __libc_free(void *memory);
void __tsan_java_free(unsigned long address, unsigned long bytes);

void *memcpy(void *__restrict to, const void *__restrict from, std::size_t bytes) {
    emulator::copy_bytes(to, from, bytes);
    return to;
}

void *memmove(void *to, const void *from, std::size_t bytes) {
    unsigned char *destination = static_cast<unsigned char *>(to);
    const unsigned char *source = static_cast<const unsigned char *>(from);
    if (destination <= source || destination >= source + bytes)
        for (std::size_t i = 0; i < bytes; ++i)
            destination[i] = source[i];
    else
        for (std::size_t i = bytes; i-- > 0;)
            destination[i] = source[i];
    return to;
}

void *memset(void *to, int value, std::size_t bytes) {
    emulator::fill_bytes(to, static_cast<unsigned char>(value), bytes);
    return to;
}

int memcmp(const void *a, const void *b, std::size_t bytes) {
    const unsigned char *left = static_cast<const unsigned char *>(a);
    const unsigned char *right = static_cast<const unsigned char *>(b);
    for (std::size_t i = 0; i < bytes; ++i)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

std::size_t strlen(const char *text) {
    std::size_t length = 0;
    while (text[length] != '\0')
        ++length;
    return length;
}
}

namespace emulator::races {

void use_own_library(); // called by races_tsan.cpp
void use_own_library() {}

} // namespace emulator::races

namespace {

// A block that begins at an address of 16 bytes, of at least one byte.
void *allocate(std::size_t bytes) {
    void *memory = __libc_malloc(bytes > 0 ? bytes : 1);
    if (memory == nullptr)
        std::abort(); // no exception: the program does not catch any
    return memory;
}

// A larger block; the word before the aligned part is the address where it begins.
void *allocate(std::size_t bytes, std::align_val_t alignment) {
    const std::size_t multiple = static_cast<std::size_t>(alignment);
    void *block = allocate(bytes + multiple + sizeof(void *));
    const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(block) + sizeof(void *);
    void **aligned = reinterpret_cast<void **>((first + multiple - 1) / multiple * multiple);
    aligned[-1] = block;
    return aligned;
}

// The order that the addresses carried (races.h) ends with them.
void deallocate(void *memory) {
    if (memory == nullptr)
        return;
    // glibc keeps the size of a block, and three flags, in the 8 bytes before it.
    const std::size_t size = static_cast<const std::size_t *>(memory)[-1] & ~std::size_t(7);
    __tsan_java_free(reinterpret_cast<unsigned long>(memory), size - sizeof(std::size_t));
    __libc_free(memory);
}

void deallocate(void *memory, std::align_val_t) {
    if (memory != nullptr)
        deallocate(static_cast<void **>(memory)[-1]);
}

} // namespace

// `new` and `delete`, of one object and of an array, each in all the forms that there are.
#define NEW_AND_DELETE(suffix)                                                                     \
    void *operator new suffix(std::size_t bytes) { return allocate(bytes); }                       \
    void *operator new suffix(std::size_t bytes, const std::nothrow_t &) noexcept {                \
        return allocate(bytes);                                                                    \
    }                                                                                              \
    void *operator new suffix(std::size_t bytes, std::align_val_t alignment) {                     \
        return allocate(bytes, alignment);                                                         \
    }                                                                                              \
    void operator delete suffix(void *memory) noexcept { deallocate(memory); }                     \
    void operator delete suffix(void *memory, std::size_t) noexcept { deallocate(memory); }        \
    void operator delete suffix(void *memory, const std::nothrow_t &) noexcept {                   \
        deallocate(memory);                                                                        \
    }                                                                                              \
    void operator delete suffix(void *memory, std::align_val_t alignment) noexcept {               \
        deallocate(memory, alignment);                                                             \
    }                                                                                              \
    void operator delete suffix(void *memory, std::size_t, std::align_val_t alignment) noexcept {  \
        deallocate(memory, alignment);                                                             \
    }
NEW_AND_DELETE()
NEW_AND_DELETE([])
