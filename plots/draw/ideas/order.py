"""Who is ordered after whom, as the emulator's clocks say: agents, carriers and a cell."""

from __future__ import annotations

from plots.draw import style
from plots.draw.ideas.cells import EDGED, NARROW, Board
from plots.draw.probes import ask

AGENTS = {  # of the probe, in its order: letter, name, colour
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
WAYS = {  # of an arrow; told apart in grey by its dashes
    "release": {"color": style.BLUE},
    "acquire": {"color": style.VERMILION, "linestyle": (0, (5, 1.5))},
    "issue": {"color": "0.25"},
    "access": {"color": style.PURPLE, "linestyle": (0, (1, 1.2))},
}


def learnt(events):
    """Of each event the agents of which its own learnt by waiting."""
    known = {}
    for event in events:
        before = known.get(event["who"], {})
        known[event["who"]] = event["knows"]
        news = [name for name, time in event["knows"].items() if time > before.get(name, 0)]
        yield [name for name in news if name != event["who"] and event["does"] == "waits"]


def arrow(board, begin, end, way):
    """From one place to another."""
    board.arrow(begin, end, 4, linewidth=1.4, **WAYS[way])


def draw_event(board, x, event, news):
    """What an agent does, above its clock."""
    who, y = event["who"], ROWS[event["who"]]
    words = {"issues": f"issues\n{event['of']}"}.get(event["does"], event["does"])
    tall = HEIGHT + 0.12 * words.count("\n")
    board.cell(x - BOX / 2, y - tall, BOX, tall, facecolor=AGENTS[who][2], zorder=5, **EDGED)
    board.label(x, y - tall / 2, words, size=8, va="center", zorder=6, linespacing=1.0)
    width = BOX / len(AGENTS)
    for i, (name, time) in enumerate(event["knows"].items()):
        colour = style.ORANGE if name in news else "white"
        left = x - BOX / 2 + i * width
        board.cell(left, y, width, CELL, facecolor=colour, edgecolor="0.3", zorder=5)
        weight = "bold" if name in (*news, who) else "normal"
        how = {"zorder": 6, "color": "black", "fontweight": weight}
        board.label(left + width / 2, y + CELL / 2, str(time), size=NARROW, **how)


def draw_arrows(board, x, event):
    """To a carrier or from one, to the operation that is issued, or to the cell."""
    y, does, of = ROWS[event["who"]], event["does"], event["of"]
    if does == "issues":
        arrow(board, (x + BOX / 2, y), (x + 1 - BOX / 2, ROWS[of] - HEIGHT / 2), "issue")
        return
    carrier = {"load": "full", "wgmma": "group"}.get(event["who"], of)
    shift = 0.22 if of == "tile" else 0
    begin, end = (x - shift, y + CELL), (x - shift, ROWS[carrier])
    board.line(*end, marker="o", markersize=4, color="0.2", zorder=6)
    if does == "waits":
        arrow(board, end, begin, "acquire")
    else:
        arrow(board, begin, end, "release")
    if of == "tile":
        arrow(board, (x + shift, y + CELL), (x + shift, LAST), "access")


def draw_cell(board, events):
    """What the cell holds after each access."""
    touched = [(x, event) for x, event in enumerate(events) if event["of"] == "tile"]
    ends = [x + 0.22 for x, _ in touched[1:]] + [len(events) + 0.85]
    held = []
    for (x, event), end in zip(touched, ends):
        epoch = f"{AGENTS[event['who']][0]} at {event['knows'][event['who']]}"
        held = [epoch, "—"] if event["does"] == "writes" else [held[0], epoch]
        for row, words in enumerate(("last write: ", "reads since: ")):
            place = (x + 0.22, LAST + 0.34 * row, end - x - 0.22, 0.34)
            board.cell(*place, words + held[row], color="black", size=8, **EDGED)
    words = "in order: the second load knows W at 1,\nand follows L at 1, whose number it has"
    x = touched[-1][0] + 0.1
    board.label(x, LAST - 0.5, words, ha="right", va="center", linespacing=1.3)


def draw(_records):
    """Agents above, carriers in the middle, the cell below; a column for each event."""
    events = [
        {"who": who, "does": does, "of": of, "knows": dict(zip(AGENTS, knows))}
        for who, does, of, *knows in ask("happens_before")
    ]
    figure, axes = style.figure_of(6.9)
    board = Board(axes, -2.6, len(events) + 0.9, LAST + 0.75, -0.75)
    for y, words in ((-0.45, "agents"), (4.3, "carriers"), (6.6, "cell")):
        board.title(-2.55, y, words, ha="left")
    across = [-0.5, len(events) + 0.85]
    for name, (letter, words, _) in AGENTS.items():
        board.line(across, [ROWS[name]] * 2, color="0.85", linewidth=1, zorder=1)
        board.left(-2.55, ROWS[name], f"{words} ({letter})", linespacing=1.2)
    for name, words in CARRIERS.items():
        board.line(across, [ROWS[name]] * 2, color="0.7", linewidth=1, zorder=1)
        board.label(-2.55, ROWS[name], words, ha="left")
    board.label(-2.55, LAST + 0.34, "the tile's bytes", ha="left")
    for x, (event, news) in enumerate(zip(events, learnt(events))):
        draw_event(board, x, event, news)
        draw_arrows(board, x, event)
    draw_cell(board, events)
    title = "Who is ordered after whom: one stage of a ring, loaded twice"
    second = "under each event its agent's clock: the times that it knows of P, L, C and W; orange:"
    second += " what it learns\nblack arrows: starts; blue: releases; red, dashed: acquires; "
    second += "dotted: accesses the bytes"
    return style.frame(figure, title, second)
