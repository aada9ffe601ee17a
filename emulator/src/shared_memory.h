// The shared memory of a CTA. Who accessed it is in its cells (cells.h).
//
// Addresses: a 32-bit shared address is SHARED_BASE + offset. Offsets count first the program's
// static __shared__ variables (the linker's section "shared_memory"), then the dynamic part,
// aligned to 1024. Static variables exist once in the program: their bytes are swapped when the
// scheduler switches to another CTA of the cluster. Those of programs that were not written for the
// emulator (translated.h) lie after the dynamic part, and exist once for each CTA.
#pragma once

#include "emulator/report.h"
#include "emulator/runtime.h"

#include <cstddef>
#include <cstdint>

// The program's static __shared__ variables; absent if it has none.
extern "C" {
extern unsigned char __start_shared_memory[] __attribute__((weak));
extern unsigned char __stop_shared_memory[] __attribute__((weak));
}

namespace emulator {
struct Cta;
struct Thread;

constexpr std::uint32_t SHARED_BASE = 1024;

// Bytes that the static variables of a translated program may take, 0 in other programs, and those
// that they take in this launch: a variable gets its place when a thread first comes to it.
extern std::size_t static_shared_capacity, static_shared_used;

// Where the dynamic part begins, from a multiple of 1024 on: 0, or less than that where its program
// asked for less alignment.
extern std::size_t dynamic_shared_begin;
class SharedMemory {
public:
    // Prepares `dynamic_bytes` beside the static part; everything POISON (global_memory.h).
    void create(Cta &cta, std::size_t dynamic_bytes);
    ~SharedMemory();

    // The dynamic part as its threads see it, 1024-byte aligned in rungs.
    unsigned char *dynamic() const { return begin_ + static_bytes_; }
    // The static part of a translated program, 1024-byte aligned.
    unsigned char *static_part() const { return dynamic() + dynamic_bytes_rounded_; }
    std::size_t dynamic_size() const { return dynamic_bytes_; }
    // Bytes up to the end of the last part.
    std::size_t size() const {
        return static_bytes_ + (static_shared_used == 0
                                    ? dynamic_bytes_
                                    : dynamic_bytes_rounded_ + static_shared_used);
    }

    // True if the address lies in this CTA's static (while it is swapped in) or dynamic part.
    bool contains(const void *pointer) const {
        const unsigned char *byte = static_cast<const unsigned char *>(pointer);
        const std::size_t offset = std::size_t(byte - dynamic());
        return offset < dynamic_bytes_ || offset - dynamic_bytes_rounded_ < static_shared_used ||
               is_swapped_in(byte);
    }
    // True for an address outside, but so near to the dynamic part that it must come from a kernel
    // that left its shared memory.
    bool missed_by(const void *pointer) const;
    // The offset of an address inside.
    std::uint32_t offset_of(const void *pointer) const {
        const unsigned char *byte = static_cast<const unsigned char *>(pointer);
        return std::uint32_t(byte - (is_swapped_in(byte) ? __start_shared_memory : begin_));
    }
    // The byte at an offset, wherever the static part is now. Fails with Mistake::ADDRESS if
    // [offset, offset + bytes) is not inside.
    unsigned char *generic(std::uint32_t offset, std::size_t bytes) const;

    // Brings the static part into the program's variables, and takes out the one that is there.
    void swap_in();
    static void swap_out();

private:
    bool is_swapped_in(const unsigned char *byte) const {
        return swapped_in_ == this && byte >= __start_shared_memory && byte < __stop_shared_memory;
    }
    static SharedMemory *swapped_in_; // whose static part the program's variables are
    Cta *cta_ = nullptr;
    std::size_t static_bytes_ = 0; // up to the dynamic part
    std::size_t dynamic_bytes_ = 0;
    std::size_t dynamic_bytes_rounded_ = 0; // up to the next multiple of 1024
    std::size_t reach_ = 0; // bytes from the dynamic part's begin to the end of what may be used
    unsigned char *begin_ = nullptr; // of the static part, while it is not swapped in
};

// CTA `rank` of the cluster: MISUSE if there is none.
Cta &cta_of_rank(int rank, Site where);
// Memory of that CTA is going to be used: LIFETIME if it has exited, or if no cluster barrier has
// been passed yet.
void check_peer(const Cta &peer, const Origin &where);
} // namespace emulator
