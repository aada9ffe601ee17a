// A sample of the family of tiles: on the emulator every instance takes half a second to compile.
// It has each height, each way in which consumers and pairs share the work, and widths of every
// kind.
#pragma once

#include "device/tile.cuh"

#include <array>

template <typename... T>
struct TileList {};

using TileTable = TileList<
    // clang-format off
    Tile<256, 200>,
    Tile<128, 256, BY_ROWS, AS_THEY_ARE, 2, 1>,
    Tile<192, 176, BY_COLUMNS, AS_THEY_ARE, 2, 1>,
    Tile<192, 144, BY_COLUMNS>,
    Tile<128, 176, PING_PONG, AS_THEY_ARE, 1, 2>,
    Tile<128, 64, PING_PONG>,
    Tile<64, 96, ALONE, AS_THEY_ARE, 1, 4>,
    Tile<64, 8, PING_PONG, SWAPPED>,
    Tile<64, 16, ALONE, SWAPPED>,
    Tile<128, 96, BY_ROWS, SWAPPED, 2, 2>,
    Tile<192, 208, BY_COLUMNS, SWAPPED, 1, 2>
    // clang-format on
    >;
