"""The exercises: for every rung a bug to find, and something to write or to predict."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Also:
    """What a solution has to do beside being right: what the rung is about. The emulator prints it,
    or exercises/watch.cpp does."""

    says: str  # after "The result is right. But", to a reader whose solution doesn't
    line: str = ""  # a pattern of what is printed; the number in its group, if there is one, is ...
    least: float = 0  # ... at least this
    most: float = math.inf
    calls: str = ""  # a function that the body of the gap's function has to call
    run: str = ""  # the options of that run, if not the default's


@dataclass(frozen=True)
class Find:
    """A rung with one of the planted bugs of planted/bugs.txt in it."""

    level: str  # easy, medium or hard
    bug: str
    story: str  # what the user observed
    hint: str
    also: Also | None = None
    run: str = ""  # the options of a run that shows it, if the default's doesn't


@dataclass(frozen=True)
class Fill:
    """A rung in which the body of a function, or some lines, are missing."""

    level: str
    # The function, or how the first and the last line of the gap begin; () if `edits` make it.
    gap: tuple[str, ...]
    story: str  # what to write there
    hint: str
    fails: str = "deadlock wrong"  # what the emulator may report of the gap
    instead: str = ""  # what is in the gap
    edits: tuple[tuple[str, str], ...] = ()  # texts of the rung, and what replaces them
    tail: str = ""  # what is added to the rung's file
    also: Also | None = None
    run: str = ""  # the options of a run that shows the gap, if the default's doesn't


@dataclass(frozen=True)
class Predict:
    """A question that a run on the emulator answers."""

    level: str
    story: str
    run: str  # the options of that run
    answer: str  # the number in what it prints
    hint: str
    edits: tuple[tuple[str, str], ...] = ()  # of a rung that is changed before it runs


PLAIN = "--policy eager --inputs integers"
# One tile of kernel 12, gathered by a cluster on the emulator.
GATHERED = "--m 72 --n 136 --k 2056 --kernel 12"
GATHERED_ONE = "--m 72 --n 136 --k 1920"
LOADS = r"in (\d+) loads"
WGMMAS = r"(\d+) wgmma instructions"
ARRIVALS = r"with (\d+) arrivals"
CONFLICTS = r"of them extra +access +line\n +\d+ +\d+ +(\d+)"

NO_CONFLICT = Also("lanes of a warp should access different banks.", r"banks +no conflict")
AHEAD = Also(
    "the producer should load until the ring is full, not wait for each k-tile.",
    r"ring +the loads ran at most (\d+) of \d+ stages ahead",
    least=3,
)
TURNED = Also("every other tile should walk k backwards.", r"along k .* (\d+) backwards", least=1)

LDMATRIX = Also("one ldmatrix.x4 should load it.", calls="ldmatrix_x4")

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

# What v18's model chooses; main() follows no more, so it runs when the program starts.
CHOICES = """
// What `make try` looks at: the kernels that the model chooses on 132 SMs.
static int print_choices() {
    printf("choices   ");
    for (const int size : {1024, 12288, 8192}) {
        problem p = {};
        p.m = size, p.n = size == 12288 ? 3072 : size, p.k = size == 12288 ? 512 : size;
        printf(" %d", int(choose(&p, 132) - KERNELS));
    }
    printf("\\n");
    return 0;
}
static const int choices = print_choices();
"""

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
            fails="hazard",
            also=NO_CONFLICT,
        ),
        Predict(
            "medium",
            "v01's load_tile has no bank conflict: neighbouring lanes take neighbouring rows. Let "
            "them take neighbouring chunks of a row instead: row = chunk / 4, column = "
            "chunk % 4 * 8. How many extra wavefronts do the stores then cause for m = n = 128, "
            "k = 32?",
            f"--m 128 --n 128 --k 32 {PLAIN}",
            CONFLICTS,
            "A warp stores to 8 neighbouring rows, and to 4 columns. Rows of the transposed tile "
            "are 128 words long: 4 lanes share a bank, so that a store takes 4 passes, 3 of them "
            "extra. 8 warps store 2 x 8 times to each of two tiles.",
            edits=(
                ("const int row = chunk % BM;", "const int row = chunk / (BK / LOAD);"),
                (
                    "const int column = chunk / BM * LOAD;",
                    "const int column = chunk % (BK / LOAD) * LOAD;",
                ),
            ),
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
            fails="hazard",
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
            "no-release",
            "Right up to k = 320. From the sixth k-tile on it hangs.",
            "The ring has five stages. Which arrival tells the producer that it may reuse one?",
        ),
        Fill(
            "medium",
            ("load_tile",),
            PRODUCER,
            "A wait on empty needs a token: arrive first.",
            also=AHEAD,
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
        Fill(
            "medium",
            ("load_tile",),
            PRODUCER,
            "Which parity names the phase before the first?",
            also=AHEAD,
        ),
        Predict(
            "easy",
            "v06 makes 47,272 arrivals for m = 384, n = 1024, k = 448. How many does v07 make?",
            f"--m 384 --n 1024 --k 448 {PLAIN}",
            ARRIVALS,
            "12 tiles with 7 k-tiles each. A k-tile takes three arrivals: one on full, two on "
            "empty.",
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
            "v07 reads 5.505 MB by TMA for m = 512, n = 1024, k = 448. How many MB does v08 read, "
            "without what multicast delivers to the peer?",
            f"--m 512 --n 1024 --k 448 {PLAIN}",
            r"read +([\d.]+) MB by TMA",
            "Per CTA and k-tile 256 rows instead of 384.",
        ),
    ),
    "v09": (
        Find(
            "easy",
            "every-wgmma-of-the-first-k-tile-overwrites",
            "Nearly all elements are wrong: they lack most of a tile's first k-tile.",
            "Which wgmma of a tile may overwrite, and which must add?",
        ),
        Fill(
            "medium",
            ("multiply_tile",),
            CONSUMER + " Make the descriptors once for each k-tile.",
            "advance_k moves a descriptor along k.",
            also=Also(
                "a k-tile's descriptors should be made once, and advance.", calls="advance_k"
            ),
        ),
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
            "Make an order of tiles of your own: each tile once, consecutive tiles close together. Of "
            "8 x 8 tiles, 8 in a row should read at most 7 rows and columns of tiles on average.",
            "Any order is right; columns one after the other read nearly 10. hilbert_square in "
            "tile_schedule.h shows how a curve is halved.",
            fails="hazard",
            instead="for (int i = 0; i < tiles; ++i) order[i] = {0, 0};",
            also=Also(
                "stretches of the order should be compact.",
                r"order .* read ([\d.]+) rows and columns",
                most=7,
                run=f"--m 1024 --n 2048 --k 64 {PLAIN}",
            ),
        ),
    ),
    "v12": (
        Find(
            "medium",
            "stmatrix-rows-of-the-wrong-lanes",
            "Each 8 x 8 block is right, but some are in the wrong place.",
            "Lanes 0 to 15 name rows of the left pair of matrices. What do the others name?",
        ),
        Fill(
            "hard",
            ("store_tile",),
            STAGING + " Write with stmatrix.",
            STAGING_HINT,
            fails="wrong",
            also=Also("stmatrix should write the accumulators.", calls="stmatrix_x4"),
        ),
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
            also=TURNED,
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
            "reads it again. The emulator has no L2; the hints are counted.",
            "tma_load_2d and tma_load_2d_hint.",
            also=Also(
                "60 of these 80 loads should be evicted first, and no other.",
                "hints +60 of 80 loads are to be evicted first, 0 last",
            ),
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
            "easy",
            "last-columns-not-staged",
            "Eight columns of every tile are wrong.",
            "200 = 12 x 16 + 8.",
        ),
        Fill(
            "hard",
            ("multiply_tile",),
            CONSUMER,
            "Two blocks of 64 rows for each consumer, and one B for both.",
        ),
        Fill("hard", ("store_tile",), STAGING, STAGING_HINT, fails="wrong"),
    ),
    "v17": (
        Find(
            "medium",
            "another-thread-waits",
            "It is right on its own. In a network, a layer sometimes reads an unfinished input.",
            "A thread waits for the previous launch. Which thread reads what that launch wrote?",
        ),
        Fill(
            "medium",
            (),
            "This is v16. Launch early: let the next launch begin as soon as it may, and wait for "
            "the previous launch as late as you may.",
            "launch_dependents and wait_for_launch_before. Only loads and stores need what came "
            "before; barriers don't.",
            fails="hazard",
            edits=(
                ("        launch_dependents();\n", ""),
                ("        wait_for_launch_before();\n", ""),
            ),
            also=Also(
                "every CTA should let the next launch begin before it loads, and wait only when "
                "its barriers are ready.",
                r"early +(\d+) of \1 CTAs .* load, \1 wait .* ready",
            ),
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
            "hard",
            ("cost",),
            "Write the model: roughly how many cycles a kernel takes for a product. On 132 SMs it should "
            "choose kernel 4 (128 x 64) for 1024 x 1024 x 1024, kernel 2 (128 x 128, in turns) for "
            "12288 x 3072 x 512 and kernel 0 (256 x 200) for 8192 x 8192 x 8192.",
            "Waves of tiles, times the cycles of a tile: its k-tiles, and its end, which a kernel "
            "in turns hides. Bytes cost clock: a price on bytes per FLOP.",
            fails="also",
            instead="(void)kernel, (void)p, (void)sms;\nreturn 0;",
            tail=CHOICES,
            also=Also("the model should choose 4, 2 and 0.", "choices +4 2 0$"),
        ),
    ),
    "v19": (
        Find(
            "medium",
            "stmatrix-rows-of-the-wrong-lanes",
            "In every 16 x 16 block of D two of the four 8 x 8 blocks have changed places.",
            "stmatrix takes the matrices in the order of the accumulators: first the one below, then "
            "the pair to the right. Where is the second one after transposing?",
        ),
        Fill(
            "hard",
            ("store_tile",),
            "Write the epilogue: wait until the staging memory is free, write the accumulators to it, "
            "transposed, and let one thread start the TMA store. A row of the staging memory is a "
            "row of D, 64 columns, swizzled.",
            STAGING_HINT + " stmatrix_x4_transposed takes 16 rows of the accumulators and 16 "
            "columns: those are columns and rows of D.",
            fails="wrong",
            also=Also("stmatrix should transpose.", calls="stmatrix_x4_transposed"),
        ),
    ),
    "v20": (
        Find(
            "medium",
            "counter-not-reset",
            "The first launch is right. After it, parts of D keep what was there.",
            "What does a launch find in the workspace, and what does it leave?",
        ),
        Fill(
            "hard",
            ("add_parts",),
            "Publish a consumer's sums of one part of a tile, count its arrival, and, if it is the "
            "last, add all parts. Return whether it is. Same bits on every run.",
            "Two barriers of the consumer: one before its leader counts the arrival, one after it. "
            "add_sums adds all parts in the order of k, the consumer's own among them. The counter "
            "has to be zero for the next launch.",
            fails="wrong",
            instead=(
                "(void)smem, (void)acc, (void)part, (void)consumer, (void)sums, (void)arrived;\n"
                "return false;"
            ),
            also=Also(
                "the bits of D should not depend on which part arrives last.",
                r"verified +exact",
                run="--m 320 --n 128 --k 576 --seed 14",  # a random order has another last part
            ),
        ),
    ),
    "v21": (
        Find(
            "medium",
            "padding-from-the-next-row",
            "Right if k is a multiple of 8. Otherwise most of D is wrong.",
            "A padded row is multiplied as a whole. What has to be in its last columns?",
        ),
        Fill(
            "medium",
            ("pad_rows",),
            "Wait for the launch before. Copy the rows of A, and after them those of B, k columns each, to rows of `pitch` "
            "columns. A warp takes a row, and blockIdx.y says where in it to begin; zeros follow its k columns.",
            "Row m of the workspace is the first row of B. The last CTA may have more warps than "
            "there are rows left.",
            fails="wrong",
            instead="(void)padded, (void)a, (void)b, (void)m, (void)n, (void)k, (void)pitch;",
        ),
    ),
    "v22": (
        Find(
            "medium",
            "first-columns-for-both-consumers",
            "Only kernels whose consumers share a tile by columns are wrong, in its right half.",
            "Where does a consumer's part of B begin in the stage?",
        ),
        Fill(
            "medium",
            ("own_tile",),
            "A place of the schedule is a cluster of tiles, ABOVE x BESIDE. Return the tile of the "
            "calling CTA.",
            "cluster_place says in which row and column of the cluster it is.",
            fails="hazard",
            instead="return tile;",
        ),
    ),
    "v23": (
        Find(
            "hard",
            "parts-multiplied-as-whole-tiles",
            "Shapes whose waves are full are right.",
            "How many k-tiles does the producer load for a part?",
        ),
        Fill(
            "hard",
            ("add_parts",),
            "Publish a consumer's sums of one part of a tile, count its arrival, and, if it is the "
            "last, add all parts. Return whether it is. Clusters and ping-pong have to work as well.",
            "The consumers of a part have a place each: all CTAs of a cluster, and in each of them "
            "two consumers if they share the tile. In ping-pong another consumer may have the next "
            "part.",
            fails="wrong",
            instead=(
                "(void)smem, (void)acc, (void)part, (void)consumer, (void)sums, (void)arrived;\n"
                "return false;"
            ),
        ),
    ),
    "v24": (
        Find(
            "medium",
            "sums-overwrite-the-ring-too-early",
            "Only gathered tiles of two consumers are wrong, and not on every run.",
            "The sums take the place of the ring. Who may still read it?",
            run=GATHERED,
        ),
        Fill(
            "hard",
            ("gather_parts",),
            "Add the parts of a tile in its cluster. Each CTA leaves its sums where the ring was, and "
            "adds and stores a share of the rows.",
            "Storage::Sums has write and add. Before it writes, a CTA waits for its own consumers; "
            "before it adds, for the sums of all CTAs.",
            fails="wrong",
            instead="(void)smem, (void)acc, (void)tile, (void)parts, (void)consumer, (void)work;",
            run=GATHERED,
        ),
        Predict(
            "medium",
            f"A tile has 30 k-tiles. How many CTAs gather it? (Kernel 12, {GATHERED_ONE} on the "
            "emulator, where one cluster of any size is resident.)",
            f"{GATHERED_ONE} --kernel 12 {PLAIN}",
            r"launch +(\d+) CTAs",
            "At most eight, with four k-tiles each at least. Of those the fewest that make the "
            "longest part as short as possible.",
        ),
    ),
    "f01": (
        Find(
            "easy",
            "descriptor-advances-as-bf16",
            "It worked with bf16.",
            "How many bytes of a row does one wgmma take, and how many elements?",
        ),
        Predict(
            "easy",
            "How many wgmmas does f01 execute for 512 x 400 x 1152?",
            f"--m 512 --n 400 --k 1152 {PLAIN}",
            WGMMAS,
            "Tiles, k-tiles of 128, steps of 32, and blocks of 64 rows.",
        ),
    ),
    "f02": (
        Find(
            "medium",
            "sums-do-not-begin-anew",
            "The longer k is, the more D is too large.",
            "After a promotion, what should the first wgmma do to the accumulators?",
        ),
        Fill(
            "medium",
            ("promote",),
            "Add what the tensor cores have added up to the sums in fp32.",
            "Each accumulator of each block.",
            fails="wrong",
            instead="(void)sums;\n    (void)acc;",
        ),
    ),
    "f03": (
        Find(
            "medium",
            "tile-begins-with-a-block",
            "Some columns are wrong by a power of two. The first tile is right.",
            "200 columns, and blocks of 128.",
        ),
        Fill(
            "medium",
            ("load_scales",),
            "Load the scales that a thread needs for a k-tile: of its two rows, and of the blocks of B "
            "that its tile is in.",
            "scale_a is [k-tile][m], scale_b [block][columns]. Past the edges take the last ones.",
            fails="wrong",
            instead="(void)at;\n    (void)k_tile;\n    return {};",
        ),
    ),
    "f04": (
        Find(
            "medium",
            "stage-released-after-the-first-block",
            "Some runs are right, others are not.",
            "How many times does a consumer read a stage, and when is the last of them over?",
        ),
        Fill(
            "medium",
            ("promote",),
            "Add what the tensor cores have added up, times its scales, to the sums in fp32.",
            "Four accumulators side by side: two of the thread's first row, then two of the second.",
            fails="wrong",
            instead="(void)sums;\n    (void)acc;\n    (void)factors;",
        ),
    ),
    "f05": (
        Find(
            "medium",
            "scales-not-announced",
            "Some elements are wrong, and not the same in each run.",
            "What has to have landed before a stage counts as full?",
        ),
        Fill(
            "medium",
            ("release_stage",),
            "Write the release of a stage: all lanes of the warp have read their scales.",
            "How many arrivals does `empty` expect? And what orders the lanes of a warp?",
        ),
    ),
    "f06": (
        Find(
            "medium",
            "stored-before-it-is-whole",
            "All of D is wrong: a block is stored during the wrong wgmmas.",
            "Which block's sums are whole while the last k-tile's wgmmas run?",
        ),
        Fill(
            "hard",
            ("multiply_tile",),
            CONSUMER + " During the wgmmas of block `busy` store the other block.",
            "The first k-tile's products replace what the sums held.",
        ),
    ),
    "f07": (
        Find(
            "easy",
            "tiles-counted-the-other-way-round",
            "Some tiles of D are missing.",
            "A group has rows of tiles. What does make_order call tiles_m?",
        ),
        Fill(
            "medium",
            ("load_tile",),
            "The producer, one thread: load the k-tiles of A, of B, and of their scales.",
            "B's scales come in runs of RUN k-tiles, one row for each block of the tile.",
        ),
    ),
    "f08": (
        Find(
            "easy",
            "kernel-of-the-other-width",
            "Where the narrow tile is taken, the kernel gets too little shared memory.",
            "What depends on the width, and is it the same width for all?",
        ),
        Predict(
            "medium",
            "How many wgmmas does f08 execute for 256 x 1584 x 256 on the emulator's 4 SMs?",
            f"--m 256 --n 1584 --k 256 {PLAIN}",
            WGMMAS,
            "Which width has fewer columns for each SM? A wgmma multiplies all of its tile's columns.",
        ),
    ),
    "a01": (
        Find(
            "easy",
            "c-read-before-complete",
            "It is right only for beta = 0 (the option --beta 0).",
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
            also=LDMATRIX,
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
            "easy",
            ("place",),
            "Place element (row, column) of a tile so that rows and columns have no bank conflict.",
            "A row has eight chunks of 16 bytes: permute them by the row.",
            fails="also",
            instead="return row * BK + column;",
            also=NO_CONFLICT,
        ),
    ),
    "a05": (
        Find(
            "medium",
            "barrier-before-the-wait",
            "A warp always sees its own copies, but not always those of other warps.",
            "cp_async_wait waits for the copies of the thread that calls it.",
        ),
        Fill(
            "medium",
            ("copy_tile",),
            "Start a thread's copies of a k-tile's chunks with cp.async, zeros where they are "
            "outside, and go on to the next k-tile. device/tile_chunks.cuh has what you need: COUNT, STEP, "
            "row(), column(), from() and advance().",
            "cp_async_cg takes the number of bytes to read: 16 or 0. Afterwards advance().",
            fails="hazard",
            also=Also(
                "cp.async should copy all, and threads nothing.", r"read +[\d.]+ MB by cp\.async$"
            ),
        ),
    ),
    "a06": (
        Find(
            "hard",
            "no-empty-groups-at-the-end",
            "The last k-tiles of each CTA's last tile are wrong.",
            "cp_async_wait counts groups, including empty ones.",
            also=Also(
                "copies should stay in flight during most waits: a wait for all of them empties the "
                "ring.",
                r"copies +(\d+) % of the waits",
                least=70,
            ),
        ),
        Fill(
            "medium",
            ("load_a",),
            "Load a fragment of A with one ldmatrix.x4.",
            "Lane l names row l % 16, and column 0 or 8.",
            fails="wrong",
            instead="(void)fragment;",
            also=LDMATRIX,
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
            "How many extra wavefronts do t02's stores to shared memory cause for 160 x 96?",
            f"--m 160 --n 96 {PLAIN}",
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
            "With the 128-byte swizzle, how many of t02's extra wavefronts remain for 160 x 96?",
            f"--m 160 --n 96 {PLAIN}",
            CONFLICTS,
            "Rows j and j + 8 have the same permutation: how many lanes of a column hit one bank?",
        ),
    ),
    "t04": (
        Find(
            "medium",
            "every-thread-announces-the-tile",
            "On a GPU it hangs. Find it before you try: the emulator's report names the line.",
            "How many arrivals, and how many bytes, does a phase expect?",
        ),
        Fill(
            "medium",
            ("float values[TM];", "store_shared(&smem.d"),
            "Transpose TM elements per thread. Read all of them before you write one, so that the "
            "reads don't wait for each other. Only a GPU shows whether they do.",
            "First read all, then write all. Both tiles are swizzled.",
            fails="hazard",
        ),
    ),
    "t05": (
        Find(
            "easy",
            "tile-read-before-it-landed",
            "Fine while the memory is quick, garbage when it is busy.",
            "A load that has started may not have landed.",
        ),
        Fill(
            "medium",
            ("for (int y = 0; y < TM; ++y) {", "store4_shared(&smem.d"),
            "Transpose a 4 x 4 block in registers.",
            "load4 reads four neighbouring words, store4_shared writes four.",
            fails="hazard",
            instead="(void)rows, (void)columns;",
            also=NO_CONFLICT,
        ),
        Fill(
            "easy",
            ("const int i = (block ^", "const int i = (block ^"),
            "Give each thread its block of rows, so that neither loads nor stores conflict.",
            "Neighbouring lanes must differ in i as they do in j.",
            fails="also",
            instead="const int i = threadIdx.x / BLOCKS * TM;",
            also=NO_CONFLICT,
        ),
    ),
    "t06": (
        Find(
            "easy",
            "tile-barrier-not-initialised",
            "The very first wait fails.",
            "An mbarrier is 8 bytes of shared memory. What do they hold to begin with?",
        ),
        Fill(
            "medium",
            (),
            "This is t05, in which neighbouring CTAs read neighbours. Let them write neighbours: "
            "tiles next to each other in a row of D. The emulator has no DRAM; it shows the order.",
            "Two places: the tile that a CTA takes, and the grid.",
            fails="also",
            edits=(
                ("row = blockIdx.x * BM;", "row = grid_row() * BM;"),
                ("column = grid_row() * BN;", "column = blockIdx.x * BN;"),
                (
                    "grid_of(ceil_div(p->m, BM), ceil_div(p->n, BN))",
                    "grid_of(ceil_div(p->n, BN), ceil_div(p->m, BM))",
                ),
            ),
            also=Also(
                "a CTA should store beside the CTA before it, in the same rows of D.",
                r"stores +(\d+) of",
                least=6,
            ),
        ),
    ),
    "t07": (
        Find(
            "easy",
            "tile-barrier-waited-for-too-early",
            "Nothing wrong has ever been seen. Does that prove anything?",
            "One thread initializes the barrier. What tells the others that it has?",
        ),
        Fill(
            "easy",
            (),
            "Let exactly CTAS_PER_SM CTAs fit on an SM: six do now. How much shared memory does a "
            "launch need for that?",
            "A function in device/launch.cuh computes it.",
            fails="also",
            edits=(
                (
                    "return smem_of_ctas_per_sm(&made->smem, CTAS_PER_SM, sizeof(SharedStorage)) ||\n           ",
                    "made->smem = sizeof(SharedStorage);\n    return ",
                ),
            ),
            also=Also("four CTAs should fit on an SM.", "room +shared memory for 4 CTAs"),
        ),
    ),
    "t08": (
        Find(
            "easy",
            "tile-wait-leaves-one",
            "There is a wait, but it waits for nothing.",
            "How many groups may still be pending after wait<N>?",
        ),
        Fill(
            "easy",
            ("mbarrier_arrive_expect_tx", "tma_load_2d_hint"),
            "Announce and start the load, with a hint that keeps the lines in the L2. The emulator "
            "has no L2; the hints are counted.",
            "evict_last_policy() makes the policy.",
            also=Also("all 12 loads should be evicted last.", "hints .* evicted first, 12 last"),
        ),
    ),
}
