"""bench/ladder.py and bench/run.py over fake rungs, as on a GPU and as on the emulator."""

import io
import re
import signal
from statistics import median

import pytest

from tools.fake_rungs import GPU, SIZE, TIMED, House, bench, holds

from bench import ladder, results
from bench import run as running

FLOP = 2 * SIZE**3


def test_samples(tmp_path):
    """Samples, medians, quantiles, ratios and neighbours against figures worked out by hand."""
    speeds = {"v01": 0.5, "v02": 0.8, "v03": 0.6}
    house = House(tmp_path, **{name: {"speeds": {"step": one}} for name, one in speeds.items()})
    said, found = house.run(), house.result()
    assert (found.commit, found.gpu["name"], found.passes) == ("abc1234", "Fake GPU 1", 3)
    # One TFLOPS' worth of time, 0 or 1 % longer by round, 0, 10 or 20 % longer by pass.
    factors = [1.0, 1.01, 1.1, 1.11, 1.2, 1.21]
    wanted = [FLOP / 1e12 * factor / 0.8 for factor in factors]
    assert found.seconds("v02") == pytest.approx(wanted)
    spread = ((0.8 / 1.1 + 0.8 / 1.11) / 2, (0.8 / 1.21 + 0.8 / 1.2) / 2, (0.8 / 1.01 + 0.8) / 2)
    assert tuple(found.rate("v02")) == pytest.approx(spread)  # at 2.5, 0.5 and 4.5 of 0..5
    assert found.rate("cublas").mid == pytest.approx(median(1 / factor for factor in factors))
    assert found.ratio("v02").mid == pytest.approx(0.8)
    line = next(line for line in said.splitlines() if line.startswith("v02 "))
    holds(line, "0.7 (0.7 to 0.8)", "0.800 (0.800 to 0.800)", "40.0 %", "1.600 GHz")
    holds(said, "v02 faster than v01: yes (paired ratio 1.6000, in 3 of 3 passes)")
    holds(said, "v03 faster than v02: NO (paired ratio 0.7500, in 0 of 3 passes)")


def test_order(tmp_path):
    """Passes begin elsewhere and alternate direction; --dry-run prints every command and runs none; what
    will run, and for how long, is said first."""
    house = House(tmp_path, v01={}, v02={}, v03={}, v99={})  # v99 has no source any more
    lines = house.run("--dry-run").splitlines()
    assert (len(lines), house.calls(), house.out.exists()) == (10, [], False)
    assert lines[0].startswith("pass 1, v01: ") and f"--m {SIZE}" in lines[0]
    said = "3 programs on the GPU (v 256x256x256 burst): 9 processes, about 0:00:11"
    assert (lines[-1], house.run().splitlines()[0]) == (said, said)
    assert house.calls() == ["v01", "v02", "v03", "v02", "v01", "v03", "v03", "v01", "v02"]


def test_variants_and_rivals(tmp_path):
    """They run after their rung, or last, if they are named; a variant is compared with its rung."""
    house = House(tmp_path, v06={}, v08={}, v06_each_sm={}, v_fast_cu_12={})
    house.add("v08-few", speeds={"step": 0.4})
    house.run("--steps", "v-fast-cu-12,8,v8-few,v6-each-sm,6", "--passes", 1)
    found = house.result()
    assert found.names == ["v06", "v06-each-sm", "v08", "v08-few", "v-fast-cu-12"]
    pairs = [("v06-each-sm", "v06"), ("v08", "v06"), ("v08-few", "v08")]
    assert (ladder.neighbours(found), found.against("v08-few", "v08").ratio) == (pairs, 0.4)


def test_one_file(tmp_path):
    """Tracks, shapes and protocols of one invocation are runs of one file, a protocol after the other."""
    house = House(tmp_path, v01={}, v02={}, a02={}, t02={})
    words = ("--track", "all", "--sizes", "256,512x256x64,512x1024", "--protocol", "both")
    house.run(*words, "--passes", 2)
    products, moves = ((256,) * 3, (512, 256, 64)), ((256, 256), (512, 1024))
    wanted = [(shape, protocol) for protocol in ladder.BOTH for shape in products] * 2
    wanted += [(shape, protocol) for protocol in ladder.BOTH for shape in moves]
    assert [(one.shape, one.protocol) for one in house.runs()] == wanted
    assert house.calls()[:4] == ["v01", "v02", "v02", "v01"]  # a shape's passes


def searches(house):
    """Of each command '64' for --heuristics 64, '#7' for --algorithm 00...7."""
    found = re.findall(
        "(?m)^\\S+(?:.*--(?:heuristics (\\w+)|algorithm (\\w+)))?", house.log.read_text()
    )
    return [f"#{int(number, 16)}" if number else many for many, number in found]


def test_cublaslt(tmp_path):
    """The first program that can run finds the best of cuBLASLt, which all have beside them; FP8's
    programs that add and scale alike share a search."""
    house = House(tmp_path, v01={"each": {"exit": 1}}, v02={"winner": 7}, v03={}, t02={})
    said = house.run("--sizes", "256,512", "--passes", 2, "--track", "all", status=1)
    one_ladder = ["64", "64", "#7", "#7", "#7"]  # v01 fails, and is not run again
    assert searches(house) == [*one_ladder, *one_ladder, *4 * [""]]  # t02 multiplies nothing
    holds(said, "of cuBLASLt (p10 to p90)", "the best of 64 heuristics: kernel of number 7")
    house.add("v02", winner=1, found={"enumerated": 1584, "launched": 1592, "cut": True})
    for many, wanted in (("2", ["2", "#1"]), ("0", ["", ""]), ("all", ["all", "#1"])):
        said = house.run("--heuristics", many, "--passes", 1, "--steps", "2,3")
        assert searches(house)[-2:] == wanted
        assert ("cublaslt" in house.result().contenders) == (many != "0")
    holds(said, "the best of 1,592 configurations (a list that was cut): kernel of number 1")
    scales = {"speeds": {"cublaslt_block_scales": 1.0}}
    rungs = {"f01": {"winner": 7}, "f02": {"winner": 5}, "f08": {}}
    house = House(tmp_path / "f", **rungs, f03={"winner": 3, **scales}, f04=scales)
    assert house.run("--track", "f", "--passes", 1).count("kernel of number") == 3
    assert house.calls() == ["f01", "f08", "f02", "f03", "f04"]
    assert searches(house) == ["64", "#7", "64", "64", "#3"]


# --- what goes wrong --------------------------------------------------------------------------

FAILURES = {
    "v02": ({"each": {"exit": 1, "err": "v02: \033bad\nmore"}}, "exit status 1: v02: \\x1bbad"),
    "v03": ({"each": {"crash": True}}, "SIGABRT"),
    "v04": ({"each": {"exit": 77, "err": "needs something else"}}, "needs something else"),
    "v05": ({"each": {"exit": 1, "out": "WRONG  1 of 4\nmore"}}, "exit status 1: WRONG  1 of 4"),
    "v06": ({"each": {"sleep": 60}}, "not finished after 3 s"),
    "v07": ({"each": {"exit": 2, "err": "v07: what (--help says more)"}}, "exit status 2"),
    "v08": ({"row": {"gpu": {**GPU, "sms": 1}}}, "its gpu is not that of the first"),
    "v09": ({"row": {"commit": "def5678"}}, "its commit is not that of the first program"),
    "v10": ({"problem": {"seed": 2}}, "it ran"),
    "v11": ({"json": "{"}, "its JSON"),
    "v12": ({"json": "[]"}, "its JSON"),
}


def test_failing(tmp_path):
    """Wrong, crashing, hanging and silent rungs, and those whose row is another's or none, are noted; the
    others are still measured."""
    house = House(tmp_path, v01={}, **{name: told for name, (told, _) in FAILURES.items()}, v17={})
    said, found = house.run("--timeout", 3, status=1), house.result()
    assert (found.measured, found.passes) == (["v01", "v17"], 3)
    for name, (_, why) in FAILURES.items():
        assert why in found.failed[name] and f"FAILED: {found.failed[name]}" in said
        assert house.calls().count(name) == 1


def test_not_taken(tmp_path):
    """A shape that a rung doesn't take is no failure; a rung that fails at one is tried at the next."""
    of_64 = {"multiple": 64}
    house = House(tmp_path, v01=of_64, v02={"multiple": 512}, v03=of_64, v04={"alone": 512})
    said, (first, second, third) = house.run("--sizes", "256,512,96"), house.runs()
    assert first.refused == {"v02": "m=256 is no multiple", "v04": ladder.ALONE}
    assert (first.measured, second.measured) == (["v01", "v03"], ["v01", "v02", "v03", "v04"])
    assert (third.names, len(third.refused), house.calls().count("v02")) == ([], 4, 5)
    holds(said, "v02 does not take this shape: m=256 is no multiple")


OTHER = {"row": {"other_processes": ["4711 python3"]}}
NAMED = "WARNING: other processes used the GPU: 4711 python3"
FASTER = {"speeds": {"step": 0.75, "second_opinion": 0.25}}
FASTER["row"] = {"names": {"second_opinion": "X"}}
LAUNCHED = {"speeds": {"step": 0.8, "early": 1.0}}
NO_GPU, NOT_HERE = ({"each": {"exit": 77, "err": err}} for err in ("v01: no GPU", ""))
MOVED = "GB/s (p10 to p90)|cudaMemcpyAsync|other  X|37.5 %"
IN_USE = "in use by 4711 python3: nothing is measured; --share-gpu"
SAYS = {  # rungs, options, the exit status, what is said
    "words move": ({"t02": {}, "t03": FASTER}, "--track t", 0, MOVED),
    "wide": ({"v01": {"noise": 0.02}}, "", 0, "WARNING: the spread is wide (over 1%|v01 (2.0%)"),
    "early": ({"v17": LAUNCHED}, "", 0, "early launch over usual, time|0.800 (0.800 to 0.800)"),
    "sustained": ({"v01": {}}, "--protocol sustained", 0, "650 W|650 J|1.600 GHz"),
    "a call": ({"v01": {}}, "--protocol call", 0, "37.08 µs|0.0020 s"),  # medians of three passes
    "another process": ({"v01": OTHER}, "", 1, IN_USE),
    "a shared GPU": ({"v01": OTHER}, "--share-gpu", 0, NAMED),
    "a later process": ({"v01": {**OTHER, "busy_from": 2}}, "", 0, NAMED),
    "no GPU": ({"v01": NO_GPU, "v02": {}}, "", 77, "\nv01: no GPU\n"),
    "two tracks": ({"v01": NOT_HERE, "a02": {}}, "--steps 1,a2", 1, "v01: FAILED: it printed no"),
}


@pytest.mark.parametrize(("rungs", "words", "status", "said"), SAYS.values(), ids=SAYS)
def test_says(tmp_path, rungs, words, status, said):
    """What is read beside the time is shown, and what is wrong with it. Nothing is recorded beside another
    process, unless that is allowed, nor if a single track's first rung cannot run."""
    house = House(tmp_path, **rungs)
    holds(house.run(*words.split(), status=status), *said.split("|"))
    assert house.out.exists() == (status == 0 or "a02" in rungs)
    assert {*house.calls()} <= {*rungs} - ({"v02"} if status == 77 else set())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize(("rung", "call", "passes"), [("v02", "3", [2, 1]), ("v01", "0", [])])
def test_interrupted(tmp_path, number, rung, call, passes):
    """A signal keeps what is finished and ends the rung under way; before any has nothing is written."""
    # v01 v02 v02 v01 at 256; v01 v02 and then v02 signals at 512
    house = House(tmp_path, v01={}, v02={})
    house.add(rung, acts={call: {"signal": number, "sleep": 30}})
    result = house.apart("--sizes", "256,512", "--passes", 2)
    assert result.returncode == (-9 if number == signal.SIGKILL else running.INTERRUPTED)
    assert [one.passes for one in house.runs()] == passes


USAGE = f"""--size 0|--m 256|--steps v02|--steps banana|--steps=|--steps v01-missing|--steps v01-UPPER
--steps x01|--build /nowhere|--protocol none|--inputs zeros|--seed -1|--passes 0|--device -1
--seed {2**64}|--sizes 8x9|--track a|--track b|--heuristics 65|--heuristics any|--unknown"""
EMULATED = "--protocol foo|--sizes all|--sizes 64,squares|--track t|--passes 2"


@pytest.mark.parametrize(
    "words", [*re.split("[|\n]", USAGE), *(f"E {one}" for one in EMULATED.split("|"))]
)
def test_bad_usage(tmp_path, words):
    """All that can be known beforehand is refused, and nothing is run; E: on the emulator."""
    house = House(tmp_path, usual=["--emulate"] if words[0] == "E" else TIMED, v01={})
    assert house.run(*words.removeprefix("E ").split(), status=running.BAD_USAGE)
    assert (house.calls(), house.out.exists()) == ([], False)


def test_unwritable(tmp_path):
    """What cannot be written is said, and an exit status says so."""
    house = House(tmp_path, v01={})
    result = house.apart("--rounds", 30, "--heuristics", 0, shell='ulimit -f 2; exec "$@"')
    assert (result.returncode, "File too large" in result.stderr) == (1, True)
    house.out.unlink()
    result = house.apart(shell='PYTHONUNBUFFERED= exec "$@" >/dev/full')
    assert (result.returncode > 0, "No space left" in result.stderr) == (True, True)
    assert house.result().passes == 3  # it was written all the same


def test_places(tmp_path, monkeypatch):
    """What is recorded takes the place of what is there, in a folder of the GPU; one's own goes to a new
    file."""
    house = House(tmp_path, v01={})
    monkeypatch.setattr(running, "RESULTS", tmp_path)
    for words in (("--record", "a-test.{card}"), ("--record", "a-test.{card}"), ()):
        bench(ladder.ladder_main, "--build", tmp_path, "--size", SIZE, *words)
    (run,) = results.load(tmp_path / "fake-gpu-1" / "a-test.0a1b2c3d.jsonl")
    assert (run.passes, len(house.calls())) == (5, 15)
    assert {*run.heuristics["winner"]} == {"name"}  # no page reads the rest
    assert len(list(tmp_path.glob("results/fake-gpu-1/2*Z.jsonl"))) == 1


def test_emulated(tmp_path):
    """On the emulator rungs are checked, and their counts shown, at their own shapes or at those that are
    named; a failure is told in a rung's own words."""
    house = House(tmp_path, usual=["--emulate"], v01={}, v02={"multiple": 512}, a01={}, t02={})
    house.add("v03", each={"exit": 1, "out": "WRONG      exact: 3 of 9 differ\npolicy     lazy\n"})
    said = house.run("--policy", "lazy", status=1)
    holds(said, "5 programs on the emulator (v 256x256x256, ", "v01: verified")
    holds(said, "CPU emulator, m=256 n=256 k=256, inputs normal, no speed is measured")
    holds(said, "v01   idea of v01  42             1.50 MB   0.25 MB      12\n")
    holds(said, "v02 does not take this shape: m=256 is no multiple")
    holds(said, "v03   FAILED: exit status 1: WRONG      exact: 3 of 9 differ\n")
    assert {(one.gpu, one.shape) for one in house.runs()} == {(None, (256,) * n) for n in (2, 3)}
    assert "--inputs normal --seed 1 --policy lazy" in house.commands()[-1]
    plan = ("--emulate", "--build", tmp_path, "--dry-run", "--protocol", "burst", "--steps", "v01")
    said = bench(ladder.ladder_main, *plan)
    holds(said, "the emulator measures no time", "/emulated/v01 --inputs normal")
    holds(said, "1 programs on the emulator (v): 1 proc")


def test_progress(monkeypatch):
    """The time left is what as many took before; a bar is one line."""
    task = running.Task("v", "burst", {"m": 8}, (("v01", ""), ("v02", "")))
    plan, stream = ladder.make_plan([task], 2), io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(running.time, "monotonic", iter((100, 110, 110)).__next__)
    shown = running.Progress(stream)
    shown.finished(plan[0], 10, "FAILED: x", 3)
    shown.running(plan[1:2], 2)
    said = "pass 1, v01: FAILED: x (10.0 s, 0:00:30 left)\n"
    bar = f"[{'#' * 7}{'.' * 23}] 1/4 pass 1, v02, 0:00:30 left"
    assert stream.getvalue() == f"\r\033[K{said}\r\033[K{bar}"
