// The tensor cores: wgmma, mma.sync, WMMA, and the matrix moves ldmatrix and stmatrix.
#pragma once

#include "emulator/races.h"
#include "emulator/report.h"
#include "emulator/wait_queue.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace emulator {

struct Cta;
struct Thread;

// A range of a thread's accumulator registers (memory on its stack here).
struct AccumulatorRange {
    const char *begin;
    std::size_t bytes;
    std::uint64_t wgmma; // the number of the last wgmma on it, in its warpgroup's order
    Site site;           // and where that was issued
    bool touched;        // by other code since; a wgmma_fence() must come before the next wgmma
};

// A thread's side of wgmma.
struct AccumulatorState {
    bool fenced = false;               // has it ever executed wgmma.fence?
    std::uint64_t issued = 0;          // wgmmas this thread has called so far
    std::vector<std::uint64_t> groups; // issued at each commit
    std::uint64_t waited = 0;          // wgmmas this thread knows to be complete
    std::vector<AccumulatorRange> ranges;
};

// One wgmma of a warpgroup: complete arguments once all 128 threads have called it.
struct Wgmma {
    int n = 0;
    std::uint64_t a = 0, b = 0; // descriptors
    bool accumulate = false;
    std::uint64_t a_held = 0, b_held = 0; // fingerprints of the operands when it was issued
    int arrived = 0;
    float *acc[128] = {};
    Site site{};       // of the first to call it
    int waited_by = 0; // threads that know it to be complete
    races::Token done; // from the callers to the operation, and from there to who waits
};

// A warpgroup's side: the wgmmas in their order, the first `executed` of them done. Those that all
// threads have waited for are forgotten.
struct Warpgroup {
    Cta *cta = nullptr;
    std::uint64_t first = 0; // number of slots.front()
    std::deque<Wgmma> slots;
    std::uint64_t executed = 0;
    races::Token last; // the `done` of the last one executed
    WaitQueue waiting;
};

// wgmma.mma_async.m64nNk16.f32.bf16.bf16, both operands K-major in shared memory: this thread's
// part. acc has n / 2 floats. HAZARD without a wgmma_fence() since the accumulators were touched;
// MISUSE if the warpgroup's threads disagree about n, a, b or accumulate, or a descriptor's fields
// are not what the manual allows (swizzle mode, alignment, offsets outside of shared memory).
void wgmma(float *acc, int n, std::uint64_t a, std::uint64_t b, bool accumulate, Site where);
void wgmma_fence(Site where);
void wgmma_commit(Site where);
// wgmma.wait_group: until at most `pending` of the thread's groups are in flight. Groups that are
// waited for but not committed are not waited for: MISUSE at exit if any wgmma is left uncommitted.
void wgmma_wait(int pending, Site where);

// A plain access of the current thread to its own stack (found by the hooks of accesses.cpp):
// HAZARD if a wgmma that is not known to be complete writes there; else marks the range touched.
void accumulators_accessed(Thread &thread, const void *address, std::size_t bytes, bool is_write,
                           std::uintptr_t pc);

// The thread exits: HAZARD if wgmmas of it are not waited for.
void tensor_core_thread_exits(Thread &thread);

// mma.sync.m16n8k16 row.col for the calling warp: d = a * b + c with the manual's fragment layouts.
// a: 4, b: 2 registers of two 16-bit values. fp16 = true: fp16 operands, else bf16.
void mma_m16n8k16_f32(float *d, const std::uint32_t *a, const std::uint32_t *b, const float *c,
                      bool fp16, Site where);
// The same with fp16 operands and accumulators: 2 registers of two.
void mma_m16n8k16_f16(std::uint32_t *d, const std::uint32_t *a, const std::uint32_t *b,
                      const std::uint32_t *c, Site where);

// ldmatrix.m8n8.x{1,2,4}{.trans}: lane 8i + r gives the address of row r of matrix i, 16-byte
// aligned. Counted for bank conflicts.
void ldmatrix(std::uint32_t *registers, int matrices, bool transposed, const void *row, Site where);
// stmatrix.m8n8.x{1,2,4}{.trans}: a generic-proxy write.
void stmatrix(void *row, const std::uint32_t *registers, int matrices, bool transposed, Site where);

} // namespace emulator
