"""bench/counters.py with a fake ncu and fake rungs."""

import contextlib

import pytest

from tools.fake_rungs import House

from bench import counters
from bench.run import Failed

KNOWN = ("dram__bytes_read", "lts__t_requests_srcunit_tex", "sm__cycles_elapsed")
RUNG = "gemm(CUtensorMap_st, CUtensorMap_st, __nv_bfloat16 *, int, int, int)"
CUBLAS = "nvjet_tst_320x128_64x3_1x2_h_bz_coopB_TNT"


def house(folder, status=1, known=KNOWN, **rungs):
    """Fake rungs, and an ncu that knows some metrics, and ends so if its program fails."""
    listed = "\n".join(["Device Fake", *(f"{name}    Counter    byte" for name in known)])
    answers = {"--query-metrics": listed, "--version": "NVIDIA (R) Nsight Compute\nVersion 1.2.3"}
    ncu = {"answers": answers, "kernels": [RUNG, CUBLAS] * 2, "status": status}
    return House(folder, counters.counters_main, (), ncu, **rungs)


def test_counts(tmp_path):
    """The last launch of each kernel is recorded; what ncu doesn't know or have is left out. If it lists
    nothing, all are requested."""
    made = house(tmp_path, v08={}, v06={}, v06_each_sm={}, t02={})
    said, found = made.run("--steps", "6,6-each-sm,8"), made.result()
    assert (found.protocol, found.context["ncu"]) == ("counters", "Version 1.2.3")
    assert (found.measured, found.shape) == (["v06", "v06-each-sm", "v08"], (256,) * 3)
    row = found.first("v06")
    assert (row["kernel"], row["cublas"]["kernel"]) == ("gemm", CUBLAS)
    assert row["counters"] == {"dram__bytes_read.sum": 1234002, "sm__cycles_elapsed.max": 1234002}
    assert row["cublas"]["counters"]["dram__bytes_read.sum"] == 1234003
    assert "v08: 2 of 13 counters\nrecorded in " in said
    assert all("--protocol none" in line for line in made.commands())
    made = house(tmp_path, known=(), v01={})
    made.run("--steps", "v01")
    assert len(made.result().first("v01")["counters"]) == 12  # and one is n/a


@pytest.mark.parametrize(
    ("launch", "own", "of_cublas"),
    [
        ("transpose(CUtensorMap_st, int)", "transpose", ""),
        ("void transpose_readWrite<float>(Params)", "", ""),
        ("void gemm<4>(float *)", "gemm", ""),
        ("void cutlass::Kernel2<sm90_xmma_gemm_bf16>(Params)", "", "cutlass::Kernel2"),
    ],
)
def test_kernels(launch, own, of_cublas):
    """Kernels are recognised by their names; each program has to have its own."""
    launches = counters.launches_of(f'"ID","Kernel Name"\n"",""\n"0","{launch}"\n')
    for which, name in enumerate((own, of_cublas)):
        with contextlib.nullcontext() if name else pytest.raises(Failed, match="no launch"):
            assert counters.counters_of(launches, bool(which))["kernel"] == name


@pytest.mark.parametrize("status", [1, 77])
def test_failing(tmp_path, status):
    """A program that fails is noted; the others are still counted. 77 of the first program, whether or not
    ncu passes it on, is one line, and no file."""
    made = house(tmp_path, status, v01={}, v02={"each": {"exit": 1}}, v03={})
    made.run(status=1)
    assert made.result().measured == ["v01", "v03"]
    assert "error code (1)" in made.result().failed["v02"]
    made.add("v01", each={"exit": 77, "err": "v01: it cannot\n"})
    assert made.run(status=77).splitlines()[1:] == ["v01: it cannot"]
    assert not made.out.exists()
    made.run("--ncu", "/nowhere", status=2)
