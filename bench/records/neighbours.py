"""Neighbours in a list. Standard library only."""

from __future__ import annotations


def pairwise(items):
    """[(first, second), (second, third), ...] (itertools has it from Python 3.10 on)."""
    return [(items[i], items[i + 1]) for i in range(len(items) - 1)]
