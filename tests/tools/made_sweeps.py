"""Sweeps that were never measured: their ratios follow from the shapes."""

from __future__ import annotations

from bench import results, shapes

GPU = {
    "name": "NVIDIA H200",
    "card": "0a1b2c3d",
    "compute_capability": "9.0",
    "sms": 132,
    "power_limit_watts": 700.0,
    "driver": "580.1",
    "cuda": "13.0",
    "cublas": "13.1.0",
}
H100 = {**GPU, "name": "NVIDIA H100 80GB HBM3"}
FASTER = {"step": 1.0, "early": 1.25, "cublas": 0.8}  # as multiples of the rung's rate
WINNER = "nvjet_sm90_tst_176x128_64x5_1x2_h_bz_TNN"


def sweep(sizes, gpu=GPU, step="v18", better=1.0, lacks=0, date="2026-12-01T00:00:00Z"):
    """Rows of the rung over these sizes: 0.9 to 1.1 of cuBLASLt's best, times `better`, from the
    first shape of a word to the last. The last shapes are lacking."""
    rows = {}
    for word in sizes.split(","):
        found = shapes.of_word(word, "v")
        for place, shape in enumerate(found[: len(found) - lacks]):
            problem = {"computation": "gemm_bf16", **dict(zip("mnk", shape))}
            own = results.PRODUCTS.work_of(problem) / 500e12
            best = better * (0.9 + 0.2 * place / max(1, len(found) - 1))
            rates = {**FASTER, "cublaslt": 1 / best}
            timed = {who: {"seconds": [own / rate] * 2, "ghz": 1.5} for who, rate in rates.items()}
            winner = {"number": place % 8, "name": WINNER}
            problem.update(inputs="normal", seed=1)
            context = {"gpu": gpu, "commit": "abc1234", "protocol": "burst", "problem": problem}
            row = {"step": step, "idea": "the tile fits the product", "date": date}
            row.update(kernel=1 + place % 5, copies=2, launches=4, digest="0x0123456789abcdef")
            row.update(timed=timed, heuristics={"asked": 64, "returned": 8, "winner": winner})
            rows[shape] = {**row, "context": {**context, "rounds": 2}}
    return list(rows.values())


def write(folder, name, rows):
    """Writes them as they would be recorded in that folder."""
    path = folder / results.slug(rows[0]["context"]["gpu"]) / f"{name}.jsonl"
    for row in rows:
        results.append(path, row)
