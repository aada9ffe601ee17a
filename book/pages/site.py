"""The book: what pages there are, what stands on each, and where its links lead."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

import jinja2

from bench.records import recorded
from book.pages import changes, highlight, measured, tree
from book.pages.prose import Renderer, paragraphs
from notes.tools import readme_table

TRACKS = {"v": "Hopper", "a": "Ampere", "t": "TMA"}
STYLE = "style.css"
TOO_LONG = 100_000  # characters of a source that is shown without colours
LINE_ANCHOR = re.compile(r"L[0-9]+")
EXTERNAL = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
INCLUDE = re.compile(r'#include "([^"]+)"')
RESULTS_FIRST = ("ladder", "share-and-clock", "roofline", "sizes", "sustained")  # pictures


class Broken(Exception):
    """Notes that cannot be made a book of: one line for each thing that is wrong."""


@dataclass
class Page:
    """One page: where it stands in the book, and what its template wants."""

    place: str
    template: str
    title: str
    words: dict = field(default_factory=dict)


class Site:
    """All pages and files of the book."""

    def __init__(self, root):
        self.tree = tree.Tree(root)
        self.pages = {}  # place in the book: Page
        self.copies = {}  # place in the book: place in the tree
        self.waiting = []  # places in the tree that a link leads to
        self.seen = set()
        self.links = {}  # place in the book: pages that link there
        self.wrong = []

    # --- links --------------------------------------------------------------------------------

    def ask_for(self, path):
        """Where a file or folder stands in the book, which will have it; None if there is none."""
        place = self.tree.place(path)
        if place and path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)
        return place

    def link(self, here, source, link):
        """A link that stands in the file `source` and is shown at `here`, as one of the book."""
        if EXTERNAL.match(link) or link.startswith("//"):
            return link
        path, _, anchor = link.partition("#")
        if not path:
            return f"#{anchor}"
        path = tree.join(str(PurePosixPath(source).parent), unquote(path))
        place = self.ask_for(path)
        if place is None:
            self.wrong.append(f"{source}: links to {link}: there is no {path}")
            return ""
        self.links.setdefault(place, set()).add(here)
        lines = re.match(LINE_ANCHOR, anchor)
        anchor = lines[0] if lines else anchor
        return quote(tree.relative(here, place)) + (f"#{anchor}" if anchor else "")

    def to(self, here, path):
        """A link of the book's own to a file or folder of the tree."""
        return quote(tree.relative(here, self.ask_for(path)))

    def picture(self, here, source, link):
        """A picture's; the SVG where there is one, which is sharp at every size."""
        if EXTERNAL.match(link) or link.startswith("//"):
            self.wrong.append(f"{source}: the picture {link} is not in the tree")
            return ""
        path = tree.join(str(PurePosixPath(source).parent), unquote(link))
        sharp = str(PurePosixPath(path).with_suffix(".svg"))
        path = sharp if self.tree.is_file(sharp) else path
        if not self.tree.is_file(path) or not path.endswith(tree.PICTURES):
            self.wrong.append(f"{source}: there is no picture {link}")
            return ""
        return self.to(here, path)

    def named(self, here, text):
        """A link to a file that is named in code, or None."""
        known = "/" in text.strip("/") and re.fullmatch(r"[\w./-]+", text)
        path = text.rstrip("/")
        if not known or not (self.tree.is_file(path) or self.tree.is_folder(path)):
            return None
        return self.to(here, path)

    def renderer(self, here, source):
        """What makes HTML of the Markdown in the file `source` for the page at `here`."""
        return Renderer(
            lambda link: self.link(here, source, link),
            lambda link: self.picture(here, source, link),
            lambda text: self.named(here, text),
        )

    def prose(self, here, source):
        """The Markdown file `source` for the page at `here`."""
        return self.renderer(here, source).render(self.tree.read(source))

    def title_of(self, source):
        """The title of a Markdown file, and its first paragraph."""
        prose = Renderer(str, str, lambda text: None).render(self.tree.read(source))
        return prose.title or PurePosixPath(source).stem, prose.lead

    # --- pages --------------------------------------------------------------------------------

    def add(self, place, template, title, **words):
        """A page."""
        self.pages[place] = Page(place, template, title, words)

    def make(self):
        """Every page of the book, and every page that one of them links to."""
        self.seen.update((".", "notes/ideas", "notes/rungs", "steps", tree.RESULTS, "notes"))
        for rung in self.tree.rungs.values():
            self.seen.add(rung.path)
            self.rung(rung)
        ideas = self.ideas()
        self.start(ideas)
        for path in [*self.tree.files("notes", "*.md"), *self.tree.files("notes/rungs", "*.md")]:
            self.ask_for(path)
        self.results()
        while self.waiting:
            self.page_of(self.waiting.pop(0))
        if self.wrong:
            raise Broken("\n".join(sorted(set(self.wrong))))

    def page_of(self, path):
        """The page, or the copy, of a place in the tree."""
        place = self.tree.place(path)
        if place in self.pages or place in self.copies:
            return
        if self.tree.is_folder(path):
            self.folder(path, place)
        elif path.endswith(tree.PICTURES) or place == f"results/{tree_name(path)}":
            self.copies[place] = path
        elif path.startswith(tree.RESULTS) and path.endswith(".json"):
            self.recorded(path, place)
        elif path.endswith(".md"):
            self.markdown(path, place)
        else:
            self.source(path, place)

    def markdown(self, path, place):
        """A note, or another Markdown file."""
        prose = self.prose(place, path)
        self.add(place, "prose.html", prose.title or path, prose=prose, path=path)

    def source(self, path, place):
        """A source file."""
        text = self.tree.read(path)
        if text is None:
            self.wrong.append(f"{path}: a note links to it, but it is no text")
            return
        self.add(place, "source.html", path, path=path, lines=self.linked(path, place, text))

    def linked(self, path, place, text):
        """A file's lines as HTML, each with a link where it includes a file of the tree."""
        if len(text) > TOO_LONG:
            lines = [html.escape(line, quote=False) for line in text.splitlines()]
        else:
            lines = [highlight.line_html(line) for line in highlight.file_lines(path, text)]
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
        beside = tree.join(str(PurePosixPath(path).parent), name)
        return next(filter(self.tree.is_file, (f"common/{name}", beside)), None)

    def folder(self, path, place):
        """A list of what is in a folder."""
        entries = [
            (name + "/" * is_folder, self.to(place, f"{path}/{name}"))
            for name, is_folder in self.tree.entries(path)
        ]
        self.add(place, "folder.html", f"{path}/", path=path, entries=entries)

    # --- rungs --------------------------------------------------------------------------------

    def rung(self, rung):
        """A rung's page."""
        place, text = rung.page, self.tree.read(rung.path)
        lines = text.splitlines()
        prose = self.prose(place, rung.note) if self.tree.is_file(rung.note) else None
        self.seen.add(rung.note)
        table, said = measured.resources_of(rung)
        self.add(
            place,
            "rung.html",
            rung.title,
            rung=rung,
            track=TRACKS[rung.name[0]],
            header=opening_of(lines, rung.name),
            prose=prose,
            diff=Diff(self.tree, rung.below.path, rung.path) if rung.below else None,
            times=measured.times(rung),
            counts=measured.counts(rung),
            emulated=measured.emulated(rung),
            experiments=measured.experiments(rung),
            resources=table,
            resources_said=said,
            lines=self.linked(rung.path, place, text),
            **neighbours([(one.page, one.title) for one in self.tree.rungs.values()], place),
        )

    # --- pages of their own -------------------------------------------------------------------

    def start(self, ideas):
        """The first page. `ideas` are the pages about one: (title, first paragraph, place)."""
        readme, here = "README.md", "index.html"
        renderer = self.renderer(here, readme)
        lead = self.tree.read(readme).partition("\n## ")[0]
        tables = []
        for letter, name in TRACKS.items():
            body = renderer.render(self.track_text(letter)).html
            rungs = [rung for rung in self.tree.rungs.values() if rung.name[0] == letter]
            tables.append((letter, f"The {name} track", body, rungs))
        self.ask_for(readme)
        prose = renderer.render(lead)
        notes = [
            (*self.title_of(path), self.tree.place(path))
            for path in self.tree.files("notes", "*.md")
            if path != "notes/README.md"
        ]
        lists = [("Ideas", ideas), ("Notes", notes)]
        self.add(here, "start.html", prose.title, prose=prose, tables=tables, lists=lists)

    def track_text(self, letter):
        """The Markdown of a track's results, as the README has it, and of its pictures."""
        steps = self.tree.root / "steps"
        if letter != "v":
            picture = f"plots/ladder-{letter}.svg"
            text = readme_table.track_block(steps, letter)
            words = f"\n\n![The {TRACKS[letter]} track beside what it is compared with]({picture})"
            return text + (words if self.tree.is_file(picture) else "")
        path = recorded.newest_headline()
        text = readme_table.block(recorded.load_rungs(path) if path else None, steps)
        for name in RESULTS_FIRST[1:]:
            if self.tree.is_file(f"plots/{name}.svg"):
                text += f"\n\n![{name.replace('-', ' ').capitalize()}](plots/{name}.svg)"
        return text

    def ideas(self):
        """A page per idea, and the list of them: (title, first paragraph, place)."""
        contents = "notes/ideas/README.md"
        paths = [path for path in self.tree.files("notes/ideas", "*.md") if path != contents]
        paths = in_order(paths, self.tree.read(contents) if self.tree.is_file(contents) else "")
        places = [self.tree.place(path) for path in paths]
        titles = [self.title_of(path) for path in paths]
        named = [(place, title) for place, (title, _) in zip(places, titles)]
        for path, (place, title) in zip(paths, named):
            self.seen.add(path)
            words = {"prose": self.prose(place, path), "path": path, "idea": True}
            self.add(place, "prose.html", title, **words, **neighbours(named, place))
        here = "ideas/index.html"
        prose = self.prose(here, contents) if self.tree.is_file(contents) else None
        entries = [(title, lead, place) for (title, lead), place in zip(titles, places)]
        self.add(here, "ideas.html", "Ideas", prose=prose, entries=entries)
        self.seen.add(contents)
        return entries

    def results(self):
        """What is recorded: a list, and a page for each file."""
        entries = []
        for path in self.tree.files(tree.RESULTS, "**/*"):
            if not path.endswith(tree.RECORDED):
                continue
            place = self.ask_for(path)
            words, date = "", ""
            if path.endswith(".json"):
                record = recorded.parse(self.tree.read(path))
                words, date = measured.record_of(self.tree.root / path)[0], record.get("date", "")
            name = str(PurePosixPath(path).relative_to(tree.RESULTS))
            entries.append((name, words, date[:10], place))
        about = f"{tree.RESULTS}/README.md"
        place = self.ask_for(about) if self.tree.is_file(about) else None
        self.add(
            "results/index.html", "results.html", "Recorded results", entries=entries, about=place
        )

    def recorded(self, path, place):
        """One recorded file."""
        raw = f"results/{tree_name(path)}"
        self.copies[raw] = path
        words, tables = measured.record_of(self.tree.root / path)
        name = str(PurePosixPath(path).relative_to(tree.RESULTS))
        self.add(place, "recorded.html", name, said=words, tables=tables, raw=raw, path=path)

    # --- files --------------------------------------------------------------------------------

    def files(self):
        """Every file of the book: a map from its place to its bytes."""
        here = self.tree.root / "book"
        templates = jinja2.Environment(
            loader=jinja2.FileSystemLoader(here / "templates"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        templates.globals.update(tracks=TRACKS, rungs=list(self.tree.rungs.values()))
        made = {STYLE: (here / STYLE).read_bytes()}
        made.update((place, self.tree.bytes_of(path)) for place, path in self.copies.items())
        for place, page in self.pages.items():
            text = templates.get_template(page.template).render(
                page=page,
                to=lambda there, here=place: quote(tree.relative(here, there)),
                at=lambda path, here=place: self.link_if(here, path),
                mentions=self.mentions(place),
                **{"previous": None, "next": None, "prose": None, "idea": False, **page.words},
            )
            made[place] = text.encode("utf-8")
        return dict(sorted(made.items()))

    def link_if(self, here, path):
        """A link to a place in the tree whose page is there, or ''."""
        place = path and self.tree.place(path)
        known = place in self.pages or place in self.copies
        return quote(tree.relative(here, place)) if known else ""

    def mentions(self, place):
        """(place, title) of the pages that link to this one, without lists of everything."""
        lists = ("index.html", "readme.html", "ideas/index.html", "notes/index.html")
        pages = sorted(self.links.get(place, set()) - {place, *lists})
        return [(there, self.pages[there].title) for there in pages]


class Diff:
    """Two files side by side, as the template wants them. The opening comments are left out: the
    page shows the rung's own."""

    def __init__(self, files, *paths):
        texts = [files.read(path) for path in paths]
        self.lines = [highlight.file_lines(*one) for one in zip(paths, texts)]
        lines = [text.splitlines() for text in texts]
        self.blocks = changes.compare(*lines, *map(first_include, lines))
        self.changed = changes.changed_lines(self.blocks)

    def cells(self, block, side):
        """(row, number, HTML) of every line on that side of a block: 0 is the old one."""
        marks = (block.old_marks, block.new_marks)[side]
        tag = ("del", "ins")[side]
        found = []
        for number, row in enumerate(block.rows, 1):
            if row[side] is not None:
                line = self.lines[side][row[side]]
                text = highlight.line_html(line, marks.get(row[side]), tag)
                found.append((number, row[side] + 1, text))
        return found


def neighbours(pages, place):
    """The pages, (place, title) in their order, before and after the one there."""
    at = [there for there, _ in pages].index(place)
    before, after = pages[max(at - 1, 0) : at], pages[at + 1 : at + 2]
    return {"previous": before[0] if before else None, "next": after[0] if after else None}


def first_include(lines):
    """The number of the line with which a rung's code begins."""
    return next((i for i, line in enumerate(lines) if line.startswith("#include")), 0)


def opening_of(lines, name):
    """The paragraphs of a rung's opening comment, without its name."""
    words = paragraphs(lines[: first_include(lines)])
    return [words[0].removeprefix(f"{name}: "), *words[1:]] if words else []


def in_order(paths, contents):
    """The paths in the order in which a table of contents names them, the others behind."""
    places = {path: contents.find(f"({PurePosixPath(path).name}") for path in paths}
    return sorted(paths, key=lambda path: (places[path] < 0, places[path], path))


def tree_name(path):
    """A recorded file's name below bench/results."""
    path = PurePosixPath(path)
    return str(path.relative_to(tree.RESULTS)) if path.is_relative_to(tree.RESULTS) else ""
