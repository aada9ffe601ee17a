"""Every exercise fails unsolved, as its story says, and the rung itself solves it; what is right, or
seems so, without the rung's idea does not pass: under one policy, with FULL=1 under all.

Of bugs to find tests/test_planted.py has the verdict.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tools import BUILD, FULL, ROOT

from exercises import exercise, new
from exercises.table import EXERCISES, Find, Predict
from planted import plant

PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "notes/rungs").glob("*.md")
}
ALL = {
    (rung, number): each for rung, some in EXERCISES.items() for number, each in enumerate(some, 1)
}

# Solutions that miss the point: of which exercise, why, and how they differ from the rung: lines with
# - go, those with + come; without any, as the exercise itself does. A line `...` begins another place.
WRONG = r"""
v01 2: its stores conflict
-row = chunk % BM;
+row = chunk / (BK / LOAD);
-column = chunk / BM * LOAD;
+column = chunk % (BK / LOAD) * LOAD;
v07 2: the producer waits until a k-tile is multiplied
-k_tile * BK, tile_n * BN, &smem.full[stage]);
-        stage
+k_tile * BK, tile_n * BN, &smem.full[stage]);
+        mbarrier_wait(&smem.empty[stage], phase);
+        stage
v09 2: it makes new descriptors for every wgmma
-advance_k(a, kk), advance_k(b, kk)
+matrix_descriptor(&smem.a[stage][consumer * WM * BK + kk]), matrix_descriptor(&smem.b[stage][kk])
v11 2: columns one after the other
-hilbert_order(order, tiles_m, tiles_n);
+for (int i = 0; i < tiles; ++i) order[i] = {i % tiles_m, i / tiles_m};
v12 2: it stores two elements at a time
-"device/stmatrix.cuh"
+"device/stmatrix.cuh"
+#include "device/vector.cuh"
-stmatrix_x4(&slice[swizzle_128b(matrix_row, chunk)], &acc[(piece + j) / 2]);
+const int upper = warp * 16 + lane / 4; (void)chunk;
+for (int p = 0; p < 4; ++p)
+    store2_shared(&slice[swizzle_128b(upper + p % 2 * 8, j % SWIZZLE_COLUMNS + p / 2 * 8 + lane % 4 * 2)], acc[(piece + j) / 2 + p * 2], acc[(piece + j) / 2 + p * 2 + 1]);
v13 2: always forwards
-(backwards ? k_tiles - 1 - k_tile : k_tile)
+k_tile
v14 2: no hint
-tma_load_2d_hint(tile, map, k, row, full, evict_first_policy());
+tma_load_2d(tile, map, k, row, full);
v14 2: the opposite hints
-if (again)
+if (!again)
v17 2: nothing is left to overlap
-        wait_for_launch_before();
...
-    if (threadIdx.x == 0) {
-        launch_dependents();
+    wait_for_launch_before();
+    if (threadIdx.x == 0) {
+        launch_dependents();
v17 2: the next launch begins when this one's loads are started
-        launch_dependents();
...
-phase);
-        }
-    } else {
+phase);
+        }
+        if (threadIdx.x == 0) launch_dependents();
+    } else {
v18 2: it forgets the waves
-START_CYCLES + waves * tile
+START_CYCLES + tile
v19 2: it stores one element at a time
-        stmatrix_x4_transposed(&smem.d[consumer][swizzle_128b(j + matrix_row, matrix_column)],
-                               &acc[j / 2]);
+        for (int i = 0; i < 8; ++i)
+            smem.d[consumer][swizzle_128b(j + i / 4 * 8 + lane % 4 * 2 + i % 2,
+                                          warp * 16 + i / 2 % 2 * 8 + lane / 4)] =
+                __float2bfloat16(acc[j / 2 + i]);
+    (void)matrix_row, (void)matrix_column;
v20 2: it adds its own sums first
-        add_sums(acc, &sums[first * SUMS], part.parts, CONSUMERS * SUMS);
+        for (int other = 0; other < part.parts; ++other) {
+            float theirs[BLOCKS][MMA_N / 2];
+            add_sums(theirs, &sums[(first + other * CONSUMERS) * SUMS], 1, 0);
+            for (int i = 0; i < BLOCKS * MMA_N / 2; ++i)
+                if (other != part.number - part.first_part)
+                    acc[i / (MMA_N / 2)][i % (MMA_N / 2)] +=
+                        theirs[i / (MMA_N / 2)][i % (MMA_N / 2)];
+        }
v24 2: the barrier orders nothing, a race
-cluster_sync(); // the sums of all CTAs are there
+cluster_sync_relaxed();
a05 1: copies start while others still read, a race
-            ahead.copy(smem, a, b, m, n, k);
...
-            cp_async_wait<STAGES - 2>();
+            ahead.copy(smem, a, b, m, n, k);
+            cp_async_wait<STAGES - 1>();
a05 2: threads copy
-cp_async_cg(to, chunks.from(i), inside ? 16 : 0);
+for (int j = 0; j < CHUNK; ++j)
+    to[j] = inside ? static_cast<const fp16 *>(chunks.from(i))[j] : fp16(0.0f);
a06 1: the ring no longer runs ahead
-                    cp_async_wait<STAGES - 2>();
+                    cp_async_wait<0>();
a06 2: it reads word by word
-    ldmatrix_x4(fragment, &tile[place(row + lane % 16, kk + lane / 16 * 8)]);
+for (int i = 0; i < 4; ++i)
+    memcpy(&fragment[i], &tile[place(row + lane / 4 + i % 2 * 8, kk + i / 2 * 8 + lane % 4 * 2)], 4);
t06 2: t05's order
t07 2: more CTAs fit than it says
t08 2: the opposite hint
-evict_last_policy()
+evict_first_policy()
"""


def wrong_solutions():
    """(rung, exercise), why, and the text of each."""
    for rung, number, why, lines in re.findall(
        r"^(\w\d\d) (\d): (.*)\n((?:[-+.].*\n)*)", WRONG, re.MULTILINE
    ):
        hunks = re.findall(r"((?:-.*\n)+)((?:\+.*\n)*)", lines)
        edits = [tuple(re.sub(r"(?m)^.", "", side) for side in hunk) for hunk in hunks]
        # Words within a line, or lines that go whole.
        edits = tuple((old[:-1], new[:-1]) if new else (old, new) for old, new in edits)
        one = rung, int(number)
        yield one, why, exercise.edited(exercise.solved(*one), edits or ALL[one].edits)


def is_made(each) -> bool:
    """Whether the exercise unsolved is a program of its own."""
    return bool(each.edits) if isinstance(each, Predict) else not isinstance(each, Find)


COPIES = {
    f"{r}-{n}-unsolved": (r, exercise.text_of(r, n))
    for (r, n), each in ALL.items()
    if is_made(each)
}
SOLVED = {f"{r}-{n}-solved": (r, n) for (r, n), each in ALL.items() if getattr(each, "also", None)}
COPIES.update({name: (one[0], exercise.solved(*one)) for name, one in SOLVED.items()})
MISSES = {
    f"{one[0]}-{one[1]}-{why.replace(' ', '-')}": (one, text)
    for one, why, text in wrong_solutions()
}
COPIES.update({name: (one[0], text) for name, (one, text) in MISSES.items()})
COPIES["v30"] = ("v16", new.renamed(plant.source_of("v16"), "v30", "v16"))
PROGRAMS = plant.write_programs(COPIES, "exercise")
needs = pytest.mark.needs("emulated/planted/{program}")


def named(*names: str):
    """The test runs with each of these copies."""
    rows = [pytest.param(PROGRAMS[name], name, id=name) for name in names]
    return pytest.mark.parametrize(("program", "name"), rows)


def command(program: str, name: str) -> list:
    return [BUILD / "emulated/planted" / program, name]


def eagerly(each):
    """The exercise, tried under one policy."""
    return each if FULL else replace(each, run=f"{each.run} --policy eager")


def kind_of(said: str) -> str:
    """What a verdict objects to: the kind of report, wrong, also (something is missing) or nothing."""
    if found := re.search(rf"\b({'|'.join(plant.KINDS)}): ", said):
        return found[1]
    return (
        "wrong" if "WRONG" in said else "also" if said.startswith("The result is right") else said
    )


@named(*(name for name in COPIES if name.endswith("-unsolved") and COPIES[name]))
@needs
@pytest.mark.cached
def test_unsolved_fails(program, name):
    rung, number, _ = name.split("-")
    each = ALL[rung, int(number)]
    if isinstance(each, Predict):
        check_secret(rung, exercise.answer_of(each, command(program, name)))
    else:
        said = exercise.verdict(each, exercise.text_of(rung, int(number)), command(program, name))
        assert kind_of(said) in each.fails.split(), said


def check_secret(rung: str, answer: str) -> None:
    """The rung's page does not give the answer away."""
    page = PAGES[rung].replace(",", "")
    assert len(answer) <= 2 or not re.search(rf"(?<![\d.,]){answer}(?![\d]|[.,]\d)", page)


@pytest.mark.parametrize(
    "rung", [r for (r, _), one in ALL.items() if isinstance(one, Predict) and not one.edits]
)
@pytest.mark.needs("emulated/{rung}")
@pytest.mark.cached
def test_prediction_is_no_secret(rung):
    for each in EXERCISES[rung]:
        if isinstance(each, Predict) and not each.edits:
            check_secret(rung, exercise.answer_of(each, BUILD / "emulated" / rung))


@named(*SOLVED)
@needs
@pytest.mark.cached
def test_rung_solves_it(program, name):
    each = ALL[SOLVED[name]]
    said = exercise.verdict(eagerly(each), COPIES[name][1], command(program, name))
    assert said == ""


@named(*MISSES)
@needs
@pytest.mark.cached
def test_misses_the_point(program, name):
    """It is found out by what it lacks; a race with asynchronous copies is a hazard."""
    one, text = MISSES[name]
    said = exercise.verdict(eagerly(ALL[one]), text, command(program, name))
    assert kind_of(said) in (("race", "hazard") if "race" in name else ("also",)), said


@named("v30")
@needs
@pytest.mark.cached
def test_new_rung(program, name):
    said = exercise.run(command(program, name))
    assert said.returncode == 0 and said.stdout.startswith("v30 ")


@pytest.mark.check
@pytest.mark.parametrize("rung", [path.name[:3] for path in sorted((ROOT / "steps").glob("*.cu"))])
def test_every_rung_has_both(rung):
    """A bug to find, which its page does not show, and something to write or to predict."""
    bugs = [each.bug for each in EXERCISES[rung] if isinstance(each, Find)]
    assert bugs and len(bugs) < len(EXERCISES[rung])
    assert not [bug for bug in bugs if bug in PAGES[rung]]


ANSWERS = [("no", "0", 0), ("no", "None", 0), ("288", "288 arrivals", 0), ("53440", "53,440", 0)]
ANSWERS += [
    ("3.67", "3.670 MB", 0),
    ("no", "1", 1),
    ("288", "287", 1),
    ("288", "many", 1),
    ("3.67", "36.7", 1),
]


@pytest.mark.check
@pytest.mark.parametrize(("right", "answer", "status"), ANSWERS)
def test_answer(right, answer, status):
    each = Predict("easy", "", "", "^(.*)$", "")
    right = exercise.answer_of(each, ["/bin/echo", right])
    assert exercise.compare_answer("v01", 1, right, answer) == status


@pytest.mark.check
def test_verbs(tmp_path, capsys):
    """An exercise is tried when it is there, written once, and solved."""
    assert exercise.ready("v07", 1, tmp_path, False) == 2
    exercise.write("v07", 1, tmp_path)
    path = tmp_path / "exercises" / "v07-1.cu"
    path.write_text("mine")
    exercise.write("v07", 1, tmp_path)
    assert path.read_text() == "mine"
    exercise.solution("v07", 1, tmp_path)
    assert "+        phase ^= stage == 0;" in capsys.readouterr().out
