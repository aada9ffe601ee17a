#!/usr/bin/env python3
"""Tests of plots/: every picture from the recorded runs, and from made-up ones where none is yet.

Runs in build/venv, where `make plots` has matplotlib; make sets it up if it isn't there. Prints one
line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
SIZES = (2048, 4096, 8192)
USUAL = (8192,) * 3

from tools import fake_energy, made_sweeps, pictures, stored
from tools.cases import refused, require, same
from tools.pictures import check_picture, drawn, plot, suffixed

from bench.records import recorded, traces


def headline():
    """The recorded run that the README shows."""
    return copy.deepcopy(recorded.load_ladder(recorded.newest_headline()))


def track(letter, first=1):
    """The names of a track's rungs from that number on, of those that were measured."""
    names = recorded.whole_track(track=letter)
    return [name for name in names if int(name[1:]) >= first]


def files_of(shape):
    """The recorded files that hold one burst ladder of the v rungs from v01 on at that shape, and
    no more. There were fewer rungs once."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        runs = [record for _, record in recorded.places_in(path)]
        if [(run["kind"], run.get("protocol")) for run in runs] == [("ladder", "burst")]:
            names = recorded.all_names(runs[0])
            if recorded.shape_of(runs[0]) == shape and names == track("v")[: len(names)]:
                found.append(path)
    return found


def records_of(*runs, **others):
    """These as if they were all that is recorded."""
    from plots.draw import records

    return records.Records(runs, **{"chosen": False, **others})


def shows(picture, runs, folder, names, words=(), never=()):
    """Draws one picture in this process, and looks for texts, for words in them, and for what must not
    be there; returns its notes."""
    from plots import plot as program
    from plots.draw import style

    pyplot = program.import_pyplot()
    found = picture.find(runs)
    figure = picture.draw(pyplot, found, runs)
    path = style.save_both(figure, Path(folder), picture.NAME)
    pyplot.close(figure)
    check_picture(path, names, words, never)
    return picture.notes(found) if hasattr(picture, "notes") else []


# ---------------------------------------------------------------------------- what is recorded


def test_recorded(_):
    """All pictures of recorded runs are drawn, labelled and titled."""
    from plots.draw import records, share_and_clock

    _, folder, output = drawn()
    counters = records.load().counters(USUAL)
    names = {
        "ladder": recorded.all_names(recorded.climb(headline())),
        "share-and-clock": recorded.all_names(share_and_clock.find(records.load())),
        "roofline": [s["step"] for s in counters["steps"] if "-" not in s["step"]],
        "ladder-a": track("a", 2),
        "ladder-t": track("t", 2),
        "fp8": ["f03", "f07"],
        "sizes": ["8192"],
        "sustained": ["cuBLAS"],
        "any-shape": [],
        "energy": ["tensor cores"],
        "power": ["v01: 1.98 GHz", "v16", "cuBLAS"],
    }
    for name, labels in names.items():
        require(f"{name}.png\n" in output, output)
        words = (headline()["gpu"]["name"], "normal inputs", "2026-")
        check_picture(folder / f"{name}.png", labels, words)
    names |= {f"trace-{recorded.trace_name(one)}": None for one in recorded.all_traces()}
    same(sorted(path.name for path in folder.iterdir()), sorted(suffixed(names)))


def test_same_twice(folder):
    """The same results give the same files, byte for byte."""
    pictures.same_again(folder)


def test_committed(_):
    """The pictures in plots/ say what the recorded runs say."""
    fresh = sorted(drawn()[1].glob("*.svg"))
    same(
        [path.name for path in fresh], sorted(path.name for path in (ROOT / "plots").glob("*.svg"))
    )
    for path in fresh:
        there = ROOT / "plots" / path.name
        new, old = (pictures.texts_of(pictures.svg_of(file)) for file in (path, there))
        require(new == old, f"plots/{path.name} is of other results ('make plots')")
        check_picture(there)


def test_legible(_):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    from plots import plot as program
    from plots.draw import any_shape, records, ring, style

    pyplot, runs = program.import_pyplot(), records.load()
    made = records_of(sweeps=swept())
    there = [(picture, runs) for picture in (*program.PICTURES, *ring.pictures(runs))]
    for picture, runs in [*there, (any_shape, made)]:
        try:
            found = picture.find(runs)
        except records.Missing:
            continue
        figure = picture.draw(pyplot, found, runs)
        style.settle(figure)
        pictures.check_legible(figure, picture.NAME)
        pyplot.close(figure)


def test_grey(_):
    """In grey, no two states of a stage and no two doings of a warp look alike."""
    from plots.draw import ring

    for looks in (ring.STATES, ring.DOES):
        greys = [(pictures.grey(how["facecolor"]), how.get("hatch")) for how in looks.values()]
        for i, (grey, hatch) in enumerate(greys):
            alike = [one for one, other in greys[:i] if abs(grey - one) < 0.15 and hatch == other]
            same((grey, alike), (grey, []))


# ---------------------------------------------------------------------------- traces


def rows_of(trace):
    """The texts of a trace's rows."""
    titles = [trace.title(warp) for warp in trace.warps[:8]]
    return [stage.name for stage in traces.stages(trace)] + [t.partition(" (")[0] for t in titles]


def test_traces(_):
    """Every recorded trace has its picture: a row per stage and per warp, with a legend."""
    from plots.draw import ring

    require(recorded.all_traces(), "none is recorded")
    for record in recorded.all_traces():
        path = drawn()[1] / f"trace-{recorded.trace_name(record)}.png"
        trace = traces.Trace(record)
        words = [record["idea"], f"CTA {trace.record['launch']['cta']} of", record["commit"]]
        words += ["multiplies", "waits", "starts loads", "writes results", "being filled", "empty"]
        words.append("emulated steps" if trace.exact else "cycles of the SM's clock")
        words.append("CPU emulator, policy" if trace.exact else record["gpu"]["name"])
        check_picture(path, rows_of(trace), words)
        # Of a GPU's trace the first fills are shown.
        fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
        done = sum(fill.done is not None and fill.done <= ring.shown_end(trace) for fill in fills)
        wanted = done if trace.exact else min(ring.MOST_FILLS, len(fills))
        same((record["step"], done), (record["step"], wanted))


def test_chosen_trace(folder):
    """From a trace that is named its picture alone, also from one without a ring."""
    from plots.draw import ring

    record = next(one for one in recorded.all_traces() if one["gpu"])
    name = f"trace-{recorded.trace_name(record)}"
    path = recorded.TRACES / f"{recorded.trace_name(record)}.json"
    result = plot("--results", path, "--out", folder)
    same((result.returncode, result.stderr, result.stdout.count("\n")), (0, "", 1))
    same(sorted(file.name for file in Path(folder).iterdir()), suffixed([name]))
    # Warps that neither load nor wait, as where there is no shared memory.
    made = copy.deepcopy(record)
    codes = {traces.WHATS.index(what) for what in ("multiply", "multiply wait", "write")}
    for warp in made["warps"]:
        events = warp["events"]
        kept = [i for i, what in enumerate(events["what"]) if what in codes]
        warp["events"] = {name: [column[i] for i in kept] for name, column in events.items()}
    rows = rows_of(traces.Trace(made))
    shows(ring.Picture(made), records_of(), folder, rows, ["cycles of the SM's clock"], ["stage 0"])


# ---------------------------------------------------------------------------- chosen files


def test_one_file(folder):
    """From one chosen file comes what it holds; the rest says what is missing."""
    path = files_of((4096,) * 3)[-1]
    result = plot("--results", path, "--out", folder)
    same((result.returncode, result.stderr), (0, ""))
    found = sorted(path.name for path in Path(folder).iterdir())
    same(found, suffixed(["ladder", "share-and-clock"]))
    names = recorded.all_names(recorded.load_ladder(path))
    check_picture(Path(folder) / "ladder.png", names, ["4096³"])
    for words in (
        "roofline: not drawn: no counters",
        "sizes: not drawn: burst runs of the v track at 3 or more square sizes; recorded: 4096³",
        "sustained: not drawn: no sustained run",
        "ladder-a: not drawn: no finished burst run of a02",
        "ladder-t: not drawn: no finished burst run of t02",
    ):
        require(words in result.stdout, f"'{words}' isn't in {result.stdout}")


def test_refuses(folder):
    """What can't be read or drawn is one line on stderr, exit 2, no file."""
    out, garbled = Path(folder) / "out", Path(folder) / "garbled.json"
    large, small, counters = (
        files_of(USUAL)[0],
        files_of((4096,) * 3)[0],
        max(recorded.RESULTS.glob("*-8192x8192x8192-counters-*.json")),
    )
    for words, files, text in (
        ("garbled.json", [garbled], None),
        ("garbled.json", [garbled], '{"kind": "ladder", "schema": 99}'),
        ("garbled.json", [garbled], json.dumps(headline())[:5000]),
        ("no picture can be drawn", [counters], None),
        ("not side by side: shape 8192³ in one, 4096³ in the other", [large, small], None),
        ("one of these files has none", [large, counters], None),
        ("side by side go two files, not 3", [large] * 3, None),
        ("garbled.json", [large], "{"),  # a file where the folder should be
    ):
        if text:
            garbled.write_text(text)
        result = plot(
            "--results", ",".join(map(str, files)), "--out", garbled if text == "{" else out
        )
        same((words, result.returncode, result.stderr.count("\n")), (words, 2, 1))
        require(result.stderr.startswith("plot: ") and words in result.stderr, result.stderr)
        require(not out.exists() or not list(out.iterdir()), f"{words}: wrote a file")


# ---------------------------------------------------------------------------- made-up runs


def like(ladder, factor=1, size=None, ratio=1, gpu=(), **changes):
    """A made-up ladder: the same, so many times as fast, at another square size, with so much of the
    ratios to cuBLASLt, on another GPU."""
    ladder = {**copy.deepcopy(ladder), **changes}
    ladder["gpu"].update(gpu)
    if size:
        ladder["problem"].update(m=size, n=size, k=size)
    timings = [rung["timing"] for rung in recorded.measured(ladder)]
    for timing in (*(timing["step"] for timing in timings), ladder["cublas"]):
        for key in timing["tflops"]:
            timing["tflops"][key] *= factor
    for timing in timings:
        for key in ("median", "low", "high"):
            timing["ratio_to_cublaslt"][key] *= ratio
    return ladder


def sustained_of(ladder):
    """A made-up sustained run of the same rungs, with joules."""
    ladder = like(ladder, 0.83, protocol="sustained")
    timings = [rung["timing"]["step"] for rung in recorded.measured(ladder)]
    for timing in (*timings, ladder["cublas"]):
        timing.update(joules=700 * 1.1 / timing["tflops"]["median"], watts=700.0)
    for rung in recorded.measured(ladder):
        for i, one in enumerate(rung["passes"]):
            one["step"]["joules"] = rung["timing"]["step"]["joules"] + 0.001 * i
    return ladder


def without_ratios(ladder):
    """A made-up ladder: the same, with cuBLASLt not searched for."""
    ladder = copy.deepcopy(ladder)
    for rung in ladder["rungs"]:
        del rung["timing"]["ratio_to_cublaslt"]
    return ladder


def test_ladder(folder):
    """The ladder: v01 to v17 alone, a failed rung is labelled, and the best cuBLASLt is a line."""
    from plots.draw import share_and_clock, tracks

    run_of = headline()
    run_of["cublaslt"] = like(run_of, 1.025)["cublas"]
    best = f"best cuBLASLt, median: {run_of['cublaslt']['tflops']['median']:.0f} TFLOPS"
    shown = recorded.all_names(recorded.climb(run_of))
    same(shown, [f"v{number:02}" for number in range(1, 18)])
    same(shows(tracks.Ladder, records_of(run_of), folder, shown, [best], ["v18"]), [])
    run_of["rungs"][1] = {"step": "v02", "failed": "exit 1", "passes": []}
    run_of["rungs"][3]["timing"]["step"].update(tensor_core_share=None, sm_clock_ghz=None)
    runs = records_of(run_of, chosen=True)
    shows(tracks.Ladder, runs, folder, [*track("v"), "failed"])
    shows(share_and_clock, runs, folder, track("v"))


def test_changes(folder):
    """Every rung's change of speed, share and clock is there in figures, and none on another."""
    from plots.draw import share_and_clock
    from plots.plot import import_pyplot

    run_of = headline()
    readings = (*share_and_clock.READINGS, "tflops")
    known = [v for reading in readings for v in share_and_clock.changes(run_of, reading)[1:]]
    figures = [share_and_clock.percent(v) for v in known if v is not None]
    shows(share_and_clock, records_of(run_of), folder, figures)
    figure = share_and_clock.draw(import_pyplot(), run_of, None)
    figure.draw_without_rendering()
    same(pictures.overlaps(figure.axes[2].texts, 0), [])


def test_adds_up(_):
    """Share and clock are of a run whose speed is their product: none with a slow launch."""
    from plots.draw import records, share_and_clock

    clean = copy.deepcopy(share_and_clock.find(records.load()))
    slow = copy.deepcopy(clean)
    slow["rungs"][6]["timing"]["step"]["sm_clock_ghz"] *= 0.97
    same([share_and_clock.adds_up(one) for one in (clean, slow)], [True, False])
    same(share_and_clock.find(records_of(clean, slow)), clean)


def test_sustained(folder):
    """Burst beside sustained, with joules: the newest, beside the burst run that goes with it."""
    from plots.draw import sustained

    burst = headline()
    made = sustained_of(burst)
    passes = sustained.pass_joules(made)[track("v")[-1]]
    rate = burst["rungs"][-1]["timing"]["step"]["tflops"]["median"]
    names = [*track("v"), "cuBLAS", f"{recorded.median(passes):.3f}"]
    names += [f"{rate:.0f}", f"{0.83 * rate:.0f}"]
    words = ["burst and sustained protocol", "axis of joules does not begin at 0", "of the passes"]
    words.append(burst["gpu"]["name"])
    shows(sustained, records_of(burst, made), folder, names, words, ["measured apart"])
    for later, words in (
        ({"commit": "7654321"}, [burst["commit"], "7654321", "measured apart, at commits"]),
        ({"gpu": {**burst["gpu"], "card": "0a1b2c3d"}}, ["measured apart, on two cards"]),
    ):
        shows(sustained, records_of(burst, {**made, **later}), folder, names, words)
    new = like(burst, 1.1, commit="7654321", date="2027-01-02T00:00:00Z")
    few = sustained_of(new)
    few["rungs"] = few["rungs"][-3:]
    found = sustained.find(records_of(burst, made, new, few))
    same((found["burst"], found["sustained"]), (new, few))
    other = {**made, "gpu": {**made["gpu"], "name": "another"}}
    refused("no sustained run", sustained.find, records_of(burst, other))


def test_sizes(folder):
    """Curves over sizes, with ratios where they are recorded; two sizes are too few."""
    from plots.draw import sizes

    runs = [like(headline(), f, size) for f, size in zip((0.8, 0.97, 1), SIZES)]
    names = [*sizes.CHOSEN, track("v")[-1], "cuBLAS", "2048", "8192"]
    words = [runs[0]["gpu"]["name"], "burst protocol", "of cuBLASLt,"]
    shows(sizes, records_of(*runs), folder, names, words)
    bare = map(without_ratios, runs)
    shows(sizes, records_of(*bare), folder, names, words[:2], ["of cuBLASLt,"])
    refused("recorded: 2048³, 4096³", sizes.find, records_of(*runs[:2]))


def test_sweep(_):
    """Sizes: all of the newest commit with enough sizes and rungs, even where a newer run is."""
    from plots.draw import sizes

    def sweep(day, names):
        found = []
        for size in SIZES:
            date = f"2027-01-0{day}T00:00:00Z"
            ladder = like(headline(), 1, size, commit=f"000000{day}", date=date, rounds=1)
            ladder["rungs"] = [rung for rung in ladder["rungs"] if rung["step"] in names]
            found.append(ladder)
        return found

    old, new = sweep(1, track("v")), sweep(2, (*sizes.CHOSEN, "v18"))
    few = sweep(3, ("v04", "v18"))
    long = [like(headline(), commit="0000002", date="2027-01-02T00:00:00Z")]
    for files, wanted in (
        ((old, new), new),
        ((old, new, long), [*new[:2], *long]),  # of the same commit, with more rounds
        ((new, old, few), new),
        ((old, few), old),
        ((few,), few),
    ):
        runs = [run for file in files for run in file]
        runs.sort(key=recorded.precedence(runs, recorded.home_of(runs)))
        same(list(map(id, sizes.find(records_of(*runs, files=files)))), list(map(id, wanted)))


def swept():
    """Made-up sweeps of two GPUs and two seeds, of which the second lacks a family."""
    sizes = "aligned:2,any:2,rows:2,few,odd:2"
    h200, h100 = made_sweeps.sweep(sizes, better=1.02), made_sweeps.sweep(sizes, made_sweeps.H100)
    older = made_sweeps.sweep(sizes.replace(":2", ":1"), step="v12")
    return (h100, older, h200, made_sweeps.sweep("aligned:3,any:3,rows:3"))


def test_any_shape(folder):
    """Two panels for each GPU, a point for each random shape, of the last rung and the seed with the
    most families."""
    from plots.draw import any_shape
    from plots.plot import import_pyplot

    runs = records_of(headline(), sweeps=swept())
    found = any_shape.find(runs)
    words = [f"{family}:2" for family in ("aligned", "any", "rows", "odd")]
    same(
        [(gpu, list(of)) for gpu, of in found.items()],
        [(one["name"], words) for one in (made_sweeps.GPU, made_sweeps.H100)],
    )
    words = [
        "H200: v18 of",
        "H100: v18 of",
        "geometric means: aligned 1.018, any 1.018, rows 1.0",
    ]
    words += ["H100 is NVIDIA H100 80GB HBM3, 700 W", "odd: n or k no multiple of 8", "abc1234"]
    shows(any_shape, runs, folder, [], words)
    figure = any_shape.draw(import_pyplot(), found, runs)
    same([sum(len(line.get_xdata()) for line in axes.lines) for axes in figure.axes], [182, 62] * 2)
    path = Path(folder) / "one.json"
    recorded.write_json(path, made_sweeps.sweep("any:1"))
    result = plot("--results", path, "--out", folder)
    same((result.returncode, "any-shape.png" in result.stdout), (0, True))
    refused("--only aligned,any,rows,odd", any_shape.find, records_of(headline()))


def test_roofline(folder):
    """The roofline with every rung counted, and no point for a rung that wasn't."""
    from plots.draw import roofline

    ladder, counters = headline(), stored.newest_with({"v12"}, USUAL, "counters")
    first, last = counters["steps"][0], counters["steps"][-1]
    for i, name in enumerate(track("v")):
        step = {**copy.deepcopy(first), "step": name}
        for metric in ("dram__bytes_read.sum", "lts__t_sectors_srcunit_tex.sum"):
            step["counters"][metric] *= 1 + 4 / (1 + i)
        counters["steps"].append(step)
    words = [ladder["gpu"]["name"], "burst protocol"]
    for name, tile in roofline.WALK.items():
        source = next((ROOT / "steps").glob(f"{name}_*.cu")).read_text(encoding="utf-8")
        sides = [f"constexpr int B{side} = {n};" for side, n in zip("MN", tile.split(" × "))]
        same((name, [line for line in sides if line not in source]), (name, []))
        words.append(f"{name}: {tile}")
    runs = records_of(ladder, counters)
    same(shows(roofline, runs, folder, [*track("v"), "cuBLAS"], words), [])
    first["counters"]["dram__bytes_read.sum"] = None
    counters["steps"] = [first, {**last, "step": "v12"}]
    notes = shows(roofline, records_of(ladder, counters), folder, ["v12"])
    require(len(notes) == 1 and "v07" in notes[0] and "v12" not in notes[0], notes)


def test_energy(folder):
    """The energy budget, from a made-up run of the parts: every line of it, and the parts in words."""
    from plots.draw import energy

    one = fake_energy.record()
    joules = f"{1e3 * fake_energy.WHOLE['tensor']:.0f} mJ"
    names = ["tensor cores", "not attributed", *energy.PARTS.values()]
    each = [f"{rung}: 1.112 ± 0.000 J per GEMM" for rung in ("v14", "v16")]
    words = [joules, one["gpu"]["name"]]
    shows(energy, records_of(energy=(one,)), folder, [*names, each[0]], words, ["not measured"])
    runs = records_of(energy=(fake_energy.record(rung="v16"), one))
    shows(energy, runs, folder, [*names, *each], words, ["measured on different"])
    other = fake_energy.record(rung="v16")
    other["commit"] = "7654321"
    shows(energy, records_of(energy=(other, one)), folder, each, ["measured on different"])
    refused("make energy", energy.find, records_of(chosen=True))
    broken = (fake_energy.record("waiting"),)
    refused("the parts waiting", energy.find, records_of(chosen=True, energy=broken))


def test_power(folder):
    """Clock against watts and TFLOPS against joules, with the parts of a rung if there are any."""
    from plots.draw import power

    made = sustained_of(headline())
    timings = {rung["step"]: rung["timing"]["step"] for rung in recorded.measured(made)}
    timings["v01"].update(watts=400.0, sm_clock_ghz=1.98)
    names = ["v01: 1.98 GHz", track("v")[-1], "cuBLAS"]
    words = ["the power limit", "sustained protocol", made["gpu"]["name"], "v02: "]
    one = fake_energy.record()
    parts = ["nothing runs", f"parts of {one['rung']}, measured apart"]
    shows(power, records_of(made), folder, names, words, parts)
    shows(power, records_of(made, energy=(one,)), folder, [*names, *parts], words)
    few = sustained_of(headline())
    few["rungs"] = few["rungs"][-3:]
    same(power.find(records_of(made, few))[0], made)
    refused("--protocol sustained", power.find, records_of(headline()))


def test_other_gpu(folder):
    """The ladder and the sizes show the home GPU, and the sizes the ratios of the others."""
    from plots.draw import sizes, tracks

    h100 = {"name": "NVIDIA H100 80GB HBM3", "card": "cccccccc", "memory_bytes": 80 * 10**9}
    h200 = {"name": "NVIDIA H200", "memory_bytes": 141 * 10**9}
    cards = [
        like(headline(), ratio=ratio, gpu={**h200, "card": card})
        for card, ratio in (("a", 1), ("b", 0.97))
    ]
    far = like(headline(), ratio=0.5, gpu=h100)
    words = ["NVIDIA H200, 700 W: bf16 GEMM"]
    shows(tracks.Ladder, records_of(far, *cards), folder, [], words, ["H100"])
    runs = [like(run, size=size) for size in SIZES for run in (cards[0], far)]
    same([run["gpu"]["name"] for run in sizes.find(records_of(*runs))], ["NVIDIA H200"] * 3)
    words = ["H200: of cuBLASLt,", "H100: of cuBLASLt,"]
    shows(sizes, records_of(*runs), folder, ["8192"], words)


def test_side_by_side(folder):
    """Two files, side by side: names, dates and every rung of either, in TFLOPS or GB/s."""
    from plots.draw import side_by_side

    files = files_of(USUAL)[:2]
    result = plot("--results", ",".join(map(str, files)), "--out", folder)
    same((result.returncode, result.stderr), (0, ""))
    same(sorted(path.name for path in Path(folder).iterdir()), suffixed(["side-by-side"]))
    runs = [recorded.load_ladder(path) for path in files]
    names = [name for one in runs for name in recorded.all_names(one)]
    words = ["burst protocol", *(one["commit"] for one in runs)]
    check_picture(Path(folder) / "side-by-side.png", [*names, "cuBLAS"], words)

    def both(one, two):
        return records_of(one, two, chosen=True, files=((one,), (two,)))

    gpu = {"name": "Another GPU", "power_limit_watts": 350.0}
    one = headline()
    two = like(one, 0.7, gpu=gpu, date="2027-01-02T00:00:00Z", commit="7654321")
    del one["rungs"][0], two["rungs"][-1]
    words = [one["gpu"]["name"], "Another GPU, 350 W", "2027-01-02", "commit 7654321"]
    shows(side_by_side, both(one, two), folder, [*track("v"), "cuBLAS"], words)
    names = track("t", 2)
    moves = stored.newest_with(names, (32768, 32768))
    shows(side_by_side, both(moves, moves), folder, [*names, "device copy"], ["GB/s", "32768²"])
    words = "protocol burst in one, sustained in the other"
    refused(words, side_by_side.find, both(headline(), sustained_of(headline())))


def test_apart(_):
    """Labels are moved apart, no further than needed, stay inside, and keep their order."""
    from plots.draw import style

    for values, gap, wanted in (
        ([], 1, []),
        ([5, 1], 1, [5, 1]),
        ([1, 1], 1, [0.5, 1.5]),
        ([0, 10, 10, 10], 2, [0, 8, 10, 12]),
    ):
        same(style.apart(values, gap), wanted)
    same(style.within([0.5, 0.2], 0.1), [0.5, 0.2])
    for crowd in (0.0, 0.02, 0.97, 1.0):
        wanted = [crowd + 0.001 * i for i in range(8)] + [0.4, 0.5]
        places = style.apart(style.within(wanted, 0.1), 0.1)
        order = sorted(places)
        require(min(order) > 0.05 - 1e-9 and max(order) < 0.95 + 1e-9, places)
        require(all(order[i] - order[i - 1] >= 0.1 - 1e-9 for i in range(1, 10)), places)
        same(sorted(range(10), key=wanted.__getitem__), sorted(range(10), key=places.__getitem__))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("plots", globals()))
