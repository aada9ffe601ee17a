// A sample of the family of tiles: on the emulator every instance takes half a second to compile.
// It has each height, each way in which consumers and pairs share the work, and widths of every
// kind.
#pragma once

#define TILE_FAMILY(TILE)                                                                          \
    TILE(256, 200, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 256, BY_ROWS, 2, 1)                                                                  \
    TILE(192, 176, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 144, BY_COLUMNS, 1, 1)                                                               \
    TILE(128, 176, PING_PONG, 1, 2)                                                                \
    TILE(128, 64, PING_PONG, 1, 1)                                                                 \
    TILE(64, 96, ALONE, 1, 4)

#define EXCHANGED_FAMILY(TILE)                                                                     \
    TILE(64, 8, PING_PONG, 1, 1)                                                                   \
    TILE(64, 16, ALONE, 1, 1)                                                                      \
    TILE(128, 96, BY_ROWS, 2, 2)                                                                   \
    TILE(192, 208, BY_COLUMNS, 1, 2)
