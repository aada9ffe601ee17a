// The family of tiles that a choosing rung has: each is an instance of its kernel. The list is a
// header of its own, so that machines for which every instance takes long to compile have a shorter
// one. A list, not code: the words in it are tile_choice.h's.
#pragma once

// Rows of the tile, along wgmma's M; columns, along its N; how the consumers share them; tiles of a
// cluster above one another, and side by side. Of some 400 that were timed at over 100 shapes,
// those without which the choice, or the fastest of the rest, would be slower.
#define TILE_FAMILY(TILE)                                                                          \
    TILE(256, 200, BY_ROWS, 1, 1)                                                                  \
    TILE(256, 200, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 184, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 176, BY_ROWS, 2, 2)                                                                  \
    TILE(256, 160, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 136, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 128, BY_ROWS, 2, 1)                                                                  \
    TILE(256, 112, BY_ROWS, 1, 2)                                                                  \
    TILE(192, 256, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 240, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 240, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 240, BY_COLUMNS, 2, 2)                                                               \
    TILE(192, 192, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 176, BY_COLUMNS, 1, 1)                                                               \
    TILE(192, 144, BY_COLUMNS, 1, 2)                                                               \
    TILE(128, 256, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 248, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 240, BY_ROWS, 2, 1)                                                                  \
    TILE(128, 232, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 224, BY_ROWS, 1, 2)                                                                  \
    TILE(128, 216, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 208, BY_ROWS, 2, 1)                                                                  \
    TILE(128, 200, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 200, BY_ROWS, 1, 2)                                                                  \
    TILE(128, 192, BY_ROWS, 2, 1)                                                                  \
    TILE(128, 152, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 144, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 136, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 136, BY_ROWS, 1, 2)                                                                  \
    TILE(128, 128, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 128, BY_ROWS, 2, 1)                                                                  \
    TILE(128, 112, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 96, BY_ROWS, 1, 4)                                                                   \
    TILE(128, 88, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 80, BY_ROWS, 1, 4)                                                                   \
    TILE(128, 80, BY_ROWS, 2, 4)                                                                   \
    TILE(128, 64, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 64, BY_ROWS, 2, 4)                                                                   \
    TILE(128, 64, BY_ROWS, 4, 2)                                                                   \
    TILE(128, 24, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 200, PING_PONG, 1, 1)                                                                \
    TILE(128, 200, PING_PONG, 1, 2)                                                                \
    TILE(128, 192, PING_PONG, 2, 1)                                                                \
    TILE(128, 184, PING_PONG, 1, 2)                                                                \
    TILE(128, 176, PING_PONG, 1, 1)                                                                \
    TILE(128, 160, PING_PONG, 4, 1)                                                                \
    TILE(128, 128, PING_PONG, 1, 1)                                                                \
    TILE(128, 128, PING_PONG, 1, 2)                                                                \
    TILE(128, 96, PING_PONG, 1, 2)                                                                 \
    TILE(64, 128, ALONE, 1, 1)                                                                     \
    TILE(64, 112, ALONE, 1, 1)                                                                     \
    TILE(64, 112, ALONE, 1, 2)                                                                     \
    TILE(64, 112, ALONE, 2, 4)                                                                     \
    TILE(64, 96, ALONE, 1, 4)                                                                      \
    TILE(64, 96, ALONE, 2, 4)                                                                      \
    TILE(64, 96, ALONE, 4, 2)                                                                      \
    TILE(64, 80, ALONE, 1, 1)                                                                      \
    TILE(64, 80, ALONE, 2, 4)                                                                      \
    TILE(64, 64, ALONE, 2, 4)

// The same, with A and B exchanged: for few rows of A, and where the height fits n better.
#define EXCHANGED_FAMILY(TILE)                                                                     \
    TILE(256, 200, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 176, BY_ROWS, 2, 1)                                                                  \
    TILE(256, 176, BY_ROWS, 2, 2)                                                                  \
    TILE(256, 160, BY_ROWS, 1, 1)                                                                  \
    TILE(256, 160, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 160, BY_ROWS, 2, 1)                                                                  \
    TILE(256, 152, BY_ROWS, 1, 2)                                                                  \
    TILE(256, 136, BY_ROWS, 1, 2)                                                                  \
    TILE(192, 256, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 240, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 224, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 224, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 208, BY_COLUMNS, 1, 1)                                                               \
    TILE(192, 208, BY_COLUMNS, 2, 2)                                                               \
    TILE(192, 192, BY_COLUMNS, 2, 1)                                                               \
    TILE(192, 160, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 144, BY_COLUMNS, 1, 2)                                                               \
    TILE(192, 112, BY_COLUMNS, 1, 2)                                                               \
    TILE(128, 248, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 240, BY_ROWS, 1, 2)                                                                  \
    TILE(128, 224, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 224, BY_ROWS, 4, 2)                                                                  \
    TILE(128, 184, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 160, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 160, BY_ROWS, 2, 4)                                                                  \
    TILE(128, 144, BY_ROWS, 2, 2)                                                                  \
    TILE(128, 136, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 128, BY_ROWS, 1, 4)                                                                  \
    TILE(128, 120, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 112, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 112, BY_ROWS, 2, 2)                                                                  \
    TILE(128, 104, BY_ROWS, 1, 1)                                                                  \
    TILE(128, 104, BY_ROWS, 1, 4)                                                                  \
    TILE(128, 80, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 80, BY_ROWS, 2, 2)                                                                   \
    TILE(128, 72, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 64, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 48, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 48, BY_ROWS, 2, 1)                                                                   \
    TILE(128, 32, BY_ROWS, 1, 1)                                                                   \
    TILE(128, 16, BY_ROWS, 1, 2)                                                                   \
    TILE(128, 16, BY_ROWS, 2, 1)                                                                   \
    TILE(128, 200, PING_PONG, 1, 2)                                                                \
    TILE(128, 192, PING_PONG, 1, 1)                                                                \
    TILE(128, 192, PING_PONG, 2, 1)                                                                \
    TILE(128, 184, PING_PONG, 1, 2)                                                                \
    TILE(128, 176, PING_PONG, 2, 1)                                                                \
    TILE(128, 160, PING_PONG, 1, 1)                                                                \
    TILE(128, 160, PING_PONG, 4, 1)                                                                \
    TILE(128, 144, PING_PONG, 2, 1)                                                                \
    TILE(128, 144, PING_PONG, 2, 2)                                                                \
    TILE(128, 136, PING_PONG, 1, 1)                                                                \
    TILE(64, 128, ALONE, 1, 1)                                                                     \
    TILE(64, 112, ALONE, 1, 1)                                                                     \
    TILE(64, 112, ALONE, 2, 1)                                                                     \
    TILE(64, 96, ALONE, 1, 4)                                                                      \
    TILE(64, 96, ALONE, 4, 1)                                                                      \
    TILE(64, 96, ALONE, 4, 2)                                                                      \
    TILE(64, 80, ALONE, 2, 4)                                                                      \
    TILE(64, 64, ALONE, 1, 1)                                                                      \
    TILE(64, 64, ALONE, 1, 4)                                                                      \
    TILE(64, 64, ALONE, 4, 1)                                                                      \
    TILE(64, 56, ALONE, 1, 1)                                                                      \
    TILE(64, 40, ALONE, 1, 1)                                                                      \
    TILE(64, 32, ALONE, 1, 1)                                                                      \
    TILE(64, 32, ALONE, 4, 1)                                                                      \
    TILE(64, 32, ALONE, 4, 2)                                                                      \
    TILE(64, 24, ALONE, 1, 1)                                                                      \
    TILE(64, 16, ALONE, 1, 1)                                                                      \
    TILE(64, 8, ALONE, 1, 1)
