"""Which shapes a sweep goes over: those that a person writes down, lists that have a name, and
families that are drawn from a seed.
"""

from __future__ import annotations

import re
from decimal import Context, Decimal, localcontext
from functools import cache

from bench.results import FP8, MOVES, MOVING, PRODUCTS, SIZE
from bench.run import UsageError

MOVED_SIZE = 32768  # of the t track, unless something else is said
SQUARES = (512, 1024, 2048, 4096, 8192, 16384)
# m tokens, k features in, n features out: the layers of an 8B and a 70B model, few tokens at once,
# and many rows of a small product.
MODELS = (
    (4096, 14336, 4096),
    (4096, 4096, 14336),
    (8192, 8192, 1024),
    (128, 8192, 8192),
    (81920, 256, 256),
)
MOVED = ((4096, 14336), (4096, 16384), (81920, 256))
CUBES = tuple((size,) * 3 for size in SQUARES)
MOVED_SQUARES = tuple((size,) * 2 for size in (*SQUARES, MOVED_SIZE))
LISTS = {  # that have a name, by their number of dimensions
    3: {"squares": CUBES, "models": MODELS, "all": CUBES + MODELS},
    2: {"squares": MOVED_SQUARES, "models": MOVED, "all": MOVED_SQUARES + MOVED},
}
SHAPE = re.compile(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8}){0,2}")
SPELLING = (
    "write 8192, 4096x14336x4096 (of the t track 4096x16384), squares, models, all, a family and its "
    "seed such as any:1, or several with commas between"
)

# --- families -------------------------------------------------------------------------------------

FAMILY_SHAPES = 60
CLASSES = 4  # each shape belongs to one: seeds that differ modulo this share none
LARGEST_DRAWN = 32768
SMALLEST, LARGEST_PRODUCT = 2**24, 2**33  # m * n * k of `small`
MOST_ELEMENTS = 2**29  # of A, B and D together: with four D and two copies of all 8 GB at most
LAYERS = (4096, 5120, 7168, 8192, 14336, 28672)  # what n and k of `rows` are
EXACT = Context(prec=40)  # Decimal rounds alike on every machine


def random_bits(state):
    """Endless 64-bit numbers by SplitMix64, which no version of Python changes."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB % 2**64
        yield mixed ^ mixed >> 31


def log_uniform(bits, low, high):
    """A whole number from low to high whose logarithm is uniform."""
    with localcontext(EXACT):
        part = Decimal(next(bits)) / 2**64
        return int(low * (part * (Decimal(high + 1) / low).ln()).exp())


def aligned(bits):
    """m and n are multiples of 128, k of 64, up to 16384."""
    m, n = (128 * log_uniform(bits, 1, 128) for _ in "mn")
    return m, n, 64 * log_uniform(bits, 1, 256)


def any_m(bits):
    """Any m, n and k multiples of 8; from 16 to 32768."""
    n, k = (8 * log_uniform(bits, 2, LARGEST_DRAWN // 8) for _ in "nk")
    return log_uniform(bits, 16, LARGEST_DRAWN), n, k


def rows(bits):
    """m from 1 to 128, half of them powers of two; n and k are those of models' layers."""
    powers = next(bits) % 2
    m = 2 ** (next(bits) % 8) if powers else log_uniform(bits, 1, 128)
    return m, *(LAYERS[next(bits) % len(LAYERS)] for _ in "nk")


def odd(bits):
    """As `any`, but n or k, or both, a third each, are no multiples of 8."""
    while True:
        ragged = next(bits) % 3
        m, n, k = (log_uniform(bits, 16, LARGEST_DRAWN) for _ in "mnk")
        n, k = n - n % 8 if ragged == 1 else n, k - k % 8 if ragged == 2 else k
        if n % 8 or k % 8:
            return m, n, k


def small(bits):
    """Powers of two from 64 to 32768. There are some 600 of them, 135 or more in a class."""
    return tuple(2 ** (6 + next(bits) % 10) for _ in "mnk")


FAMILIES = {  # how one is drawn, GFLOP from and to; a new one comes last, since places make the bits
    "aligned": (aligned, 4, 3000),
    "any": (any_m, 1, 2000),
    "rows": (rows, 0, 2000),
    "odd": (odd, 1, 2000),
    "small": (small, 2e-9 * SMALLEST, 2e-9 * LARGEST_PRODUCT),
}
FAMILY = re.compile(rf"({'|'.join(FAMILIES)}):([0-9]{{1,6}})(?::([1-9][0-9]?))?")


@cache
def drawn(family, seed, count):
    """The first shapes (m, n, k) of a family and a seed, each once."""
    draw, least, most = FAMILIES[family]
    bits, found = random_bits(list(FAMILIES).index(family) << 32 | seed), {}
    while len(found) < count:
        m, n, k = draw(bits)
        size = m * k + n * k + m * n <= MOST_ELEMENTS and least <= 2e-9 * m * n * k <= most
        own = next(random_bits((m << 20 | n) << 20 | k)) % CLASSES == seed % CLASSES
        if size and own:
            found[m, n, k] = None
    return tuple(found)


# --- what an option means -----------------------------------------------------------------------


def measure_of_track(track):
    """What is measured of a track's rungs."""
    return {MOVING: MOVES, "f": FP8}.get(track, PRODUCTS)


def of_word(word, track):
    """The shapes that one word of the list means for a track; none if they aren't of its kind."""
    count_of = len(measure_of_track(track).dimensions)
    family, lists = FAMILY.fullmatch(word), LISTS[count_of]
    if family:
        count = int(family[3] or FAMILY_SHAPES)
        return drawn(family[1], int(family[2]), count) if count_of == 3 else ()
    if word in lists:
        return lists[word]
    if not SHAPE.fullmatch(word):
        raise UsageError(f"--sizes: '{word}' is no shape; {SPELLING}")
    numbers = tuple(map(int, word.split("x")))
    numbers = numbers * count_of if len(numbers) == 1 else numbers
    return (numbers,) if len(numbers) == count_of else ()


def of_sizes(sizes, tracks):
    """{track: its shapes, each once, as {'m': ..., ...}}; of None the usual one. UsageError for a
    word that means none."""
    if sizes is None:
        usual = {track: str(MOVED_SIZE if track == MOVING else SIZE) for track in tracks}
        return {track: of_sizes(usual[track], (track,))[track] for track in tracks}
    words = [word.strip() for word in sizes.lower().split(",")]
    for word in words:
        if not any(of_word(word, track) for track in tracks):
            raise UsageError(f"--sizes: '{word}' is no shape of the {' or '.join(tracks)} track")
    found = {}
    for track in tracks:
        shapes = dict.fromkeys(shape for word in words for shape in of_word(word, track))
        found[track] = [dict(zip(measure_of_track(track).dimensions, shape)) for shape in shapes]
    return found


def shape_text(numbers):
    """'4096x14336x4096'"""
    return "x".join(map(str, numbers))
