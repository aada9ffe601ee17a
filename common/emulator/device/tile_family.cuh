// A sample of the family of tiles: on the emulator every instance takes half a second to compile.
// It has each height, each way in which consumers and pairs share the work, and widths of every
// kind.
#pragma once

#define TILE_FAMILY(TILE)                                                                          \
    TILE(256, 200, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 256, BY_ROWS, SHARE_B)                                                               \
    TILE(192, 176, BY_COLUMNS, SHARE_B)                                                            \
    TILE(192, 144, BY_COLUMNS, NO_PAIR)                                                            \
    TILE(128, 200, PING_PONG, SHARE_A)                                                             \
    TILE(128, 64, PING_PONG, NO_PAIR)                                                              \
    TILE(64, 96, ALONE, FOUR_SHARE_A)

#define EXCHANGED_FAMILY(TILE)                                                                     \
    TILE(64, 8, PING_PONG, NO_PAIR)                                                                \
    TILE(64, 16, ALONE, NO_PAIR)                                                                   \
    TILE(128, 96, BY_ROWS, FOUR_SHARE_B)                                                           \
    TILE(192, 208, BY_COLUMNS, SHARE_A)
