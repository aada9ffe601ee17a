"""bench/resources.py: what ptxas said of the rungs, as it is recorded."""

from __future__ import annotations

import pytest

from tools import BUILD
from tools.fake_rungs import bench

from bench import resources, rungs

LOG = """ptxas info    : Compiling entry function 'gemm<256>' for 'sm_80'
ptxas info    : Function properties for gemm<256>
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 145 registers, used 1 barriers, 8320 bytes smem, 388 bytes cmem[0]
ptxas info    : Compiling entry function 'transpose' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 1 barriers
"""


def test_log(tmp_path):
    """Every kernel of a log is read, for every GPU; without a build it is said what to do."""
    wanted = (("gemm<256>", "sm_80", 16, 8, 4, 145, 8320), ("transpose", "sm_90a", 0, 0, 0, 8, 0))
    assert [(*one.values(),) for one in resources.kernels(LOG)] == [*wanted]
    bench(resources.resources_main, "--build", tmp_path, status=2)


@pytest.mark.nvcc
@pytest.mark.needs(*(f"steps/{name}" for name in rungs.find()))
def test_recorded():
    """Every rung is recorded, without a spill, as the build here says."""
    record, recorded = resources.newest()
    assert sorted(recorded) == sorted(rungs.find())
    assert not [one for kernels in recorded.values() for one in kernels if one["spill_store_bytes"]]
    if resources.nvcc_version() == record["cuda"]:
        made = {name: resources.kernels_of(one, BUILD) for name, one in rungs.find().items()}
        assert made == recorded
