"""Tables of what is recorded in bench/results. No figure is from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import resources, tables
from bench.records import recorded
from notes.tools import readme_table, shapes_table

DASH = "–"
# A column of the counters: its head, the metric, what to multiply with, digits.
COLUMNS = (
    ("DRAM read, GB", "dram__bytes_read.sum", 1e-9, 2),
    ("DRAM written, GB", "dram__bytes_write.sum", 1e-9, 2),
    ("L2 to SMs, GB", "lts__t_sectors_srcunit_tex.sum", 32e-9, 2),
    ("arrives at SMs, GB", "l1tex__m_xbar2l1tex_read_bytes.sum", 1e-9, 2),
    ("10⁶ cycles", "sm__cycles_elapsed.max", 1e-6, 2),
    ("10⁶ shared bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1e-6, 2),
)


@dataclass
class Cell:
    """A cell that leads somewhere: a place in the tree, if there is one."""

    text: str
    path: str = ""


@dataclass
class Table:
    """Rows of cells, each text or a Cell; the first `words` columns hold words, the others
    figures. `bold` is the row that a page is about."""

    header: list
    rows: list
    words: int
    caption: str = ""
    bold: int = -1


def file_of(place):
    """The file, in the tree, in which a record stands."""
    return Path(str(place).partition("#")[0]).relative_to(recorded.ROOT).as_posix()


def patch_of(name):
    """Where the source of a rung or variant is in the tree; '' if nowhere."""
    if recorded.is_variant(name):
        path = f"bench/variants/{name}.patch"
        return path if (recorded.ROOT / path).exists() else ""
    files = sorted((recorded.ROOT / "steps").glob(f"{name}_*.cu"))
    return f"steps/{files[0].name}" if files else ""


def entry_of(record, name):
    """What is recorded of a program; None if that is nothing, or that it failed."""
    for entry in recorded.entries(record):
        if entry["step"] == name and "failed" not in entry:
            return entry
    return None


# --- a rung -----------------------------------------------------------------------------------


def to_be_shown(places, home):
    """Of these (place, record) the one that recorded.precedence() says."""
    order = recorded.precedence([record for _, record in places], home)
    return max(places, key=lambda pair: order(pair[1]))


def newest_ladders(name, variants=False):
    """The ladder to be shown of that rung at each shape and protocol, with or without variants: a
    list of (place, ladder)."""
    found, home = {}, recorded.home()
    for place, ladder in recorded.all_ladders():
        known = ladder["interrupted"] or entry_of(ladder, name) is None
        wanted = recorded.has_variants if variants else recorded.rungs_only
        if known or not wanted(ladder) or not home.has(ladder):
            continue
        key = (ladder["protocol"], recorded.shape_of(ladder))
        found.setdefault(key, []).append((place, ladder))
    return [to_be_shown(found[key], home) for key in sorted(found)]


def against(ladder, name, below):
    """'1.0123 (5 of 5 passes faster)' of a rung and the one below it, or a dash."""
    for pair in ladder["neighbours"]:
        if (pair["upper"], pair["lower"]) == (name, below):
            faster = f"{pair['passes_faster']} of {pair['passes']} passes faster"
            return f"{pair['paired_ratio']:.3f} ({faster})"
    return DASH


def times(rung):
    """How fast the rung is at each shape, beside those it is compared with."""
    ladders = newest_ladders(rung.name)
    if not ladders:
        return None
    measure = recorded.measure_of(ladders[0][1])
    power = any(ladder[measure.other]["watts"] is not None for _, ladder in ladders)
    header = ["problem", "protocol", f"{measure.unit} (p10 to p90)", f"of {measure.other_name}"]
    header += ["tensor-core share" if measure.work == "flop" else "memory share", "SM clock"]
    header += ["watts", "joules"] if power else []
    header += [f"over {rung.below.name}"] if rung.below else []
    rows = []
    for place, ladder in ladders:
        timing = entry_of(ladder, rung.name)["timing"]
        step = timing["step"]
        rows.append([shapes_table.title(recorded.shape_of(ladder)), ladder["protocol"]])
        rows[-1] += rates(timing, measure)
        rows[-1].append(readme_table.optional(step[measure.share], 1, "%", 100))
        rows[-1].append(readme_table.optional(step["sm_clock_ghz"], 2, "GHz"))
        if power:
            rows[-1].append(readme_table.optional(step["watts"], 0, "W"))
            rows[-1].append(readme_table.optional(step["joules"], 3, "J"))
        rows[-1] += [against(ladder, rung.name, rung.below.name)] if rung.below else []
        where = f"{ladder['gpu']['name']}, {ladder['date'][:10]}"
        rows[-1].append(Cell(where, file_of(place)))
    caption = "Medians with the 10th and 90th percentile, rung by rung in turn."
    return Table([*header, "recorded"], rows, 2, caption)


def rates(timing, measure):
    """The rate and the ratio of a program, with their spreads."""
    rate, ratio = timing["step"][measure.rate], timing[measure.ratio]
    return [recorded.spread(rate, 1), recorded.spread(ratio, 3)]


def origin(ladder):
    """A ladder's shape and protocol, and where it was measured."""
    shape = shapes_table.title(recorded.shape_of(ladder))
    return f"{shape}, {ladder['protocol']}. {shapes_table.origin(ladder).replace('`', '')}"


def counts(rung):
    """What the rung asked of the hardware, beside the rung below and cuBLAS: a list of tables."""
    found, home = {}, recorded.home()
    for path, record in recorded.all_of_kind(recorded.RESULTS, "counters"):
        if entry_of(record, rung.name) and home.has(record):
            found.setdefault(recorded.shape_of(record), []).append((path, record))
    shown = [to_be_shown(found[shape], home) for shape in sorted(found)]
    return [counts_table(record, rung) for _, record in shown]


def counts_row(name, counters):
    """One program's counts."""
    columns = [(counters.get(metric), *how) for _, metric, *how in COLUMNS]
    texts = [readme_table.optional(value, digits, "", scale) for value, scale, digits in columns]
    return [name, *(text.strip() for text in texts)]


def counts_table(record, rung):
    """The counts at one shape."""
    names = [rung.below.name, rung.name] if rung.below else [rung.name]
    entries = [(name, entry_of(record, name)) for name in names]
    rows = [counts_row(name, entry["counters"]) for name, entry in entries if entry]
    bold = len(rows) - 1
    cublas = entry_of(record, rung.name).get("cublas")
    if cublas:
        rows.append(counts_row("cuBLAS", cublas["counters"]))
    header = ["program", *(column[0] for column in COLUMNS)]
    return Table(header, rows, 1, counts_caption(record), bold)


def counts_caption(record):
    """Where counts are from."""
    gpu, problem = record["gpu"], record["problem"]
    return (
        f"One launch at {shapes_table.title(recorded.shape_of(record))} with cold caches. "
        f"{gpu['name']}, CUDA {gpu['cuda']}, cuBLAS {gpu['cublas']}, driver {gpu['driver']}, ncu "
        f"{record['ncu'] or 'unknown'}; {problem['inputs']} inputs, seed {problem['seed']}; "
        f"{record['date'][:10]}, commit {record['commit']}."
    )


@cache
def newest_emulated():
    """What the emulator counted, as it was recorded last; None if nothing is."""
    found = recorded.RESULTS.glob("**/*.json")
    records = [recorded.load_record(path) for path in found if kind_of(path) == "emulated"]
    return max(records, key=lambda record: record["date"], default=None)


def emulated(rung):
    """What the emulator counted of the rung, beside the rung below; None if nothing is recorded."""
    record = newest_emulated()
    for ladder in record["ladders"] if record else ():
        entries = {one["step"]: one for one in ladder["rungs"] if "failed" not in one}
        if rung.name in entries:
            names = [rung.below.name] if rung.below and rung.below.name in entries else []
            names.append(rung.name)
            return emulated_table(record, ladder, [entries[name] for name in names])
    return None


def emulated_table(record, ladder, entries):
    """The counts of some rungs, a row for each kind that is not 0 in all of them."""
    counts = [entry["emulator"]["counts"] for entry in entries]
    rows = [
        [name.replace("_", " "), *(whole(one.get(name)) for one in counts)]
        for name in counts[-1]
        if any(one.get(name) for one in counts)
    ]
    shape = ladder["shape"] or recorded.shape_of(entries[-1])
    caption = (
        f"One launch at {shapes_table.title(shape)} on the emulator, policy {record['policy']}, "
        f"{record['inputs']} inputs; {record['date'][:10]}, commit {record['commit']}."
    )
    return Table(["count", *(entry["step"] for entry in entries)], rows, 1, caption)


def whole(number):
    """'6,291,456', or '2.5' for a mean; a dash for none."""
    return DASH if number is None else f"{number:,}" if number == int(number) else f"{number:,.2f}"


def experiments(rung):
    """The rung beside its variants, where they ran together: a list of tables."""
    made = []
    for place, ladder in newest_ladders(rung.name, variants=True):
        names = [n for n in recorded.all_names(ladder) if recorded.rung_of(n) == rung.name]
        if len(names) > 1:
            made.append(experiments_table(place, ladder, names))
    return made


def experiments_table(place, ladder, names):
    """The variants of one ladder."""
    measure = recorded.measure_of(ladder)
    header = ["program", "idea", f"{measure.unit} (p10 to p90)", f"of {measure.other_name}"]
    header += [f"over {names[0]}"]
    rows = []
    for name in names:
        entry, cell = entry_of(ladder, name), Cell(name, patch_of(name))
        if entry is None:
            rows.append([cell, "failed", DASH, DASH, DASH])
            continue
        row = [cell, entry["idea"], *rates(entry["timing"], measure)]
        rows.append([*row, against(ladder, name, names[0])])
    return Table(header, rows, 2, origin(ladder), 0)


def resources_of(rung):
    """What ptxas said of the rung's kernel: (a table or None, what is to be known of it)."""
    record = resources.newest()
    entry = record and record["rungs"].get(rung.name)
    if not entry:
        return None, "Not recorded yet: python3 -m bench.resources records it where nvcc is."
    header = ["kernel", "machine code", "registers per thread", "static shared memory, bytes"]
    header += ["SharedStorage, bytes", "stack, bytes", "spill stores, loads, bytes"]
    rows = [
        [
            kernel["name"],
            kernel["arch"],
            str(kernel["registers"]),
            str(kernel["static_shared_bytes"]),
            readme_table.optional(kernel["shared_storage_bytes"], 0, "").strip(),
            str(kernel["stack_bytes"]),
            f"{kernel['spill_store_bytes']}, {kernel['spill_load_bytes']}",
        ]
        for kernel in entry["kernels"]
    ]
    said = f"What ptxas of CUDA {record['cuda']} said, {record['date'][:10]}."
    if entry["digest"] != resources.digest(recorded.ROOT / rung.path):
        said += " The rung, or a header that it includes, has changed since."
    return Table(header, rows, 2), said


# --- all that is recorded ---------------------------------------------------------------------


def ladder_table(ladder):
    """All of a ladder, as `make ladder` prints it."""
    measure = recorded.measure_of(ladder)
    columns = tables.columns_of(ladder, measure)
    rows = [tables.table_row(rung, columns) for rung in ladder["rungs"]]
    rows += tables.other_rows(ladder, measure, columns)
    width = 2 + len(columns)
    rows = [[*row, *[DASH] * (width - len(row))] for row in rows]
    for row in rows:
        if recorded.NAME.fullmatch(row[0]):
            row[0] = Cell(row[0], patch_of(row[0]))
    header = ["program", "idea", *(head for head, _ in columns)]
    return Table(header, rows, 2, origin(ladder))


def counters_table(record):
    """All programs of a file of counts."""
    rows = []
    for entry in record["steps"]:
        name = Cell(entry["step"], patch_of(entry["step"]))
        if "failed" in entry:
            rows.append([name, f"failed: {entry['failed']}"])
            rows[-1] += [DASH] * (len(COLUMNS) - 1)
        else:
            rows.append([name, *counts_row("", entry["counters"])[1:]])
    header = ["program", *(column[0] for column in COLUMNS)]
    return Table(header, rows, 1, counts_caption(record))


def ladder_words(ladder):
    """'v, 8192³, burst' of a ladder; with variants if it has some."""
    words = ["".join(sorted(recorded.tracks(ladder))) + " track"]
    words += [shapes_table.title(recorded.shape_of(ladder)), ladder["protocol"]]
    words += ["with variants"] if recorded.has_variants(ladder) else []
    return ", ".join(words)


def kind_of(path):
    """What kind of record is in a file."""
    return recorded.parse(Path(path).read_text(encoding="utf-8")).get("kind")


def record_of(path):
    """(what is recorded in a file, the tables that show it): its kind and none for what has no
    table."""
    kind = kind_of(path)
    if kind == "counters":
        record = recorded.load_record(path)
        shape = shapes_table.title(recorded.shape_of(record))
        return f"counts, {shape}", [counters_table(record)]
    if kind in ("ladder", "run"):
        ladders = [ladder for _, ladder in recorded.places_in(path)]
        words = "; ".join(ladder_words(ladder) for ladder in ladders)
        return words, [ladder_table(ladder) for ladder in ladders]
    return kind or "", []
