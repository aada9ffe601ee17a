"""The tables that a ladder prints."""

from __future__ import annotations

import recorded


def cell(value, digits, unit="", scale=1):
    """A number in a column, or a dash where there is none."""
    return "-" if value is None else f"{value * scale:.{digits}f}{unit}"


def table_row(rung, measure):
    """One rung's cells."""
    if "failed" in rung:
        return [rung["step"], "FAILED: " + rung["failed"]]
    step = rung["timing"]["step"]
    return [
        rung["step"],
        rung["idea"],
        recorded.spread(step[measure.rate], 1),
        recorded.spread(rung["timing"][measure.ratio], 3),
        cell(step[measure.share], 1, " %", 100),
        cell(step["sm_clock_ghz"], 3, " GHz"),
    ]


def other_row(contender, measure, name, what, ratio):
    """The cells of somebody whom the rungs are compared with."""
    share = cell(contender[measure.share], 1, " %", 100)
    clock = cell(contender["sm_clock_ghz"], 3, " GHz")
    return [name, what, recorded.spread(contender[measure.rate], 1), ratio, share, clock]


def other_rows(ladder, measure):
    """They over all rounds of all rungs; cuBLAS with fp16 sums over those that it ran beside."""
    if measure is recorded.MOVES:
        second = ladder.get(measure.beside, {}).get("name", "the second opinion")
        words = (("copy", "cudaMemcpyAsync"), ("other", second))
    else:
        words = (("cuBLAS", "its default"), ("cuBLAS", "with fp16 sums"))
    rows = [other_row(ladder[measure.other], measure, *words[0], "1")]
    if measure.beside in ladder:
        rows.append(other_row(ladder[measure.beside], measure, *words[1], "-"))
    return rows


def print_aligned(rows):
    """Columns as wide as their widest cell; a short row (a failure) may run over."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(len(row[i]) for row in full) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def neighbour_line(pair):
    """'v08 faster than v07: yes (1.012, in 5 of 5 passes)'."""
    verdict = "yes" if pair["faster"] else "NO"
    passes = f"in {pair['passes_faster']} of {pair['passes']} passes"
    return f"{pair['upper']} faster than {pair['lower']}: {verdict} " + (
        f"(paired ratio {pair['paired_ratio']:.4f}, {passes})"
    )


def print_ladder(ladder):
    """The ladder's table and the comparison of neighbours."""
    gpu, problem, measure = ladder["gpu"], ladder["problem"], recorded.measure_of(ladder)
    shape = " ".join(f"{name}={problem[name]}" for name in measure.dimensions)
    print(
        f"{gpu['name']}, {shape}, inputs {problem['inputs']}, {ladder['protocol']}, "
        f"commit {ladder['commit']}" + (", INTERRUPTED" if ladder["interrupted"] else "")
    )
    columns = [f"{measure.unit} (p10 to p90)", f"of {measure.other_name} (p10 to p90)"]
    header = ["rung", "idea", *columns, measure.share.split("_")[0], "clock"]
    rows = [header] + [table_row(rung, measure) for rung in ladder["rungs"]]
    print_aligned(rows + other_rows(ladder, measure))
    for pair in ladder["neighbours"]:
        print(neighbour_line(pair))
