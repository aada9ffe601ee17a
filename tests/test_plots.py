#!/usr/bin/env python3
"""Tests of plots/: every picture from the recorded runs, and from made-up ones.

Runs in build/venv, where `make plots` has matplotlib; make sets it up if it isn't there. Prints one
line per case; exits 1 if any failed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

from tools import fake_energy, made_runs, pictures
from tools.cases import refused, require, same
from tools.made_runs import H100, H200, V, run
from tools.pictures import check_picture, drawn, plot, suffixed

from bench import results, shapes
from bench import trace as traces
from bench.energy import budget

BURST = results.RESULTS / results.HOME / "burst.jsonl"
CUBE = (8192,) * 3
SIZES = [(size,) * 3 for size in (2048, 4096, 8192)]
READ = {"watts": 690.0, "joules": 1.1}  # of a sustained run


def records_of(*runs, **others):
    """These as if they were all that is recorded."""
    from plots.draw import records

    return records.Records([list(runs)], **others)


def shows(picture, records, folder, names=(), words=(), never=()):
    """Draws one picture in this process, and looks for texts, for words in them, and for what must not
    be there; returns its notes."""
    from plots import plot as program
    from plots.draw import style

    pyplot = program.import_pyplot()
    found = picture.find(records)
    figure = picture.draw(pyplot, found, records)
    path = style.save_both(figure, Path(folder), picture.NAME)
    pyplot.close(figure)
    check_picture(path, names, words, never)
    return picture.notes(found) if hasattr(picture, "notes") else []


# ---------------------------------------------------------------------------- what is recorded


def test_recorded(_):
    """All pictures of recorded runs are drawn, with the figures of those runs."""
    from plots.draw import records, share_and_clock

    _, folder, output = drawn()
    burst, all_runs = results.load(BURST)[0], records.load()
    shown = [name for name in burst.names if name <= results.LAST]
    names = {
        "ladder": shown + [f"{burst.rate(name).mid:.0f}" for name in shown],
        "share-and-clock": share_and_clock.find(all_runs).names,
        "roofline": [name for name in shown if name in all_runs.counted()],
        "ladder-a": ["a02", "a06"],
        "ladder-t": ["t02", "t08"],
        "fp8": ["f03", "f07"],
        "sizes": ["512", "8192"],
        "sustained": ["cuBLAS"],
        "any-shape": [],
        "energy": ["tensor cores"],
        "power": ["v01: 1.98 GHz", "v16", "cuBLAS"],
    }
    for name, labels in names.items():
        require(f"{name}.png\n" in output, output)
        words = (burst.gpu["name"], "normal inputs", "2026-")
        check_picture(folder / f"{name}.png", labels, words)
    names |= {f"trace-{path.stem}": None for path in traces.TRACES.glob("*.json")}
    same(sorted(path.name for path in folder.iterdir()), sorted(suffixed(names)))


def test_same_twice(folder):
    """The same results give the same files, byte for byte."""
    same(plot("--out", folder).returncode, 0)
    first, second = (
        {path.name: path.read_bytes() for path in one.iterdir()}
        for one in (drawn()[1], Path(folder))
    )
    same([name for name in first if first[name] != second.get(name)], [])


def test_committed(_):
    """The pictures in plots/ say what the recorded runs say."""
    pictures.check_committed(ROOT / "plots", drawn()[1])


def test_legible(_):
    """No text is too small where GitHub shows the picture, leaves it, or covers another one."""
    from plots import plot as program
    from plots.draw import records, ring

    found, pyplot = records.load(), program.import_pyplot()
    for picture in (*program.PICTURES, *ring.pictures(found)):
        figure = picture.draw(pyplot, picture.find(found), found)
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

    for path in sorted(traces.TRACES.glob("*.json")):
        trace = traces.Trace(traces.load(path))
        words = [trace.row["idea"], f"CTA {trace.launch['cta']} of", trace.run.commit]
        words += ["multiplies", "waits", "starts loads", "writes results", "being filled", "empty"]
        words.append("emulated steps" if trace.exact else "cycles of the SM's clock")
        words.append("CPU emulator, policy" if trace.exact else trace.run.gpu["name"])
        check_picture(drawn()[1] / f"trace-{path.stem}.png", rows_of(trace), words)
        # Of a GPU's trace the first fills are shown.
        fills = [fill for stage in traces.stages(trace) for fill in stage.fills]
        done = sum(fill.done is not None and fill.done <= ring.shown_end(trace) for fill in fills)
        same((path, done), (path, done if trace.exact else min(ring.MOST_FILLS, len(fills))))


def test_chosen_trace(folder):
    """From a trace that is named its picture alone, also from one without a ring."""
    from plots.draw import ring

    path = traces.TRACES / "v07-nvidia-h200.json"
    result = plot("--results", path, "--out", folder)
    same((result.returncode, result.stderr, result.stdout.count("\n")), (0, "", 1))
    same(sorted(file.name for file in Path(folder).iterdir()), suffixed([f"trace-{path.stem}"]))
    # Warps that neither load nor wait, as where there is no shared memory.
    made = traces.load(path)
    for warp in made["trace"]["warps"]:
        kept = ("multiply", "multiply wait", "write")
        warp["events"] = [event for event in warp["events"] if event[0] in kept]
    rows = rows_of(traces.Trace(made))
    shows(ring.Picture(made), records_of(), folder, rows, ["cycles of the SM's clock"], ["stage 0"])


# ---------------------------------------------------------------------------- chosen files


def written(folder, name, *arguments, **how):
    """A file with a made-up run."""
    path = Path(folder) / name
    for row in made_runs.rows(*arguments, **how):
        results.append(path, row)
    return path


def test_one_file(folder):
    """From one chosen file comes what it holds; the rest says what is missing."""
    out = Path(folder) / "out"
    result = plot("--results", written(folder, "mine.jsonl", V[:5], SIZES[1]), "--out", out)
    same((result.returncode, result.stderr), (0, ""))
    same(sorted(path.name for path in out.iterdir()), suffixed(["ladder", "share-and-clock"]))
    check_picture(out / "ladder.png", V[:5], ["4096³"])
    for words in (
        "roofline: not drawn: no counters",
        "sizes: not drawn: burst runs of the v track at 3 or more square sizes; recorded: 4096³",
        "sustained: not drawn: no sustained run",
        "ladder-a: not drawn: no burst run of a02",
        "ladder-t: not drawn: no burst run of t02",
    ):
        require(words in result.stdout, f"'{words}' isn't in {result.stdout}")


def test_refuses(folder):
    """What can't be read or drawn is one line on stderr, exit 2, no file."""
    out, broken, old = (Path(folder) / name for name in ("out", "broken.jsonl", "old.json"))
    large = written(folder, "large.jsonl")
    small, moves = written(folder, "small.jsonl", V, SIZES[1]), written(folder, "a.jsonl", ["a02"])
    broken.write_text(large.read_text()[:5000])
    old.write_text('{"kind": "run"}')
    tried = written(folder, "tried.jsonl", ["v06", "v06-each-sm"])
    for words, *files in (
        ("broken.jsonl, line", broken),
        ("old.json: neither rows", old),
        ("gone.jsonl", "gone.jsonl"),
        ("no picture can be drawn", tried),
        ("not side by side: shape 8192³ in one, 4096³ in the other", large, small),
        ("not side by side: track v in one, a in the other", large, moves),
        ("one of these files has none", large, tried),
        ("side by side go two files, not 3", large, large, large),
    ):
        result = plot("--results", ",".join(map(str, files)), "--out", out)
        same((words, result.returncode, result.stderr.count("\n")), (words, 2, 1))
        require(result.stderr.startswith("plot: ") and words in result.stderr, result.stderr)
        require(not out.exists() or not list(out.iterdir()), f"{words}: wrote a file")
    same(
        plot("--results", large, "--out", broken).returncode, 2
    )  # a file where the folder should be


# ---------------------------------------------------------------------------- made-up runs


def test_ladder(folder):
    """The ladder: v01 to v17 alone, a failed rung is labelled, and the best cuBLASLt is a line."""
    from plots.draw import share_and_clock, tracks

    all_of_it = run()
    best = f"best cuBLASLt, median: {all_of_it.rate('cublaslt').mid:.0f} TFLOPS"
    rates = [f"{all_of_it.rate(name).mid:.0f}" for name in V[:17]]
    old = run(file="then/7654321.jsonl", better=0.5)
    records = records_of(run(gpu=H100, better=0.5), old, all_of_it)  # the home GPU's is shown
    same(shows(tracks.Ladder, records, folder, [*V[:17], *rates], [best], ["v18"]), [])
    bare = records_of(run(alone=True))
    same(len(shows(tracks.Ladder, bare, folder, V[:17], (), ["best cuBLASLt"])), 1)
    rows = made_runs.rows(failed="v02")
    for row in rows:
        if row["step"] == "v04":
            del row["timed"]["step"]["share"]
    failed = records_of(*made_runs.loaded(rows), chosen=True)
    shows(tracks.Ladder, failed, folder, [*V, "failed"])
    shows(share_and_clock, failed, folder, V)


def test_share_and_clock(folder):
    """Every change of speed, share and clock is there in figures, none on another, and speed is their
    product: of several runs one without a slow launch is shown."""
    from plots.draw import share_and_clock
    from plots.plot import import_pyplot

    clean = run(date="2027-01-02T00:00:00Z")
    readings = (*share_and_clock.READINGS, "rate")
    known = [v for reading in readings for v in share_and_clock.changes(clean, reading)[1:]]
    shows(share_and_clock, records_of(clean), folder, list(map(share_and_clock.percent, known)))
    figure = share_and_clock.draw(import_pyplot(), clean, None)
    figure.draw_without_rendering()
    same(pictures.overlaps(figure.axes[2].texts, 0), [])
    rows = made_runs.rows(date="2027-02-01T00:00:00Z")
    rows[6]["timed"]["step"]["ghz"] *= 0.9
    slow = made_runs.loaded(rows)[0]
    same([share_and_clock.adds_up(one) for one in (clean, slow)], [True, False])
    older = run(file="then/7654321.jsonl", better=0.5)
    same(share_and_clock.find(records_of(older, slow, clean)), clean)
    same(share_and_clock.find(records_of(older, slow)), older)
    blind = records_of(run(read={"share": None}))
    refused("no tensor-core share and clock known", share_and_clock.find, blind)


def test_sustained(folder):
    """Burst beside sustained, with joules: the burst run of the same card and commit, if there is one."""
    from plots.draw import sustained

    burst, steady = run(), run(protocol="sustained", read=READ, better=0.8)
    names = [*V, "cuBLAS", "1.101", f"{burst.rate('v18').mid:.0f}", f"{steady.rate('v18').mid:.0f}"]
    words = ["burst and sustained protocol", "axis of joules does not begin at 0", "of the passes"]
    shows(sustained, records_of(burst, steady), folder, names, words, ["measured apart"])
    for how, words in (
        ({"commit": "7654321"}, ["abc1234", "7654321", "measured apart, at commits"]),
        ({"gpu": {**H200, "card": "f0f0f0f0"}}, ["measured apart, on two cards"]),
    ):
        other = run(**how)
        shows(sustained, records_of(other, steady), folder, names[:19], words)
        same(sustained.find(records_of(other, burst, steady))["burst"], burst)
    refused("no sustained run", sustained.find, records_of(run(V[:5]), steady))


def test_sizes(folder):
    """Curves over sizes of one commit, with ratios on each GPU where they are recorded; two sizes are too
    few."""
    from plots.draw import sizes

    runs = [run(shape=shape) for shape in SIZES]
    newer, far = run(commit="7654321"), [run(shape=shape, gpu=H100) for shape in SIZES]
    names = [*sizes.CHOSEN, "v18", "cuBLAS", "2048", "8192"]
    words = ["NVIDIA H200, 700 W: bf16", "burst protocol", "H200: of cuBLASLt,", "abc1234"]
    other = [run(shape=shape, gpu=H100, commit="7654321") for shape in SIZES]
    shows(sizes, records_of(newer, *runs, *other), folder, names, words, ["H100", "7654321"])
    shows(sizes, records_of(*runs, *far), folder, names, [*words, "H100: of cuBLASLt,"])
    bare = records_of(*(run(shape=shape, alone=True) for shape in SIZES))
    shows(sizes, bare, folder, names, words[:2], ["of cuBLASLt,"])
    refused("recorded: 2048³, 4096³", sizes.find, records_of(*runs[:2]))


def test_any_shape(folder):
    """Two panels for each GPU, a point for each random shape, of the last rung."""
    from plots.draw import any_shape
    from plots.plot import import_pyplot

    families = [(one, shapes.of_word(f"{one}:1", "v")) for one in any_shape.FAMILIES]
    swept = [
        run([step], shape, gpu=gpu, better=0.5 if gpu == H100 else 1)
        for gpu, step, few in ((H200, "v12", 9), (H200, "v18", 60), (H100, "v18", 20))
        for _, of_family in families
        for shape in of_family[:few]
    ]
    again = run(["v18"], families[0][1][0], better=9)  # the first run at a shape is shown
    records = records_of(*swept, again, chosen=True)
    words = ["H200: v18 of", "H100: v18 of", "geometric means: aligned 0.679, any 0.679", "abc1234"]
    words += ["H100 is NVIDIA H100 80GB HBM3, 700 W", "odd: n or k no multiple of 8"]
    shows(any_shape, records, folder, [], words)
    figure = any_shape.draw(import_pyplot(), any_shape.find(records), records)
    points = [sum(len(line.get_xdata()) for line in axes.lines) - 2 for axes in figure.axes]
    same(points, [180, 60, 60, 20])
    refused("--only judged", any_shape.find, records_of(run()))


def test_roofline(folder):
    """The roofline with every rung counted, each from the first run that did, and no point for a rung
    that wasn't."""
    from plots.draw import roofline

    def counts(gigabytes):
        names = {"dram__bytes_read.sum": 1, "dram__bytes_write.sum": 0.1}
        names |= {"lts__t_sectors_srcunit_tex.sum": 0.2}
        return {name: 1e9 * part * gigabytes for name, part in names.items()}

    ladder, words = run(), [H200["name"], "burst protocol", "commits abc1234, 7654321"]
    first = made_runs.counted({name: counts(2 + i) for i, name in enumerate(V[1:])})
    later = made_runs.counted({name: counts(7) for name in V[:3]}, commit="7654321")
    for name, tile in roofline.WALK.items():
        source = next((ROOT / "steps").glob(f"{name}_*.cu")).read_text(encoding="utf-8")
        sides = [f"constexpr int B{side} = {n};" for side, n in zip("MN", tile.split(" × "))]
        same((name, [line for line in sides if line not in source]), (name, []))
        words.append(f"{name}: {tile}")
    records = records_of(ladder, first, later)
    same(shows(roofline, records, folder, [*V, "cuBLAS", "7.7", "2.2"], words, ["7.70"]), [])
    notes = shows(roofline, records_of(ladder, made_runs.counted({"v12": counts(3)})), folder)
    require(len(notes) == 1 and "v07" in notes[0] and "v12" not in notes[0], notes)
    refused("no counters", roofline.find, records_of(ladder))


def test_tracks(folder):
    """The a and t tracks at the README's shapes, FP8 at those of models, each with its rungs."""
    from plots.draw import fp8, tracks

    for letter, shape, words in (
        ("a", CUBE, ["fp16 GEMM", "a01 has no bar"]),
        ("t", (32768, 32768), ["32768²", "GB/s"]),
    ):
        names = [f"{letter}{number:02}" for number in range(2, 7)]
        picture = tracks.Shapes(letter)
        alone = run([f"{letter}01"], shape)
        notes = shows(picture, records_of(alone, run(names, shape)), folder, names, words)
        same(len(notes), len(picture.shapes) - 1)
        refused(f"no burst run of {letter}02", picture.find, records_of(alone))
    runs = [run(["f07", "f-deepgemm"], shape) for shape in fp8.SHAPES]
    shows(fp8, records_of(*runs), folder, ["f07", "Deep-", "4096 × 4096 × 7168"])
    refused("at 3 shapes", fp8.find, records_of(*runs[:2]))


def test_energy(folder):
    """The energy budget, from a made-up run of the parts: every line of it, and the parts in words."""
    from plots.draw import energy

    one, other = fake_energy.run(), fake_energy.run(rung="v14")
    joules = f"{1e3 * fake_energy.WHOLE['tensor']:.0f} mJ"
    names = ["tensor cores", "not attributed", *energy.PARTS.values()]
    each = [f"{budget.rung_of(run)}: {budget.make(run).joules:.3f} ± " for run in (other, one)]
    words = [joules, "mJ: 120 W at 1.98 GHz", one.gpu["name"]]
    shows(energy, records_of(one), folder, names, [each[1], *words], ["not measured"])
    shows(energy, records_of(one, other), folder, names, each, ["measured on different"])
    other.context["commit"] = "7654321"
    shows(energy, records_of(one, other), folder, names, ["measured on different"])
    for runs in ([], [fake_energy.run("waiting")]):
        refused("make energy", energy.find, records_of(*runs))


def test_power(folder):
    """Clock against watts and TFLOPS against joules, with the parts of a rung if there are any."""
    from plots.draw import power

    steady, one = run(protocol="sustained", read=READ), fake_energy.run()
    names, words = ["v18", "cuBLAS"], ["the power limit", "sustained protocol", H200["name"]]
    parts = ["nothing runs", "parts of v16, measured apart"]
    shows(power, records_of(steady), folder, names, words, parts)
    shows(power, records_of(steady, one), folder, [*names, *parts], words)
    few = run(V[-3:], protocol="sustained", read=READ)
    same(power.find(records_of(few, steady))[0], steady)
    refused("--protocol sustained", power.find, records_of(run()))


def test_side_by_side(folder):
    """Two files, side by side: names, dates and every rung of either, in TFLOPS or GB/s."""
    from plots.draw import records, side_by_side

    gpu, t = {**H100, "power_limit_watts": 350}, [f"t{number:02}" for number in range(2, 9)]
    one = written(folder, "one.jsonl", V[1:])
    two = written(folder, "two.jsonl", V[:-1], gpu=gpu, commit="7654321", date="2027-02-03")
    result = plot("--results", f"{one},{two}", "--out", Path(folder) / "out")
    same((result.returncode, result.stderr), (0, ""))
    path = Path(folder) / "out" / "side-by-side.png"
    same(sorted(file.name for file in path.parent.iterdir()), suffixed(["side-by-side"]))
    words = [H200["name"], "HBM3, 350 W", "2027-02-03", "commit 7654321", "burst protocol"]
    figures = [f"{results.load(file)[0].ratio('v02').mid:.3f}" for file in (one, two)]
    check_picture(path, [*V, *figures, "cuBLAS"], words)
    moved = records.Records([[run(t, (32768, 32768))]] * 2, True)
    shows(side_by_side, moved, folder, [*t, "device copy"], ["GB/s", "32768²"])
    both = records.Records([[run()], [run(protocol="sustained")]], True)
    refused("protocol burst in one, sustained in the other", side_by_side.find, both)


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
