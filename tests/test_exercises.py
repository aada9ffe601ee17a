#!/usr/bin/env python3
"""Every exercise: the unsolved file compiles and fails as its story says. The solution is the rung:
tests/emulated_rungs.py shows that it is right, and what it has to do beside that is looked at here.
What is right, or seems so, without the rung's idea does not pass: under one policy, with FULL=1 under
all.

Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from tools import FULL, in_parallel
from tools.emulated import BUILD, JOBS, ROOT, case, exit_status, rungs

from exercises import exercise, new
from exercises.planted_bugs import read_bugs
from exercises.table import EXERCISES, Fill, Find, Predict

KINDS = re.compile(r"\b(deadlock|hazard|race|misuse|lifetime|address): ")
NEW = "unsolved-new"
BUGS = {bug.name: bug for bug in read_bugs()}

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


def wrong_solutions() -> list[tuple[str, int, str, tuple[tuple[str, str], ...]]]:
    """(rung, exercise, why, edits) of each."""
    found = []
    for rung, number, why, lines in re.findall(
        r"^(\w\d\d) (\d): (.*)\n((?:[-+.].*\n)*)", WRONG, re.MULTILINE
    ):
        hunks = re.findall(r"((?:-.*\n)+)((?:\+.*\n)*)", lines)
        edits = [tuple(re.sub(r"(?m)^.", "", side) for side in hunk) for hunk in hunks]
        # Words within a line, or lines that go whole.
        edits = tuple((old[:-1], new[:-1]) if new else (old, new) for old, new in edits)
        found.append((rung, int(number), why, edits or EXERCISES[rung][int(number) - 1].edits))
    return found


def program(name: str) -> Path:
    """What make builds of build/exercises/NAME.cu."""
    return BUILD / "emulated" / "exercises" / name


def kind_of(why: str) -> str:
    """What a verdict objects to: the kind of report, wrong, also (something is missing) or none."""
    if found := KINDS.search(why):
        return found[1]
    return (
        "wrong"
        if "WRONG" in why
        else "also"
        if why.startswith("The result is right")
        else why or "none"
    )


def eagerly(each: Find | Fill) -> Find | Fill:
    """The exercise, tried under one policy."""
    return replace(each, run=f"{each.run} --policy eager")


def fails(rung: str, number: int) -> str:
    """Why the unsolved exercise does not fail as it should."""
    each = EXERCISES[rung][number - 1]
    if isinstance(each, Predict):
        made = program(f"unsolved-{rung}-{number}") if each.edits else BUILD / "emulated" / rung
        answer = exercise.answer_of(each, made)
        page = (ROOT / "notes" / "rungs" / f"{rung}.md").read_text(encoding="utf-8")
        told = len(answer) > 2 and re.search(
            rf"(?<![\d.,]){answer}(?![\d]|[.,]\d)", page.replace(",", "")
        )
        return f"the page gives {answer} away" if told else ""
    if isinstance(each, Find) and each.bug in (ROOT / "notes" / "rungs" / f"{rung}.md").read_text(
        encoding="utf-8"
    ):
        return f"the page shows {each.bug}"
    made = program(f"unsolved-{rung}-{number}")
    text = exercise.text_of(rung, number)
    why = exercise.verdict(each, text, made)
    wanted = BUGS[each.bug].kinds if isinstance(each, Find) else each.fails.split()
    kind = kind_of(why)
    if each.also:
        ours = program(f"solved-{rung}-{number}")
        solution = exercise.solved(rung, number)
        why = exercise.verdict(eagerly(each), solution, ours)
        if why:
            return f"the rung itself does not solve it: {why}"
    return "" if kind in wanted else f"{kind} where {' or '.join(wanted)} was expected"


def accepts(answer: str, right: str) -> bool:
    """Whether an answer is taken for the right one."""
    each = Predict("easy", "", "", "^(.*)$", "")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        path = Path(folder) / "says"
        path.write_text(f"#!/bin/sh\necho '{right}'\n")
        path.chmod(0o755)
        return exercise.compare_answer("v01", 1, exercise.answer_of(each, path), answer) == 0


def check_answers() -> str:
    """What is wrong with how predictions are compared."""
    right = (
        ("no", "0"),
        ("no", "None"),
        ("288", "288 arrivals"),
        ("53440", "53,440"),
        ("3.67", "3.670 MB"),
    )
    wrong = (("no", "1"), ("288", "287"), ("288", "many"), ("3.67", "36.7"))
    refused = [pair for pair in right if not accepts(pair[1], pair[0])]
    taken = [pair for pair in wrong if accepts(pair[1], pair[0])]
    return f"{refused} refused, {taken} accepted" if refused or taken else ""


def passes(name: str, rung: str, number: int, why: str) -> str:
    """Why a solution that misses the point passes, or is found out by something else. A race with
    asynchronous copies is a hazard."""
    each = EXERCISES[rung][number - 1]
    text = (BUILD / "exercises" / f"{name}.cu").read_text(encoding="utf-8")
    said = exercise.verdict(each if FULL else eagerly(each), text, program(name))
    if not said:
        return "it passes"
    return (
        ""
        if kind_of(said) in (("race", "hazard") if "race" in why else ("also",))
        else f"it is not right: {said}"
    )


def keep(name: str, text: str) -> str:
    """Writes an exercise for make, and says which program there is to be."""
    path = BUILD / "exercises" / f"{name}.cu"  # the reader's own are named otherwise
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return str(program(name))


def unsolved() -> list[str]:
    """Writes all exercises, and what is tried of solutions, and names the programs."""
    names = []
    (BUILD / "exercises").mkdir(parents=True, exist_ok=True)
    for rung, exercises in EXERCISES.items():
        for number, each in enumerate(exercises, 1):
            if not isinstance(each, Predict) or each.edits:
                names.append(keep(f"unsolved-{rung}-{number}", exercise.text_of(rung, number)))
            if getattr(each, "also", None):
                names.append(keep(f"solved-{rung}-{number}", exercise.solved(rung, number)))
    for i, (rung, number, _, edits) in enumerate(wrong_solutions()):
        name = f"wrong-{rung}-{number}-{i}"
        names.append(keep(name, exercise.edited(exercise.solved(rung, number), edits)))
    return names


def check_new_rung() -> str:
    """Why what `make new N=30 FROM=16` writes does not verify, or is no rung of that name."""
    said = exercise.run(BUILD / "emulated" / "exercises" / NEW)
    return "" if said.returncode == 0 and "\nv30 " in f"\n{said.stdout}" else said.stdout


def check_verbs() -> str:
    """What is wrong with what the verbs do with an exercise, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        build = Path(folder)
        if exercise.ready("v07", 1, build, False) != 2:
            return "try runs what is not there"
        path = build / "exercises" / "v07-1.cu"
        exercise.write("v07", 1, build)
        path.write_text("mine")
        exercise.write("v07", 1, build)
        if path.read_text() != "mine":
            return "the reader's text is overwritten"
        exercise.solution("v07", 1, build)
    return "" if "+        phase ^= stage == 0;" in said.getvalue() else said.getvalue()


def main() -> int:
    names = unsolved()
    source = exercise.source_of("v16").read_text(encoding="utf-8")
    (BUILD / "exercises" / f"{NEW}.cu").write_text(new.renamed(source, "v30", "v16"))
    names.append(f"{BUILD}/emulated/exercises/{NEW}")
    command = ["make", "-s", f"-j{JOBS}", f"BUILD={BUILD}", *names]
    built = subprocess.run(command, cwd=ROOT, check=False)
    case("all exercises compile", "" if built.returncode == 0 else "make failed")
    kinds = {rung: [isinstance(each, Find) for each in EXERCISES.get(rung, ())] for rung in rungs()}
    without = [
        rung for rung, finds in kinds.items() if rung != "t00" and set(finds) != {True, False}
    ]
    case("every rung has a bug to find and another exercise", " ".join(without))
    all_of_them = [(rung, n) for rung, each in EXERCISES.items() for n in range(1, len(each) + 1)]
    for (rung, number), why in zip(all_of_them, in_parallel(lambda one: fails(*one), all_of_them)):
        case(f"{rung} exercise {number} fails as it says", why)
    for i, (rung, number, why, _) in enumerate(wrong_solutions()):
        name = f"{rung} exercise {number} does not pass if {why}"
        case(name, passes(f"wrong-{rung}-{number}-{i}", rung, number, why))
    case("a prediction may have a unit, commas and words for 0", check_answers())
    case("a copy of a rung under a new number verifies", check_new_rung())
    case("an exercise is written once, tried when it is there, and solved", check_verbs())
    return exit_status()


if __name__ == "__main__":
    sys.exit(main())
