"""Fragments as the probe tells them: from slots (a thread's registers) to elements and back."""

from __future__ import annotations


def slots_of(fragment, thread):
    """[(row, column, register, half)] of a thread, in the order of its registers."""
    per_thread = fragment["registers"] * fragment["halves"]
    elements = fragment["elements"][thread * per_thread : (thread + 1) * per_thread]
    return [
        (*divmod(element, fragment["columns"]), *divmod(slot, fragment["halves"]))
        for slot, element in enumerate(elements)
    ]


def owners(fragment):
    """{(row, column): (thread, register, half)} of all elements."""
    return {
        (row, column): (thread, register, half)
        for thread in range(fragment["threads"])
        for row, column, register, half in slots_of(fragment, thread)
    }


def blocks(fragment, rows=None, columns=None):
    """A fragment, or the part of it in these ranges, in blocks of elements that lie side by side, or one
    below the other, in one thread: [row, column, height, width, thread, first and last register]."""
    rows = rows or range(fragment["rows"])
    columns = columns or range(fragment["columns"])
    owner = owners(fragment)
    found, done = [], set()
    for row in rows:
        for column in columns:
            if (row, column) in done:
                continue
            thread = owner[row, column][0]
            block = [(row, column)]
            for place in ((row, column + 1), (row + 1, column)):
                inside = place[0] in rows and place[1] in columns
                if len(block) == 1 and inside and owner[place][0] == thread:
                    block.append(place)
            done.update(block)
            height = block[-1][0] - row + 1
            width = block[-1][1] - column + 1
            registers = [owner[place][1] for place in block]
            found.append([row, column, height, width, thread, min(registers), max(registers)])
    return found
