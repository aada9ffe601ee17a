"""Sweeps that were never measured: their ratios follow from the shapes."""

from __future__ import annotations

from bench import shapes

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


def sweep(sizes, gpu=GPU, step="v18", better=1.0, lacks=0, **changes):
    """Of the rung over these sizes: 0.9 to 1.1 of cuBLASLt's best, times `better`, from the first shape
    of a word to the last. The last shapes are lacking."""
    points = {}
    for word in sizes.split(","):
        found = shapes.of_word(word, "v")
        for place, shape in enumerate(found[: len(found) - lacks]):
            m, n, k = shape
            own = 2.0 * m * n * k / 500e12
            of = {**FASTER, "cublaslt": 1 / (better * (0.9 + 0.2 * place / max(1, len(found) - 1)))}
            points[shape] = {
                **dict(zip("mnk", shape)),
                "kernel": 1 + place % 5,
                "copies": 2,
                "launches": 4,
                "seconds": {who: [own / rate] * 2 for who, rate in of.items()},
                "sm_clock_ghz": dict.fromkeys(of, 1.5),
                "digest": "0x0123456789abcdef",
                "returned": 8,
                "winner": {"number": place % 8, "name": WINNER},
            }
    return {
        "schema": 1,
        "kind": "sweep",
        "step": step,
        "idea": "the tile fits the product",
        "commit": "abc1234",
        "date": "2026-12-01T00:00:00Z",
        "gpu": gpu,
        "interrupted": lacks > 0,
        "gpu_processes": {"looked": True, "allowed": False, "why_not": None, "found": []},
        "sizes": sizes,
        "protocol": "burst",
        "problem": {"computation": "gemm_bf16", "inputs": "normal", "seed": 1},
        "passes": 1,
        "rounds": 2,
        "check": "sample",
        "points": list(points.values()),
        **changes,
    }
