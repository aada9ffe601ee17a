"""What the emulator counts: bank conflicts, as headers say and a GPU counted, and all that is recorded."""

import json

import pytest

from tools import BUILD, call
from tools.fake_rungs import bench

from bench import ladder, record, results, rungs
from notes.tools import tables

RUNGS = list(rungs.find())
# The ways of a rung's worst read and write: in a03 the eight rows of an ldmatrix begin in one bank; a
# transpose has a column of 32 rows, unswizzled and swizzled. The others have no conflict.
WAYS = {"a03": (8, 8), "t02": (1, 32), "t03": (1, 4), "t04": (1, 4)}
COUNTER = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"
TOLERANCE = 0.01  # a GPU counts some accesses that wait for others' data as well
# And, as conflicts, that TMA uses the banks when a warp wants to: that much of all wavefronts may be.
BESIDE_TMA = 0.15
# What a GPU has counted: the rungs, the shape, and a tile of it.
COUNTED = {"a03": ((4096, 4096, 4096), (256, 128, 64))}
COUNTED |= dict.fromkeys(("t02", "t03", "t08"), ((8192, 8192), (64, 64)))
# What programs print at such a shape.
PRINTED = {
    "v08 256 256 128": """
launch     2 CTAs in 1 cluster, 768 threads; counted under the policy eager
read       131.1 kB by TMA in 8 loads; multicast brought 65.54 kB more to other CTAs
written    131.1 kB by threads
tensor     32 wgmma instructions, 8388608 multiply-adds
waits      1028 for mbarriers, 264 of them blocked, with 20 arrivals; 1536 at other barriers, 1534 blocked
ring       the loads ran at most 2 of 2 stages ahead, 1.5 on average
banks      no plain loads or stores of shared memory
""",
    "a05 128 128 64": """
read       49.15 kB by cp.async
written    32.77 kB by threads
tensor     1024 mma instructions, 2097152 multiply-adds
banks      no conflict in the 4 lines that access shared memory
""",
    "t02 32 32": """
launch     1 CTA, 1024 threads; counted under the policy eager
read       4.096 kB by TMA in 1 load
written    4.096 kB by TMA in 1 store
tensor     not used
banks      conflicts in 1 of the 2 lines that access shared memory:
           ways  wavefronts  of them extra  access  line
             32        1024            992  write """,
}


def run(rung, *shape, more=()) -> str:
    """What the rung's program prints."""
    words = [word for pair in zip(("--m", "--n", "--k"), map(str, shape)) for word in pair]
    command = [BUILD / "emulated" / rung, *words, "--policy", "eager", *more]
    return call(*command, ends_well=True).stdout


def sites(folder, rung, *shape) -> list[dict]:
    """The lines of source that read or write shared memory, as the rung's program counts them."""
    path = folder / "run.json"
    run(rung, *shape, more=("--json", path))
    return json.loads(path.read_text())["emulator"]["shared_memory_accesses"]


@pytest.mark.needs(*(f"emulated/{words.split()[0]}" for words in PRINTED))
def test_printed():
    for words, lines in PRINTED.items():
        said = run(*words.split())
        for line in filter(None, lines.split("\n")):
            assert line in said


def extra(found: list[dict]) -> int:
    """The extra wavefronts of all accesses."""
    return sum(site["extra_wavefronts"] for site in found)


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize("rung", [rung for rung in RUNGS if rung[0] == "t" or "a03" <= rung < "b"])
def test_bank_conflicts(rung, tmp_path):
    """Every access of a line has the same ways."""
    worst = {"read": 0, "write": 0}
    for site in sites(tmp_path, rung, *((64, 96) if rung[0] == "t" else (256, 256, 128))):
        worst[site["access"]] = max(worst[site["access"]], site["worst_ways"])
        needed = site["wavefronts"] - site["extra_wavefronts"]
        assert site["wavefronts"] == site["worst_ways"] * needed, site
    assert tuple(worst.values()) == WAYS.get(rung, (1, 1))


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize("rung", COUNTED)
def test_as_a_gpu_counted(rung, tmp_path):
    """What the emulator counts in a tile or two, against what a GPU counted in many."""
    shape, tile = COUNTED[rung]
    counted = tables.Library().choose(
        [rung], shape, "counters", track=rung[0], kind=lambda run: True
    )
    counters = counted.first(rung)["counters"]
    m, n, *k = (whole // part for whole, part in zip(shape, tile))
    expected = one = extra(sites(tmp_path, rung, *tile))
    for k_tiles in k:  # each but the first adds the same
        expected += (k_tiles - 1) * (extra(sites(tmp_path, rung, *tile[:2], 2 * tile[2])) - one)
    expected *= m * n
    most = TOLERANCE * expected if k else BESIDE_TMA * counters[WAVEFRONTS]
    assert -TOLERANCE * expected <= counters[COUNTER] - expected <= most


def counts_of(path) -> dict[tuple[str, str], str]:
    """{(rung, count): number in six digits}, with all that bank conflicts cost."""
    found = {}
    for run in results.load(path):
        for name in run.measured:
            told = run.first(name)["emulator"]
            counts = {**told["counts"], "extra": extra(told["shared_memory_accesses"])}
            found.update({(name, key): f"{value:.6g}" for key, value in counts.items()})
    return found


@pytest.mark.needs("emulated/{rung}")
@pytest.mark.parametrize("rung", RUNGS)
def test_as_recorded(rung, tmp_path):
    (run,) = record.chosen("counts")
    *words, sizes = run.words[1:]  # MxNxK,MxN
    size, out = sizes.split(",")[rung[0] == "t"], tmp_path / "counts.jsonl"
    bench(ladder.ladder_main, *words, size, "--steps", rung, "--out", out)
    recorded = counts_of(results.RESULTS / "emulator" / "counts.jsonl")
    assert {name for name, _ in recorded} == {*RUNGS}
    own = {(name, key): value for (name, key), value in recorded.items() if name == rung}
    assert counts_of(out) == own
