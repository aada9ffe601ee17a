"""make doctor: of a record that is made slower in a known way, it names the way and the percent; without a
GPU it says what is missing for what."""

import copy

import pytest

from bench import doctor, results

SEEN = doctor.Seen(2619, 2619, 61, 0)
RECORD = doctor.recorded({"name": "NVIDIA H200"})


def made(slower, ghz=1.0, watts=1.0, gpu=(), others=(), cublas=1.0):
    """A run like the record, with launches of `slower` times the time, at `ghz` times the clock."""
    row, context = copy.deepcopy((RECORD.first(doctor.RUNG), RECORD.context))
    for who, one in row["timed"].items():
        longer = slower * (cublas if who == "cublas" else 1)
        one["seconds"] = [longer * seconds for seconds in one["seconds"]]
        one.update(ghz=one["ghz"] * ghz, watts=one["watts"] * watts)
    context["gpu"].update(gpu)
    row.update({"other_processes": [*others]} if others else {})
    run = results.Run(context)
    run.add(row)
    return run


LIMITED = "-20.0 % SM clock|the power limit is 500 W, recorded 700 W"
OLDER = {"slower": 1, "cublas": 0.9, "gpu": {"cublas": "14.0"}}
CLOCK = {"slower": 1.25, "ghz": 0.8}
CASES = (  # what happened; what the driver said; what is found: each percent and its words
    ({"slower": 1.01}, {}, "-1.0 % in all: two cards"),
    ({**CLOCK, "watts": 0.6}, {}, "-20.0 % SM clock|set or capped"),
    (CLOCK, {"reasons": 0x2}, "clock is set|nvidia-smi -rgc"),
    ({**CLOCK, "gpu": {"power_limit_watts": 500}}, {"reasons": 0x4}, LIMITED),
    (CLOCK, {"celsius": 88, "reasons": 0x20}, "the card is hot, 88 °C: software thermal slowdown"),
    ({"slower": 2, "others": ["4711 python3"]}, {}, "-50.0 % cycles|4711 python3"),
    ({"slower": 1.25}, {"memory_mhz": 1600}, "-20.0 % cycles|clock is 1600 of 2619 MHz"),
    ({"slower": 1.25}, {}, "-20.0 % cycles|unknown"),
    (OLDER, {}, "-10.0 % of cuBLAS: it is 14.0 here"),
)


@pytest.mark.check
@pytest.mark.parametrize("change, seen, expected", CASES)
def test_diagnosis(change, seen, expected):
    """The percent and the cause, and no second cause."""
    said = [*doctor.report(made(**change), made(slower=1), SEEN._replace(**seen))][3:]
    assert all(text in "\n".join(said) for text in expected.split("|")), said
    assert len(said) == 1 + ("in all" not in expected)


@pytest.mark.check
def test_elsewhere(monkeypatch):
    """A GPU that has no record is measured; without a GPU each tool is there, or missing for something."""
    run = made(1, gpu={"name": "NVIDIA B200"})
    assert "none of an NVIDIA B200" in "\n".join(doctor.report(run, doctor.recorded(run.gpu), SEEN))
    monkeypatch.setenv("PATH", "")
    assert all("missing: " in line for line in doctor.missing())
