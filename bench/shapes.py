"""Which shapes a sweep goes over: those that a person writes down, and lists that have a name."""

from __future__ import annotations

import re

from bench.process import UsageError
from bench.records.vocabulary import MOVES, MOVING, PRODUCTS

DEFAULT_SIZE = 8192
DEFAULT_MOVED_SIZE = 32768
SQUARES = (512, 1024, 2048, 4096, 8192, 16384)
MOVED_SQUARES = (*SQUARES, DEFAULT_MOVED_SIZE)
# m tokens, k features in, n features out: the layers of an 8B and a 70B model, few tokens at once,
# and many rows of a small product.
MODELS = (
    (4096, 14336, 4096),
    (4096, 4096, 14336),
    (8192, 8192, 1024),
    (128, 8192, 8192),
    (81920, 256, 256),
)
MOVED_MODELS = ((4096, 14336), (4096, 16384), (81920, 256))
LARGEST = 2**31 - 1
SPELLING = (
    "write 8192, 4096x14336x4096 (of the t track 4096x16384), squares, models or all, or several "
    "with commas between"
)


def measure_of_track(track):
    """What is measured of a track's rungs."""
    return MOVES if track == MOVING else PRODUCTS


def named(word, moves):
    """The shapes of a list that has a name, or None if there is no such name."""
    squares = MOVED_SQUARES if moves else SQUARES
    shapes = {
        "squares": tuple((size,) * (2 if moves else 3) for size in squares),
        "models": MOVED_MODELS if moves else MODELS,
    }
    shapes["all"] = shapes["squares"] + shapes["models"]
    return shapes.get(word)


def written(word):
    """The numbers of a shape that is written down. UsageError if that is none."""
    if not re.fullmatch(r"[0-9]{1,10}(x[0-9]{1,10}){0,2}", word):
        raise UsageError(f"--sizes: '{word}' is no shape; {SPELLING}")
    numbers = tuple(int(number) for number in word.split("x"))
    if not all(1 <= number <= LARGEST for number in numbers):
        raise UsageError(f"--sizes: '{word}': every dimension is from 1 to {LARGEST}")
    return numbers


def of_word(word, track):
    """The shapes that one word of the list means for a track; none if they aren't of its kind."""
    measure = measure_of_track(track)
    shapes = named(word, measure is MOVES)
    if shapes is not None:
        return shapes
    numbers = written(word)
    dimensions = len(measure.dimensions)
    if len(numbers) == 1:
        return (numbers * dimensions,)
    return (numbers,) if len(numbers) == dimensions else ()


def of_sizes(sizes, tracks):
    """{track: its shapes, each once, as {'m': ..., ...}}. UsageError for a word that means none."""
    words = [word.strip() for word in sizes.lower().split(",")]
    for word in words:
        if not any(of_word(word, track) for track in tracks):
            raise UsageError(f"--sizes: '{word}' is no shape of the {' or '.join(tracks)} track")
    found = {}
    for track in tracks:
        shapes = dict.fromkeys(shape for word in words for shape in of_word(word, track))
        names = measure_of_track(track).dimensions
        found[track] = [dict(zip(names, shape)) for shape in shapes]
    return found


def of_options(options, track):
    """The one shape that --size, or --m, --n and --k say, or the usual one of the track."""
    names = measure_of_track(track).dimensions
    if options.k is not None and "k" not in names:
        raise UsageError(
            f"--k {options.k}: rungs of the t track move a matrix of m x n; there is no k"
        )
    size = options.size or (DEFAULT_SIZE if "k" in names else DEFAULT_MOVED_SIZE)
    return {name: getattr(options, name) or size for name in names}


def shape_text(shape):
    """'4096x14336x4096'"""
    return "x".join(map(str, shape.values()))
