// An order of the tiles of D, as tile_schedule.h has it: tile_orders TILES_M TILES_N GROUP SMS,
// rows of tiles in a group, or 0 for the Hilbert curve. The first line has the number of workers,
// the others a tile's m and n, and whether the next wave reads its rows and its columns again.
#include "probe.cuh"

#include "device/hilbert.h"
#include "device/scheduled_tile.h"

int main(int argc, char **argv) {
    if (argc != 5)
        give_up("usage: tile_orders TILES_M TILES_N GROUP SMS");
    const int tiles_m = atoi(argv[1]), tiles_n = atoi(argv[2]), group = atoi(argv[3]);
    const int count = tiles_m * tiles_n, workers = balanced_workers(count, atoi(argv[4]));
    std::vector<tile_coordinate> places(count);
    if (group == 0)
        hilbert_order(places.data(), tiles_m, tiles_n);
    else
        for (int i = 0; i < count; ++i)
            places[i] = grouped_tile(i, tiles_m, tiles_n, group);
    std::vector<scheduled_tile> tiles(count);
    for (int i = 0; i < count; ++i)
        tiles[i].at = places[i];
    mark_reuse(tiles.data(), count, workers);
    printf("%d\n", workers);
    for (const scheduled_tile &tile : tiles)
        printf("%d %d %d %d\n", tile.at.m, tile.at.n, tile.row_again, tile.column_again);
    return 0;
}
