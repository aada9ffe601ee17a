"""The book: what pages there are, what stands on each, and where its links lead.

A place in the tree is a path from its root, with slashes: `common/device/tma.cuh`. A place in the
book is one from the book's own root: `source/common/device/tma.cuh.html`.
"""

from __future__ import annotations

import html
import posixpath
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

import jinja2

from bench import rungs
from book.pages import changes, highlight, measured, ring, search
from book.pages.prose import Renderer, paragraphs
from notes.tools import tables

STYLE = "style.css"
SEARCH, INDEX = "search.html", "search-index.js"
RESULTS = "bench/results"
RECORDED = (".jsonl", ".json", ".txt")
ROWS = re.compile(rf"{RESULTS}/(.+/.+)\.jsonl")  # of programs: those of a GPU, or the emulator
PICTURES = (".png", ".svg", ".jpg")
PICTURES_OF = {  # each track, below its table
    "v": ("share-and-clock", "power"),
    "a": ("ladder-a",),
    "t": ("ladder-t",),
    "f": ("fp8",),
}
PICTURE = re.compile(r'<img src="[./]*plots/([\w-]+)\.png"[^>]* (alt="[^"]*")')
READ_FIRST = ("notes/start-here.md", "notes/the-climb.md")
HIDDEN = {".git", "build", "__pycache__"}  # no part of the tree
FOLDERS = {  # that have a page of the book's own
    ".": "index.html",
    "steps": "index.html",
    "notes": "notes/index.html",
    "notes/rungs": "index.html",
    "notes/ideas": "ideas/index.html",
    RESULTS: "results/index.html",
}
LINE_ANCHOR = re.compile(r"L[0-9]+")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
INCLUDE = re.compile(r'#include "([^"]+)"')


class Broken(Exception):
    """Notes that cannot be made a book of: one line for each thing that is wrong."""


@dataclass
class Page:
    """One page: where it stands in the book, and what its template wants."""

    place: str
    template: str
    title: str
    words: dict = field(default_factory=dict)


def beside(path, link):
    """Where a link of a file in the tree leads."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), link))


def relative(here, there):
    """A link from one place in the book to another."""
    return quote(posixpath.relpath(there, posixpath.dirname(here) or "."))


class Site:
    """All pages and files of the book. Pages are made as links ask for them, from the first on."""

    def __init__(self, root):
        self.root = Path(root)
        self.rungs = rungs.find(self.root / "steps")
        self.pages = {}  # place in the book: Page
        self.copies = {}  # place in the book: place in the tree
        # {place in the book: the place in the tree that it is made from}
        self.asked = {place: folder for folder, place in FOLDERS.items()}
        self.links = {}  # place in the book: pages that link there
        self.wrong = []

    @cached_property
    def library(self):
        """All that is recorded."""
        return tables.Library(self.root / RESULTS)

    # --- the tree -----------------------------------------------------------------------------

    def place(self, path):
        """Where a file or a folder of the tree stands in the book; None if there is neither."""
        inside = PurePosixPath(path)
        if path.startswith("/") or ".." in inside.parts or HIDDEN.intersection(inside.parts):
            return None
        if (self.root / path).is_dir():
            return FOLDERS.get(path, f"source/{path}/index.html")
        if not (self.root / path).is_file():
            return None
        folder, name = str(inside.parent), inside.name.partition("_")[0]
        if folder == "steps" and name in self.rungs:
            return f"rungs/{name}.html"
        if inside.suffix in PICTURES:
            return f"pictures/{path.removeprefix('plots/')}"
        if inside.is_relative_to(RESULTS) and inside.suffix in RECORDED:
            # Rows have a page that shows them; what else was recorded is there as it is.
            rows = ROWS.fullmatch(path)
            return f"results/{rows[1]}.html" if rows else path.removeprefix("bench/")
        if path == "README.md":
            return "readme.html"
        if inside.suffix == ".md" and inside.parts[0] == "notes":
            page = "index" if inside.name == "README.md" else inside.stem
            return f"{folder.removeprefix('notes/')}/{page}.html"
        return f"source/{path}.html"

    def is_file(self, path):
        """True for a file of the tree."""
        return self.place(path) is not None and (self.root / path).is_file()

    def read(self, path):
        """A file's text."""
        return (self.root / path).read_text(encoding="utf-8")

    def found(self, folder, pattern):
        """The files in a folder that match, in order; none if there is no such folder."""
        found = [path for path in (self.root / folder).glob(pattern) if path.is_file()]
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    # --- links --------------------------------------------------------------------------------

    def ask_for(self, path):
        """Where a file or folder stands in the book, which will have it; None if there is none."""
        place = self.place(path)
        if place:
            self.asked.setdefault(place, path)
        return place

    def to(self, here, path):
        """A link of the book's own to a file or folder of the tree."""
        return relative(here, self.ask_for(path))

    def link(self, here, source, link):
        """A link that stands in the file `source` and is shown at `here`, as one of the book."""
        path, _, anchor = link.partition("#")
        if EXTERNAL.match(link) or not path:
            return link
        path = beside(source, unquote(path))
        place = self.ask_for(path)
        if place is None:
            self.wrong.append(f"{source}: links to {link}: there is no {path}")
            return ""
        self.links.setdefault(place, set()).add(here)
        lines = LINE_ANCHOR.match(anchor)
        anchor = lines[0] if lines else anchor
        return relative(here, place) + (f"#{anchor}" if anchor else "")

    def picture(self, here, source, link):
        """A picture's."""
        path = beside(source, unquote(link))
        if EXTERNAL.match(link) or not self.is_file(path) or not path.endswith(PICTURES):
            self.wrong.append(f"{source}: there is no picture {link} in the tree")
            return ""
        return self.to(here, path)

    def named(self, here, text):
        """A link to a file that is named in code, or None."""
        known = "/" in text.strip("/") and re.fullmatch(r"[\w./-]+", text)
        path = text.rstrip("/")
        return self.to(here, path) if known and self.place(path) else None

    def prose(self, here, source, text=None):
        """The Markdown file `source`, or some of its text, for the page at `here`."""
        return Renderer(self, here, source).render(self.read(source) if text is None else text)

    # --- pages --------------------------------------------------------------------------------

    def add(self, place, template, title, **words):
        """A page."""
        self.pages[place] = Page(place, template, title, words)

    def make(self):
        """Every page of the book, and every page that one of them links to."""
        made = set()
        while waiting := [place for place in self.asked if place not in made]:
            for place in waiting:
                self.page_of(self.asked[place], place)
            made.update(waiting)
        self.add(SEARCH, "search.html", "Search")
        if self.wrong:
            raise Broken("\n".join(sorted(set(self.wrong))))

    def page_of(self, path, place):
        """The page, or the copy, of a place in the tree."""
        own = {"index.html": self.start, "results/index.html": self.results}
        folder, name = posixpath.dirname(place), PurePosixPath(place).stem
        if place in own:
            own[place](place)
        elif place == "ideas/index.html":
            self.add(place, "ideas.html", "Ideas", places=self.idea_places())
        elif folder == "rungs" and name in self.rungs:
            self.rung(self.rungs[name], place)
        elif place == "notes/index.html" or path.endswith(".md"):
            prose = self.prose(place, "notes/README.md" if place == "notes/index.html" else path)
            self.add(place, "prose.html", prose.title or path, prose=prose, idea=folder == "ideas")
        elif (self.root / path).is_dir():
            self.folder(path, place)
        elif ROWS.fullmatch(path):
            self.rows(path, place)
        elif path.endswith(PICTURES) or place.startswith("results/"):
            self.copies[place] = path
        else:
            self.source(path, place)

    def runs_of(self, path):
        """What is recorded in a file of rows; nothing in any other."""
        whole = self.root / path
        return [run for run in self.library.runs + self.library.apart if run.path == whole]

    def rows(self, path, place):
        """A file of rows, and the file itself."""
        name = path.removeprefix(f"{RESULTS}/")
        self.copies[f"results/{name}"] = path
        runs = self.runs_of(path)
        words = {"said": measured.words_of(runs), "tables": measured.tables_of(runs)}
        words |= {"raw": f"results/{name}", "path": path}
        self.add(place, "recorded.html", name, **words)

    def source(self, path, place):
        """A source file."""
        try:
            lines = self.linked(path, place, self.read(path))
            self.add(place, "source.html", path, path=path, lines=lines)
        except UnicodeDecodeError:
            self.wrong.append(f"{path}: a note links to it, but it is no text")

    def linked(self, path, place, text):
        """A file's lines as HTML, each with a link where it includes a file of the tree."""
        lines = [*highlight.file_html(path, text)]
        for number, line in enumerate(text.splitlines()):
            match = INCLUDE.match(line)
            header = match and self.header(path, match[1])
            if header:
                quoted = f'"{html.escape(match[1], quote=False)}"'
                there = f'<a href="{self.to(place, header)}">{quoted}</a>'
                lines[number] = lines[number].replace(quoted, there)
        return lines

    def header(self, path, name):
        """Where an included file is in the tree, or None."""
        places = (f"common/{name}", f"emulator/include/{name}", beside(path, name))
        return next(filter(self.is_file, places), None)

    def folder(self, path, place):
        """A list of what is in a folder, folders first."""
        found = [one for one in (self.root / path).iterdir() if one.name not in HIDDEN]
        found.sort(key=lambda one: (not one.is_dir(), one.name))
        entries = [
            (one.name + "/" * one.is_dir(), self.to(place, f"{path}/{one.name}")) for one in found
        ]
        self.add(place, "folder.html", f"{path}/", path=path, entries=entries)

    def rung(self, rung, place):
        """A rung's page."""
        path, note = f"steps/{rung.path.name}", f"notes/rungs/{rung.name}.md"
        text = self.read(path)
        files = [
            (f"steps/{one.path.name}", one) for one in (self.rungs.get(rung.below), rung) if one
        ]
        diff = [(path, self.read(path)) for path, _ in files]
        found, said = measured.resources_of(rung)
        prose = self.prose(place, note) if self.is_file(note) else None
        self.add(
            place,
            "rung.html",
            prose.title if prose else f"{rung.name}: {rung.idea}",
            rung=rung,
            path=path,
            track=rungs.TRACKS[rung.name[0]],
            header=opening_of(text),
            prose=prose,
            ring=ring.moving(rung.name, text),
            diff=highlight.Diff(*diff) if rung.below else None,
            measured=measured.of_rung(self.library, rung),
            resources=found,
            resources_said=said,
            lines=self.linked(path, place, text),
        )

    def start(self, here):
        """The first page, which leads to all rungs, ideas, notes and results."""
        prose = self.prose(here, "README.md", self.read("README.md").partition("\n## ")[0])
        made = []
        for letter, name in rungs.TRACKS.items():
            body = self.prose(here, "README.md", self.track_text(letter)).html
            made.append((letter, f"The {name} track", body))
        self.ask_for("README.md")
        for rung in self.rungs.values():
            self.ask_for(f"steps/{rung.path.name}")
        notes = sorted(self.found("notes", "[!R]*.md"), key=lambda path: path not in READ_FIRST)
        notes = [self.ask_for(path) for path in notes]
        lists = [("Ideas", self.idea_places()), ("Notes", notes)]
        self.add(here, "start.html", prose.title, prose=prose, tables=made, lists=lists)

    def track_text(self, letter):
        """The Markdown of a track's results, as the README has it, and of its pictures."""
        text = tables.track(self.library, letter, steps=self.root / "steps")
        said, shown = {}, ""  # by the pages that show it
        for path in self.found("notes", "*.md"):
            said.update(PICTURE.findall(self.read(path)))
        for name in PICTURES_OF.get(letter, ()):
            if name in said and self.is_file(f"plots/{name}.png"):
                shown += f'\n\n<img src="plots/{name}.png" {said[name]}>'
        return shown if text == tables.NOTHING and shown else text + shown

    def idea_places(self):
        """The pages that are about an idea."""
        return [self.ask_for(path) for path in self.found("notes/ideas", "*.md")]

    def results(self, here):
        """What is recorded: a list, and a page for each file."""
        entries = []
        for path in self.found(RESULTS, "**/*"):
            if not path.endswith(RECORDED):
                continue
            runs = self.runs_of(path)
            words, date = measured.words_of(runs), max((run.date for run in runs), default="")
            name = path.removeprefix(f"{RESULTS}/")
            entries.append((name, words, date[:10], self.ask_for(path)))
        about = self.ask_for(f"{RESULTS}/README.md")
        self.add(here, "results.html", "Recorded results", entries=entries, about=about)

    # --- files --------------------------------------------------------------------------------

    def files(self):
        """Every file of the book: a map from its place to its bytes."""
        self.make()
        here = Path(__file__).parents[1]
        templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(here / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        templates.globals.update(tracks=rungs.TRACKS, rungs=self.rungs.values(), pages=self.pages)
        templates.globals["script"] = lambda name: (here / name).read_text(encoding="utf-8")
        made = {STYLE: (here / STYLE).read_bytes()}
        made.update((place, (self.root / path).read_bytes()) for place, path in self.copies.items())
        texts = {}
        for place, page in self.pages.items():
            previous, following = neighbours(place, [self.path_by(place), self.idea_places()])
            texts[place] = templates.get_template(page.template).render(
                page=page,
                to=lambda there, here=place: relative(here, there),
                at=lambda path, here=place: self.link_if(here, path),
                mentions=self.mentions(place),
                previous=previous,
                next=following,
                **page.words,
            )
        searched = [(page, texts[place]) for place, page in self.pages.items() if place != SEARCH]
        texts[INDEX] = search.index_of(searched)
        made.update((place, text.encode("utf-8")) for place, text in texts.items())
        return dict(sorted(made.items()))

    def path_by(self, place):
        """The rungs' pages on the learner's path, with the one there, which may be beside it."""
        places = {f"rungs/{name}.html": rung.aside for name, rung in self.rungs.items()}
        return [one for one, aside in places.items() if one == place or not aside]

    def link_if(self, here, path):
        """A link to a place in the tree whose page is there, or ''."""
        place = self.place(path) if path else None
        return relative(here, place) if place in self.pages or place in self.copies else ""

    def mentions(self, place):
        """The pages that link to this one, without lists of everything."""
        lists = ("index.html", "readme.html", "ideas/index.html", "notes/index.html")
        return sorted(self.links.get(place, set()) - {place, *lists})


def neighbours(place, rows):
    """The pages before and after the one there in its row, None of one that does not follow another."""
    for places in rows:
        around = [None, *places, None]
        if place in places:
            return around[places.index(place)], around[places.index(place) + 2]
    return None, None


def opening_of(text):
    """The paragraphs of a rung's opening comment after the first, which is its name and idea."""
    lines = text.splitlines()
    return paragraphs(lines[: changes.first_include(lines)])[1:]
