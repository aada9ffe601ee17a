"""Where each file of the tree stands in the book.

A place in the tree is a path from its root, with slashes: `common/device/tma.cuh`. A place in the
book is one from the book's own root: `source/common/device/tma.cuh.html`.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from bench import rungs

RESULTS = "bench/results"
PICTURES = (".png", ".svg", ".jpg")
RECORDED = (".json", ".txt")
HIDDEN = {".git", "build", "__pycache__"}  # no part of the tree
# Folders that have a page of the book's own.
FOLDERS = {
    ".": "index.html",
    "steps": "index.html",
    "notes": "notes/index.html",
    "notes/rungs": "index.html",
    "notes/ideas": "ideas/index.html",
    RESULTS: "results/index.html",
}


@dataclass(frozen=True)
class Rung:
    """One file of steps/."""

    name: str  # 'v07'
    path: str  # its place in the tree
    idea: str
    below: Rung | None  # that it grows from

    @property
    def page(self):
        """Its place in the book."""
        return f"rungs/{self.name}.html"

    @property
    def title(self):
        """Its page's."""
        return f"{self.name}: {self.idea}"

    @property
    def note(self):
        """The place in the tree where its note is, if it has one."""
        return f"notes/rungs/{self.name}.md"


class Tree:
    """The files that the book is made from."""

    def __init__(self, root):
        self.root = Path(root)
        self.rungs = {}  # all, track by track, lowest first, by name
        for name, rung in rungs.find(self.root / "steps").items():
            path, below = f"steps/{rung.path.name}", self.rungs.get(rung.below)
            self.rungs[name] = Rung(name, path, rung.idea, below)

    def is_file(self, path):
        """True for a file of the tree."""
        return self._inside(path) and (self.root / path).is_file()

    def is_folder(self, path):
        """True for a folder of the tree."""
        return self._inside(path) and (self.root / path).is_dir()

    def _inside(self, path):
        parts = PurePosixPath(path).parts
        return not path.startswith("/") and ".." not in parts and not HIDDEN.intersection(parts)

    def read(self, path):
        """The text of a file, or None if it is no text."""
        try:
            return (self.root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return None

    def bytes_of(self, path):
        """A file as it is."""
        return (self.root / path).read_bytes()

    def files(self, folder, pattern="*"):
        """The files in a folder that match, in order; none if there is no such folder."""
        found = [path for path in (self.root / folder).glob(pattern) if path.is_file()]
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def entries(self, folder):
        """(name, is a folder) of everything in a folder, folders first."""
        found = [
            (path.name, path.is_dir())
            for path in (self.root / folder).iterdir()
            if path.name not in HIDDEN
        ]
        return sorted(found, key=lambda entry: (not entry[1], entry[0]))

    def place(self, path):
        """Where a file or a folder of the tree stands in the book; None if there is neither."""
        if self.is_file(path):
            return self._place_of_file(PurePosixPath(path))
        if self.is_folder(path):
            return FOLDERS.get(path, f"source/{path}/index.html")
        return None

    def _place_of_file(self, path):
        if str(path.parent) == "steps" and path.name.partition("_")[0] in self.rungs:
            return self.rungs[path.name.partition("_")[0]].page
        if path.suffix in PICTURES:
            return f"pictures/{path.relative_to('plots') if path.parts[0] == 'plots' else path}"
        if path.is_relative_to(RESULTS) and path.suffix in RECORDED:
            # A recorded JSON has a page that shows it; what a test printed is there as it is.
            inside = path.relative_to(RESULTS)
            return f"results/{inside.with_suffix('.html') if inside.suffix == '.json' else inside}"
        if path.suffix == ".md":
            return place_of_markdown(path)
        return f"source/{path}.html"


def place_of_markdown(path):
    """Notes stand where a reader looks for them, other Markdown among the sources."""
    if str(path) == "README.md":
        return "readme.html"
    if path.parts[0] != "notes":
        return f"source/{path}.html"
    inside = path.relative_to("notes")
    if inside.parts[0] not in ("rungs", "ideas"):
        inside = "notes" / inside
    return str(inside.with_name("index.html" if path.name == "README.md" else f"{path.stem}.html"))


def join(folder, link):
    """The place that a relative link in a file of `folder` names. It may begin with '..' if it
    leads out of the tree."""
    return posixpath.normpath(posixpath.join(folder, link))


def relative(here, there):
    """A link from one place in the book to another."""
    return posixpath.relpath(there, posixpath.dirname(here) or ".")
