// A model of the L2, to compare orders of tiles by what they read from DRAM. It is simple, and says
// so wherever it is shown: one cache that forgets what was used least recently; all workers (CTAs,
// or clusters that share their loads) start their tiles of a wave together and go through k in
// step; nothing but A and B is in the cache.
#pragma once

#include "device/tile_schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

// The work of one launch. Of A and B, what one worker needs for one step along k is a slice.
struct Schedule {
    std::vector<tile_coordinate> order; // tile i is worker i % workers's, in wave i / workers
    int workers;
    int k_steps;
    uint64_t slice_a, slice_b; // bytes
    bool backwards;            // every other wave goes through k from its end
};

// The bytes read from DRAM in each wave, with an L2 of `capacity` bytes that is empty to begin
// with.
std::vector<uint64_t> dram_reads(const Schedule &schedule, uint64_t capacity);
