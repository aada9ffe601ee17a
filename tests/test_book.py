"""The book (`make book`): what is on its pages, its links, and how a browser shows it."""

from __future__ import annotations

import fcntl
import html
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from tools import FULL, ROOT

from bench import rungs
from book.pages import changes

for library in ("jinja2", "markdown_it", "pygments"):
    pytest.importorskip(library, reason=f"needs {library}")
from book import make_book
from book.pages import highlight, site

VOID = re.compile(r"<(meta|link|img|br|hr|input|wbr)\b([^>]*[^/>])?>")
RUNGS = rungs.find()
REPOSITORY = "https://example.org/ladder/blob/main"


class Book(dict):
    """A book's pages by their places, as elements, each when it is asked for; `files` are its files.
    A tag that is not closed is an error: but for those that need no closing and the first line, a page
    is XML."""

    def __init__(self, folder):
        found = (path for path in folder.rglob("*") if path.is_file())
        self.folder = folder
        self.files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
        self.places = sorted(place for place in self.files if place.endswith(".html"))

    def __missing__(self, place):
        text = VOID.sub(r"<\1\2/>", self.files[place].decode().removeprefix("<!doctype html>"))
        return self.setdefault(place, ElementTree.fromstring(text))


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The book, made by the process that comes first."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with open(folder / "book.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "book").exists():
            make_book.write_site(site.Site(ROOT, REPOSITORY).files(), folder / "book")
    return Book(folder / "book")


def all_of(one, attribute, *tags):
    """The values of an attribute, of these tags or of all."""
    elements = (element for element in one.iter() if not tags or element.tag in tags)
    return [element.get(attribute) for element in elements if element.get(attribute) is not None]


def texts(elements):
    return ["".join(element.itertext()) for element in elements]


# --- what is on the pages ---------------------------------------------------------------------


@pytest.mark.full
def test_same_twice(book, tmp_path):
    """The same tree gives the same book, byte for byte."""
    settings = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    command = [sys.executable, "-m", "book.make_book", "--repository", REPOSITORY, "--out"]
    subprocess.run([*command, tmp_path / "book"], cwd=ROOT, env=settings, check=True)
    assert Book(tmp_path / "book").files == book.files


def test_pages(book):
    """Every rung, idea and note has its page, and no source or record; the first page leads to each,
    and begins with the ladder and a ring."""
    wanted = {"index.html", "search.html", "rungs/index.html", "ideas/index.html"}
    wanted |= {f"rungs/{name}.html" for name in RUNGS} | {"notes/index.html"}
    for folder in ("notes", "notes/ideas"):
        found = ROOT.glob(f"{folder}/[!R]*.md")
        wanted |= {f"{posixpath.basename(folder)}/{path.stem}.html" for path in found}
    assert RUNGS and {*book.places} == wanted
    home = book["index.html"]
    links = {*all_of(home, "href", "a")}
    assert wanted - links <= {"notes/index.html", "search.html"}
    hero = home.find(".//div[@class='hero']")
    assert "pictures/ladder." in all_of(hero, "src", "img")[0]
    assert hero.find("section").get("class") == "moving"
    assert len(book.files["search-index.js"]) < 80_000


def wrong_in(book):
    """[(page, what is wrong with its links, or with itself, or with what the search leads to)]"""
    ids, wrong = {place: all_of(book[place], "id") for place in book.places}, []
    for place in book.places:
        one, alts = book[place], [element.get("alt", "") for element in book[place].iter("img")]
        order = [each for each in one.iter() if each.tag == "h1" or each.get("class") == "rail"]
        wrong += [(place, "the title is not first")] * (
            [each.tag for each in order] != ["h1", "nav"]
        )
        wrong += [(place, f"'{alt}' is a title") for alt in alts if len(alt.split()) < 8]
        wrong += [(place, "has an id twice")] * (len({*ids[place]}) < len(ids[place]))
        wrong += [(place, "has a comment")] * (b"<!--" in book.files[place])
        wrong += [(place, "no viewport")] * ("viewport" not in all_of(one, "name", "meta"))
        loads = all_of(one, "src") + all_of(one, "href", "link")
        wrong += [(place, link) for link in loads if urlsplit(link).scheme not in ("", "data")]
        for link in [*loads, *all_of(one, "href", "a")]:
            parts = urlsplit(link)
            there = posixpath.join(posixpath.dirname(place), unquote(parts.path))
            there = posixpath.normpath(there) if parts.path else place
            known = unquote(parts.fragment) in ["", *ids.get(there, ())]
            if link.startswith(REPOSITORY):
                there = ROOT / unquote(parts.path.removeprefix(urlsplit(REPOSITORY).path + "/"))
                wrong += [(place, link)] * (not there.exists())
            elif parts.scheme not in ("http", "https", "mailto", "data"):
                wrong += [(place, link)] * (there not in book.files or not known)
    searched = json.loads(book.files["search-index.js"].decode()[len("const PAGES = ") : -2])
    wrong += {*book.places} ^ {place for place, *_ in searched} ^ {"search.html"}
    for place, _, _, parts in searched:
        wrong += [(place, name) for name, _, _ in parts if name not in ids[place]]
    return wrong


def test_links(book):
    """Every link and anchor leads somewhere, the search's and the repository's too; nothing is loaded
    from elsewhere; and a picture is told in words."""
    assert wrong_in(book) == []
    assert not re.search(rb"url\(|@import", book.files["style.css"])


@pytest.mark.parametrize("name", RUNGS)
def test_rung(book, name):
    """A rung's page is its title, its result, what it changed, the rest. The diff has the new file up
    to its step record, and each removed line; unmarked words are on both sides. No figure has a raw
    key or a compiler's name, and neighbours on the learner's path are a click away."""
    rung, one = RUNGS[name], book[f"rungs/{name}.html"]
    main = [element for element in one.find(".//main") if element.tag != "nav"]
    kinds = [element.get("class") or element.tag for element in main[:4]]
    assert kinds in (["h1", "where", "blockquote", "diff"], [*("h1", "where", "diff"), kinds[-1]])
    heads = texts(one.iter("th"))
    assert not [head for head in heads if re.search(r"_Z\d|_Z[A-Z]|^\w+_\w+$", head)]
    path = [None, *(other for other in RUNGS if not RUNGS[other].aside), None]
    if name in path:
        turns = all_of(one.find(".//nav[@class='turn']"), "href", "a")
        beside = path[path.index(name) - 1], path[path.index(name) + 1]
        assert turns == [f"{other}.html" for other in beside if other]
    lines = one.findall(".//section[@class='diff']//code")
    sides = [[each for each in lines if each.get("class") != other] for other in ("new", "old")]
    files = [RUNGS[rung.below].path, rung.path] if rung.below else [rung.path]
    text = [path.read_text(encoding="utf-8").partition(highlight.RECORD)[0] for path in files]
    wanted = [*enumerate(text[-1].rstrip().splitlines(), 1)]
    assert [(int(each.get("data-n")), *texts([each])) for each in sides[1]] == wanted
    if rung.below:
        old, new = (
            [each for each in lines if each.get("class") == side] for side in ("old", "new")
        )
        known = text[0].splitlines()
        assert [known[int(each.get("data-n")) - 1] for each in old] == texts(old)
        where = texts([main[1]])[0]
        assert f"{len(old)} lines removed, {len(new)} added" in where
        kept = []
        for side in sides:
            for mark in (mark for each in side for mark in each.iter("span")):
                if mark.get("class").endswith("-Mark"):
                    mark.text = " "
            first = changes.first_include(text[1].splitlines())
            kept.append(changes.WORD.findall("\n".join(texts(side)[first:])))
        assert kept[0] == kept[1]


MARKED = (
    ("int a = 1;", "int a = 2;", "1", "2"),
    ("f(a, b);", "f(a, c, b);", "", "c,"),
    ("    x();", "x();", "", ""),
    ("a b c\nd e f", "a b\nc d e f", "", ""),
    ("same", "same\nadded line", "", "added line"),
    ('.name = "v09",', '.name = "v10",', "v09", "v10"),
    ("x = f(a);", "if (b) g(c, d);", "x = f(a);", "if (b) g(c, d);"),
    ("{ 1\n}\n{ 2\n}", "{ 1\n}\n{ 3\n}\n{ 2\n}", "", "{ 3 }"),  # begins as late as it can
)


@pytest.mark.parametrize("old, new, removed, added", MARKED, ids=range(len(MARKED)))
def test_marks(old, new, removed, added):
    """The words that changed are marked, and no others."""
    sides, found = [old.splitlines(), new.splitlines()], [[], []]
    for block in changes.compare(*sides):
        for words, lines, marks in zip(found, sides, block.marks):
            words += (lines[n][begin:end] for n, at in marks.items() for begin, end in at)
    assert [*map(" ".join, found)] == [removed, added]


# --- what is written in a note ----------------------------------------------------------------

LIVE = '<script>x</script> <b onclick="x">b</b> <a href="javascript:x">c</a> [d](javascript:x)'
SMALL = {
    "README.md": "# small\n\nA small book of [v99](steps/v99_second.cu).\n",
    "steps/v98_first.cu": '// v98: first.\n//\n// It <is> so.\n#include "step.h"\nint a;\n'
    '    .idea = "the first & only",\n',
    "steps/v99_second.cu": '// v99: second.\n#include "step.h"\nint a, b;\n',
    "common/step.h": "int step;\n",
    "notes/README.md": "# Notes\n\n[Two](two.md) before [one](one.md).\n",
    "notes/one.md": f"# One\n\n{LIVE}\n\n<div>\n{LIVE} e < f\n</div>\n",
    "notes/two.md": "# Two\n\n<!--=a-->two<!--/--> & *more*: `common/step.h`, [h](../common/step.h#L1)\n"
    "[there](#a-b) `<!-- kept -->`\n\n## A b\n\n| a |\n| ---: |\n| <!--=v02.tflops - 1-->775<!--/--> |\n"
    "\n```c\nint a;\n```\n\n[code](../steps/v98_first.cu#L2) [rung](../steps/v98_first.cu)\n",
    "notes/rungs/v99.md": "# v99: second\n\n> **What.** a\n> **Why.** b\n\n[x](../two.md#a-b)\n"
    '<img src="../../plots/p.png" alt="a & b">\n',
    "plots/p.png": "",
    "plots/p.svg": "",
}
ON_PAGES = {
    "index.html": ('<a href="rungs/v99.html">v99</a>', "<h1>small</h1>"),
    "rungs/v98.html": ("It &lt;is&gt; so.", "the first &amp; only", "No note is written"),
    "rungs/v99.html": ('<span class="p -Mark">,</span>', 'href="../notes/two.html#a-b"')
    + ("a<br />\n<strong>Why.", '"../pictures/p.svg" alt="a &amp; b"'),
    "notes/one.html": (
        "&lt;script&gt;x&lt;/script&gt; &lt;b onclick",
        '&lt;a href="javascript:x"&gt;c',
    ),
    "notes/two.html": (
        "<p>two &amp; <em>more</em>",
        '/common/step.h"><code>',
        '/common/step.h#L1">',
    )
    + (
        'href="#a-b"',
        "<code>&lt;!-- kept --&gt;</code>",
        ">775</td>",
        '<span class="kt">int</span>',
    )
    + ('/steps/v98_first.cu#L2">code', '<a href="../rungs/v98.html">rung'),
}
NOT_THERE = (
    "[a](gone.md)",
    "[a](/etc/passwd)",
    "[a](../../../etc)",
    "![a](gone.png)",
    "[a](two.md#c)",
)
NOT_THERE += ("![a](https://example.org/c.png)",)


def test_small(tmp_path, capsys, monkeypatch):
    """Of two rungs: comments vanish, links and pictures become the book's or lead to the tree, and
    other HTML is text. The order of the notes is their list's. A note that links to what is not there
    leaves the old book, and so does a folder that holds something else."""
    tree, out = tmp_path / "tree", tmp_path / "tree/build/book"
    for place, text in SMALL.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(text, encoding="utf-8")
    monkeypatch.setattr(make_book, "ROOT", tree)
    assert make_book.main(["--out", str(out)]) == 0
    made = Book(out)
    for place, wanted in ON_PAGES.items():
        text = made.files[place].decode()
        assert [words for words in wanted if words not in text] == []
        assert not re.search('<script>x|<b |<a [^>]*"javascript', text)
        links = [
            link
            for link in all_of(made[place], "href", "a")
            if ".html" not in link and link[0] != "#"
        ]
        assert all((out / place).parent.joinpath(link.partition("#")[0]).exists() for link in links)
    rail = made.files["index.html"].decode().partition('class="rail"')[2]
    assert rail.index("notes/two.html") < rail.index("notes/one.html")
    assert make_book.main(["--out", str(tree)]) == 2 and (tree / "README.md").exists()
    (tree / "notes/README.md").write_text("# Notes\n\n" + "\n".join(NOT_THERE) + "\n")
    assert make_book.main(["--out", str(out)]) == 1 and Book(out).files == made.files
    said = capsys.readouterr().err
    for number, text in enumerate(NOT_THERE, 3):
        assert f"book: notes/README.md:{number}: " in said
        assert text.partition("(")[2][:-1] in said


# --- in a browser -----------------------------------------------------------------------------

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = 1400, 390  # pixels
DARK = ("--blink-settings=preferredColorScheme=0", "--force-prefers-reduced-motion")
# As root it starts in no sandbox; it opens nothing but files made here, one in a frame of another.
OPTIONS = """--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars
    --allow-file-access-from-files --virtual-time-budget=1000000000 --dump-dom""".split()
# Opens one page after the other in a frame, and looks at it: [page, width, what is wrong with it].
# WCAG 2.2 wants a contrast of 4.5 of text, level AA.
DRIVER = """<!doctype html><meta charset="utf-8"><body><script>(async () => {
  const found = [], frame = document.createElement("iframe");
  document.body.append(frame);
  for (const [page, width] of JOBS) {
    frame.style = `border: 0; height: 900px; width: ${width}px`;
    await new Promise(loaded => { frame.onload = loaded; frame.src = page; });
    found.push([page, width, frame.contentWindow.eval(LOOK)]);
  }
  document.body.textContent = JSON.stringify(found);
})();</script></body>"""
LOOK = """(() => {
  const all = what => [...document.querySelectorAll(what)], wrong = [];
  const note = (bad, words) => { if (bad) wrong.push(words); };
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const ground = one => {
    for (; one; one = one.parentElement) {
      const paint = numbers(getComputedStyle(one).backgroundColor);
      if (paint.length === 3) return paint;
    }
  };
  const light = colour => colour.slice(0, 3).map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
  const root = document.documentElement, body = document.body;
  note(root.scrollWidth > innerWidth, `it is ${root.scrollWidth} wide`);
  const diff = document.querySelector(".diff")?.getBoundingClientRect().top ?? 0;
  note(innerWidth > 600 && diff > 1200, `its diff begins at ${diff}`);
  all("img").forEach(one => note(!one.naturalWidth, `it lacks ${one.src}`));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const isDark = () => light(numbers(getComputedStyle(root).backgroundColor)) < 0.5;
  note(isDark() !== dark, "its ground is of the other theme");
  const nodes = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    const text = nodes.currentNode.data.trim(), one = nodes.currentNode.parentElement;
    if (!text || !one.checkVisibility() || !one.getClientRects().length) continue;
    const pair = [numbers(getComputedStyle(one).color), ground(one) ?? ground(root)];
    const [low, high] = pair.map(light).sort((a, b) => a - b);
    note(high / low < 4.5, `contrast ${(high / low).toFixed(2)}: ${text.slice(0, 40)}`);
  }
  const hit = document.querySelector(".hits a")?.getAttribute("href") ?? "";
  note(!hit.startsWith(location.hash.slice(1)), `the search leads to ${hit}`);
  const ring = document.querySelector(".moving"), slider = ring?.querySelector("input");
  const before = slider?.value;
  ring?.querySelector("button").click();
  note(ring && (ring.hidden || slider.value - before !== 1), "the ring does not move");
  note(ring && !ring.querySelector("mark"), "the ring shows no line");
  document.querySelector("#theme").click();
  note(isDark() === dark, "the theme stays");
  delete localStorage.theme;
  return wrong;
})()"""
SOME = """index.html ideas/index.html ideas/mbarrier-and-phases.html notes/the-climb.html rungs/index.html
    rungs/v04.html rungs/v13.html rungs/s05.html rungs/a01.html""".split()
QUERIES = {"mbarrier": "ideas/mbarrier-and-phases.html", "v07": "rungs/v07.html", "zyzzyva": ""}


@pytest.mark.seconds(25 if FULL else 3)
@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_browser(book, tmp_path, dark):
    """Each page is as wide as its window on a desktop and on a phone, begins with its diff, and can be
    read in both themes; the ring moves; the search finds. Without FULL some of each kind."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs a browser")
    places = [
        *(book.places if FULL else SOME),
        *(f"search.html?q={q}#{hit}" for q, hit in QUERIES.items()),
    ]
    jobs = [
        (f"{book.folder.as_uri()}/{place}", width) for place in places for width in (DESKTOP, PHONE)
    ]
    driver = DRIVER.replace("JOBS", json.dumps(jobs)).replace("LOOK", json.dumps(LOOK))
    (tmp_path / "driver.html").write_text(driver, encoding="utf-8")
    command = [browser, *OPTIONS, *(DARK if dark else ()), f"--user-data-dir={tmp_path}/profile"]
    command.append((tmp_path / "driver.html").as_uri())
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    said = re.search(r"<body>(\[.*\])</body>", ended.stdout, re.DOTALL)
    assert said, f"it did not look at all pages: {ended.stdout[-300:]}{ended.stderr[-300:]}"
    assert [one for one in json.loads(html.unescape(said[1])) if one[2]] == []
