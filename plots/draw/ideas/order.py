"""Who is ordered after whom, as the emulator's clocks say: agents, carriers and a cell."""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas import cells

AGENTS = {  # of the probe: letter, name, colour
    "producer": ("P", "thread 0:\nthe producer", "#8FD0BC"),
    "load": ("L", "TMA load", "#A9D6F5"),
    "consumer": ("C", "thread 128:\na consumer", "#F3C460"),
    "wgmma": ("W", "wgmma", "#E9B7D2"),
}
CARRIERS = {"full": "mbarrier full", "group": "wgmma group", "empty": "mbarrier empty"}
ROWS = {name: 1.15 * i for i, name in enumerate(AGENTS)}
ROWS |= {name: 4.75 + 0.6 * i for i, name in enumerate(CARRIERS)} | {"tile": 7.0}
LAST = ROWS["tile"]
BOX, HEIGHT, CELL = 0.88, 0.36, 0.27  # of an event, and below it of its clock
ARROW = {"arrowstyle": "-|>", "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
WAYS = {  # of an arrow; told apart in grey by its dashes
    "release": {"color": style.BLUE},
    "acquire": {"color": style.VERMILION, "linestyle": (0, (5, 1.5))},
    "issue": {"color": "0.25"},
    "access": {"color": style.PURPLE, "linestyle": (0, (1, 1.2))},
}


def order_data(answers, _records):
    """The events, each with what its agent learnt by it."""
    events, known = [], {}
    for event in answers["happens_before"].values():
        before = known.get(event["who"], {})
        learnt = [
            name
            for name, time in event["knows"].items()
            if name != event["who"] and time > before.get(name, 0)
        ]
        known[event["who"]] = event["knows"]
        events.append({**event, "learnt": learnt if event["does"] == "waits" else []})
    return {"events": events}


def arrow(axes, begin, end, way):
    """From one place to another."""
    axes.annotate("", end, begin, arrowprops={**ARROW, **WAYS[way]}, zorder=4)


def draw_event(axes, x, event):
    """What an agent does, above its clock."""
    colour, y = AGENTS[event["who"]][2], ROWS[event["who"]]
    words = {"issues": f"issues\n{event['of']}"}.get(event["does"], event["does"])
    look = {"facecolor": colour, "edgecolor": "0.3", "linewidth": 0.8, "zorder": 5, "size": 8}
    tall = HEIGHT + 0.12 * words.count("\n")
    cells.cell(axes, x - BOX / 2, y - tall, BOX, tall, **{k: look[k] for k in look if k != "size"})
    cells.label(axes, x, y - tall / 2, words, size=8, va="center", zorder=6, linespacing=1.0)
    for i, (name, time) in enumerate(event["knows"].items()):
        new = name in event["learnt"]
        how = {"facecolor": style.ORANGE if new else "white", "edgecolor": "0.3", "zorder": 5}
        width = BOX / len(AGENTS)
        left = x - BOX / 2 + i * width
        cells.cell(axes, left, y, width, CELL, **how)
        weight = "bold" if new or name == event["who"] else "normal"
        how = {"zorder": 6, "color": "black", "fontweight": weight}
        cells.label(axes, left + width / 2, y + CELL / 2, str(time), size=cells.NARROW, **how)


def draw_arrows(axes, x, event):
    """To a carrier or from one, to the operation that is issued, or to the cell."""
    y, does = ROWS[event["who"]], event["does"]
    if does == "issues":
        arrow(axes, (x + BOX / 2, y), (x + 1 - BOX / 2, ROWS[event["of"]] - HEIGHT / 2), "issue")
        return
    below = y + CELL
    carrier = {"load": "full", "wgmma": "group"}.get(event["who"], event["of"])
    shift = 0.22 if event["of"] == "tile" else 0
    begin, end = (x - shift, below), (x - shift, ROWS[carrier])
    axes.plot(*end, marker="o", markersize=4, color="0.2", zorder=6)
    if does == "waits":
        arrow(axes, end, begin, "acquire")
    else:
        arrow(axes, begin, end, "release")
    if event["of"] == "tile":
        arrow(axes, (x + shift, below), (x + shift, LAST), "access")


def draw_cell(axes, events):
    """What the cell holds after each access."""
    touched = [(x, event) for x, event in enumerate(events) if event["of"] == "tile"]
    held = []
    for i, (x, event) in enumerate(touched):
        letter = AGENTS[event["who"]][0]
        epoch = f"{letter} at {event['knows'][event['who']]}"
        held = [epoch, "—"] if event["does"] == "writes" else [held[0], epoch]
        end = touched[i + 1][0] + 0.22 if i + 1 < len(touched) else len(events) + 0.85
        for row, words in enumerate(("last write: ", "reads since: ")):
            place = (x + 0.22, LAST + 0.34 * row, end - x - 0.22, 0.34)
            how = {"edgecolor": "0.3", "linewidth": 0.8, "color": "black", "size": 8}
            cells.cell(axes, *place, words + held[row], **how)
    (_, first), (_, read), (x, second) = touched
    assert first["knows"]["load"] < second["knows"]["load"]  # the number is the first load's
    assert second["knows"]["wgmma"] >= read["knows"]["wgmma"]
    words = "in order: the second load knows W at 1,\nand follows L at 1, whose number it has"
    cells.label(axes, x + 0.1, LAST - 0.5, words, ha="right", va="center", linespacing=1.3)


def draw_order(pyplot, found):
    """Agents above, carriers in the middle, the cell below; a column for each event."""
    events = found["events"]
    figure, axes = style.figure_of(pyplot, 6.9)
    cells.board(axes, -2.6, len(events) + 0.9, LAST + 0.75, -0.75)
    for y, words in ((0.4, "agents"), (4.3, "carriers"), (6.6, "cell")):
        cells.label(axes, -2.55, y - 0.85 if y < 1 else y, words, ha="left", **cells.TITLE)
    for name, (letter, words, _) in AGENTS.items():
        y = ROWS[name]
        axes.plot([-0.5, len(events) + 0.85], [y] * 2, color="0.85", linewidth=1, zorder=1)
        cells.label(axes, -2.55, y, f"{words} ({letter})", ha="left", va="center", linespacing=1.2)
    for name, words in CARRIERS.items():
        axes.plot([-0.5, len(events) + 0.85], [ROWS[name]] * 2, color="0.7", linewidth=1, zorder=1)
        cells.label(axes, -2.55, ROWS[name], words, ha="left")
    cells.label(axes, -2.55, LAST + 0.34, "the tile's bytes", ha="left")
    for x, event in enumerate(events):
        draw_event(axes, x, event)
        draw_arrows(axes, x, event)
    draw_cell(axes, events)
    style.frame(
        figure,
        "Who is ordered after whom: one stage of a ring, loaded twice",
        "under each event its agent's clock: the times that it knows of P, L, C and W; orange: what it "
        "learns\nblack arrows: starts; blue: releases; red, dashed: acquires; dotted: accesses the "
        "bytes",
    )
    return figure


PICTURES = (("happens-before", order_data, draw_order),)
