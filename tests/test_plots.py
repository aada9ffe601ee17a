#!/usr/bin/env python3
"""Tests of plots/: every picture from the recorded runs, and from made-up ones where none is yet.

Runs in build/venv, where `make plots` has matplotlib; make sets it up if it isn't there. Prints one
line per case; exits 1 if any failed.
"""

from __future__ import annotations

import copy
import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLOT = ("-m", "plots.plot")
RESULTS = ROOT / "bench" / "results"
ALWAYS = ("ladder", "share-and-clock", "roofline", "ladder-a", "ladder-t")  # have what they need

from tools import pictures
from tools.pictures import check_png, check_texts, require, same, suffixed, texts_of

from bench.records import recorded, traces


def run(*arguments):
    """Runs the program and returns its result with captured text."""
    command = [sys.executable, *PLOT, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)


def headline():
    """The recorded run that the README shows."""
    return copy.deepcopy(recorded.load_ladder(recorded.newest_headline()))


def counted():
    """The recorded counters of v rungs."""
    return copy.deepcopy(recorded.load_record(recorded.newest_counters()))


def files_of(shape):
    """The recorded files that hold one burst ladder of the v rungs from v01 on at that shape, and
    no more. There were fewer rungs once."""
    found = []
    for path in sorted(RESULTS.glob("*.json")):
        runs = recorded.records_of(path)
        if len(runs) == 1 and runs[0]["kind"] == "ladder" and runs[0]["protocol"] == "burst":
            found.append((path, recorded.shape_of(runs[0]), recorded.all_names(runs[0])))
    names_of = {path: names for path, there, names in found if there == shape}
    return [path for path, names in names_of.items() if names == track("v")[: len(names)]]


def rungs_in(path):
    """The rungs in a file of one ladder."""
    return recorded.all_names(recorded.load_ladder(path))


def records_of(*runs):
    """These as if they were all that is recorded."""
    from plots.draw import records

    return records.Records(runs, chosen=False)


def draw(picture, runs, folder):
    """Draws one picture in this process; returns its SVG and what it lacks."""
    from plots import plot
    from plots.draw import style

    pyplot = plot.import_pyplot()
    found = picture.find(runs)
    figure = picture.draw(pyplot, found, runs)
    png = style.save_both(figure, Path(folder), picture.NAME)
    pyplot.close(figure)
    check_png(png)
    svg = png.with_suffix(".svg").read_text(encoding="utf-8")
    return svg, plot.notes_of(picture, found)


def track(letter, first=1):
    """The names of a track's rungs from that number on."""
    names = recorded.rung_names(track=letter)
    return [name for name in names if int(name[1:]) >= first]


@functools.cache
def drawn():
    """Everything drawn from what is recorded, once: (the folder that holds it, what it said)."""
    holder = tempfile.TemporaryDirectory()
    result = run("--out", holder.name)
    same((result.returncode, result.stderr), (0, ""))
    return holder, result.stdout


def test_recorded(_):
    """All pictures of recorded runs are drawn, labelled and titled."""
    from plots.draw import records

    holder, output = drawn()
    folder = holder.name
    counters = records.load().counters((8192,) * 3)
    both = (recorded.load_ladder(recorded.newest_headline())["gpu"]["name"], "burst protocol")
    names = {
        "ladder": track("v"),
        "share-and-clock": track("v"),
        "roofline": [s["step"] for s in counters["steps"] if "-" not in s["step"]],
        "ladder-a": track("a", 2),
        "ladder-t": track("t", 2),
    }
    for name in ALWAYS:
        require(f"{name}.png\n" in output, output)
        check_png(Path(folder) / f"{name}.png")
        svg = (Path(folder) / f"{name}.svg").read_text(encoding="utf-8")
        check_texts(svg, names[name], (*both, "normal inputs", "2026-"))
    pictures = {path.stem for path in Path(folder).iterdir()}
    same(sorted(path.name for path in Path(folder).iterdir()), sorted(suffixed(pictures)))
    for name in ("sizes", "sustained"):
        require(name in pictures or f"{name}: not drawn: " in output, output)


def test_same_twice(folder):
    """The same results give the same files, byte for byte."""
    same(run("--out", folder).returncode, 0)
    for path in Path(drawn()[0].name).iterdir():
        other = Path(folder) / path.name
        require(path.read_bytes() == other.read_bytes(), f"two drawings of {path.name} differ")


def test_committed(_):
    """The pictures in plots/ say what the recorded runs say."""
    for path in Path(drawn()[0].name).glob("*.svg"):
        there = ROOT / "plots" / path.name
        require(there.exists(), f"plots/{path.name} is missing ('make plots')")
        fresh, old = (texts_of(file.read_text(encoding="utf-8")) for file in (path, there))
        require(fresh == old, f"plots/{path.name} is of other results ('make plots')")
        check_png(there.with_suffix(".png"))


def test_one_file(folder):
    """From one chosen file comes what it holds; the rest says what is missing."""
    out = Path(folder) / "out"
    path = files_of((4096,) * 3)[-1]
    result = run("--results", path, "--out", out)
    same((result.returncode, result.stderr), (0, ""))
    same(sorted(path.name for path in out.iterdir()), sorted(suffixed(ALWAYS[:2])))
    check_texts((out / "ladder.svg").read_text(encoding="utf-8"), rungs_in(path), ["4096³"])
    for words in (
        "roofline: not drawn: no counters",
        "sizes: not drawn: burst runs of the v track at 3 or more square sizes; recorded: 4096³",
        "sustained: not drawn: no sustained run",
        "ladder-a: not drawn: no finished burst run of a02",
        "ladder-t: not drawn: no finished burst run of t02",
    ):
        require(words in result.stdout, f"'{words}' isn't in {result.stdout}")


def rows_of(trace):
    """The texts of a trace's rows."""
    titles = [trace.title(warp) for warp in trace.warps[:8]]
    return [stage.name for stage in traces.stages(trace)] + [t.partition(" (")[0] for t in titles]


def test_traces(_):
    """Every recorded trace has its picture: a row per stage and per warp, with a legend."""
    folder = Path(drawn()[0].name)
    records = recorded.all_traces()
    require(records, "none is recorded")
    for record in records:
        path = folder / f"trace-{recorded.trace_name(record)}.svg"
        check_png(path.with_suffix(".png"))
        trace = traces.Trace(record)
        words = [record["idea"], f"CTA {trace.record['launch']['cta']} of", record["commit"]]
        words += ["multiplies", "waits", "starts loads", "writes results", "being filled", "empty"]
        words.append("emulated steps" if trace.exact else "cycles of the SM's clock")
        words.append("CPU emulator, policy" if trace.exact else record["gpu"]["name"])
        check_texts(path.read_text(encoding="utf-8"), rows_of(trace), words)


def on_a_gpu(record):
    """A made-up record: the same trace as if a GPU had written it."""
    record = copy.deepcopy(record)
    gpu = dict.fromkeys(("power_limit_watts", "driver", "cuda", "cublas"))
    record["gpu"] = {"name": "NVIDIA H200", "compute_capability": "9.0", "sms": 132, **gpu}
    record["time"].update(unit="SM cycles", policy=None, cycles=1700, nanoseconds=1000)
    for column in record["operations"].values():
        del column[:]
    return record


def without_ring(record):
    """A made-up record: warps that neither load nor wait, as where there is no shared memory."""
    record = copy.deepcopy(record)
    codes = {traces.WHATS.index(what) for what in ("multiply", "multiply wait", "write")}
    for warp in record["warps"]:
        events = warp["events"]
        kept = [i for i, what in enumerate(events["what"]) if what in codes]
        warp["events"] = {name: [column[i] for i in kept] for name, column in events.items()}
    return record


def test_chosen_trace(folder):
    """From a trace that is named its picture alone; of a GPU's with the clock, and without a ring."""
    record = next(
        one for one in recorded.all_traces() if recorded.trace_name(one) == "v07-emulator"
    )
    for name, made, words in (
        ("trace-v07-nvidia-h200", on_a_gpu(record), ["at about 1.70 GHz", "NVIDIA H200; bf16"]),
        ("trace-v07-emulator", without_ring(record), ["emulated steps"]),
    ):
        path, out = Path(folder) / f"{name}.json", Path(folder) / name
        recorded.write_json(path, made)
        result = run("--results", path, "--out", out)
        same((result.returncode, result.stderr, result.stdout.count("\n")), (0, "", 1))
        same(sorted(file.name for file in out.iterdir()), suffixed([name]))
        check_png(out / f"{name}.png")
        svg = (out / f"{name}.svg").read_text(encoding="utf-8")
        check_texts(svg, rows_of(traces.Trace(made)), words)
        same("stage 0" in texts_of(svg), made["gpu"] is not None)


def test_shown_part(_):
    """Of a GPU's trace the first fills are shown, and what a warp does at once is one bar."""
    from plots.draw import ring

    spans = [("loads", 0, 1), ("loads", 3, 4), ("waits", 4, 5), ("loads", 5, 6), ("loads", 9, 10)]
    merged = [("loads", 0, 4), ("waits", 4, 5), ("loads", 5, 6), ("loads", 9, 10)]
    same(ring.together(spans, 2), merged)
    same(ring.together(spans, 0), spans)
    for record in recorded.all_traces():
        trace = traces.Trace(record)
        fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
        end = ring.shown_end(trace)
        done = sum(fill.done is not None and fill.done <= end for fill in fills)
        if trace.exact:
            same(end, trace.end)
        else:
            require(done == min(ring.MOST_FILLS, len(fills)), (record["step"], done, end))


def test_damaged_trace(folder):
    """A damaged trace is not drawn: one line that says what cannot be."""
    record = copy.deepcopy(recorded.all_traces()[0])
    record["warps"][0]["events"]["end"][0] = record["time"]["end"] + 1
    path, out = Path(folder) / "damaged.json", Path(folder) / "out"
    recorded.write_json(path, record)
    result = run("--results", path, "--out", out)
    same((result.returncode, result.stderr.count("\n"), out.exists()), (2, 1, False))
    require("behind the trace's end" in result.stderr, result.stderr)


def test_grey(_):
    """In grey, no two states of a stage and no two doings of a warp look alike."""
    from matplotlib import colors

    from plots.draw import ring

    for looks in (ring.STATES, ring.DOES):
        greys = []
        for how in looks.values():
            red, green, blue = colors.to_rgb(how["facecolor"])
            greys.append((0.299 * red + 0.587 * green + 0.114 * blue, how.get("hatch")))
        for i, (grey, hatch) in enumerate(greys):
            for other, other_hatch in greys[:i]:
                alike = abs(grey - other) < 0.15 and hatch == other_hatch
                require(not alike, f"{grey:.2f} and {other:.2f} look alike")


def test_failed(folder):
    """A rung that failed is labelled and has no bar; nor has what could not be read."""
    from plots.draw import ladder, records, share_and_clock

    run_of = headline()
    run_of["rungs"][1] = {"step": "v02", "failed": "exit 1", "passes": []}
    run_of["rungs"][3]["timing"]["step"].update(tensor_core_share=None, sm_clock_ghz=None)
    chosen = records.Records((run_of,), chosen=True)
    check_texts(draw(ladder, chosen, folder)[0], [*track("v"), "failed"], [])
    check_texts(draw(share_and_clock, chosen, folder)[0], track("v"), [])


def test_nothing(folder):
    """Nothing to draw: every picture says why, exit 2, no file."""
    out = Path(folder) / "out"
    result = run("--results", recorded.newest_counters(), "--out", out)
    same((result.returncode, list(out.iterdir())), (2, []))
    same(result.stdout.count(": not drawn: "), 8)
    same(result.stderr, "plot: no picture can be drawn from these results\n")


def test_refuses(folder):
    """What can't be read is one line on stderr, exit 2, no file."""
    folder = Path(folder)
    out, garbled = folder / "out", folder / "garbled.json"
    cases = (
        ("nothing there", None),
        ("no JSON", "{"),
        ("no record", '{"kind": "step"}'),
        ("another schema", '{"kind": "ladder", "schema": 99}'),
        ("no rungs", '{"kind": "ladder", "schema": 1}'),
        ("no timing", json.dumps({**headline(), "rungs": [{"step": "v01"}]})),
        ("cut short", json.dumps(headline())[:5000]),
    )
    for name, text in cases:
        if text:
            garbled.write_text(text)
        result = run("--results", garbled, "--out", out)
        same((name, result.returncode, result.stderr.count("\n")), (name, 2, 1))
        require(result.stderr.startswith("plot: "), f"{name}: {result.stderr}")
        require(not out.exists() or not list(out.iterdir()), f"{name}: wrote a file")
    result = run("--results", files_of((8192,) * 3)[-1], "--out", garbled)
    same((result.returncode, result.stderr.count("\n")), (2, 1))


def test_whole(folder):
    """If drawing fails halfway, what was there before stays."""
    from plots import plot
    from plots.draw import ladder, style

    old = {name: f"old {name}".encode() for name in suffixed(["ladder"])}
    for name, data in old.items():
        (Path(folder) / name).write_bytes(data)
    svg_of, style.svg_of = style.svg_of, None
    try:
        plot.draw(plot.import_pyplot(), ladder, records_of(headline()), Path(folder))
    except TypeError:
        pass
    else:
        raise AssertionError("drew without svg_of")
    finally:
        style.svg_of = svg_of
    same({path.name: path.read_bytes() for path in Path(folder).iterdir()}, old)


def scaled(ladder, factor, **changes):
    """A made-up ladder: the same, so many times as fast."""
    ladder = copy.deepcopy(ladder)
    ladder.update(changes)
    timings = [rung["timing"]["step"] for rung in recorded.measured(ladder)]
    for timing in (*timings, ladder["cublas"]):
        for key in timing["tflops"]:
            timing["tflops"][key] *= factor
    return ladder


def sustained_of(ladder):
    """A made-up sustained run of the same rungs, with joules."""
    ladder = scaled(ladder, 0.83, protocol="sustained")
    timings = [rung["timing"]["step"] for rung in recorded.measured(ladder)]
    for timing in (*timings, ladder["cublas"]):
        timing["joules"] = 700 * 1.1e12 / (1e12 * timing["tflops"]["median"])
        timing["watts"] = 700.0
    for rung in recorded.measured(ladder):
        for i, one in enumerate(rung["passes"]):
            one["step"]["joules"] = rung["timing"]["step"]["joules"] + 0.001 * i
    return ladder


def test_sustained(folder):
    """Burst beside sustained, with joules, from a made-up sustained run."""
    from plots.draw import records, sustained

    burst = headline()
    svg, _ = draw(sustained, records_of(burst, sustained_of(burst)), folder)
    passes = sustained.pass_joules(sustained_of(burst))[track("v")[-1]]
    joules = recorded.median(passes)
    rate = burst["rungs"][-1]["timing"]["step"]["tflops"]["median"]
    names = [*track("v"), "cuBLAS", f"{joules:.3f}", f"{rate:.0f}", f"{0.83 * rate:.0f}"]
    words = ["burst and sustained protocol", "axis of joules does not begin at 0", "of the passes"]
    check_texts(svg, names, [burst["gpu"]["name"], *words])
    require("measured apart" not in "".join(texts_of(svg)), "one commit and card")
    same(len(passes), burst["passes"])
    other, later = sustained_of(burst), sustained_of(burst)
    later["commit"] = "7654321"
    svg, _ = draw(sustained, records_of(burst, later), folder)
    check_texts(svg, names, [burst["commit"], "7654321", "measured apart, at commits"])
    later = dict(sustained_of(burst), gpu={**burst["gpu"], "card": "0a1b2c3d"})
    svg, _ = draw(sustained, records_of(burst, later), folder)
    check_texts(svg, names, ["measured apart, on two cards"])
    other["gpu"]["name"] = "another"
    try:
        sustained.find(records_of(burst, other))
    except records.Missing:
        return
    raise AssertionError("compared two GPUs")


def test_newest_sustained(_):
    """The newest sustained run is drawn, not the one with the most rungs, beside its own burst."""
    from plots.draw import sustained

    old = headline()
    new = scaled(old, 1.1, commit="7654321", date="2027-01-02T00:00:00Z")
    few = sustained_of(new)
    few["rungs"] = few["rungs"][-3:]
    found = sustained.find(records_of(old, sustained_of(old), new, few))
    same(found["burst"], new)
    same(found["sustained"], few)


def test_sizes(folder):
    """Curves over sizes, from made-up runs at four of them; two are too few."""
    from plots.draw import records, sizes

    runs = []
    for size, factor in ((1024, 0.4), (2048, 0.8), (4096, 0.97), (8192, 1)):
        ladder = scaled(headline(), factor)
        ladder["problem"].update(m=size, n=size, k=size)
        runs.append(ladder)
    svg, _ = draw(sizes, records_of(*runs), folder)
    names = [*sizes.CHOSEN, track("v")[-1], "cuBLAS", "1024", "8192"]
    check_texts(svg, names, [runs[0]["gpu"]["name"], "burst protocol", "of cuBLASLt,"])
    for rung in runs[1]["rungs"]:
        rung["timing"]["ratio_to_cublaslt"]["median"] = 1
    ratios = dict(sizes.ratio_curve(runs, "v14"))
    same((list(ratios), ratios[2048]["median"]), ([1024, 2048, 4096, 8192], 1))
    for run_of in runs:
        for rung in run_of["rungs"]:
            del rung["timing"]["ratio_to_cublaslt"]
    svg, _ = draw(sizes, records_of(*runs), folder)
    check_texts(svg, names, [])
    require("of cuBLASLt," not in "".join(texts_of(svg)), "ratios to nothing")
    try:
        sizes.find(records_of(*runs[:2]))
    except records.Missing as missing:
        require("recorded: 1024³, 2048³" in str(missing), str(missing))
        return
    raise AssertionError("two sizes made a curve")


def test_sweep(_):
    """Sizes: all of the newest commit with enough sizes and rungs, even where a newer run is."""
    from plots.draw import records, sizes

    def sweep(commit, date, names):
        ladders = []
        for size in (2048, 4096, 8192):
            ladder = scaled(headline(), 1, commit=commit, date=date, rounds=1)
            ladder["problem"].update(m=size, n=size, k=size)
            ladder["rungs"] = [rung for rung in ladder["rungs"] if rung["step"] in names]
            ladders.append(ladder)
        return tuple(ladders)

    old = sweep("0000001", "2027-01-01T00:00:00Z", track("v"))
    new = sweep("0000002", "2027-01-02T00:00:00Z", (*sizes.CHOSEN, "v18"))
    few = sweep("0000003", "2027-01-03T00:00:00Z", ("v04", "v18"))
    long = (scaled(headline(), 1, commit="0000002", date="2027-01-02T00:00:00Z"),)
    for files, wanted in (
        ((old, new), new),
        ((old, new, long), (*new[:2], *long)),  # of the same commit, with more rounds
        ((new, old, few), new),
        ((old, few), old),
        ((few,), few),
    ):
        runs = [run for file in files for run in file]
        runs.sort(key=recorded.precedence(runs, recorded.home_of(runs)))
        found = sizes.find(records.Records(tuple(runs), False, files))
        same([run["commit"] for run in found], [run["commit"] for run in wanted])
        require(all(map(lambda a, b: a is b, found, wanted)), "not the commit's own runs")


def test_recorded_sizes(_):
    """The recorded sizes that are drawn are of one commit, and the sustained run is the newest."""
    from plots.draw import records, sizes, sustained

    runs = records.load()
    shown = sizes.find(runs)
    same(len({run["commit"] for run in shown}), 1)
    usual = (recorded.HEADLINE_SIZE,) * 3
    there = [run for run in runs.ladders("v", "sustained") if recorded.shape_of(run) == usual]
    pair = sustained.find(runs)
    require(pair["sustained"] is there[-1], "another sustained run than the newest")


def test_roofline(folder):
    """The roofline with every rung counted, and no point for a rung that wasn't."""
    from plots.draw import roofline

    ladder, counters = headline(), counted()
    first = copy.deepcopy(counters["steps"][0])
    for i, name in enumerate(track("v")):
        step = copy.deepcopy(first)
        step["step"] = name
        for metric in ("dram__bytes_read.sum", "lts__t_sectors_srcunit_tex.sum"):
            step["counters"][metric] *= 1 + 4 / (1 + i)
        counters["steps"].append(step)
    svg, notes = draw(roofline, records_of(ladder, counters), folder)
    same(notes, [])
    check_texts(svg, [*track("v"), "cuBLAS"], [ladder["gpu"]["name"], "burst protocol"])
    counters["steps"] = [first]
    first["counters"]["dram__bytes_read.sum"] = None
    counters["steps"].append({**copy.deepcopy(counted()["steps"][-1]), "step": "v12"})
    _, notes = draw(roofline, records_of(ladder, counters), folder)
    require(len(notes) == 1 and "v07" in notes[0] and "v12" not in notes[0], notes)


def test_cublaslt(folder):
    """The best cuBLASLt is a line, where it is recorded."""
    from plots.draw import ladder

    run_of = headline()
    run_of["cublaslt"] = scaled(run_of, 1.025)["cublas"]
    svg, notes = draw(ladder, records_of(run_of), folder)
    same(notes, [])
    rate = run_of["cublaslt"]["tflops"]["median"]
    check_texts(svg, track("v"), [f"best cuBLASLt, median: {rate:.0f} TFLOPS"])
    top = ladder.top_ratios([run_of])
    require(top[0][2]["median"] >= ladder.TOP, top[0])
    same([name for _, name, _ in top], track("v")[-len(top) :])
    check_texts(svg, [f"{ratio['median']:.3f}" for _, _, ratio in top], ["the axis does"])
    for rung in run_of["rungs"]:
        del rung["timing"]["ratio_to_cublaslt"]
    svg, _ = draw(ladder, records_of(run_of), folder)
    require("the axis does" not in texts_of(svg), "a panel of ratios to nothing")


def test_changes(folder):
    """Every rung's change of speed, share and clock stands in figures, and none on another."""
    from plots import plot
    from plots.draw import share_and_clock

    run_of = headline()
    svg, _ = draw(share_and_clock, records_of(run_of), folder)
    texts = texts_of(svg)
    rows = [share_and_clock.changes(run_of, reading) for reading in share_and_clock.READINGS]
    for values in (*rows, share_and_clock.speed_changes(run_of)):
        known = [v for v in values[1:] if v is not None]  # v01 has no share to change
        figures = [share_and_clock.percent(v, 0 if v > 100 else 1) for v in known]
        same([text for text in figures if text not in texts], [])
    pyplot = plot.import_pyplot()
    figure = share_and_clock.draw(pyplot, run_of, None)
    figure.draw_without_rendering()
    boxes = [(t.get_text(), t.get_window_extent()) for t in figure.axes[2].texts]
    pyplot.close(figure)
    for i, (text, box) in enumerate(boxes):
        for other, other_box in boxes[:i]:
            require(not box.overlaps(other_box), f"{text} lies on {other}")


def test_energy(folder):
    """The energy budget, from a made-up run of the parts: every line of it, and every part."""
    from tools import fake_energy

    from plots.draw import energy, records

    run_of = fake_energy.record()
    svg, _ = draw(energy, records.Records((), False, energy=(run_of,)), folder)
    joules = 1e3 * fake_energy.WHOLE["tensor"]
    names = ["tensor cores", "not attributed", *fake_energy.NAMES]
    check_texts(svg, names, [f"{joules:.0f} mJ", "v14: 1.112 ± ", run_of["gpu"]["name"]])
    both_rungs = (fake_energy.record(rung="v16"), run_of)
    svg, _ = draw(energy, records.Records((), False, energy=both_rungs), folder)
    joules = "1.112 ± 0.000 J"
    titles = [f"{rung}: {joules} per GEMM" for rung in ("v14", "v16")]
    titles += [f"v14: {joules}, v16: {joules} per GEMM", "the parts of v14", "the parts of v16"]
    check_texts(svg, [*names, "multiply-n104", "multiply-n128"], titles)
    for broken in ((), (fake_energy.record("waiting"),)):
        try:
            energy.find(records.Records((), True, energy=broken))
        except records.Missing as missing:
            why = "the parts waiting" if broken else "make energy"
            require(why in str(missing), str(missing))
        else:
            raise AssertionError("drew a budget from parts that do not give one")


def on(ladder, name, card, memory, ratio=1):
    """A made-up ladder: the same on another GPU or card, with so much of the ratios."""
    ladder = copy.deepcopy(ladder)
    ladder["gpu"].update(name=name, card=card, memory_bytes=memory * 10**9)
    for rung in recorded.measured(ladder):
        for key in ("median", "low", "high"):
            rung["timing"]["ratio_to_cublaslt"][key] *= ratio
    return ladder


def test_other_gpu(folder):
    """The ladder and the sizes show the home GPU, and the ratios of the others and of all cards."""
    from plots.draw import ladder, sizes

    h100 = ("NVIDIA H100 80GB HBM3", "cccccccc", 80, 0.5)
    one = headline()
    cards = [on(one, "NVIDIA H200", card, 141, ratio) for card, ratio in (("a", 1), ("b", 0.97))]
    svg, _ = draw(ladder, records_of(on(one, *h100), *cards), folder)
    ratios = [run["rungs"][-1]["timing"]["ratio_to_cublaslt"]["median"] for run in cards]
    words = ["NVIDIA H200, 700 W: bf16 GEMM", "H200, 2 cards:", "of several cards: the median"]
    check_texts(svg, [f"{recorded.median(ratios):.3f}"], words)
    require("H100:" not in texts_of(svg), "a panel without a ratio near 1")
    svg, _ = draw(ladder, records_of(on(one, *h100[:3]), *cards), folder)
    check_texts(svg, [], ["H100:", "H100 is NVIDIA H100 80GB HBM3, 700 W"])
    runs = []
    for size in (2048, 4096, 8192):
        square = on(one, "NVIDIA H200", "a", 141)
        square["problem"].update(m=size, n=size, k=size)
        runs += [square, on(square, *h100)]
    same([run["gpu"]["name"] for run in sizes.find(records_of(*runs))], ["NVIDIA H200"] * 3)
    svg, _ = draw(sizes, records_of(*runs), folder)
    check_texts(svg, ["8192"], ["H200: of cuBLASLt,", "H100: of cuBLASLt,"])


def both(one, two):
    """Two ladders as if each were alone in a file that the user named."""
    from plots.draw import records

    return records.Records((one, two), True, ((one,), (two,)))


def test_side_by_side(folder):
    """Two files, side by side, the same each time."""
    files = files_of((8192,) * 3)[:2]
    commits = [recorded.records_of(path)[0]["commit"] for path in files]
    pictures = []
    for out in (Path(folder) / "a", Path(folder) / "b"):
        result = run("--results", ",".join(map(str, files)), "--out", out)
        same((result.returncode, result.stderr), (0, ""))
        same(sorted(path.name for path in out.iterdir()), suffixed(["side-by-side"]))
        pictures.append([path.read_bytes() for path in sorted(out.iterdir())])
    require(pictures[0] == pictures[1], "two drawings differ")
    check_png(out / "side-by-side.png")
    svg = (out / "side-by-side.svg").read_text(encoding="utf-8")
    names = dict.fromkeys(name for path in files for name in rungs_in(path))
    check_texts(svg, [*names, "cuBLAS"], ["burst protocol", *commits])


def test_two_gpus(folder):
    """Two GPUs, side by side: names, dates and every rung of either."""
    from plots.draw import side_by_side

    one, two = headline(), scaled(headline(), 0.7, date="2027-01-02T00:00:00Z", commit="7654321")
    two["gpu"].update(name="Another GPU", power_limit_watts=350.0)
    del one["rungs"][0], two["rungs"][-1]
    svg, _ = draw(side_by_side, both(one, two), folder)
    words = (one["gpu"]["name"], "Another GPU, 350 W", "burst protocol", "2027-01-02")
    check_texts(svg, [*track("v"), "cuBLAS"], (*words, "commit 7654321"))


def test_side_by_side_moves(folder):
    """Two runs that move words, in GB/s."""
    from plots.draw import side_by_side

    names = track("t", 2)
    ladder = recorded.load_ladder(recorded.newest_with(names, (32768, 32768)))
    svg, _ = draw(side_by_side, both(ladder, ladder), folder)
    check_texts(svg, [*names, "device copy"], ["GB/s", "32768²"])


def test_side_by_side_refuses(folder):
    """Runs that measured different things don't go side by side."""
    from plots.draw import side_by_side

    large, small = files_of((8192,) * 3)[0], files_of((4096,) * 3)[0]
    for words, files in (
        ("not side by side: shape 8192³ in one, 4096³ in the other", (large, small)),
        ("one of these files has none", (large, recorded.newest_counters())),
        ("side by side go two files, not 3", (large, large, large)),
    ):
        result = run("--results", ",".join(map(str, files)), "--out", folder)
        same((words, result.returncode, result.stderr.count("\n")), (words, 2, 1))
        require(words in result.stderr, result.stderr)
    same(list(Path(folder).iterdir()), [])
    try:
        side_by_side.find(both(headline(), sustained_of(headline())))
    except ValueError as error:
        require("protocol burst in one, sustained in the other" in str(error), str(error))
        return
    raise AssertionError("burst beside sustained")


def test_apart(_):
    """Labels are moved apart, no further than needed, and keep their order."""
    from plots.draw import style

    same(style.apart([], 1), [])
    same(style.apart([5, 1], 1), [5, 1])
    same(style.apart([1, 1], 1), [0.5, 1.5])
    same(style.apart([0, 10, 10, 10], 2), [0, 8, 10, 12])
    places = style.apart([3.0, 1.0, 2.9, 1.2, 2.0], 1)
    order = sorted(places)
    require(all(order[i] - order[i - 1] >= 1 - 1e-9 for i in range(1, 5)), places)


def test_within(_):
    """Names that crowd at an end of the axes stay inside, in their order; others are not moved."""
    from plots.draw import style

    same(style.within([0.5, 0.2], 0.1), [0.5, 0.2])
    for crowd in (0.0, 0.02, 0.97, 1.0):
        wanted = [crowd + 0.001 * i for i in range(8)] + [0.4, 0.5]
        outside = style.apart(wanted, 0.1)
        require(min(outside) < 0.05 or max(outside) > 0.95, outside)
        places = style.apart(style.within(wanted, 0.1), 0.1)
        require(min(places) > 0.05 - 1e-9 and max(places) < 0.95 + 1e-9, places)
        order = sorted(range(len(wanted)), key=lambda i: wanted[i])
        same(sorted(range(len(places)), key=lambda i: places[i]), order)


TESTS = [
    test_recorded,
    test_same_twice,
    test_committed,
    test_traces,
    test_chosen_trace,
    test_shown_part,
    test_damaged_trace,
    test_grey,
    test_one_file,
    test_failed,
    test_nothing,
    test_refuses,
    test_whole,
    test_sustained,
    test_newest_sustained,
    test_sizes,
    test_roofline,
    test_sweep,
    test_recorded_sizes,
    test_cublaslt,
    test_changes,
    test_energy,
    test_side_by_side,
    test_two_gpus,
    test_other_gpu,
    test_side_by_side_moves,
    test_side_by_side_refuses,
    test_apart,
    test_within,
]


def main():
    """All cases; returns the exit status."""
    return pictures.run_tests("plots", TESTS, __file__)


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main())
