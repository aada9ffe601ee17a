#!/usr/bin/env python3
"""Tests of the book (`make book`): what stands on its pages, its links, and how a browser shows it.

Runs in build/venv, where make puts the libraries of book/requirements.txt. The last cases need a
Chromium; without one they are skipped. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
VOID = {"meta", "link", "img", "br", "hr"}
WORD = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.]")
DESKTOP, PHONE = 1440, 390  # pixels

from tools import browser as browsers
from tools import pictures
from tools.fake_rungs import House
from tools.pictures import require, same

from bench import rungs as rungs_today
from bench.records import recorded

# What a page says of itself. A picture that is not there has no width. `sides` says how the first
# change with lines on both sides shows them; `over` how many lines cover the one before them, where
# they are stacked.
LOOK = """(() => {
  const box = one => one.getBoundingClientRect();
  const shown = one => box(one).width && box(one).height;
  const clear = one => getComputedStyle(one).backgroundColor === "rgba(0, 0, 0, 0)";
  const place = (old, fresh) => old.right <= fresh.left + 1 ? "beside"
    : old.bottom <= fresh.top + 1 && old.left === fresh.left ? "stacked" : "neither";
  const all = (what, where) => where ? [...where.querySelectorAll(what)] : [];
  const diff = document.querySelector(".sides");
  const marks = all("del, ins", diff);
  const lines = all(".change code", diff);
  const both = all(".change", diff).find(
    one => one.querySelector(".old") && one.querySelector(".new"));
  return {
    width: document.documentElement.scrollWidth,
    pictures: [...document.images].filter(one => !one.naturalWidth).map(one => one.src),
    diff: !!diff && !!shown(diff),
    hidden: lines.filter(one => !shown(one)).length,
    marks: marks.length,
    unmarked: marks.filter(one => !shown(one) || clear(one)).length,
    sides: both ? place(box(both.querySelector(".old")), box(both.querySelector(".new"))) : "",
    over: lines.filter((one, i) => i && box(one).top < box(lines[i - 1]).bottom - 1).length,
  };
})()"""


def run(*arguments, root=ROOT, **environment):
    """Runs the program and returns its result with captured text."""
    command = [sys.executable, "-m", "book.make_book", *map(str, arguments)]
    environment = {**os.environ, **environment}
    return subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=300, env=environment, cwd=root
    )


def none_of(problems):
    """An AssertionError with the first few problems."""
    more = f" and {len(problems) - 5} more" if len(problems) > 5 else ""
    require(not problems, "; ".join(problems[:5]) + more)


@functools.cache
def book():
    """The book of this tree, made once: (what holds the folder, the folder)."""
    holder = tempfile.TemporaryDirectory()
    folder = Path(holder.name).resolve() / "book"
    result = run("--out", folder)
    same((result.returncode, result.stderr), (0, ""))
    return holder, folder


def files_of(folder):
    """All files below a folder, by their places in it."""
    return {
        path.relative_to(folder).as_posix(): path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Page(HTMLParser):
    """What the tests want to know of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads, self.wrong = [], [], [], []
        self.sides = {"old": [], "new": []}  # of the diff: [number, text, text without marks]
        self.source = []  # the lines of the listing
        self.has_comment, self.metas, self.text = False, [], []
        self.open, self.line, self.marked, self.listing = [], None, 0, None
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        self.wrong += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [known["id"]] if "id" in known else []
        self.links += [known["href"]] if tag == "a" else []
        self.loads += [known["src"]] if "src" in known else []
        self.loads += [known["href"]] if tag == "link" else []
        if tag in ("script", "iframe", "object", "form"):
            self.wrong.append(f"it has a <{tag}>")
        if tag == "img" and not known.get("alt"):
            self.wrong.append(f"the picture {known.get('src')} has no words")
        self.metas += [known.get("name")] if tag == "meta" else []
        self.marked += tag in ("del", "ins")
        if tag == "code" and known.get("class") in self.sides:
            self.line = [int(known["data-n"]), "", ""]
            self.sides[known["class"]].append(self.line)
        self.listing = "" if known.get("class") == "source" else self.listing

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> closes something else")
        self.marked -= tag in ("del", "ins")
        self.line = None if tag == "code" else self.line
        if tag == "pre" and self.listing is not None:
            self.source, self.listing = self.listing, None

    def handle_data(self, data):
        self.text.append(data)
        if self.line is not None:
            self.line[1] += data
            self.line[2] += " " if self.marked else data
        if self.listing is not None:
            self.listing += data

    def handle_comment(self, data):
        self.has_comment = True


@functools.cache
def page(path):
    """A parsed page."""
    return Page(path)


def link_problems(folder):
    """What is wrong with the links of all pages in a folder, and with the pages themselves."""
    files, problems = files_of(folder), []
    pages = {path: page(path) for place, path in files.items() if place.endswith(".html")}
    for path, one in pages.items():
        name = path.relative_to(folder).as_posix()
        problems += [f"{name}: {why}" for why in one.wrong]
        twice = sorted({anchor for anchor in one.ids if one.ids.count(anchor) > 1})
        problems += [f"{name}: #{anchor} stands there twice" for anchor in twice]
        problems += [f"{name}: a comment is left" for _ in range(one.has_comment)]
        for link in one.loads:
            if urlsplit(link).scheme not in ("", "data"):
                problems.append(f"{name}: it loads {link}")
        for link in [*one.links, *one.loads]:
            why = link_problem(path, link, pages, folder)
            problems += [f"{name}: {link}: {why}"] if why else []
    return problems


def link_problem(path, link, pages, folder):
    """Why a link on the page at `path` leads nowhere; '' if it leads somewhere."""
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto", "data"):
        return ""
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file() or not there.is_relative_to(folder):
        return "no such file"
    if parts.fragment and unquote(parts.fragment) not in pages[there].ids:
        return "no such anchor"
    return ""


# --- what stands on the pages -----------------------------------------------------------------


def rungs():
    """(name, source, source of the rung it grows from or None) of every rung in steps/."""
    found = rungs_today.find(ROOT / "steps")
    require(found, "steps/ is empty")
    return [
        (name, rung.path, found[rung.below].path if rung.below else None)
        for name, rung in found.items()
    ]


def rung_page(name):
    """A rung's page, parsed."""
    return page(book()[1] / "rungs" / f"{name}.html")


def test_same_twice(folder):
    """The same tree gives the same book, byte for byte."""
    other = Path(folder) / "book"
    settings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    same(run("--out", other, **settings).returncode, 0)
    first, second = files_of(book()[1]), files_of(other)
    same(sorted(first), sorted(second))
    none_of([place for place in first if first[place].read_bytes() != second[place].read_bytes()])


def test_pages(_):
    """Every rung, idea and note has its page, and the first page leads to it."""
    folder = book()[1]
    wanted = [f"rungs/{name}.html" for name, _, _ in rungs()]
    wanted += [f"ideas/{path.stem}.html" for path in (ROOT / "notes" / "ideas").glob("[!R]*.md")]
    wanted += [f"notes/{path.stem}.html" for path in (ROOT / "notes").glob("[!R]*.md")]
    none_of([f"there is no {place}" for place in wanted if not (folder / place).is_file()])
    links = {link.partition("#")[0] for link in page(folder / "index.html").links}
    none_of([f"index.html does not lead to {place}" for place in wanted if place not in links])


def test_links(_):
    """Every link and anchor leads somewhere, and nothing is loaded from elsewhere."""
    none_of(link_problems(book()[1]))
    pages = [path for place, path in files_of(book()[1]).items() if place.endswith(".html")]
    none_of([f"{path.name}: no viewport" for path in pages if "viewport" not in page(path).metas])
    style = (book()[1] / "style.css").read_text(encoding="utf-8")
    require("url(" not in style and "@import" not in style, "style.css loads something")


def test_diffs(_):
    """A rung's page has its whole source, and its diff both; unmarked words are on both sides."""
    for name, path, below in rungs():
        same((name, rung_page(name).source), (name, path.read_text(encoding="utf-8")))
        sides = rung_page(name).sides
        if below is None:
            same((name, sides), (name, {"old": [], "new": []}))
            continue
        for side, source in (("old", below), ("new", path)):
            lines = source.read_text(encoding="utf-8").splitlines()
            first = next(i for i, line in enumerate(lines) if line.startswith("#include"))
            shown = [(number, text) for number, text, _ in sides[side]]
            same((name, shown), (name, list(enumerate(lines, 1))[first:]))
        kept = [WORD.findall("\n".join(line[2] for line in sides[side])) for side in sides]
        require(kept[0] == kept[1], f"{name}: the unmarked words of both sides differ")
        marked = [any(text != rest for _, text, rest in sides[side]) for side in sides]
        require(any(marked), f"{name}: no word is marked")


def test_marks(_):
    """The words that changed are marked, and no others."""
    cases = (
        ("int a = 1;", "int a = 2;", "1", "2"),
        ("f(a, b);", "f(a, c, b);", "", "c,"),
        ("    x();", "x();", "", ""),
        ("a b c\nd e f", "a b\nc d e f", "", ""),
        ("same", "same\nadded line", "", "added line"),
        ('.name = "v09",', '.name = "v10",', "v09", "v10"),
        ("x = f(a);", "if (b) g(c, d);", "x = f(a);", "if (b) g(c, d);"),
    )
    from book.pages import changes

    for old, new, gone, come in cases:
        blocks = changes.compare(old.splitlines(), new.splitlines())
        found = [
            " ".join(
                text.splitlines()[line][begin:end]
                for block in blocks
                for line, places in getattr(block, marks).items()
                for begin, end in places
            )
            for text, marks in ((old, "old_marks"), (new, "new_marks"))
        ]
        same((old, new, *found), (old, new, gone, come))


def test_results(_):
    """The recorded times of every rung stand on its page and on the first one."""
    ladder = recorded.load_ladder(recorded.newest_headline())
    for rung in recorded.measured(ladder):
        rate = rung["timing"]["step"]["tflops"]
        for one, wanted in (
            (page(book()[1] / "index.html"), recorded.plus_minus(rate, 0)),
            (rung_page(rung["step"]), recorded.spread(rate, 1)),
        ):
            require(wanted in "".join(one.text), f"{rung['step']}: {wanted} isn't there")


# --- a small tree -----------------------------------------------------------------------------

NOTE = """# v02: <!--=a-->two<!--/--> & more

<!-- results:begin -->
| a | b |
| --- | ---: |
| <!--=v02.tflops - 1-->775<!--/--> | *x* |
<!-- results:end -->

<!--=z-->12<!--/--> *begins* a line; see [the idea](../ideas/banks.md#the-second-part),
[v01](../../steps/v01_first.cu), [its code](../../steps/v01_first.cu#L2), `steps/v02_second.cu` and `<!-- kept -->`.

<img src="../../plots/ideas/some%20banks.png" width="900" alt="Banks & more">

```
<!-- kept as well -->
```
"""
SMALL = {
    "README.md": "# small\n\nA small book.\n\n<!-- results:begin -->\n<!-- results:end -->\n",
    "steps/v01_first.cu": '// v01: first.\n//\n// It <is> so.\n#include "step.h"\n'
    'int a;\n    .idea = "the first & only",\n',
    "steps/v02_second.cu": '// v02: second.\n#include "step.h"\nint a, b;\n    .idea = "the second",\n',
    "common/step.h": "int step;\n",
    "notes/README.md": "# Notes\n\nNone.\n",
    "notes/rungs/v02.md": NOTE,
    "notes/ideas/banks.md": "# Banks\n\nThirty-two.\n\n## The second *part*\n\nEnd.\n",
    "plots/ideas/some banks.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    "plots/ideas/some banks.png": "",
}


def small_tree(folder, **changed):
    """A tree with two rungs and nothing recorded; returns its root."""
    root = Path(folder) / "tree"
    ignore = shutil.ignore_patterns("__pycache__", "results")
    for part in ("book", "bench"):
        shutil.copytree(ROOT / part, root / part, ignore=ignore)
    for place, text in {**SMALL, **changed}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
    return root


def test_small(folder):
    """Comments vanish, links and pictures become the book's, and nothing recorded is said so."""
    root = small_tree(folder)
    result = run(root=root)
    same((result.returncode, result.stderr), (0, ""))
    out = root / "build" / "book"
    none_of(link_problems(out))
    text = (out / "rungs" / "v02.html").read_text(encoding="utf-8")
    for words in (
        "v02: two &amp; more",
        "<td>775</td>",
        "12 <em>begins</em> a line",
        'href="../ideas/banks.html#the-second-part"',
        'href="v01.html"',
        'href="v01.html#L2"',
        'href="v02.html"><code>steps/v02_second.cu</code>',
        "<code>&lt;!-- kept --&gt;</code>",
        "&lt;!-- kept as well --&gt;",
        'src="../pictures/ideas/some%20banks.svg" alt="Banks &amp; more"',
        '<span class="t">int</span> a<ins>, b</ins>;</code>',
        'href="../source/common/step.h.html"',
        "No finished run of this rung is recorded yet.",
        "Not recorded yet: python3 -m bench.resources",
    ):
        require(words in text, f"{words!r} isn't in rungs/v02.html")
    first = (out / "rungs" / "v01.html").read_text(encoding="utf-8")
    for words in ("It &lt;is&gt; so.", "the first &amp; only", "No note is written"):
        require(words in first, f"{words!r} isn't in rungs/v01.html")
    start = (out / "index.html").read_text(encoding="utf-8")
    require("No run is recorded yet." in start, "the first page says nothing of what is missing")
    require("small" in start and "Banks" in start, "the first page lacks its title or an idea")


def test_live(folder):
    """HTML in a note or a record is text, but for pictures."""
    live = '<script>x</script> <b onclick="x">b</b> <a href="javascript:x">c</a> [d](javascript:x)'
    note = f"# v01\n\n{live}\n\n<div>\n{live} e < f\n</div>\n\n<script>\nx < y\n"
    root = small_tree(folder, **{"notes/rungs/v01.md": note, "plots/ladder.png": ""})
    house = House(tempfile.mkdtemp(dir=folder), v01={"idea": live}, v02={})
    results = root / "bench" / "results"
    results.mkdir()
    house.ladder("--size", "8192", "--passes", "1", "--out", str(results / "live.json"))
    result = run(root=root)
    same((result.returncode, result.stderr), (0, ""))
    none_of(link_problems(root / "build" / "book"))
    for place, count in (("rungs/v01.html", 3), ("index.html", 1), ("results/live.html", 1)):
        text = (root / "build" / "book" / place).read_text(encoding="utf-8")
        same((place, text.count("&lt;script&gt;")), (place, count))
        require("<b onclick" not in text, text)
        require("x &lt; y" in text or place != "rungs/v01.html", text)


def test_refuses(folder):
    """What a note links to must be there: exit 1, one line each, and the old book stays."""
    dead = (
        "[a](gone.md) ![b](../../plots/gone.png) ![c](https://example.org/c.png) [d](/etc/passwd)"
    )
    root = small_tree(folder)
    same(run(root=root).returncode, 0)
    before = {place: path.read_bytes() for place, path in files_of(root / "build/book").items()}
    (root / "notes/rungs/v01.md").write_text(f"# v01\n\n{dead} [e](../../../../etc)\n")
    result = run(root=root)
    same((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 5))
    for words in ("gone.md", "plots/gone.png", "example.org/c.png", "/etc/passwd", "../../etc"):
        require(f"{words}" in result.stderr, f"{words} isn't in {result.stderr}")
    require(result.stderr.startswith("book: notes/rungs/v01.md: "), result.stderr)
    same(
        {place: path.read_bytes() for place, path in files_of(root / "build/book").items()}, before
    )
    other = Path(folder) / "other"
    other.mkdir()
    (other / "mine").write_text("precious")
    result = run("--out", other, root=root)
    same((result.returncode, result.stderr.count("\n")), (2, 1))
    same((other / "mine").read_text(), "precious")


# --- in a browser -----------------------------------------------------------------------------


def page_problems(browser, folder, path, wants_diff):
    """What is wrong with a page as the browser shows it, on a desktop and on a phone."""
    browser.resize(DESKTOP)
    browser.open(path.as_uri())
    problems = [f"it asked for {url}" for url in browser.requests() if not inside(url, folder)]
    for width in (DESKTOP, PHONE):
        browser.resize(width)
        problems += [f"{width} wide: {why}" for why in look_problems(browser, width, wants_diff)]
    return [*problems, *browser.complaints()]


def inside(url, folder):
    """True for a file of the book."""
    return url.startswith(f"{folder.as_uri()}/")


def look_problems(browser, width, wants_diff):
    """What is wrong with what the window shows now."""
    look = browser.evaluate(LOOK)
    problems = [f"it does not show {url}" for url in look["pictures"]]
    if look["width"] > width:
        problems.append(f"it is {look['width']} wide")
    if not wants_diff:
        return problems
    if not look["diff"]:
        return [*problems, "its diff is not shown"]
    if look["hidden"] or look["unmarked"] or not look["marks"]:
        problems.append(
            f"{look['hidden']} changed lines are not shown, {look['unmarked']} of {look['marks']} "
            "changed words not marked"
        )
    wanted = "stacked" if width == PHONE else "beside"
    if look["sides"] not in ("", wanted):
        problems.append(f"old and new lines should be {wanted}, and are {look['sides']}")
    if look["over"] and width == PHONE:
        problems.append(f"{look['over']} lines cover the one above them")
    return problems


def test_browser(_):
    """In a browser, on a desktop and on a phone: every page is whole, every diff is shown."""
    folder, problems = book()[1], []
    diffs = {f"rungs/{name}.html" for name, _, below in rungs() if below}
    with browsers.Browser() as browser:
        for place, path in files_of(folder).items():
            if place.endswith(".html"):
                found = page_problems(browser, folder, path, place in diffs)
                problems += [f"{place}: {why}" for why in found]
    none_of(problems)


def test_beside(folder):
    """In a wide window a rung's note stands beside its diff, in a narrow one above it."""
    root = small_tree(folder)
    same(run(root=root).returncode, 0)
    box = "document.querySelector('{}').getBoundingClientRect().{}"
    with browsers.Browser() as browser:
        browser.open((root / "build/book/rungs/v02.html").as_uri())
        for width, beside in ((1920, True), (DESKTOP, False), (PHONE, False)):
            browser.resize(width)
            right = browser.evaluate(box.format(".note", "right"))
            left = browser.evaluate(box.format(".diff", "left"))
            same((width, right <= left), (width, beside))


def test_finds_faults(folder):
    """The check in the browser finds what is planted."""
    cell = '<code class="old">a <del>b</del></code><code class="new">a <ins>c</ins></code>'
    hunk = f'<div class="sides"><div class="hunk change">{cell}</div></div>'
    style = "<style>del{background:red} ins{background:none}</style>"
    planted = {
        "<script>console.error('told')</script>": "told",
        '<img src="http://network.invalid/x.png" alt="x">': "it asked for http://network",
        '<div style="width: 500px">x</div>': f"{PHONE} wide: it is 5",
        style: "1 of 2 changed words not",
        hunk: f"{PHONE} wide: old and new lines should be",
    }
    path = Path(folder).resolve() / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{''.join(planted)}", encoding="utf-8")
    with browsers.Browser() as browser:
        problems = page_problems(browser, path.parent, path, True)
    lacking = [why for why in planted.values() if not any(why in line for line in problems)]
    same((lacking, problems if lacking else []), ([], []))


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("book", pictures.tests_in(globals()), __file__, "book", "jinja2"))
