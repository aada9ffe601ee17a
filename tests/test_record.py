"""bench/record.py with programs that only end in one way or another, and bench/resources.py with what ptxas
said of the rungs."""

import importlib.util
import sys

import pytest

from tools import BUILD
from tools.fake_rungs import bench, fake, holds

from bench import record, resources, rungs
from bench.ladder import ladder_main
from bench.run import UsageError
from bench.sweep import sweep_main
from notes.tools import tables


@pytest.mark.parametrize(("burst", "status"), [(1, 1), (0, 0), (77, 77)])
def test_endings(monkeypatch, burst, status):
    """One that fails, or lacks what it runs, does not keep the next from running; where one cannot run, no
    other is tried."""
    ran, statuses = [], {"burst": burst, "rivals": 1}
    monkeypatch.setitem(record.LACKING, "rivals", True)
    execute = lambda words: ran.append(words[-1]) or statuses.get(words[-1])
    monkeypatch.setattr(record, "execute", execute)
    bench(record.record_main, "--only", "burst,rivals,a", status=status)
    assert ran == (["burst"] if burst == 77 else ["burst", "a"])


def test_interrupted(tmp_path, monkeypatch):
    """A Ctrl-C reaches the run, which may write what it has."""
    text = "import os, pathlib, signal, time\ntry:\n    os.kill(os.getppid(), signal.SIGINT)\n"
    text += "    time.sleep(60)\nexcept KeyboardInterrupt:\n    pathlib.Path('written').touch()\n"
    monkeypatch.setattr(record, "ROOT", tmp_path)
    with pytest.raises(KeyboardInterrupt):
        record.execute([sys.executable, "-c", text])
    assert (tmp_path / "written").exists()


def test_names():
    """Names that are none are refused, with those that there are; the commands are listed."""
    with pytest.raises(UsageError, match="'nothing'; there are burst, "):
        record.chosen("burst,nothing")
    listed = bench(record.record_main, "--list", "--only", "energy,burst").splitlines()
    assert [line.split()[0] for line in listed[::2]] == ["burst", "energy"]
    assert [*record.RUNS] == record.chosen(None)
    first, last = record.RUNS[0], record.RUNS[-1]
    assert first.command(2, card=True)[-4:] == ["--device", "2", "--record", "burst.{card}"]
    assert "--device" not in last.command(2)  # the emulator has none


def test_programs(tmp_path):
    """All programs that are named can be built: rungs, variants that have a patch, and rivals."""
    for name in {*rungs.find(), *record.PATCHES, *record.BUILT}:
        for kind in ("steps", "emulated"):
            fake(tmp_path / ("variants" if "-" in name else "") / kind / name)
    mains = {"bench.ladder": ladder_main, "bench.sweep": sweep_main}
    for one in record.RUNS:
        module, *options = one.words
        assert importlib.util.find_spec(module)
        if module not in mains:
            continue
        planned = bench(mains[module], *options, "--dry-run", "--build", tmp_path)
        if module == "bench.sweep":
            holds(planned, f"pass 1, s09: {tmp_path}/steps/")
            families = {word for word in options[-1].split(",") if ":" in word}
            assert families == {f"{family}:{record.SEED}" for family in tables.FAMILIES}


LOG = """ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : Compiling entry function 'gemm<256>' for 'sm_80'
    16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 145 registers, used 1 barriers, 8320 bytes smem, 388 bytes cmem[0]
"""


def test_log(tmp_path):
    """A log is read, also of a kernel that spills; without a build it is said what to do."""
    (kernel,) = resources.kernels(LOG)
    assert (*kernel.values(),) == ("gemm<256>", "sm_80", 16, 8, 4, 145, 8320, ["C7511"])
    bench(resources.resources_main, "--build", tmp_path, status=2)


@pytest.mark.nvcc
@pytest.mark.needs(*(f"{resources.folder(name)}/{name}" for name in resources.recorded()))
def test_recorded_resources():
    """Every rung is recorded, without a spill, and variants, as the build here says."""
    record, recorded = resources.newest()
    assert [*recorded] == resources.recorded()
    spills = {name for name, those in recorded.items() for one in those if one["spill_store_bytes"]}
    assert spills == {"v16-no-setmaxnreg"}
    if resources.nvcc_version() == record["cuda"]:
        assert {name: resources.kernels_of(name, BUILD) for name in recorded} == recorded
