#!/usr/bin/env python3
"""Makes the book: the rungs, the notes and the README as a static site (`make book`).

It is written to build/book, or where --out says, whole or not at all; begin with index.html there.
No page needs a server or the network; without JavaScript only the search, the theme's button and the
moving rings are missing. A source or a record has no page: a link to it leads to the tree that the
book was made from, or, with --repository, to that address, say that of a branch's files on GitHub.

Exit status: 0 written, 1 a note links to what is not there, 2 bad usage or a file that cannot be
read, 77 a library isn't installed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
try:
    from book.pages import site
except ModuleNotFoundError as error:
    if error.name not in ("jinja2", "markdown_it", "pygments"):
        raise
    print(f"book: needs {error.name}; 'make book' sets it up", file=sys.stderr)
    sys.exit(77)


def write_site(files, out):
    """Writes all files into a new folder, and puts it in the place of the old one. ValueError for a
    folder that holds something else: it would be deleted."""
    if out.exists() and not (out / site.STYLE).exists() and any(out.iterdir()):
        raise ValueError(f"--out {out}: it holds something that is no book; name another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as holder:
        fresh = Path(holder) / "fresh"
        for place, data in files.items():
            (fresh / place).parent.mkdir(parents=True, exist_ok=True)
            (fresh / place).write_bytes(data)
        if out.exists():
            out.rename(Path(holder) / "old")
        fresh.rename(out)


def main(arguments):
    """Parses the command line; expected errors become one line each."""
    parser = argparse.ArgumentParser(description="Make the book.", allow_abbrev=False)
    out = {"metavar": "DIR", "type": Path, "default": ROOT / "build/book"}
    parser.add_argument("--out", **out, help="default: build/book")
    said = "the address below which the tree's files are; default: the tree itself"
    parser.add_argument("--repository", metavar="URL", help=said)
    options = parser.parse_args(arguments)
    try:
        out = options.out.resolve()
        files = site.Site(ROOT, options.repository or os.path.relpath(ROOT, out)).files()
        write_site(files, out)
    except site.Broken as error:
        print("\n".join(f"book: {line}" for line in str(error).splitlines()), file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"book: {error}", file=sys.stderr)
        return 2
    pages = sum(place.endswith(".html") for place in files)
    print(f"{out}/index.html: {pages} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
