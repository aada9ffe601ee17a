"""The book: what pages there are, what stands on each, and where its links lead.

A place in the tree is a path from its root, with slashes: `notes/rungs/v07.md`. A place in the book
is one from the book's own root: `rungs/v07.html`. What has no place in the book is in the repository.
"""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote

import jinja2

from bench import rungs
from book.pages import highlight, ring
from book.pages.prose import Renderer

STYLE, SCRIPTS = "style.css", ("theme.js", "search.js", "ring.js")
SEARCH, INDEX = "search.html", "search-index.js"
PICTURES = (".png", ".jpg")
HIDDEN = {".git", "build", "__pycache__"}  # no part of the tree
PLACES = {  # of the tree that have a page of the book's own
    "README.md": "index.html",
    ".": "index.html",
    "notes/README.md": "notes/index.html",
    "notes": "notes/index.html",
    "steps": "rungs/index.html",
    "notes/rungs": "rungs/index.html",
    "notes/ideas": "ideas/index.html",
}
BAR = (  # above every page, where the tree has it
    ("notes/start-here.html", "Start"),
    ("notes/the-climb.html", "The climb"),
    ("rungs/index.html", "Rungs"),
    ("ideas/index.html", "Ideas"),
)
HOME_RING = "v04"  # whose ring the first page shows
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
LINKED = re.compile(r"\]\(([\w/.-]+\.md)\)")
QUOTE_END = "</blockquote>\n"
FIRST_PICTURE = re.compile(r'<a class="picture".*?</a>', re.DOTALL)


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
    """All pages and files of the book. `repository` is the address below which the tree's files are."""

    def __init__(self, root, repository):
        self.root, self.repository = Path(root), repository.rstrip("/")
        self.rungs = rungs.find(self.root / "steps")
        self.pages = {}  # place in the book: Page
        self.copies = {}  # place in the book: place in the tree
        self.wrong = set()
        self.anchors = cache(self.anchors)

    # --- the tree -----------------------------------------------------------------------------

    def exists(self, path):
        """Whether the tree has this file or folder."""
        inside = PurePosixPath(path).parts
        outside = path.startswith("/") or ".." in inside or HIDDEN.intersection(inside)
        return not outside and (self.root / path).exists()

    def place(self, path):
        """Where a file or a folder of the tree stands in the book; None if it has no page."""
        folder, name = posixpath.split(path)
        stem, kind = posixpath.splitext(name)
        if path in PLACES:
            return PLACES[path]
        if folder == "steps" and stem[:3] in self.rungs:
            return f"rungs/{stem[:3]}.html"
        if folder == "notes/rungs" and stem not in self.rungs:
            return None
        pages = ("notes", "notes/rungs", "notes/ideas")
        return (
            f"{posixpath.basename(folder)}/{stem}.html"
            if folder in pages and kind == ".md"
            else None
        )

    def read(self, path):
        """A file's text."""
        return (self.root / path).read_text(encoding="utf-8")

    def listed(self, folder):
        """The notes in a folder, in the order in which notes/README.md links to them."""
        linked = [
            beside("notes/README.md", link) for link in LINKED.findall(self.read("notes/README.md"))
        ]
        rank = {path: at for at, path in reversed([*enumerate(linked)])}
        found = sorted(
            path.relative_to(self.root).as_posix() for path in self.root.glob(f"{folder}/*.md")
        )
        found.sort(key=lambda path: rank.get(path, len(rank) + len(linked)))
        return [path for path in found if path not in PLACES]

    def anchors(self, path):
        """The anchors of a Markdown file."""
        tokens = Renderer(self, "", path).parse(self.read(path))
        return {token.attrs["id"] for token in tokens if token.type == "heading_open"}

    # --- links --------------------------------------------------------------------------------

    def complain(self, source, link, why):
        """Remembers a link that leads nowhere, by the lines that have it."""
        lines = enumerate(self.read(source).splitlines(), 1)
        numbers = [number for number, line in lines if link in unquote(line)] or [1]
        self.wrong.update(f"{source}:{number}: {why}" for number in numbers)
        return ""

    def link(self, here, source, link):
        """A link that stands in the file `source` and is shown at `here`, as one of the book."""
        path, hash_sign, anchor = link.partition("#")
        if EXTERNAL.match(link):
            return link
        path = beside(source, unquote(path)) if path else source
        if not self.exists(path):
            return self.complain(source, unquote(link), f"links to {link}: there is no {path}")
        if anchor and path.endswith(".md") and unquote(anchor) not in self.anchors(path):
            return self.complain(
                source, unquote(link), f"links to {link}: {path} has no such heading"
            )
        of_file = path.startswith("steps/") and (anchor or self.place(path) == here)
        there = self.there(here, path, None if of_file else self.place(path))
        return there + hash_sign + anchor

    def there(self, here, path, place=None):
        """A link to a place in the book, or else to what is in the repository."""
        return relative(here, place) if place else self.in_repository(here, path)

    def in_repository(self, here, path):
        """A link to a file in the repository. Without an address that is a path from the book's own
        folder to the tree."""
        own = EXTERNAL.match(self.repository)
        base = (
            self.repository
            if own
            else posixpath.relpath(self.repository, posixpath.dirname(here) or ".")
        )
        return f"{base}/{quote(path)}"

    def picture(self, here, source, link):
        """A picture's."""
        path = beside(source, unquote(link))
        if EXTERNAL.match(link) or not self.exists(path) or not path.endswith(PICTURES):
            return self.complain(source, unquote(link), f"there is no picture {link} in the tree")
        place = f"pictures/{path.removeprefix('plots/')}"
        self.copies[place] = path
        return relative(here, place)

    def named(self, here, text):
        """A link to a file that is named in code, or None."""
        path = text.rstrip("/")
        if "/" not in path or not re.fullmatch(r"[\w./-]+", text) or not self.exists(path):
            return None
        place = self.place(path)
        return self.there(here, path, place if place != here else None)

    def prose(self, here, source):
        """A Markdown file for the page at `here`."""
        return Renderer(self, here, source).render(self.read(source))

    # --- pages --------------------------------------------------------------------------------

    def add(self, place, template, title, **words):
        """A page."""
        self.pages[place] = Page(place, template, title, {"prose": None, "kind": "text", **words})

    def make(self):
        """Every page of the book."""
        prose = self.prose("index.html", "README.md")
        picture = FIRST_PICTURE.search(prose.html)
        before, after = (
            re.split(FIRST_PICTURE, prose.html, maxsplit=1) if picture else (prose.html, "")
        )
        moving = {"ring": self.ring(HOME_RING), "rung": self.rungs.get(HOME_RING)}
        moving |= {"before": before, "picture": picture and picture[0], "after": after}
        self.add("index.html", "home.html", prose.title, prose=prose, **moving, kind="front")
        for rung in self.rungs.values():
            self.rung(rung, f"rungs/{rung.name}.html")
        for path in ["notes/README.md", *self.listed("notes"), *self.listed("notes/ideas")]:
            prose = self.prose(self.place(path), path)
            self.add(self.place(path), "base.html", prose.title or path, prose=prose)
        self.add("rungs/index.html", "list.html", "Rungs", groups=self.tracks())
        ideas = [("", [(place, self.pages[place].title, lead) for place, lead in self.ideas()])]
        self.add("ideas/index.html", "list.html", "Ideas", groups=ideas)
        self.add(SEARCH, "search.html", "Search")
        if self.wrong:
            raise Broken("\n".join(sorted(self.wrong)))

    def ring(self, name):
        """What the moving ring of a rung shows; None if there is no trace of it."""
        rung = self.rungs.get(name)
        return rung and ring.moving(name, rung.path.read_text(encoding="utf-8"))

    def rung(self, rung, place):
        """A rung's page: the quoted lines with which its note begins, its diff, the rest."""
        path, note = f"steps/{rung.path.name}", f"notes/rungs/{rung.name}.md"
        prose = self.prose(place, note) if self.exists(note) else None
        html, quoted = prose.html if prose else "", ""
        if html.startswith("<blockquote>"):
            quoted, end, html = html.partition(QUOTE_END)
            quoted += end
        below = self.rungs.get(rung.below)
        old = below.path.read_text(encoding="utf-8") if below else ""
        self.add(
            place,
            "rung.html",
            prose.title if prose else f"{rung.name}: {rung.idea}",
            rung=rung,
            file=self.in_repository(place, path),
            track=rungs.TRACKS[rung.name[0]],
            prose=prose,
            quoted=quoted,
            rest=html,
            ring=self.ring(rung.name),
            diff=highlight.Diff(old, self.read(path)),
        )

    def tracks(self):
        """[(a track's name, [(place, name and idea, why the learner's path leaves it out)])]"""
        found = {}
        for name, rung in self.rungs.items():
            entry = (f"rungs/{name}.html", f"{name}: {rung.idea}", rung.aside)
            found.setdefault(rungs.TRACKS[name[0]], []).append(entry)
        return list(found.items())

    def ideas(self):
        """(place, first sentence) of the pages that are about an idea."""
        places = map(self.place, self.listed("notes/ideas"))
        return [(place, self.pages[place].words["prose"].lead) for place in places]

    def groups(self):
        """The list at the left: rungs by track, ideas, notes."""
        found = self.tracks()
        for name, folder in (("Ideas", "notes/ideas"), ("Notes", "notes")):
            places = map(self.place, self.listed(folder))
            found.append((name, [(place, self.pages[place].title, "") for place in places]))
        return found

    # --- files --------------------------------------------------------------------------------

    def files(self):
        """Every file of the book: a map from its place to its bytes."""
        self.make()
        here = Path(__file__).parents[1]
        loader = jinja2.FileSystemLoader(here / "templates")
        templates = jinja2.Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        bar = [(place, words) for place, words in BAR if place in self.pages]
        templates.globals.update(groups_of_all=self.groups(), pages=self.pages, bar=bar)
        made = {name: (here / name).read_bytes() for name in (STYLE, *SCRIPTS)}
        made.update((place, (self.root / path).read_bytes()) for place, path in self.copies.items())
        made[INDEX] = self.index().encode("utf-8")
        rows = self.path(), [place for place, _ in self.ideas()]
        for place, page in self.pages.items():
            around = [None, *next((row for row in rows if place in row), [place]), None]
            at = around.index(place)
            text = templates.get_template(page.template).render(
                page=page,
                to=lambda there, here=place: relative(here, there),
                previous=around[at - 1],
                next=around[at + 1],
                **page.words,
            )
            made[place] = text.encode("utf-8")
        return dict(sorted(made.items()))

    def path(self):
        """The pages of the learner's path."""
        return [f"rungs/{name}.html" for name, rung in self.rungs.items() if not rung.aside]

    def index(self):
        """What the search looks through, as a script that a page loads from beside it: of each page its
        place, title and first sentence, and of its headings anchor, words and first sentence."""
        found = []
        for place, page in self.pages.items():
            prose = page.words["prose"]
            if place != SEARCH:
                parts = [prose.lead, prose.tops] if prose else ["", []]
                found.append([place, page.title, *parts])
        said = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return f"const PAGES = {said};\n"
