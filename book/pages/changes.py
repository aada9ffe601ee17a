"""What changed between two files, side by side, with the changed words marked.

A word is what `make diff` takes for one. Blanks and line ends are kept but never compared: words
that only moved to another column or line are no change.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from difflib import SequenceMatcher

WORD = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.]")
CONTEXT = 3  # unchanged lines that are shown before and after a change
FOLD = 4  # as few are not worth hiding
KEPT = 0.4  # a line with less of its text in common with the other side is new as a whole
PUNCTUATION = 0.25  # what a sign counts where a letter counts 1
# Which equal lines belong to each other: a line with words says more than a brace, and one that
# follows a pair more than one that stands alone.
WORDS_WEIGHT = 1.0
SIGNS_WEIGHT = 0.2
NEIGHBOUR_BONUS = 0.3


@dataclass
class Block:
    """Rows that belong together. A row is (old line, new line), numbers from 0; None is none."""

    changed: bool
    rows: list
    hidden: bool = False  # unchanged, and far from any change
    old_marks: dict = field(default_factory=dict)  # line to [(begin, end)], of changed blocks
    new_marks: dict = field(default_factory=dict)


def has_letters(text):
    """False for signs and blanks alone."""
    return re.search(r"\w", text) is not None


def heaviest_pairs(rows, columns, weight, bonus=0.0):
    """The pairs (i, j), in order on both sides, that weigh most together, found from the end;
    weight(i, j) is 0 where there is no pair, and one that follows a neighbour gets the bonus."""
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    pair = [[None] * (columns + 1) for _ in range(rows + 1)]  # its worth, if (i, j) is one
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            best[i][j] = max(best[i + 1][j], best[i][j + 1])
            worth = weight(i, j)
            if worth:
                after = best[i + 1][j + 1]
                if pair[i + 1][j + 1] is not None:
                    after = max(after, pair[i + 1][j + 1] + bonus)
                pair[i][j] = worth + after
                best[i][j] = max(best[i][j], pair[i][j])
    pairs, i, j = [], 0, 0
    while i < rows and j < columns:
        if pair[i][j] is not None and pair[i][j] == best[i][j]:
            pairs.append((i, j))
            # Stays on the run of neighbours if that is what made the pair as good as it is.
            while pair[i + 1][j + 1] is not None and (
                pair[i + 1][j + 1] + bonus >= best[i + 1][j + 1]
            ):
                i, j = i + 1, j + 1
                pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def equal_lines(old, new):
    """The pairs (i, j) of equal lines that belong together, in order."""
    worth = [WORDS_WEIGHT if has_letters(line) else SIGNS_WEIGHT for line in old]

    def weight(i, j):
        return worth[i] if old[i] == new[j] else 0

    return heaviest_pairs(len(old), len(new), weight, NEIGHBOUR_BONUS)


@dataclass(frozen=True)
class Token:
    """A word, and where it stands."""

    text: str
    line: int
    begin: int

    @property
    def end(self):
        return self.begin + len(self.text)

    @property
    def weight(self):
        """How much it says."""
        return len(self.text) * (1 if has_letters(self.text) else PUNCTUATION)


def tokens_of(lines, numbers):
    """The words of these lines."""
    return [
        Token(match[0], number, match.start())
        for number in numbers
        for match in WORD.finditer(lines[number])
    ]


def matched_tokens(old, new):
    """Which words stand on both sides: a map from places in `old` to places in `new`."""
    matcher = SequenceMatcher(
        None, [token.text for token in old], [token.text for token in new], autojunk=False
    )
    pairs = {}
    for i, j, size in matcher.get_matching_blocks():
        pairs.update(zip(range(i, i + size), range(j, j + size)))
    while True:
        drop = strange_lines(pairs, old, new) | lone_signs(pairs, old, new)
        if not drop:
            return pairs
        pairs = {i: j for i, j in pairs.items() if i not in drop}


def strange_lines(pairs, old, new):
    """The pairs that have a line with little else in common with the other side."""
    drop = set()
    for tokens, side in ((old, 0), (new, 1)):
        all_of, kept = {}, {}
        common = {pair[side] for pair in pairs.items()}
        for place, token in enumerate(tokens):
            all_of[token.line] = all_of.get(token.line, 0) + token.weight
            if place in common:
                kept[token.line] = kept.get(token.line, 0) + token.weight
        strange = {line for line in kept if kept[line] < KEPT * all_of[line]}
        drop |= {pair[0] for pair in pairs.items() if tokens[pair[side]].line in strange}
    return drop


def lone_signs(pairs, old, new):
    """The pairs that are signs alone among changed words: they only look like something that
    stayed. Three of a run's four neighbours, two on each side, have to be changed words."""
    there = set(pairs.values())
    drop = set()
    for run in runs_of(pairs, old, new):
        if any(has_letters(old[i].text) for i in run):
            continue
        changed = changed_neighbours(old, run[0], run[-1], pairs)
        changed += changed_neighbours(new, pairs[run[0]], pairs[run[-1]], there)
        if changed > 2:
            drop.update(run)
    return drop


def changed_neighbours(tokens, first, last, common):
    """How many of the words next to a run, on its line, are changed."""
    line = tokens[first].line
    around = [i for i in (first - 1, last + 1) if 0 <= i < len(tokens) and i not in common]
    return sum(tokens[i].line == line for i in around)


def runs_of(pairs, old, new):
    """Lists of places that follow each other on both sides, each on one line."""
    runs = []
    for i in sorted(pairs):
        follows = runs and runs[-1][-1] == i - 1 and pairs[i - 1] == pairs[i] - 1
        j = pairs[i]
        if follows and (old[i - 1].line, new[j - 1].line) == (old[i].line, new[j].line):
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def marks_of(tokens, common):
    """The changed words by line: {line: [(begin, end)]}. The blanks between two of them are marked
    with them."""
    marks = {}
    last = None  # the changed word just before
    for place, token in enumerate(tokens):
        changed = place not in common
        if changed and last is not None and last.line == token.line:
            marks[token.line][-1] = (marks[token.line][-1][0], token.end)
        elif changed:
            marks.setdefault(token.line, []).append((token.begin, token.end))
        last = token if changed else None
    return marks


def paired_rows(old, new, weights):
    """Rows for the lines of a block: lines with words in common stand side by side, and so do
    lines without, as far as there are some on both sides."""
    rows, last_i, last_j = [], 0, 0
    pairs = heaviest_pairs(len(old), len(new), lambda i, j: weights.get((old[i], new[j]), 0))
    for i, j in [*pairs, (len(old), len(new))]:
        rows += itertools.zip_longest(old[last_i:i], new[last_j:j])
        rows += zip(old[i : i + 1], new[j : j + 1])
        last_i, last_j = i + 1, j + 1
    return rows


def changed_block(old_lines, new_lines, old, new):
    """The block in which the lines `old` became the lines `new`: numbers, in order."""
    old_tokens, new_tokens = tokens_of(old_lines, old), tokens_of(new_lines, new)
    pairs = matched_tokens(old_tokens, new_tokens)
    weights = {}
    for i, j in pairs.items():
        lines = (old_tokens[i].line, new_tokens[j].line)
        weights[lines] = weights.get(lines, 0) + old_tokens[i].weight
    return Block(
        True,
        paired_rows(old, new, weights),
        old_marks=marks_of(old_tokens, set(pairs)),
        new_marks=marks_of(new_tokens, set(pairs.values())),
    )


def same_blocks(rows, first, last):
    """Unchanged rows, those far from a change hidden. `first` and `last` say whether the files
    begin and end with them."""
    before = 0 if first else CONTEXT
    after = 0 if last else CONTEXT
    if len(rows) < before + after + FOLD:
        return [Block(False, rows)]
    middle = rows[before : len(rows) - after]
    parts = (rows[:before], False), (middle, True), (rows[len(rows) - after :], False)
    return [Block(False, part, hidden) for part, hidden in parts if part]


def compare(old, new, first_old=0, first_new=0):
    """The blocks that lead from the lines `old` to the lines `new`, each from that line on."""
    pairs = [
        (i + first_old, j + first_new) for i, j in equal_lines(old[first_old:], new[first_new:])
    ]
    blocks, i, j, same = [], first_old, first_new, []
    began = False

    def close(last):
        """Ends the unchanged rows so far."""
        if same:
            blocks.extend(same_blocks(list(same), not began, last))
            same.clear()

    for next_i, next_j in [*pairs, (len(old), len(new))]:
        if next_i > i or next_j > j:
            close(False)
            began = True
            gone, come = list(range(i, next_i)), list(range(j, next_j))
            blocks.append(changed_block(old, new, gone, come))
        if next_i < len(old):
            same.append((next_i, next_j))
        i, j = next_i + 1, next_j + 1
    close(True)
    return blocks


def changed_lines(blocks):
    """(removed, added): how many lines."""
    rows = [row for block in blocks if block.changed for row in block.rows]
    return sum(row[0] is not None for row in rows), sum(row[1] is not None for row in rows)
