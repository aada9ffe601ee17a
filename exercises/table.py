"""The exercises: for every rung a bug to find, and something to write or to predict."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Find:
    """A rung with one of the planted bugs of tests/planted/bugs.txt in it."""

    level: str  # easy, medium or hard
    bug: str
    story: str  # what the user observed
    hint: str


@dataclass(frozen=True)
class Fill:
    """A rung in which the body of a function, or some lines, are missing."""

    level: str
    gap: tuple[str, ...]  # the function, or how the first and the last line of the gap begin
    story: str  # what to write there
    hint: str
    fails: str = "deadlock"  # what the emulator reports of the gap
    instead: str = ""  # what the gap holds until then
    also: str = ""  # what a solution has to print as well


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
    "In order: the leader waits until its last store has read the memory; a barrier; all threads "
    "write, and each fences its own writes; a barrier; the leader starts the store."
)

EXERCISES = {
    "v01": (
        Find(
            "easy",
            "tiles-overwritten-too-early",
            "The result is wrong as soon as k is larger than one k-tile, more often on a fast "
            "machine than on a slow one.",
            "Each k-tile has two barriers, and each gives a guarantee. Which guarantee is missing?",
        ),
        Fill(
            "medium",
            ("load_tile",),
            "Write the copy of a tile to shared memory: transposed, 8 values at a time.",
            "Chunk i of a tile: which row and which columns is it? The lanes of a warp should write "
            "to different banks.",
            fails="wrong",
        ),
        Predict(
            "easy",
            "How many bank conflicts do load_tile's stores cause, now that neighbouring lanes take "
            "neighbouring rows? Answer for m = n = 128, k = 32.",
            f"--m 128 --n 128 --k 32 {PLAIN}",
            r"banks +(no|\d+) conflict",
            "32 lanes write one word each to 32 consecutive words. Answer with `no` or a number.",
        ),
    ),
    "v02": (
        Find(
            "easy",
            "no-wait-for-the-tiles",
            "The result is right in a debugger and garbage at full speed.",
            "tma_load_2d only starts a copy. Which call waits for the bytes?",
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
            "v02 never had this problem. With two warpgroups, the lower half of a tile is "
            "sometimes wrong.",
            "wgmma_wait covers only the warpgroup that calls it. Which thread starts the next loads?",
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
            "How many wgmma instructions does v03 execute for m = 256, n = 512, k = 320? The "
            "emulator counts one per warpgroup.",
            f"--m 256 --n 512 --k 320 {PLAIN}",
            WGMMAS,
            "m64n128k16: how many for a tile of 128 x 128 and a k-tile of 64?",
        ),
    ),
    "v04": (
        Find(
            "easy",
            "nothing-is-empty-to-begin-with",
            "It hangs at once, at any size.",
            "Which arrivals tell the producer that it may load into the first stage?",
        ),
        Fill(
            "medium",
            ("load_tile",),
            PRODUCER,
            "A wait on an empty barrier needs a token: arrive first.",
        ),
        Predict(
            "medium",
            "How many arrivals on mbarriers does v04 make for m = n = 128, k = 768: one tile with "
            "12 k-tiles?",
            f"--m 128 --n 128 --k 768 {PLAIN}",
            ARRIVALS,
            "Per k-tile: full and empty, 1 + 128 each. Which arrivals happen once, at the start?",
        ),
    ),
    "v05": (
        Find(
            "medium",
            "empty-expects-one-consumer",
            "It hangs, but only for some k.",
            "How many readers does a stage have? After which of them may it be overwritten?",
        ),
        Fill("medium", ("multiply_tile",), CONSUMER, "Which rows of A belong to this consumer?"),
        Predict(
            "easy",
            "How many kB does v05 read by TMA for m = 256, n = 512, k = 64? Answer as the emulator "
            "prints it.",
            f"--m 256 --n 512 --k 64 {PLAIN}",
            r"read +([\d.]+) kB by TMA",
            "4 tiles, each 128 rows of A and 256 of B, 64 columns of 2 bytes.",
        ),
    ),
    "v06": (
        Find(
            "medium",
            "producer-starts-anew-in-each-tile",
            "It works while k is a multiple of 256. At k = 320 it hangs in the second tile.",
            "The ring continues from tile to tile. Which side starts again at stage 0?",
        ),
        Fill(
            "hard",
            ("multiply_tile",),
            CONSUMER,
            "stage is a reference: what is its value when the next tile begins?",
        ),
        Predict(
            "medium",
            "The emulator has 4 SMs. How many CTAs does v06 start for m = 384, n = 512, "
            "k = 64 (6 tiles)?",
            f"--m 384 --n 512 --k 64 {PLAIN}",
            r"launch +(\d+) CTAs",
            "The fewest CTAs that need no more waves than 4 CTAs.",
        ),
    ),
    "v07": (
        Find(
            "easy",
            "consumers-keep-their-parity",
            "It is right up to k = 256. From the fifth k-tile on it hangs or is wrong.",
            "The ring has four stages. What changes on the second pass over it?",
        ),
        Fill("medium", ("load_tile",), PRODUCER, "Which parity names the phase before the first?"),
        Predict(
            "easy",
            "v06 makes 53,440 arrivals for m = 256, n = 1536, k = 512. How many does v07 make?",
            f"--m 256 --n 1536 --k 512 {PLAIN}",
            ARRIVALS,
            "12 tiles with 8 k-tiles each. Which arrivals are left per k-tile?",
        ),
    ),
    "v08": (
        Find(
            "medium",
            "released-to-the-own-cta-only",
            "It hangs on the second pass over the ring.",
            "A multicast load writes into both CTAs. Which consumers must have read the stage first?",
        ),
        Fill(
            "medium",
            ("release_stage",),
            "Write the release of a stage: hand it back to every CTA that loads into it.",
            "mbarrier_arrive_cluster takes a local barrier's address and the rank of a CTA.",
        ),
        Predict(
            "medium",
            "v07 reads 4.719 MB by TMA for m = 256, n = 1536, k = 512. How many MB does v08 read, "
            "without what multicast delivers to the peer?",
            f"--m 256 --n 1536 --k 512 {PLAIN}",
            r"read +([\d.]+) MB by TMA",
            "Per CTA and k-tile 256 rows instead of 384.",
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
            "It has always been right on the machine where it was written.",
            "Threads write through one proxy, and TMA reads through another.",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v11": (
        Find(
            "medium",
            "one-thread-fences",
            "The fence was moved into the if. The output is sometimes stale.",
            "A fence covers the writes of the thread that executes it.",
        ),
        Fill(
            "hard",
            ("hilbert_order(order", "hilbert_order(order"),
            "Make an order of tiles of your own: each tile once, consecutive tiles close together.",
            "Any order gives a right result. hilbert_square in tile_schedule.h shows the recursion.",
            fails="hazard",
            instead="for (int i = 0; i < tiles; ++i) order[i] = {0, 0};",
        ),
    ),
    "v12": (
        Find(
            "medium",
            "stmatrix-rows-of-the-wrong-lanes",
            "Each 8 x 8 block is right, but some are in the wrong place.",
            "Lanes 0 to 15 name rows of the left pair of matrices. What do the others name?",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v13": (
        Find(
            "easy",
            "backwards-from-past-the-end",
            "Every other tile of a CTA is wrong.",
            "What is the index of the last of k_tiles k-tiles?",
        ),
        Fill(
            "easy",
            ("const int k = (backwards", "const int k = (backwards"),
            "Make every other tile walk k backwards.",
            "k_tile always counts up.",
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
            "Load an operand's part of a stage, with the hint evict-first unless the next wave "
            "reads it again.",
            "Use tma_load_2d and tma_load_2d_hint.",
        ),
    ),
    "v15": (
        Find(
            "hard",
            "no-wait-for-its-turn",
            "It is right for many k. At k = 640, tile 1 contains tile 0's data.",
            "A parity cannot tell phase 0 from phase 2. What kept the two consumers in order?",
        ),
        Fill(
            "medium",
            ("skip_stages",),
            "Skip the k-tiles of the other consumer's tile in the ring.",
            "The parity flips once per pass over the ring. k_tiles may be larger than STAGES.",
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
            "It is right on its own. In a network, a layer sometimes reads an unfinished input.",
            "An early launch starts before its input is complete.",
        ),
        Fill(
            "hard",
            ("multiply_tile",),
            CONSUMER,
            "Each consumer has two blocks of 64 rows.",
            fails="hazard",
        ),
    ),
    "v18": (
        Find(
            "hard",
            "shared-stage-expects-one-consumer",
            "The ping-pong kernels are right; the others are not.",
            "How many consumers read a stage with TURNS = 1, and with TURNS = 2?",
        ),
        Fill(
            "medium",
            ("skip_stages",),
            "Skip the k-tiles of the other consumer's tile in the ring.",
            "The parity flips once per pass over the ring.",
            fails="deadlock hazard misuse wrong",
        ),
    ),
    "a01": (
        Find(
            "easy",
            "c-read-before-complete",
            "It is right only for beta = 0.",
            "Warps read what other threads have copied.",
        ),
        Fill(
            "easy",
            ("combine",),
            "Combine a block's sums with C's block: alpha times the sums plus beta times C.",
            "A fragment's elements are x[0] to x[num_elements - 1], in the same order in both.",
            fails="wrong",
        ),
    ),
    "a02": (
        Find(
            "easy",
            "rows-read-below-a",
            "The result is right, but a memory checker stops it if m is no multiple of the tile.",
            "Which rows does a warp at the lower edge read?",
        ),
        Fill(
            "medium",
            ("load_a",),
            "Load a lane's fragment of A for mma.m16n8k16: four pairs.",
            "Rows lane / 4 and 8 below, columns lane % 4 * 2 and 8 to the right: in which order?",
            fails="wrong",
            instead="(void)fragment;",
        ),
    ),
    "a03": (
        Find(
            "medium",
            "strip-overwritten-too-early",
            "Some rows of D hold values that belong 16 rows below.",
            "A warp reuses its staging strip for the next 16 rows.",
        ),
        Fill(
            "medium",
            ("load_b",),
            "Load two fragments of B with one ldmatrix.x4.",
            "Lanes 0 to 7 name the rows of the first matrix, lanes 8 to 15 of the second, ...",
            fails="wrong",
            instead="(void)fragments;",
        ),
        Predict(
            "medium",
            "At m = 256, n = 512, k = 128, how many extra wavefronts do a03's loads of A cause?",
            f"--m 256 --n 512 --k 128 {PLAIN}",
            CONFLICTS,
            "Eight rows, 128 bytes apart, start in the same bank: 8 wavefronts instead of 1. An "
            "ldmatrix.x4 takes 32 instead of 4.",
        ),
    ),
    "a04": (
        Find(
            "easy",
            "no-barrier-after-the-last-k-tile",
            "Tiles after a CTA's first one are wrong.",
            "What overwrites the last k-tile, and which threads may still read it?",
        ),
        Fill(
            "medium",
            ("place",),
            "Place element (row, column) of a tile so that rows and columns have no bank conflict.",
            "A row has eight chunks of 16 bytes: permute them by the row.",
            fails="also",
            instead="return row * BK + column;",
            also="no conflict",
        ),
    ),
    "a05": (
        Find(
            "medium",
            "barrier-before-the-wait",
            "It is right with one warp and wrong with more.",
            "cp_async_wait waits only for the copies of the thread that calls it.",
        ),
        Fill(
            "medium",
            ("copy_tile",),
            "Start the copies of a tile's chunks: zeros where they are outside the matrix.",
            "cp_async_cg takes the number of bytes to read: 16 or 0.",
            fails="wrong",
        ),
    ),
    "a06": (
        Find(
            "hard",
            "no-empty-groups-at-the-end",
            "The last k-tiles of the last tile are wrong.",
            "cp_async_wait counts groups, including empty ones.",
        ),
        Fill(
            "medium",
            ("load_a",),
            "Load a fragment of A with one ldmatrix.x4.",
            "Lane l names row l % 16, and column 0 or 8.",
            fails="wrong",
            instead="(void)fragment;",
        ),
    ),
    "t01": (
        Find(
            "easy",
            "tile-not-shown-to-tma",
            "Some elements of D equal A: the one was not added.",
            "Which proxy wrote the sum, and which one reads it?",
        ),
        Fill(
            "easy",
            ("tma_store_2d", "bulk_wait_read<0>()"),
            "Store the tile, and leave only when that is safe.",
            "A store belongs to a bulk group of the thread that starts it.",
            fails="wrong",
        ),
    ),
    "t02": (
        Find(
            "easy",
            "tile-stored-before-it-is-complete",
            "Some warps' elements are missing.",
            "One thread starts the store for all threads.",
        ),
        Predict(
            "medium",
            "How many extra wavefronts do t02's stores to shared memory cause for 256 x 256?",
            f"--m 256 --n 256 {PLAIN}",
            CONFLICTS,
            "A warp writes a column of 32 words that are 32 words apart: one bank.",
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
            "Rows j and j + 8 have the same permutation: how many lanes of a column hit one bank?",
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
            "First read all, then write all. Both tiles are swizzled.",
            fails="wrong",
        ),
    ),
    "t05": (
        Find(
            "easy",
            "tile-not-announced",
            "It hangs.",
            "Which call tells the barrier how many bytes to expect?",
        ),
        Fill(
            "hard",
            ("const int i = (block ^", "const int i = (block ^"),
            "Give each thread its block of rows so that neither loads nor stores have conflicts.",
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
            "No test has ever failed. Does that prove anything?",
            "Who uses the barrier, and what tells them that it is initialised?",
        ),
        Fill(
            "medium",
            ("tma_store_2d", "bulk_wait_read<0>()"),
            "Store the tile, and leave only when that is safe.",
            "Start, commit, wait: four CTAs share an SM, so another CTA soon gets the memory.",
            fails="wrong",
        ),
    ),
    "t08": (
        Find(
            "medium",
            "tile-wait-leaves-one",
            "There is a wait, but it waits for nothing.",
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
