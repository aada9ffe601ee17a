"""The tables that a ladder prints."""

from __future__ import annotations

from bench import gpu_users
from bench.records import recorded
from bench.records.vocabulary import CONTENDERS, EARLY


def cell(value, digits, unit="", scale=1):
    """A number in a column, or a dash where there is none."""
    return "-" if value is None else f"{value * scale:.{digits}f}{unit}"


def columns_of(ladder, measure):
    """What stands in a row behind its first two cells: (head, a function of a contender and its
    ratios to the others)."""

    def reading(key, digits, unit, scale=1):
        return lambda contender, _: cell(contender.get(key), digits, unit, scale)

    def ratio(other):
        return lambda _, ratios: of_ratio(ratios.get(recorded.ratio_to(other)))

    columns = [
        (f"{measure.unit} (p10 to p90)", lambda one, _: recorded.spread(one[measure.rate], 1)),
        (f"of {measure.other_name} (p10 to p90)", ratio(measure.other)),
    ]
    if "cublaslt" in ladder:
        columns.append(("of cuBLASLt (p10 to p90)", ratio("cublaslt")))
    if any(EARLY in rung["timing"] for rung in recorded.measured(ladder)):
        columns.append(("early launch over usual, time", ratio(EARLY)))
    if ladder["protocol"] == "call":
        work = measure.work_of(ladder["problem"]) / measure.units
        return [
            *columns,
            ("a call", lambda one, _: cell(work / one[measure.rate]["median"], 2, " µs", 1e6)),
            ("before", reading("before_seconds", 4, " s")),
        ]
    columns.append((measure.share.split("_")[0], reading(measure.share, 1, " %", 100)))
    columns.append(("clock", reading("sm_clock_ghz", 3, " GHz")))
    if ladder[measure.other]["watts"] is not None:
        columns.append(("power", reading("watts", 0, " W")))
        columns.append(("energy", energy))
    return columns


def of_ratio(ratio):
    """A ratio's cell; there may be none, and of a contender to itself it is a word."""
    return ratio if isinstance(ratio, str) else recorded.spread(ratio, 3) if ratio else "-"


def energy(contender, _):
    """Joules of one launch: a few, or a thousandth."""
    return "-" if contender["joules"] is None else f"{contender['joules']:.3g} J"


def table_row(rung, columns):
    """One rung's cells."""
    if "failed" in rung:
        return [rung["step"], "FAILED: " + rung["failed"]]
    timing = rung["timing"]
    return [rung["step"], rung["idea"], *(column(timing["step"], timing) for _, column in columns)]


def other_rows(ladder, measure, columns):
    """Those whom the rungs are compared with, over all rounds of the rungs that they ran beside."""
    rows = []
    for name in measure.contenders(ladder):
        words = ladder[name].get("name", CONTENDERS[name].idea)
        if name == "cublaslt" and "heuristics" in ladder:
            winner = ladder["heuristics"]["winner"]["name"]
            words = f"{recorded.best_of_cublaslt([ladder])}: {winner}"
        itself = {recorded.ratio_to(name): "1"}
        rows.append(
            [CONTENDERS[name].name, words, *(column(ladder[name], itself) for _, column in columns)]
        )
    return rows


def print_aligned(rows):
    """Columns as wide as their widest cell; a short row (a failure) may run over."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in full) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def print_ladder(ladder):
    """The ladder's table, the comparison of neighbours, and what is to be known of it."""
    gpu, problem, measure = ladder["gpu"], ladder["problem"], recorded.measure_of(ladder)
    shape = " ".join(f"{name}={problem[name]}" for name in measure.dimensions)
    print(
        f"{gpu['name']}, {shape}, inputs {problem['inputs']}, {ladder['protocol']}, "
        f"commit {ladder['commit']}" + (", INTERRUPTED" if ladder["interrupted"] else "")
    )
    columns = columns_of(ladder, measure)
    header = ["rung", "idea", *(head for head, _ in columns)]
    rows = [table_row(rung, columns) for rung in ladder["rungs"]]
    print_aligned([header, *rows, *other_rows(ladder, measure, columns)])
    for pair in ladder["neighbours"]:
        verdict = "yes" if pair["faster"] else "NO"
        passes = f"in {pair['passes_faster']} of {pair['passes']} passes"
        said = f"{verdict} (paired ratio {pair['paired_ratio']:.4f}, {passes})"
        print(f"{pair['upper']} faster than {pair['lower']}: {said}")
    for one in ladder["does_not_take"]:
        print(f"{one['step']} does not take this shape: {one['why']}")
    wide = ladder["wide_spread"]
    if wide["steps"]:
        steps = ", ".join(f"{name} ({(s - 1) * 100:.1f} %)" for name, s in wide["steps"].items())
        limit = f"{(wide['limit'] - 1) * 100:.0f} % between p10 and p90 of the ratio"
        print(f"WARNING: the spread is wide (over {limit} to {measure.other_name}): {steps}")


def glance(ladder, name):
    """A rung's median ratio; of cuBLASLt how much faster its best is than cuBLAS's choice."""
    if name == "cuBLASLt" and "cublaslt" in ladder:
        other = recorded.measure_of(ladder).other
        rates = [ladder[one]["tflops"]["median"] for one in ("cublaslt", other)]
        return f"{rates[0] / rates[1]:.3f}"
    if name not in recorded.all_names(ladder):
        return "-"
    rung = recorded.entry_of(ladder, name)
    ratio = recorded.measure_of(ladder).ratio
    return "FAILED" if "failed" in rung else f"{rung['timing'][ratio]['median']:.3f}"


def print_at_a_glance(ladders):
    """Median ratios of all ladders of each track and protocol in one table, where there are several
    shapes: a row per rung, a column per shape."""
    groups = {}
    for ladder in ladders:
        computation = ladder["problem"]["computation"]
        other = recorded.measure_of(ladder).other_name
        groups.setdefault((computation, ladder["protocol"], other), []).append(ladder)
    for (computation, protocol, other), group in groups.items():
        if len(group) == 1:
            continue
        print(f"\n{computation}, {protocol}: median ratio to {other}")
        names = {name for ladder in group for name in recorded.all_names(ladder)}
        rows = sorted(names, key=recorded.name_order)
        rows += ["cuBLASLt"] if any("cublaslt" in ladder for ladder in group) else []
        print_aligned(
            [["rung", *map(recorded.shape_text, group)]]
            + [[name, *(glance(ladder, name) for ladder in group)] for name in rows]
        )


def print_run(run):
    """Every ladder of a run, and what went wrong."""
    ladders = recorded.ladders_in(run)
    for index, ladder in enumerate(ladders):
        print(end="\n" if index else "")
        print_ladder(ladder)
    print_at_a_glance(ladders)
    for one in run["without_result"]:
        shape = "x".join(map(str, one["shape"]))
        print(f"no result: {one['track']} {shape} {one['protocol']}: {one['why']}")
    processes = run["gpu_processes"]
    if processes["found"]:
        named = ", ".join(gpu_users.described(one) for one in processes["found"])
        print(f"WARNING: other processes used the GPU: {named}")
    if not processes["looked"]:
        print(f"WARNING: unknown whether other processes used the GPU: {processes['why_not']}")
