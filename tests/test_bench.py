#!/usr/bin/env python3
"""Tests of bench/ with fake rungs: one ladder, its file, and what pages show of it.

Needs no GPU. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
README_TABLE = [sys.executable, "-m", "notes.tools.readme_table"]
NOTES_TABLES = [sys.executable, "-m", "notes.tools.notes_tables"]

from tools.fake_rungs import (
    SIZE,
    House,
    close,
    holds,
    refused,
    require,
    run,
    run_cases,
    same,
    tests_in,
)

from bench.records import recorded
from notes.tools import readme_table, shapes_table

FLOP = 2 * SIZE**3


def pairs_of(ladder):
    """The names of its neighbours."""
    return [(pair["lower"], pair["upper"]) for pair in ladder["neighbours"]]


def test_merge(folder):
    """Samples, medians, quantiles, ratios and neighbours against figures worked out by hand."""
    house = House(folder, v01={"speed": 0.5}, v02={"speed": 0.8}, v03={"speed": 0.6})
    result = house.ladder()
    ladder = house.result()
    same((ladder["schema"], ladder["kind"], ladder["interrupted"]), (2, "ladder", False))
    same((ladder["commit"], ladder["gpu"]["name"]), ("abc1234", "Fake GPU 1"))
    v02 = ladder["rungs"][1]
    # One TFLOPS' worth of time, 0 or 1 % longer by round, 0, 10 or 20 % longer by pass.
    factors = [1.0, 1.01, 1.1, 1.11, 1.2, 1.21]
    for found, factor in zip(v02["timing"]["step"]["seconds"], factors):
        close(found, FLOP / 1e12 * factor / 0.8)
    tflops = v02["timing"]["step"]["tflops"]
    close(tflops["median"], (0.8 / 1.1 + 0.8 / 1.11) / 2)
    close(tflops["low"], (0.8 / 1.21 + 0.8 / 1.2) / 2)  # position 0.5 of 0..5
    close(tflops["high"], (0.8 / 1.01 + 0.8 / 1.0) / 2)
    close(v02["timing"]["ratio_to_cublas"]["median"], 0.8)
    same(len(v02["timing"]["ratio_to_cublas"]["pass_medians"]), 3)
    close(v02["timing"]["step"]["sm_clock_ghz"], 1.6)
    same((v02["timing"]["step"]["watts"], len(v02["passes"])), (None, 3))
    same("seconds" in ladder["cublas"], False)  # they are the rungs'
    close(ladder["cublas"]["tflops"]["median"], statistics.median([1 / f for f in factors]))
    first, second = ladder["neighbours"]
    close(first["paired_ratio"], 1.6)
    same((first["lower"], first["upper"], first["faster"]), ("v01", "v02", True))
    same((second["faster"], second["passes_faster"], second["passes"]), (False, 0, 3))
    said = "v02 faster than v01: yes (paired ratio 1.6000, in 3 of 3 passes)"
    holds(result.stdout, said, "v03 faster than v02: NO (paired ratio 0.7500")


def test_order(folder):
    """Passes begin elsewhere and alternate direction; only the first checks in full, unless --check
    says otherwise; --dry-run prints every command and runs none."""
    house = House(folder, v01={}, v02={}, v03={})
    lines = house.ladder("--dry-run").stdout.splitlines()
    same((len(lines), house.calls(), house.out.exists()), (10, [], False))
    holds(lines[0], "pass 1:", "--check full")
    holds(lines[3], "v02", "--check sample")
    house.ladder()
    names = [call.split()[0] for call in house.calls()]
    same(names, ["v01", "v02", "v03", "v02", "v01", "v03", "v03", "v01", "v02"])
    same([call.split()[1] for call in house.calls()], ["full"] * 3 + ["sample"] * 6)
    house.ladder("--steps", "3,v1", "--check", "full", "--passes", "1")
    same(house.calls()[9:], ["v01 full", "v03 full"])


def variant_house(folder):
    """A house of two build directories: rungs in one, variants of them in the other."""
    house = House(folder, v01={"speed": 0.5}, v02={"speed": 0.8}, v10={})
    other = House(Path(folder) / "steps", **{"v02-b-2": {"speed": 0.4}, "v02-a": {"speed": 0.9}})
    other.add("v01-x", {"speed": 0.6})
    other.add("v02_y", {})  # no name of a variant
    return house, ("--build", str(other.folder))


def test_variants(folder):
    """Variants of a second build directory run after their rung and are compared with it; the README
    refuses them, and a name that is in both directories is refused."""
    house, build = variant_house(folder)
    house.ladder(*build)
    ladder = house.result()
    same(recorded.all_names(ladder), ["v01", "v01-x", "v02", "v02-a", "v02-b-2", "v10"])
    wanted = [("v01", "v01-x"), ("v01", "v02"), ("v02", "v02-a"), ("v02", "v02-b-2")]
    same(pairs_of(ladder), [*wanted, ("v02", "v10")])
    close(ladder["neighbours"][3]["paired_ratio"], 0.5)
    readme = house.folder / "README.md"
    readme.write_text("<!-- results:begin -->\n<!-- results:end -->\n")
    result = run(*README_TABLE, "--readme", readme, "--results", house.out)
    same((result.returncode, "variants" in result.stderr), (2, True))
    house.ladder(*build, "--steps", "2-a,v1", "--passes", "1")
    ladder = house.result()
    same((recorded.all_names(ladder), pairs_of(ladder)), (["v01", "v02-a"], []))
    house.refuses(" ".join((*build, "--steps 2-a,v1,a01")))
    house.ladder("--build", str(house.folder), "--passes", "1")  # the same one twice
    house.add("v01-x", {})
    holds(house.ladder(*build, status=2).stderr, "v01-x is built in more than one")


def test_tracks(folder):
    """Without --steps a ladder is one track, from the first rung of its common computation on; fp16
    rungs have cuBLAS with fp16 sums beside it, and rungs with other sums among them."""
    a02 = {"a02": {"fp16_sums": True}, "a02-fp32-sums": {"fp16_sums": False}}
    house = House(folder, v01={}, a01={}, **a02, a03={"fp16_sums": True, "speed": 4.0}, t01={})
    for words, names in (
        ("", ["v01"]),
        ("--steps a01", ["a01"]),
        ("--track a", ["a02", "a02-fp32-sums", "a03"]),
    ):
        result = house.ladder("--passes", "1", *words.split())
        same(recorded.all_names(house.result()), names)
    ladder = house.result()
    holds(result.stdout, "fp16 sums")
    same([rung["fp16_sums"] for rung in ladder["rungs"]], [True, False, True])
    require("cublas_fp16_sums" not in ladder["rungs"][1]["timing"], "of a rung with fp32 sums")
    close(ladder["rungs"][2]["timing"]["ratio_to_cublas"]["median"], 4)
    close(ladder["rungs"][2]["timing"]["ratio_to_cublas_fp16_sums"]["median"], 2)
    close(ladder["cublas_fp16_sums"]["tensor_core_share"], 1.0)


def test_modes_of_fp8(folder):
    """Rungs that add and scale alike are a ladder of their own, beside their mode of cuBLASLt. Records
    from when these modes had the names of cuBLAS are read as if they had today's."""
    house = House(folder, f01={}, f02={}, f03={"block_scales": True, "speed": 2.0}, f08={})
    result = house.ladder("--track", "f", "--passes", "1")
    ladders = fast, accurate, blocks = recorded.ladders_in(recorded.load_record(house.out))
    same([recorded.all_names(one) for one in ladders], [["f01", "f08"], ["f02"], ["f03"]])
    close(blocks["rungs"][0]["timing"]["ratio_to_cublaslt_block_scales"]["median"], 2)
    close(fast["rungs"][1]["timing"]["ratio_to_cublaslt_fast"]["median"], 1 / 1.1)
    holds(result.stdout, "of cuBLASLt (block scales)", "of cuBLASLt (accurate)")
    require("cublas" not in accurate and "cublaslt_fast" not in blocks, "of other modes")
    text = re.sub("cublaslt_(accurate|block_scales)", "cublas", house.out.read_text())
    text = text.replace("cublaslt_fast", "cublas_fast_sums")
    house.out.write_text(text)
    same(recorded.ladders_in(recorded.load_record(house.out)), list(ladders))
    house.out.write_text(text.replace("cublas_fast_sums", "cublas_fast"))
    refused("cublas_fast: is no field", recorded.load_record, house.out)


def test_moves(folder):
    """The rungs of the t track have no k and no sample; GB/s and the ratio to a copy are told, and the
    README's table has them, t01 apart."""
    house = House(folder, v01={}, t01={}, t02={"speed": 0.5}, t03={"speed": 0.75})
    result = house.ladder("--track", "t")
    ladder = house.result()
    same(recorded.all_names(ladder), ["t02", "t03"])
    same({key: ladder["problem"][key] for key in "mn"}, {"m": SIZE, "n": SIZE})
    require("k" not in ladder["problem"] and "cublas" not in ladder, ladder["problem"])
    timing = ladder["rungs"][1]["timing"]
    close(timing["ratio_to_device_copy"]["median"], 0.75)
    close(timing["ratio_to_second_opinion"]["median"], 3)
    close(timing["step"]["gb_per_s"]["high"], 750 * (1 / 1.01 + 1) / 2)
    close(timing["step"]["memory_share"], 0.375)
    same(ladder["second_opinion"]["name"], "somebody")
    said = "t03 faster than t02: yes (paired ratio 1.5000"
    holds(result.stdout, said, "GB/s (p10 to p90)", "cudaMemcpyAsync")
    require("TFLOPS" not in result.stdout + result.stderr, result.stdout)
    require(all(call.endswith("full") for call in house.calls()), house.calls())
    plan = (sys.executable, *House.PROGRAM, "--build", folder, "--track", "t", "--dry-run")
    holds(run(*plan).stdout, "--m 32768 --n 32768 --inputs")
    refused = run(*plan, "--k", "4")
    same((refused.returncode, "there is no k" in refused.stderr), (2, True))
    results = house.folder / "results"
    results.mkdir()
    for name in ("t01", "t02"):
        out = ("--out", str(results / f"{name}.json"))
        house.ladder("--steps", name, "--size", "32768", "--passes", "1", *out)
    rows, caption = shapes_table.table(["t02"], results)
    same(rows[0], ["program", "idea", "32768²", "of device copy"])
    same([row[0] for row in rows[1:]], ["t02", "copy", "other"])
    same((rows[1][3], rows[2][3], rows[3][1]), ("0.500 ±.001", "1", "somebody"))
    require(caption.startswith("GB/s read and written"), caption)
    same(shapes_table.table(["t02", "t03"], results)[0], None)


def test_headline(folder):
    """Only a finished standard run of every rung, without variants, is the headline."""
    folder = Path(folder)
    steps = folder / "sources"
    steps.mkdir()
    for name in ("v01_a.cu", "v02_b.cu", "a01_c.cu"):
        (steps / name).touch()
    for name, rungs, wanted in (
        ("whole", {"v01": {}, "v02": {}}, True),
        ("part", {"v01": {}}, False),
        ("failed", {"v01": {}, "v02": {"exit": 1}}, False),
        ("variants", {"v01": {}, "v02": {}, "v02-a": {}, "v02-b": {}}, False),
        ("failed-variants", {"v01": {}, "v02-a": {}, "v02-b": {"exit": 1}}, False),
        ("trial", {"v02": {}, "v02-a": {}}, False),
    ):
        house = House(folder / name, **rungs)
        results = house.folder / "results"
        results.mkdir()
        words = ("--passes", "1", "--size", "8192", "--out", str(results / "one.json"))
        house.ladder(*words, status=int("failed" in name))
        ladder = recorded.load_ladder(results / "one.json")
        same((name, recorded.newest_headline(results, steps) is not None), (name, wanted))
        same((name, recorded.newest_variants(results) is not None), (name, "variants" in name))
        require(not recorded.is_headline(dict(ladder, interrupted=True), steps), "interrupted")
        require(not recorded.is_headline(dict(ladder, protocol="sustained"), steps), "sustained")
    whole = recorded.load_ladder(folder / "whole" / "results" / "one.json")
    (steps / "v98_d.cu").touch()
    with mock.patch.object(recorded, "NOT_MEASURED", frozenset(("v98",))):
        require(recorded.is_headline(whole, steps), "v98, which no run has, is needed")
    (steps / "v98_d.cu").unlink()
    (steps / "v03_d.cu").touch()
    require(not recorded.is_headline(whole, steps), "v03 is not needed")
    (steps / "v03_d.cu").unlink()
    counters = min(recorded.RESULTS.glob("*-counters-*.json"))
    (folder / "whole" / "results" / "two.json").write_bytes(counters.read_bytes())
    require(recorded.newest_headline(folder / "whole" / "results", steps), "counters disturb it")


def test_failing(folder):
    """Wrong, crashing, hanging and silent rungs, and those whose JSON is none, are noted; the others
    are still measured."""
    texts = ("{", "NaN", "[]", "null", '{"schema": 1, "kind": "step", "step": "v01"}', "")
    behaviours = {
        "v02": ({"exit": 1, "stderr": "v02: wrong result"}, "exit status 1: v02: wrong result"),
        "v03": ({"crash": True}, "SIGABRT"),
        "v04": ({"exit": 77, "stderr": "needs something else"}, "77: needs something else"),
        "v05": ({"verified": False}, "verification.verified"),
        "v06": ({"sleep_in_call": 0}, "not finished after 2 s"),
        **{f"v{10 + index}": ({"json": text}, "JSON") for index, text in enumerate(texts)},
    }
    bad = {name: behaviour for name, (behaviour, _) in behaviours.items()}
    house = House(folder, v01={}, **bad, v20={})
    house.ladder("--timeout", "2", status=1)
    rungs = {rung["step"]: rung for rung in house.result()["rungs"]}
    for name, (_, why) in behaviours.items():
        holds(rungs[name]["failed"], why)
    same([len(rungs[name]["passes"]) for name in ("v01", "v20")], [3, 3])
    same(house.result()["neighbours"], [])
    same([call for call in house.calls() if "v02" in call], ["v02 full"])


def test_nothing(folder):
    """Without a result, or with runs of different GPUs or commits, no file is written, and it is said
    why; 77 of the first rung ends the ladder."""
    for index, (status, said, calls, rungs) in enumerate(
        (
            (77, "v01: no GPU found", 1, {"v01": {"exit": 77, "stderr": "v01: no GPU found"}}),
            (1, "m=256 is too small", 1, {"v01": {"exit": 2, "stderr": "m=256 is too small"}}),
            (1, "differ in gpu", 2, {"v01": {}, "v02": {"gpu": "Fake GPU 2"}}),
            (1, "def5678", 2, {"v01": {}, "v02": {"commit": "def5678"}}),
        )
    ):
        house = House(Path(folder) / str(index), **rungs)
        result = house.ladder(status=status)
        holds(result.stderr, said)
        require(status != 77 or result.stderr == f"{said}\n", result.stderr)
        same((len(house.calls()), house.out.exists(), house.left_over()), (calls, False, []))


def test_killed(folder):
    """SIGKILL keeps the runs that are finished, beside the file, and ends the rung under way."""
    house = House(folder, v01={}, v02={"sleep_in_call": 1})
    house.out.write_text("an older record")
    house.interrupted(4, signal.SIGKILL)
    kept = house.folder / "out.json.partial"
    same((house.out.read_text(), house.left_over()), ("an older record", [kept.name]))
    same(recorded.load_record(kept)["interrupted"], True)
    same([len(rung["passes"]) for rung in recorded.load_ladder(kept)["rungs"]], [2, 1])
    deadline = time.monotonic() + 10
    program = str(house.folder / "steps" / "v02").encode()
    while any(program in one.read_bytes() for one in Path("/proc").glob("[0-9]*/cmdline")):
        require(time.monotonic() < deadline, "the rung runs on")
        time.sleep(0.05)
    house.add("v02", {})
    house.ladder()
    same(house.left_over(), [])  # the next one takes it away


def test_bad_usage(folder):
    """Everything that can be known beforehand is refused with exit 2 and nothing run."""
    house = House(folder, v01={}, t02={})
    words = "--size 0|--size -8|--size 8x|--size 99999999999|--size=|--m 256|--steps v02"
    words += "|--steps banana|--steps=|--steps v01-missing|--steps v01-UPPER|--steps x01"
    words += f"|--build {folder}/nowhere|--out {folder}/nowhere/out.json|--out {folder}"
    words += f"|--protocol none|--inputs zeros|--seed -1|--seed {2**64}|--passes 0|--device -1"
    words += "|--sizes 8 --size 8|--sizes 8 --k 8|--sizes 8x9|--sizes 8x9x7 --track t|--track a"
    words += "|--track b|--heuristics 65|--heuristics -1|--heuristics any|--unknown"
    house.refuses(*words.split("|"))
    same(house.left_over(), [])


def test_destinations(folder):
    """--out replaces a file where links lead, writes to a device or pipe, and refuses a socket."""
    house = House(folder, v01={})
    device, pipe, link = (house.folder / name for name in ("device", "pipe", "link"))
    device.symlink_to("/dev/null")
    os.mkfifo(pipe)
    link.symlink_to("out.json")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    words = ("--passes", "1", "--heuristics", "0", "--out")
    for out in (device, pipe, link):
        same((out.name, house.ladder(*words, str(out)).stderr.count("\n")), (out.name, 1))
    require(device.is_char_device() and pipe.is_fifo() and link.is_symlink(), "replaced")
    same(json.loads(os.read(reader, 65536))["kind"], "run")
    os.close(reader)
    recorded.load_record(house.out)
    same(sorted(house.left_over()), ["device", "link", "pipe"])
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(house.folder / "socket"))
        house.refuses(f"--out {folder}/socket")


def test_unwritable(folder):
    """What cannot be written leaves nothing behind, one line, and an exit status that says so."""
    house = House(folder, v01={})
    limited = ["bash", "-c", 'ulimit -f 2; exec 2>&1; exec "$@" | cat; exit ${PIPESTATUS[0]}', "-"]
    result = run(*limited, *house.command("--rounds", "20", "--heuristics", "0"))
    same((result.returncode, house.left_over(), house.out.exists()), (1, [], False))
    holds(result.stdout, f"File too large: '{house.out}'")
    for command in (
        house.command("--passes", "1"),
        [sys.executable, "-m", "bench.records.compare", str(house.out), str(house.out)],
        [sys.executable, "-m", "bench.record", "--list"],
    ):
        pipes = {"stderr": subprocess.PIPE, "text": True, "timeout": 60}
        with open("/dev/full", "w") as full:
            result = subprocess.run(command, check=False, stdout=full, **pipes)
        require(result.returncode not in (0, 120), f"{command} exits with {result.returncode}")
        said = result.stderr.splitlines()[-1]
        require("Traceback" not in result.stderr and "No space left" in said, result.stderr)
    recorded.load_record(house.out)  # it was written all the same


# --- the pages --------------------------------------------------------------------------------

NOTE = """text
<!-- variants v02-a v01 v09-z -->
old
<!-- end -->
<!-- sources -->
<!-- end -->
end
"""


def notes_command(folder, note, *more):
    """Writes a note and returns (its path, the command that fills it)."""
    path = Path(folder) / "notes" / "note.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(note)
    return path, [*NOTES_TABLES, "--notes", path.parent, *more]


def test_notes(folder):
    """The notes' tables hold what is named, in that order; --check sees any difference; markers that
    are wrong are refused, and nothing is written."""
    house, build = variant_house(folder)
    house.ladder(*build)
    path, command = notes_command(folder, NOTE, "--variants", house.out)
    same((run(*command, "--check").returncode, path.read_text()), (1, NOTE))
    same([run(*command).returncode, run(*command, "--check").returncode], [0, 0])
    lines = path.read_text().splitlines()
    names = [line.split(" | ")[0] for line in lines if line.startswith("| v")]
    same(names, ["| v02-a", "| v01", "| v09-z"])
    said = "1.1250 (3/3)", "not in this run", "Fake GPU 1"
    holds("\n".join(lines), *said)
    require("old" not in lines and lines[-1] == "end", lines)
    path, command = notes_command(folder, NOTE.replace("sources", "sauce"), "--variants", house.out)
    same((run(*command).returncode, path.read_text()), (2, NOTE.replace("sources", "sauce")))


def test_shapes_table(folder):
    """The newest run that has all programs named, at each of the shapes that were run."""
    house = House(folder, a02={"fp16_sums": True}, a03={"fp16_sums": True, "speed": 4.0})
    results = Path(folder) / "results"
    results.mkdir()
    square = ("--size", "4096", "--passes", "1")
    house.ladder("--track", "a", *square, "--out", str(results / "1.json"))
    house.add("a02", {"fp16_sums": True, "speed": 7.0})
    house.ladder("--steps", "a02", *square, "--out", str(results / "2.json"))
    note = "<!-- shapes a02 a03 -->\n<!-- end -->\n"
    path, command = notes_command(folder, note, "--results", results)
    same(run(*command).returncode, 0)
    lines = [line.strip("|").split(" | ") for line in path.read_text().splitlines()]
    same([cell.strip() for cell in lines[1][2:]], ["4096³", "of cuBLAS"])
    rows = {line[0].strip() + " " + line[1]: line for line in lines if len(line) == 4}
    same(rows["a03 idea of a03"][3].strip(), "4.000 ±.001")
    same(rows["a02 idea of a02"][3].strip(), "1.000 ±.001")
    holds(path.read_text(), "| cuBLAS | fp16 sums |", "commit `abc1234`, 1 pass of 2 rounds")


def test_readme_table(folder):
    """The README's table is filled from a record; --check sees any difference; a README without
    markers and a file that is no ladder are refused."""
    house = House(folder, v01={"speed": 0.5}, v02={"exit": 1, "stderr": "a|b"})
    house.ladder(status=1)
    readme = house.folder / "README.md"
    markers = (
        f"<!-- {name}:begin -->\nold\n<!-- {name}:end -->\n" for name in ("picture", "results")
    )
    readme.write_text("".join(["top\n", *markers, "end\n"]))
    command = [*README_TABLE, "--readme", readme, "--results", house.out]
    same(run(*command, "--check").returncode, 1)
    holds(readme.read_text(), "old")
    same([run(*command).returncode, run(*command, "--check").returncode], [0, 0])
    text = readme.read_text()
    row = "| v01 | idea of v01 | 0 ±1 | 0.500 ±.001 |"
    holds(text, "top\n", row, "a\\|b", "Fake GPU 1, CUDA")
    holds(text, 'alt="TFLOPS at 256³, Fake GPU 1: v01 0, cuBLAS 1, cuBLASLt')
    require(text.endswith("<!-- results:end -->\nend\n"), text)
    house.out.write_text('{"kind": "step"}')
    result = run(*command)
    same((result.returncode, "not a recorded ladder" in result.stderr), (2, True))
    readme.write_text("no markers\n")
    same((run(*command).returncode, readme.read_text()), (2, "no markers\n"))


LIVE = "<script>x</script> `a` | [b](c) & d"
SHOWN = "&lt;script&gt;x&lt;/script&gt; &#96;a&#96; \\| &#91;b&#93;(c) &amp; d"


def test_escapes(folder):
    """What a record says is text in the README and in the notes; what has no line cannot be said."""
    house = House(
        folder,
        v01={"idea": LIVE},
        v02={"exit": 1, "stderr": LIVE + "\x1b[1m"},
        v03={"idea": "two\nlines"},
        v04={"gpu": "<b>H100</b>"},
        **{"v01-x": {"idea": LIVE}},
    )
    house.ladder("--passes", "1", status=1)
    failed = {rung["step"]: rung["failed"] for rung in house.result()["rungs"] if "failed" in rung}
    same(failed["v02"], f"exit status 1: {LIVE}\\x1b[1m")
    require("idea" in failed["v03"] and "gpu.name" in failed["v04"], failed)
    path, command = notes_command(folder, NOTE, "--variants", house.out)
    same(run(*command).returncode, 0)
    house.ladder("--passes", "1", "--steps", "v01,v02", status=1)
    text = "\n".join(readme_table.block(house.result(), house.folder, house.folder).splitlines())
    for shown in (path.read_text(), text):
        require(f"| v01 | {SHOWN} |" in shown and "<script>" not in shown, shown)
    holds(text, f"failed: exit status 1: {SHOWN}")


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(run_cases("bench", tests_in(globals())))
