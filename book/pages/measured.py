"""Tables of what is recorded in bench/results. No figure is from anywhere else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import resources, tables
from bench.records import recorded
from notes.tools import readme_table, shapes_table

DASH = "–"
FASTER = "(passes faster)"
# A column of the counters: its head, the metric, what to multiply with, digits.
COLUMNS = (
    ("DRAM read, GB", "dram__bytes_read.sum", 1e-9, 2),
    ("DRAM written, GB", "dram__bytes_write.sum", 1e-9, 2),
    ("L2 to SMs, GB", "lts__t_sectors_srcunit_tex.sum", 32e-9, 2),
    ("arrives at SMs, GB", "l1tex__m_xbar2l1tex_read_bytes.sum", 1e-9, 2),
    ("10⁶ cycles", "sm__cycles_elapsed.max", 1e-6, 2),
    ("10⁶ shared bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", 1e-6, 2),
)
COUNTS_HEADER = ["program", *(column[0] for column in COLUMNS)]


@dataclass
class Table:
    """Rows of cells, each a text or (text, the place in the tree that it leads to, or ''); the first
    `words` columns hold words, the others figures. `bold` is the row that a page is about."""

    header: list
    rows: list
    words: int
    caption: str = ""
    bold: int = -1


def program(name):
    """A cell with the name of a rung or a variant, which leads to its source."""
    pattern = f"bench/variants/{name}.patch" if recorded.is_variant(name) else f"steps/{name}_*.cu"
    files = sorted(recorded.ROOT.glob(pattern))
    return name, files[0].relative_to(recorded.ROOT).as_posix() if files else ""


def entry_of(record, name):
    """What is recorded of a program; None if that is nothing, or that it failed."""
    found = (entry for entry in recorded.entries(record) if "failed" not in entry)
    return next((entry for entry in found if entry["step"] == name), None)


def shown(name, kind, key, wanted):
    """Of the records of that kind on the home GPU that have the rung and are wanted, for each key(of
    them) the one that recorded.precedence() says: a list of (place, record)."""
    found, home = {}, recorded.home()
    for place, record in recorded.all_of_kind(recorded.RESULTS, kind):
        if home.has(record) and wanted(record) and entry_of(record, name):
            found.setdefault(key(record), []).append((place, record))
    best = []
    for _, places in sorted(found.items()):
        order = recorded.precedence([record for _, record in places], home)
        best.append(max(places, key=lambda pair, order=order: order(pair[1])))
    return best


def ladders_of(name, wanted):
    """The finished ladder to be shown of that rung at each protocol and shape."""
    return shown(
        name,
        "ladder",
        lambda ladder: (ladder["protocol"], recorded.shape_of(ladder)),
        lambda ladder: wanted(ladder) and not ladder["interrupted"],
    )


# --- a rung -----------------------------------------------------------------------------------


def against(ladder, name, below):
    """'1.012 (5 of 5)' of a rung and the one below it, or a dash: in so many passes it was faster."""
    for pair in ladder["neighbours"]:
        if (pair["upper"], pair["lower"]) == (name, below):
            return f"{pair['paired_ratio']:.3f} ({pair['passes_faster']} of {pair['passes']})"
    return DASH


def times(rung):
    """How fast the rung is at each shape, beside those it is compared with."""
    ladders = ladders_of(rung.name, recorded.rungs_only)
    if not ladders:
        return None
    measure, optional = recorded.measure_of(ladders[0][1]), readme_table.optional
    power = any(ladder[measure.other]["watts"] is not None for _, ladder in ladders)
    header = ["problem", "protocol", f"{measure.unit} (p10 to p90)", f"of {measure.other_name}"]
    header += ["tensor-core share" if measure.work == "flop" else "memory share", "SM clock"]
    header += ["watts", "joules"] if power else []
    header += [f"over {rung.below} {FASTER}"] if rung.below else []
    rows = []
    for place, ladder in ladders:
        timing = entry_of(ladder, rung.name)["timing"]
        step = timing["step"]
        row = [shapes_table.title(recorded.shape_of(ladder)), ladder["protocol"]]
        row += rates(timing, measure)
        row += [
            optional(step[measure.share], 1, "%", 100),
            optional(step["sm_clock_ghz"], 2, "GHz"),
        ]
        row += [optional(step["watts"], 0, "W"), optional(step["joules"], 3, "J")] if power else []
        row += [against(ladder, rung.name, rung.below)] if rung.below else []
        file = Path(str(place).partition("#")[0]).relative_to(recorded.ROOT).as_posix()
        rows.append([*row, (ladder["date"][:10], file)])
    gpus = ", ".join(sorted({ladder["gpu"]["name"] for _, ladder in ladders}))
    caption = f"{gpus}. Medians with the 10th and 90th percentile, rung by rung in turn."
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
    made = []
    for _, record in shown(rung.name, "counters", recorded.shape_of, lambda _: True):
        entries = [(name, entry_of(record, name)) for name in (rung.below, rung.name)]
        rows = [counts_row(name, entry["counters"]) for name, entry in entries if entry]
        bold = len(rows) - 1
        if cublas := entries[-1][1].get("cublas"):
            rows.append(counts_row("cuBLAS", cublas["counters"]))
        made.append(Table(COUNTS_HEADER, rows, 1, counts_caption(record), bold))
    return made


def counts_row(name, counters):
    """One program's counts."""
    return [
        name,
        *(
            readme_table.optional(counters.get(metric), digits, "", scale).strip()
            for _, metric, scale, digits in COLUMNS
        ),
    ]


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
    """What the emulator counted of the rung, beside the rung below, a row for each kind that is not 0
    in both; None if nothing is recorded."""
    record = newest_emulated()
    for ladder in record["ladders"] if record else ():
        entries = {one["step"]: one for one in ladder["rungs"] if "failed" not in one}
        if rung.name not in entries:
            continue
        names = [name for name in (rung.below, rung.name) if name in entries]
        counts = [entries[name]["emulator"]["counts"] for name in names]
        rows = [
            [kind.replace("_", " "), *(whole(one.get(kind)) for one in counts)]
            for kind in counts[-1]
            if any(one.get(kind) for one in counts)
        ]
        shape = ladder["shape"] or recorded.shape_of(entries[rung.name])
        caption = (
            f"One launch at {shapes_table.title(shape)} on the emulator, policy "
            f"{record['policy']}, {record['inputs']} inputs; {record['date'][:10]}, commit "
            f"{record['commit']}."
        )
        return Table(["count", *names], rows, 1, caption)
    return None


def whole(number):
    """'6,291,456', or '2.5' for a mean; a dash for none."""
    return DASH if number is None else f"{number:,}" if number == int(number) else f"{number:,.2f}"


def experiments(rung):
    """The rung beside its variants, where they ran together: a list of tables."""
    made = []
    for _, ladder in ladders_of(rung.name, recorded.has_variants):
        names = [name for name in recorded.all_names(ladder) if recorded.rung_of(name) == rung.name]
        if len(names) == 1:
            continue
        measure = recorded.measure_of(ladder)
        header = ["program", "idea", f"{measure.unit} (p10 to p90)", f"of {measure.other_name}"]
        rows = []
        for name in names:
            entry, row = entry_of(ladder, name), [program(name)]
            if entry:
                row += [entry["idea"], *rates(entry["timing"], measure)]
                rows.append([*row, against(ladder, name, names[0])])
            else:
                rows.append([*row, "failed", DASH, DASH, DASH])
        header.append(f"over {names[0]} {FASTER}")
        made.append(Table(header, rows, 2, origin(ladder), 0))
    return made


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
    if entry["digest"] != resources.digest(rung.path):
        said += " The rung, or a header that it includes, has changed since."
    return Table(header, rows, 2), said


# --- all that is recorded ---------------------------------------------------------------------


def ladder_table(ladder):
    """All of a ladder, as `make ladder` prints it."""
    measure = recorded.measure_of(ladder)
    columns = tables.columns_of(ladder, measure)
    rows = [tables.table_row(rung, columns) for rung in ladder["rungs"]]
    rows += tables.other_rows(ladder, measure, columns)
    rows = [[*row, *[DASH] * (2 + len(columns) - len(row))] for row in rows]
    for row in rows:
        row[0] = program(row[0]) if recorded.NAME.fullmatch(row[0]) else row[0]
    header = ["program", "idea", *(head for head, _ in columns)]
    return Table(header, rows, 2, origin(ladder))


def counters_table(record):
    """All programs of a file of counts."""
    rows = []
    for entry in record["steps"]:
        if "failed" in entry:
            dashes = [DASH] * (len(COLUMNS) - 1)
            rows.append([program(entry["step"]), f"failed: {entry['failed']}", *dashes])
        else:
            rows.append(counts_row(program(entry["step"]), entry["counters"]))
    return Table(COUNTS_HEADER, rows, 1, counts_caption(record))


def ladder_words(ladder):
    """'v, 8192³, burst' of a ladder; with variants if it has some."""
    words = ["".join(sorted(recorded.tracks(ladder))) + " track"]
    words += [shapes_table.title(recorded.shape_of(ladder)), ladder["protocol"]]
    return ", ".join([*words, *["with variants"] * recorded.has_variants(ladder)])


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
        words = "; ".join(map(ladder_words, ladders))
        return words, list(map(ladder_table, ladders))
    return kind or "", []
