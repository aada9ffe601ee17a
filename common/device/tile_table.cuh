// The family of tiles of a rung that chooses: each is an instance of its kernel. A header of its
// own, because machines for which every instance takes long to compile have a shorter one.
#pragma once

#include "device/tile.cuh"

template <typename... T>
struct TileList {};

// Of 400 that were timed, those without which the best plans over 1,900 shapes would be slower.
using TileTable = TileList<
    // clang-format off
    Tile<256, 200>,
    Tile<256, 192, BY_ROWS, AS_THEY_ARE, 1, 2>,
    Tile<256, 184, BY_ROWS, AS_THEY_ARE, 1, 2>,
    Tile<256, 160, BY_ROWS, AS_THEY_ARE, 1, 2>,
    Tile<192, 256, BY_COLUMNS, AS_THEY_ARE, 2, 1>,
    Tile<192, 176, BY_COLUMNS>,
    Tile<128, 256>,
    Tile<128, 248>,
    Tile<128, 216>,
    Tile<128, 200>,
    Tile<128, 152>,
    Tile<128, 136>,
    Tile<128, 128>,
    Tile<128, 128, BY_ROWS, AS_THEY_ARE, 2, 1>,
    Tile<128, 112>,
    Tile<128, 96>,
    Tile<128, 96, BY_ROWS, AS_THEY_ARE, 1, 4>,
    Tile<128, 96, BY_ROWS, AS_THEY_ARE, 4, 2>,
    Tile<128, 80, BY_ROWS, AS_THEY_ARE, 2, 4>,
    Tile<128, 64>,
    Tile<128, 200, PING_PONG>,
    Tile<128, 192, PING_PONG, AS_THEY_ARE, 2, 1>,
    Tile<128, 160, PING_PONG, AS_THEY_ARE, 4, 1>,
    Tile<128, 128, PING_PONG>,
    Tile<64, 128, ALONE>,
    Tile<64, 96, ALONE, AS_THEY_ARE, 1, 4>,
    Tile<64, 96, ALONE, AS_THEY_ARE, 4, 2>,
    Tile<64, 80, ALONE>,
    Tile<64, 64, ALONE, AS_THEY_ARE, 2, 1>,
    Tile<256, 200, BY_ROWS, SWAPPED, 1, 2>,
    Tile<256, 136, BY_ROWS, SWAPPED, 1, 2>,
    Tile<192, 240, BY_COLUMNS, SWAPPED, 1, 2>,
    Tile<192, 192, BY_COLUMNS, SWAPPED, 2, 1>,
    Tile<192, 160, BY_COLUMNS, SWAPPED, 1, 2>,
    Tile<128, 224, BY_ROWS, SWAPPED, 2, 1>,
    Tile<128, 184, BY_ROWS, SWAPPED>,
    Tile<128, 160, BY_ROWS, SWAPPED>,
    Tile<128, 160, BY_ROWS, SWAPPED, 2, 1>,
    Tile<128, 128, BY_ROWS, SWAPPED, 4, 1>,
    Tile<128, 120, BY_ROWS, SWAPPED>,
    Tile<128, 112, BY_ROWS, SWAPPED, 2, 2>,
    Tile<128, 104, BY_ROWS, SWAPPED>,
    Tile<128, 80, BY_ROWS, SWAPPED>,
    Tile<128, 48, BY_ROWS, SWAPPED>,
    Tile<128, 192, PING_PONG, SWAPPED>,
    Tile<128, 176, PING_PONG, SWAPPED>,
    Tile<128, 160, PING_PONG, SWAPPED>,
    Tile<128, 144, PING_PONG, SWAPPED>,
    Tile<128, 144, PING_PONG, SWAPPED, 2, 2>,
    Tile<128, 136, PING_PONG, SWAPPED>,
    Tile<64, 112, ALONE, SWAPPED>,
    Tile<64, 80, ALONE, SWAPPED, 1, 4>,
    Tile<64, 64, ALONE, SWAPPED>,
    Tile<64, 64, ALONE, SWAPPED, 2, 1>,
    Tile<64, 56, ALONE, SWAPPED>,
    Tile<64, 48, ALONE, SWAPPED, 1, 2>,
    Tile<64, 40, ALONE, SWAPPED>,
    Tile<64, 32, ALONE, SWAPPED>,
    Tile<64, 32, ALONE, SWAPPED, 2, 1>,
    Tile<64, 32, ALONE, SWAPPED, 4, 1>,
    Tile<64, 24, ALONE, SWAPPED>,
    Tile<64, 16, ALONE, SWAPPED>,
    Tile<64, 16, ALONE, SWAPPED, 2, 1>,
    Tile<64, 8, ALONE, SWAPPED>
    // clang-format on
    >;
