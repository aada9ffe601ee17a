"""The exercises: for every rung a bug to find, and something to write or to predict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Find:
    """A rung with one of the planted bugs of tests/planted/bugs.txt in it."""

    level: str  # easy, medium or hard
    bug: str
    story: str  # what someone noticed
    hint: str


@dataclass(frozen=True)
class Fill:
    """A rung in which the body of a function, or some lines, are missing."""

    level: str
    gap: tuple[str, ...]  # the function, or how the first and the last line of the gap begin
    story: str  # what is to be written there
    hint: str
    fails: str = "deadlock"  # how the emulator objects to the gap
    instead: str = ""  # what is in the gap
    also: str = ""  # what a solution has to print, beside being right


@dataclass(frozen=True)
class Predict:
    """A question that a run on the emulator answers."""

    level: str
    story: str
    run: str  # the options of that run
    answer: str  # the number in what it prints
    hint: str


PLAIN = "--policy eager --inputs integers"
LOADS = r"in (\d+) loads"
WGMMAS = r"(\d+) wgmma instructions"
ARRIVALS = r"with (\d+) arrivals"
CONFLICTS = r"of them extra +access +line\n +\d+ +\d+ +(\d+)"

PRODUCER = (
    "Write the producer: for every k-tile wait for an empty stage, start both loads, and announce "
    "their bytes on the stage's full barrier."
)
CONSUMER = (
    "Write the consumers' main loop: wait for a full stage, multiply it, wait for the wgmmas, and "
    "hand the stage back."
)
STAGING = (
    "Write the epilogue: for every piece wait until the staging memory is free, write the "
    "accumulators to it, and let one thread start the TMA store."
)
STAGING_HINT = (
    "Five steps, two of them barriers: the leader waits for its last store and all must know; "
    "then all write, every thread fences its own writes, and all must have done so."
)

EXERCISES = {
    "v01": (
        Find(
            "easy",
            "tiles-overwritten-too-early",
            "The result is wrong as soon as k exceeds one k-tile, on a fast machine more than on "
            "a slow one.",
            "Two barriers per k-tile keep two promises. Which one is broken?",
        ),
        Fill(
            "medium",
            ("load_tile",),
            "Write the copy of a tile to shared memory: transposed, 8 values at a time.",
            "Chunk i of a tile: which row, and which columns? Lanes of a warp should write to "
            "different banks.",
            fails="wrong",
        ),
        Predict(
            "easy",
            "How many conflicts do the stores of load_tile cause if neighbouring lanes take "
            "neighbouring rows? Answer for m = n = 128, k = 32.",
            f"--m 128 --n 128 --k 32 {PLAIN}",
            r"banks +(no|\d+) conflict",
            "32 lanes write one word each to 32 consecutive words. Answer no or a number.",
        ),
    ),
    "v02": (
        Find(
            "easy",
            "no-wait-for-the-tiles",
            "Right in a debugger, garbage at full speed.",
            "TMA only starts a copy. Who waits for the bytes?",
        ),
        Fill(
            "medium",
            ("tma_load_2d(smem.a", "token = smem.full.arrive_tx"),
            "Write the loads of a k-tile: thread 0 starts both and announces their bytes.",
            "arrive_tx() returns a token for the current phase, as arrive() does.",
            fails="wrong",
            instead="token = smem.full.arrive();",
        ),
        Predict(
            "easy",
            "How many TMA loads does v02 start for m = 256, n = 512, k = 320?",
            f"--m 256 --n 512 --k 320 {PLAIN}",
            LOADS,
            "Tiles of 64 x 64, k-tiles of 64, two operands.",
        ),
    ),
    "v03": (
        Find(
            "medium",
            "no-barrier-after-multiplying",
            "v02 never had this problem. With two warpgroups the lower half of a tile is "
            "sometimes wrong.",
            "wgmma_wait covers the warpgroup that calls it. Who starts the next loads?",
        ),
        Fill(
            "medium",
            ("const bf16 *a = &smem.a[warpgroup", "wgmma_wait<0>(acc);"),
            "Write a warpgroup's multiplication of a k-tile: its own 64 rows of A, all of B.",
            "Fence, four wgmmas along k, commit, wait.",
            fails="wrong hazard",
        ),
        Predict(
            "easy",
            "How many wgmma instructions for m = 256, n = 512, k = 320? The emulator counts one "
            "for each warpgroup that executes it.",
            f"--m 256 --n 512 --k 320 {PLAIN}",
            WGMMAS,
            "m64n128k16: how many to a tile of 128 x 128 and a k-tile of 64?",
        ),
    ),
    "v04": (
        Find(
            "easy",
            "nothing-is-empty-to-begin-with",
            "It hangs at once, at any size.",
            "Who tells the producer that it may load into the first stage?",
        ),
        Fill("medium", ("load_tile",), PRODUCER, "A wait on empty needs a token: arrive first."),
        Predict(
            "medium",
            "How many arrivals on mbarriers for one tile with 12 k-tiles, m = n = 128, k = 768?",
            f"--m 128 --n 128 --k 768 {PLAIN}",
            ARRIVALS,
            "Per k-tile: full and empty, 1 + 128 each. And what is said once, to begin with?",
        ),
    ),
    "v05": (
        Find(
            "medium",
            "empty-expects-one-consumer",
            "It hangs, but only for some k.",
            "How many readers does a stage have? After which of them may it be overwritten?",
        ),
        Fill("medium", ("multiply_tile",), CONSUMER, "Which rows of A are this consumer's?"),
        Predict(
            "easy",
            "How many bytes does v05 read by TMA for m = 256, n = 512, k = 64? Answer in units of "
            "kB as the emulator prints them.",
            f"--m 256 --n 512 --k 64 {PLAIN}",
            r"read +([\d.]+) kB by TMA",
            "4 tiles, each 128 rows of A and 256 of B, 64 columns of 2 bytes.",
        ),
    ),
    "v06": (
        Find(
            "medium",
            "producer-starts-anew-in-each-tile",
            "Fine while k is a multiple of 256. At k = 320 it hangs in the second tile.",
            "The ring doesn't begin anew with a tile. Who thinks it does?",
        ),
        Fill("hard", ("multiply_tile",), CONSUMER, "stage is a reference: where is it set?"),
        Predict(
            "medium",
            "The emulator has 4 SMs. How many CTAs does v06 start for m = 384, n = 512, "
            "k = 64 (6 tiles)?",
            f"--m 384 --n 512 --k 64 {PLAIN}",
            r"launch +(\d+) CTAs",
            "The fewest that finish in as many waves as 4 would.",
        ),
    ),
    "v07": (
        Find(
            "easy",
            "consumers-keep-their-parity",
            "Right up to k = 256. From the fifth k-tile on it hangs or is wrong.",
            "Four stages. What changes when the ring comes around?",
        ),
        Fill("medium", ("load_tile",), PRODUCER, "Which parity names the phase before the first?"),
        Predict(
            "easy",
            "v06 makes 53,440 arrivals for m = 256, n = 1536, k = 512. How many does v07 make?",
            f"--m 256 --n 1536 --k 512 {PLAIN}",
            ARRIVALS,
            "12 tiles with 8 k-tiles each; three arrivals mean something.",
        ),
    ),
    "v08": (
        Find(
            "medium",
            "released-to-the-own-cta-only",
            "The peer's results are wrong, or everything hangs.",
            "A load writes into both CTAs. Whose consumers must have read the stage?",
        ),
        Fill(
            "medium",
            ("release_stage",),
            "Write what hands a stage back to every CTA that loads into it.",
            "mbarrier_arrive_cluster takes a barrier's address here and the rank of a CTA.",
        ),
        Predict(
            "medium",
            "v07 reads 4.719 MB by TMA for m = 256, n = 1536, k = 512. How many MB does v08 read, "
            "what multicast delivers to the peer not counted?",
            f"--m 256 --n 1536 --k 512 {PLAIN}",
            r"read +([\d.]+) MB by TMA",
            "256 rows for a CTA and k-tile instead of 384.",
        ),
    ),
    "v09": (
        Find(
            "easy",
            "every-wgmma-of-the-first-k-tile-overwrites",
            "All elements are too small.",
            "Which wgmma of a tile may overwrite, and which must add?",
        ),
        Fill("medium", ("multiply_tile",), CONSUMER, "advance_k moves a descriptor along k."),
    ),
    "v10": (
        Find(
            "medium",
            "no-proxy-fence",
            "Always right on the machine where it was written.",
            "Threads write through one proxy, TMA reads through another.",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v11": (
        Find(
            "medium",
            "one-thread-fences",
            "Someone moved the fence into the if. The output is sometimes stale.",
            "A fence covers the writes of the thread that executes it.",
        ),
        Fill(
            "hard",
            ("hilbert_order(order", "hilbert_order(order"),
            "Make an order of the tiles of your own: each once, and any stretch of it compact.",
            "Any order is right. hilbert_square in tile_schedule.h shows how a curve is halved.",
            fails="hazard",
            instead="for (int i = 0; i < tiles; ++i) order[i] = {0, 0};",
        ),
    ),
    "v12": (
        Find(
            "medium",
            "stmatrix-rows-of-the-wrong-lanes",
            "Each 8 x 8 block is right, and some are in the wrong place.",
            "Lanes 0 to 15 name rows of the left pair of matrices. And the others?",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v13": (
        Find(
            "easy",
            "backwards-from-past-the-end",
            "Every other tile of a CTA is wrong.",
            "The last k-tile of k_tiles has which index?",
        ),
        Fill(
            "easy",
            ("const int k = (backwards", "const int k = (backwards"),
            "Make every other tile walk k backwards.",
            "k_tile counts up in any case.",
            fails="wrong",
            instead="const int k = 0;",
        ),
    ),
    "v14": (
        Find(
            "medium",
            "no-wait-for-the-last-store",
            "The last tile of a CTA is sometimes incomplete.",
            "What must not happen before TMA has read the staging memory?",
        ),
        Fill(
            "medium",
            ("load_operand",),
            "Load an operand's part of a stage: with a hint, evict first, unless the next wave "
            "reads it again.",
            "tma_load_2d and tma_load_2d_hint.",
        ),
    ),
    "v15": (
        Find(
            "hard",
            "no-wait-for-its-turn",
            "Right for many k. At k = 640 tile 1 contains tile 0's data.",
            "A parity can't tell phase 0 from phase 2. What kept the consumers apart?",
        ),
        Fill(
            "medium",
            ("skip_stages",),
            "Go on in the ring by the k-tiles of the other consumer's tile.",
            "The parity flips once for every pass over the ring. Mind k_tiles larger than STAGES.",
            fails="deadlock hazard misuse wrong",
        ),
    ),
    "v16": (
        Find(
            "medium",
            "last-columns-not-staged",
            "Eight columns of every tile are wrong.",
            "200 = 12 x 16 + 8.",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v17": (
        Find(
            "medium",
            "no-wait-for-the-launch-before",
            "Right alone. In a network, a layer sometimes reads half of its input.",
            "An early launch starts before its input is complete.",
        ),
        Fill(
            "hard",
            ("multiply_tile",),
            CONSUMER,
            "Two blocks of 64 rows for each consumer.",
            fails="hazard",
        ),
    ),
    "v18": (
        Find(
            "hard",
            "shared-stage-expects-one-consumer",
            "Ping-pong kernels are right, the others are not.",
            "How many consumers read a stage, with one turn and with two?",
        ),
        Fill(
            "medium",
            ("skip_stages",),
            "Go on in the ring by the k-tiles of the other consumer's tile.",
            "The parity flips once for every pass over the ring.",
            fails="deadlock hazard misuse wrong",
        ),
    ),
    "a01": (
        Find(
            "easy",
            "c-read-before-complete",
            "Right for beta = 0.",
            "Warps read what other threads copied.",
        ),
        Fill(
            "easy",
            ("combine",),
            "Combine a block's sums with C's block: alpha times the one plus beta times the other.",
            "A fragment's elements are x[0] to x[num_elements - 1], in the same order in both.",
            fails="wrong",
        ),
    ),
    "a02": (
        Find(
            "easy",
            "rows-read-below-a",
            "Wrong only where m is no multiple of the tile; a memory checker stops it.",
            "Which rows does a warp at the lower edge read?",
        ),
        Fill(
            "medium",
            ("load_a",),
            "Load a lane's fragment of A for mma.m16n8k16: four pairs.",
            "Rows lane / 4 and 8 below; columns lane % 4 * 2 and 8 to the right. In which order?",
            fails="wrong",
            instead="(void)fragment;",
        ),
    ),
    "a03": (
        Find(
            "medium",
            "strip-overwritten-too-early",
            "Some rows of D hold values of rows 16 below.",
            "A warp uses its strip again for the next 16 rows.",
        ),
        Fill(
            "medium",
            ("load_b",),
            "Load two fragments of B with one ldmatrix.x4.",
            "Lanes 0 to 7 name the rows of the first matrix, 8 to 15 of the second, ...",
            fails="wrong",
            instead="(void)fragments;",
        ),
        Predict(
            "medium",
            "At m = 256, n = 512, k = 128, how many extra wavefronts do a03's loads of A cause?",
            f"--m 256 --n 512 --k 128 {PLAIN}",
            CONFLICTS,
            "Eight rows, 128 bytes apart, start in the same bank: 8 passes where 1 would do. "
            "4 passes of ldmatrix.x4 become 32.",
        ),
    ),
    "a04": (
        Find(
            "easy",
            "no-barrier-after-the-last-k-tile",
            "Tiles after a CTA's first one are wrong.",
            "What overwrites the last k-tile, and who may still read it?",
        ),
        Fill(
            "medium",
            ("place",),
            "Place element (row, column) of a tile so that rows and columns meet no bank twice.",
            "Eight chunks of 16 bytes to a row: permute them by the row.",
            fails="also",
            instead="return row * BK + column;",
            also="no conflict",
        ),
    ),
    "a05": (
        Find(
            "medium",
            "barrier-before-the-wait",
            "Right alone, wrong with more warps.",
            "cp_async_wait waits for the copies of the thread that calls it.",
        ),
        Fill(
            "medium",
            ("copy_tile",),
            "Start the copies of a tile's chunks; zeros where they are outside.",
            "cp_async_cg takes the number of bytes to read: 16 or 0.",
            fails="wrong",
        ),
    ),
    "a06": (
        Find(
            "hard",
            "no-empty-groups-at-the-end",
            "The last k-tiles of the last tile are wrong.",
            "wait_group counts groups, empty ones too.",
        ),
        Fill(
            "medium",
            ("load_a",),
            "Load a fragment of A with one ldmatrix.x4.",
            "Lane l names row l % 16 and column 0 or 8.",
            fails="wrong",
            instead="(void)fragment;",
        ),
    ),
    "t01": (
        Find(
            "easy",
            "tile-not-shown-to-tma",
            "D sometimes equals A, without the one.",
            "Which proxy wrote the sum, and which one reads it?",
        ),
        Fill(
            "easy",
            ("tma_store_2d", "bulk_wait_read<0>()"),
            "Store the tile, and leave only when that is safe.",
            "A store belongs to a bulk group of the thread that started it.",
            fails="wrong",
        ),
    ),
    "t02": (
        Find(
            "easy",
            "tile-stored-before-it-is-complete",
            "Some warps' elements are missing.",
            "One thread starts the store for all.",
        ),
        Predict(
            "medium",
            "How many extra wavefronts do t02's stores to shared memory cause for 256 x 256?",
            f"--m 256 --n 256 {PLAIN}",
            CONFLICTS,
            "A warp writes a column of 32 words, 32 words apart: one bank.",
        ),
    ),
    "t03": (
        Find(
            "easy",
            "tile-read-without-the-swizzle",
            "Every element is in the right row, most in the wrong column.",
            "TMA has permuted what it loaded.",
        ),
        Predict(
            "medium",
            "With the 128-byte swizzle, how many of t02's extra wavefronts remain for 256 x 256?",
            f"--m 256 --n 256 {PLAIN}",
            CONFLICTS,
            "Rows j and j + 8 have the same permutation: how many lanes of a column share a bank?",
        ),
    ),
    "t04": (
        Find(
            "medium",
            "every-thread-announces-the-tile",
            "It hangs.",
            "How many arrivals, and how many bytes, does a phase expect?",
        ),
        Fill(
            "medium",
            ("float values[TM];", "store_shared(&smem.d"),
            "Transpose TM elements per thread.",
            "Read all, then write all; the swizzle is on both sides.",
            fails="wrong",
        ),
    ),
    "t05": (
        Find(
            "easy",
            "tile-not-announced",
            "It returns before the tile has landed, or never.",
            "Who tells the barrier how many bytes to expect?",
        ),
        Fill(
            "hard",
            ("const int i = (block ^", "const int i = (block ^"),
            "Give each thread its block of rows, so that neither loads nor stores conflict.",
            "Neighbouring lanes must differ in i as they do in j.",
            fails="also",
            instead="const int i = threadIdx.x / BLOCKS * TM;",
            also="no conflict",
        ),
    ),
    "t06": (
        Find(
            "medium",
            "tile-abandoned",
            "Now and then a tile of D is garbage.",
            "May a CTA exit while TMA reads its shared memory?",
        ),
        Fill(
            "medium",
            ("for (int y = 0; y < TM; ++y) {", "store4_shared(&smem.d"),
            "Transpose a 4 x 4 block in registers.",
            "load4 reads four neighbouring words, store4_shared writes four.",
            fails="wrong",
            instead="(void)rows, (void)columns;",
        ),
    ),
    "t07": (
        Find(
            "easy",
            "tile-barrier-not-fenced",
            "Nothing wrong has ever been seen. Does that prove anything?",
            "Who uses the barrier, and how do they know that it is initialised?",
        ),
        Fill(
            "medium",
            ("tma_store_2d", "bulk_wait_read<0>()"),
            "Store the tile, and leave only when that is safe.",
            "Start, commit, wait: four CTAs share an SM, so the memory is soon another's.",
            fails="wrong",
        ),
    ),
    "t08": (
        Find(
            "medium",
            "tile-wait-leaves-one",
            "A wait is there, and it waits for nothing.",
            "How many groups may still be pending after wait<N>?",
        ),
        Fill(
            "easy",
            ("mbarrier_arrive_expect_tx", "tma_load_2d_hint"),
            "Announce and start the load, with a hint that keeps the lines in the L2.",
            "evict_last_policy() makes the policy.",
        ),
    ),
}
