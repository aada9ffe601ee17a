"""What the tests share. Importing it makes bench, notes, plots, book and standalone importable, here
and in the programs that a test starts, so that a test also runs by itself: python3 tests/results.py."""

import os
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS.parent))
os.environ["PYTHONPATH"] = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
