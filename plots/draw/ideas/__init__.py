"""The pictures of ideas: what lies where, as the project's own code says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """`data(answers, records)` picks what it shows out of the probes' answers: plain numbers and
    texts, which are kept beside the picture; `draw(pyplot, data)` draws that."""

    name: str
    data: Callable
    draw: Callable
