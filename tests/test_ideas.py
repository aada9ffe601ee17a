"""What the pictures of ideas show is what the rungs' texts say, and their model of the L2 is right.
tests/device compares the instructions, which the probes ask, with the PTX manual."""

from __future__ import annotations

import pytest

from tools.pictures import of

pytestmark = pytest.mark.needs("venv/plots.stamp", "probes/tile_orders")
LINES = {  # of rungs: what their pictures show that they do
    "v05": "tile_m = blockIdx.x % (m / BM);|tile_n = blockIdx.x / (m / BM);",
    "v07": "mbarrier_init(&smem.empty[stage], CONSUMERS);",
    "v08": "mbarrier_init(&smem.empty[stage], CONSUMERS * CLUSTER);|rows_b = BN / CLUSTER;",
    "v10": "grouped_tile(i, tiles_m, tiles_n, GROUP)|i += gridDim.x|= balanced_workers(",
    "v11": "tile = order[i];|hilbert_order(order, tiles_m, tiles_n);|= balanced_workers(",
    "v13": "grouped_tile(i, tiles_m, tiles_n, GROUP)|backwards = i / gridDim.x % 2;",
    "v14": "float acc[MMA_N / 2];|MMA_N = BN;|STAGING_COLUMNS = BN / 2;|WM = BM / CONSUMERS;",
    "v16": "bf16 d[CONSUMERS][WM * BN];|BLOCKS = BM / WM / CONSUMERS;|WM = 64;",
}


@pytest.mark.parametrize("rung", LINES)
def test_lines(rung):
    """The rung does what its picture shows."""
    assert [line for line in LINES[rung].split("|") if line not in of("probes").source(rung)] == []


@pytest.mark.parametrize("rung", ["v05", "v10", "v11", "v13"])
def test_dram_reads(rung):
    """The model reads from DRAM what a cache does not hold, and A and B once if both fit."""
    model, size, backwards = of("ideas.model"), 2048, rung == "v13"
    order, tile = of("probes").order_of(rung, size, 8), of("probes").tile_of(rung)
    capacities, wanted = [mebibytes << 20 for mebibytes in (1, 3, 6, 16)], []
    for capacity in capacities:
        cache, uses = model.Cache(capacity), model.uses(order, tile, size, backwards)
        wanted.append(sum(count for _, item, count in uses if not cache.use(item, count)))
    assert model.dram_reads(order, tile, size, backwards, capacities) == wanted
    assert wanted[-1] == 2 * size * size * 2
