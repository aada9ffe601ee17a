// An order of the tiles of D, as tile_schedule.h has it: tile_orders TILES_M TILES_N GROUP SMS,
// rows of tiles in a group, or 0 for the Hilbert curve. The first line has the number of workers,
// the others a tile's m and n.
#include "device/hilbert.h"
#include "device/launch.cuh"

#include <vector>

int main(int argc, char **argv) {
    if (argc != 5)
        return fprintf(stderr, "usage: tile_orders TILES_M TILES_N GROUP SMS\n"), 1;
    const int tiles_m = atoi(argv[1]), tiles_n = atoi(argv[2]), group = atoi(argv[3]);
    const int count = tiles_m * tiles_n, workers = balanced_workers(count, atoi(argv[4]));
    std::vector<tile_coordinate> tiles(count);
    if (group == 0)
        hilbert_order(tiles.data(), tiles_m, tiles_n);
    else
        for (int i = 0; i < count; ++i)
            tiles[i] = grouped_tile(i, tiles_m, tiles_n, group);
    printf("%d\n", workers);
    for (const tile_coordinate &tile : tiles)
        printf("%d %d\n", tile.m, tile.n);
    return 0;
}
