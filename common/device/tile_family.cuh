// The family of tiles that a choosing rung has: each is an instance of its kernel. The list is a
// header of its own, so that machines for which every instance takes long to compile have a shorter
// one. A list, not code: the words in it are tile_choice.h's.
#pragma once

// Rows of the tile, along wgmma's M; columns, along its N; how the consumers and the pair share
// them. Some were the fastest of those tried at a measured shape; the model picked the others, by
// how much it expects of them over random shapes.
#define TILE_FAMILY(TILE)                                                                          \
    TILE(256, 200, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 200, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 200, BY_ROWS, SHARE_A)                                                               \
    TILE(256, 192, BY_ROWS, SHARE_B)                                                               \
    TILE(256, 184, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 176, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 152, BY_ROWS, SHARE_A)                                                               \
    TILE(256, 144, BY_ROWS, SHARE_B)                                                               \
    TILE(256, 136, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 104, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 104, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 88, BY_ROWS, FOUR_SHARE_A)                                                           \
    TILE(256, 80, BY_ROWS, SHARE_B)                                                                \
    TILE(192, 256, BY_COLUMNS, FOUR_SHARE_B)                                                       \
    TILE(192, 256, BY_COLUMNS, SHARE_B)                                                            \
    TILE(192, 240, BY_COLUMNS, SHARE_A)                                                            \
    TILE(192, 240, BY_COLUMNS, SHARE_B)                                                            \
    TILE(192, 208, BY_COLUMNS, SHARE_B)                                                            \
    TILE(192, 176, BY_COLUMNS, NO_PAIR)                                                            \
    TILE(192, 160, BY_COLUMNS, FOUR_SHARE_B)                                                       \
    TILE(128, 256, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 248, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 240, BY_ROWS, SHARE_B)                                                               \
    TILE(128, 232, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 216, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 200, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 184, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 152, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 136, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 128, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 88, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 88, BY_ROWS, SHARE_A)                                                                \
    TILE(128, 72, BY_ROWS, SHARE_A)                                                                \
    TILE(128, 64, BY_ROWS, FOUR_SHARE_A)                                                           \
    TILE(128, 64, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 48, BY_ROWS, SHARE_B)                                                                \
    TILE(128, 40, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 24, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 200, PING_PONG, NO_PAIR)                                                             \
    TILE(128, 200, PING_PONG, SHARE_A)                                                             \
    TILE(128, 192, PING_PONG, SHARE_B)                                                             \
    TILE(128, 184, PING_PONG, SHARE_A)                                                             \
    TILE(128, 176, PING_PONG, SHARE_B)                                                             \
    TILE(128, 160, PING_PONG, FOUR_SHARE_B)                                                        \
    TILE(128, 160, PING_PONG, SHARE_B)                                                             \
    TILE(128, 128, PING_PONG, NO_PAIR)                                                             \
    TILE(128, 120, PING_PONG, NO_PAIR)                                                             \
    TILE(64, 80, ALONE, NO_PAIR)                                                                   \
    TILE(64, 64, ALONE, NO_PAIR)

// The same, with A and B exchanged: for few rows of A, and where the height fits n better.
#define EXCHANGED_FAMILY(TILE)                                                                     \
    TILE(256, 200, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 200, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 176, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 160, BY_ROWS, FOUR_SHARE_A)                                                          \
    TILE(256, 160, BY_ROWS, NO_PAIR)                                                               \
    TILE(256, 144, BY_ROWS, SHARE_A)                                                               \
    TILE(192, 224, BY_COLUMNS, NO_PAIR)                                                            \
    TILE(192, 208, BY_COLUMNS, NO_PAIR)                                                            \
    TILE(192, 176, BY_COLUMNS, SHARE_A)                                                            \
    TILE(128, 248, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 224, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 224, BY_ROWS, SHARE_B)                                                               \
    TILE(128, 216, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 184, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 176, BY_ROWS, SHARE_B)                                                               \
    TILE(128, 136, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 120, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 112, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 112, BY_ROWS, SHARE_A)                                                               \
    TILE(128, 104, BY_ROWS, NO_PAIR)                                                               \
    TILE(128, 96, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 96, BY_ROWS, SHARE_A)                                                                \
    TILE(128, 80, BY_ROWS, FOUR_SHARE_A)                                                           \
    TILE(128, 80, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 72, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 64, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 48, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 40, BY_ROWS, FOUR_SHARE_A)                                                           \
    TILE(128, 32, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 24, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 16, BY_ROWS, NO_PAIR)                                                                \
    TILE(128, 8, BY_ROWS, NO_PAIR)                                                                 \
    TILE(128, 192, PING_PONG, NO_PAIR)                                                             \
    TILE(128, 192, PING_PONG, SHARE_A)                                                             \
    TILE(128, 192, PING_PONG, SHARE_B)                                                             \
    TILE(128, 176, PING_PONG, SHARE_B)                                                             \
    TILE(128, 168, PING_PONG, SHARE_A)                                                             \
    TILE(128, 160, PING_PONG, SHARE_B)                                                             \
    TILE(128, 152, PING_PONG, FOUR_SHARE_A)                                                        \
    TILE(128, 136, PING_PONG, NO_PAIR)                                                             \
    TILE(64, 80, PING_PONG, FOUR_SHARE_A)                                                          \
    TILE(64, 80, PING_PONG, SHARE_B)                                                               \
    TILE(64, 24, PING_PONG, NO_PAIR)                                                               \
    TILE(64, 96, ALONE, FOUR_SHARE_B)                                                              \
    TILE(64, 80, ALONE, NO_PAIR)                                                                   \
    TILE(64, 56, ALONE, NO_PAIR)                                                                   \
    TILE(64, 48, ALONE, FOUR_SHARE_A)                                                              \
    TILE(64, 48, ALONE, NO_PAIR)                                                                   \
    TILE(64, 40, ALONE, NO_PAIR)                                                                   \
    TILE(64, 16, ALONE, NO_PAIR)                                                                   \
    TILE(64, 8, ALONE, NO_PAIR)
