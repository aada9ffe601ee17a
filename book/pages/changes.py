"""What changed between two files, line by line, with the changed words marked. As a program it shows
what a rung changes (`make diff`), or counts what each does (`make diffstat`).

Blanks and line ends are kept but never compared: words that only moved to another column or line are
no change.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

from bench import rungs

WORD = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.]")
CONTEXT = 3  # unchanged lines that are shown before and after a change
FOLD = 4  # as few are not worth hiding
KEPT = 0.4  # a line with less of its text in common with the other side is new as a whole
PUNCTUATION = 0.25  # what a sign counts where a letter counts 1
RED, GREEN, REVERSE, PLAIN, END = (f"\x1b[{code}m" for code in (31, 32, 7, 27, 0))


class Block(NamedTuple):
    """Rows that belong together. A row is (old line, new line), numbers from 0; None is none."""

    changed: bool
    rows: list
    hidden: bool = False  # unchanged, and far from any change
    marks: tuple = ({}, {})  # of both sides, the changed words: {line: [(begin, end)]}


def first_include(lines):
    """The number of the line with which a rung's code begins."""
    return next((i for i, line in enumerate(lines) if line.startswith("#include")), 0)


def changed_lines(old, new):
    """How many lines went and how many came, below the opening comments. The book, `make diff` and
    the limit on what a rung changes all take them from here."""
    sides = [text.splitlines() for text in (old, new)]
    firsts = [first_include(lines) for lines in sides]
    same = len(equal_lines(*sides, *firsts))
    return [len(lines) - first - same for lines, first in zip(sides, firsts)]


def equal_lines(old, new, first_old, first_new):
    """The pairs of equal lines that belong together, in order. What comes or goes between two of them
    begins as late as it can: with a comment, not with the brace above it."""
    matcher = SequenceMatcher(None, old[first_old:], new[first_new:], autojunk=False)
    pairs = [(first_old - 1, first_new - 1)]
    for begin_i, begin_j, size in matcher.get_matching_blocks():
        for i in range(first_old + begin_i, first_old + begin_i + size):
            j = first_new + begin_j + i - first_old - begin_i
            last_i, last_j = pairs[-1]
            if last_i + 1 == i and new[last_j + 1] == old[i]:
                j = last_j + 1
            elif last_j + 1 == j and old[last_i + 1] == new[j]:
                i = last_i + 1
            pairs.append((i, j))
    return pairs[1:]


def compare(old, new, first_old=0, first_new=0):
    """The blocks that lead from the lines `old` to the lines `new`, each from that line on."""
    blocks, same, i, j = [], [], first_old, first_new
    pairs = equal_lines(old, new, first_old, first_new)
    for next_i, next_j in [*pairs, (len(old), len(new))]:
        if (next_i, next_j) != (i, j):
            blocks += same_blocks(same, not blocks, False)
            blocks.append(changed_block(old, new, range(i, next_i), range(j, next_j)))
            same = []
        same.append((next_i, next_j))
        i, j = next_i + 1, next_j + 1
    return blocks + same_blocks(same[:-1], not blocks, True)


def same_blocks(rows, first, last):
    """Unchanged rows, those far from a change hidden. `first` and `last` say whether the files
    begin and end with them."""
    begin, end = 0 if first else CONTEXT, len(rows) - (0 if last else CONTEXT)
    if end - begin < FOLD:
        return [Block(False, rows)] if rows else []
    parts = (rows[:begin], False), (rows[begin:end], True), (rows[end:], False)
    return [Block(False, part, hidden) for part, hidden in parts if part]


def changed_block(old_lines, new_lines, old, new):
    """The block in which the lines `old` became the lines `new`: numbers, in order."""
    old_words, new_words = words_of(old_lines, old), words_of(new_lines, new)
    pairs = matched_words(old_words, new_words)
    marks = (marks_of(old_words, set(pairs)), marks_of(new_words, set(pairs.values())))
    rows = [*((line, None) for line in old), *((None, line) for line in new)]
    return Block(True, rows, marks=marks)


# --- words ------------------------------------------------------------------------------------


class Word(NamedTuple):
    """A word, and where it is."""

    line: int
    begin: int
    end: int
    text: str
    letters: bool  # not signs alone
    weight: float  # how much it says


def words_of(lines, numbers):
    """The words of these lines."""
    found = []
    for number in numbers:
        for match in WORD.finditer(lines[number]):
            letters, size = bool(re.search(r"\w", match[0])), len(match[0])
            weight = size * (1 if letters else PUNCTUATION)
            found.append(Word(number, *match.span(), match[0], letters, weight))
    return found


def matched_words(old, new):
    """Which words stand on both sides: a map from places in `old` to places in `new`."""
    texts = ([word.text for word in words] for words in (old, new))
    pairs = {}
    for i, j, size in SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks():
        pairs.update(zip(range(i, i + size), range(j, j + size)))
    while drop := strange_lines(pairs, old, new) | lone_signs(pairs, old, new):
        pairs = {i: j for i, j in pairs.items() if i not in drop}
    return pairs


def strange_lines(pairs, old, new):
    """The pairs that have a line with little else in common with the other side."""
    drop = set()
    for side, words in enumerate((old, new)):
        left = Counter()  # of each line, the weight that it has in common beyond what it must have
        common = {pair[side] for pair in pairs.items()}
        for place, word in enumerate(words):
            left[word.line] += word.weight * ((place in common) - KEPT)
        drop |= {pair[0] for pair in pairs.items() if left[words[pair[side]].line] < -1e-9}
    return drop


def lone_signs(pairs, old, new):
    """The pairs that are signs alone among changed words: they only look like something that
    stayed. Three of a run's four neighbours, two on each side, have to be changed words."""

    def run_of(numbered):
        number, (i, j) = numbered
        return i - number, j - number, old[i].line, new[j].line

    drop, common = set(), (set(pairs), set(pairs.values()))
    for _, numbered in groupby(enumerate(sorted(pairs.items())), run_of):
        run = [pair for _, pair in numbered]
        changed = 0
        for side, words in enumerate((old, new)):
            for at, beside in (
                (run[0][side], run[0][side] - 1),
                (run[-1][side], run[-1][side] + 1),
            ):
                there = 0 <= beside < len(words) and words[beside].line == words[at].line
                changed += there and beside not in common[side]
        if changed > 2 and not any(old[i].letters for i, _ in run):
            drop.update(i for i, _ in run)
    return drop


def marks_of(words, common):
    """The changed words by line: {line: [(begin, end)]}. The blanks between two of them are marked
    with them."""
    marks = {}
    numbered = enumerate(words)
    for (line, same), run in groupby(numbered, lambda one: (one[1].line, one[0] in common)):
        if not same:
            run = [word for _, word in run]
            marks.setdefault(line, []).append((run[0].begin, run[-1].end))
    return marks


# --- rungs ------------------------------------------------------------------------------------


def of_rungs():
    """[(rung, lines of its file, (removed, added) since the rung below)]; None of a track's first."""
    found = rungs.find()
    text = {rung.name: rung.path.read_text(encoding="utf-8") for rung in found.values()}
    return [
        (rung, text[name].count("\n"), rung.below and changed_lines(text[rung.below], text[name]))
        for name, rung in found.items()
    ]


def painted(sign, line, marks):
    """A line as a terminal shows it: what changed in reverse video, unless that is all of it."""
    text, at = (RED if sign == "-" else GREEN) + sign, 0
    for begin, end in marks if marks != [(len(line) - len(line.lstrip()), len(line))] else ():
        text, at = f"{text}{line[at:begin]}{REVERSE}{line[begin:end]}{PLAIN}", end
    return f"{text}{line[at:]}{END}"


def show(rung, on_terminal):
    """Prints the opening comment of a rung, and what its code changes."""
    below = rungs.find()[rung.below]
    old, new = (one.path.read_text(encoding="utf-8").splitlines() for one in (below, rung))
    firsts = first_include(old), first_include(new)
    counts = changed_lines("\n".join(old), "\n".join(new))
    print(f"{below.name} -> {rung.name}\n{counts[0]} lines removed, {counts[1]} added", end="")
    print(" below the opening comment", *new[: firsts[1]], sep="\n")
    for block in compare(old, new, *firsts):
        if block.hidden:
            print(f"@@ {len(block.rows)} lines @@")
            continue
        for row in block.rows:
            side = int(row[1] is not None)
            line, sign = (old, new)[side][row[side]], "-+"[side] if block.changed else " "
            marks = block.marks[side].get(row[side], [])
            print(painted(sign, line, marks) if block.changed and on_terminal else sign + line)


def main(names):
    """Shows what one rung changes, or prints the counts of all."""
    if names:
        rung = rungs.find()[names[0]]
        if not rung.below:
            print(f"There is nothing below {rung.name}: it is the first rung.")
            return
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM", "dumb") == "dumb"
        show(rung, sys.stdout.isatty() and not plain)
        return
    print(f"{'rung':<6}{'from':<6}{'lines':>6}{'removed':>9}{'added':>7}{'changed':>9}")
    for rung, lines, counts in of_rungs():
        removed, added, both = (*counts, sum(counts)) if counts else "---"
        print(f"{rung.name:<6}{rung.below or '-':<6}{lines:>6}{removed:>9}{added:>7}{both:>9}")
    print("changed: lines below the opening comment")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # of head, which has read enough
        os._exit(0)
