"""What the pictures of ideas show is what the rungs' texts, the clocks and the records say. tests/device
compares the instructions, which the probes ask, with the PTX manual."""

from __future__ import annotations

import itertools
import math

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


@pytest.mark.parametrize("size", [8192, 5000])
@pytest.mark.parametrize("rung", ["v05", "v10", "v11", "v13", "v14"])
def test_order(rung, size):
    """Each tile once, and as many at a time as the rung starts CTAs. (tests/device has the orders.)"""
    order, (m, n, _) = of("probes").order_of(rung, size, 132), of("probes").tile_of(rung)
    tiles = list(zip(order["m"], order["n"]))
    assert sorted(tiles) == list(itertools.product(range(-(-size // m)), range(-(-size // n))))
    assert order["workers"] == (132 if rung == "v05" else -(-len(tiles) // -(-len(tiles) // 132)))
    assert rung != "v05" or tiles == sorted(tiles, key=lambda tile: tile[::-1])


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


def test_cache():
    """What is marked goes first, then what was used last the longest ago."""
    cache = of("ideas.model").Cache(3)
    found = [cache.use(item, 1, item == "b") for item in "abcdae"]
    assert found == [False, False, False, False, True, False]
    assert [*cache.kept, *cache.first] == ["d", "a", "e"]


def test_sums():
    """The terms, cut off and added, are those of the recorded sum, and cut off twice its result."""
    sums = of("ideas.sums")
    terms, last, got = sums.recorded()
    assert len(terms) == 33
    for number in (*terms.values(), got):
        assert sum(2.0**one for one in sums.ones_of(number)) == abs(number)
    kept = sum(math.trunc(term / 2.0**last) for term in terms.values()) * 2.0**last
    assert 0 < abs(kept) - abs(got) < 2.0 ** (math.frexp(kept)[1] - 1 - 13)


@pytest.mark.needs("probes/happens_before")
def test_happens_before():
    """A consumer knows the load once it has waited for it; the second load knows the wgmma."""
    events = list(of("probes").ask("happens_before").values())
    waits = [event["knows"] for event in events if event["does"] == "waits"]
    first, second = (event["knows"] for event in events if event["who"] == "load")
    assert (events[0]["knows"]["load"], waits[0]["load"]) == (0, first["load"])
    assert (first["wgmma"], second["wgmma"]) == (0, waits[1]["wgmma"])
    assert second["load"] == first["load"] + 1  # its number is the first one's
