"""The book (`make book`): what is on its pages, its links, and how a browser shows it."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

import pytest

from tools import FULL, ROOT, call

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
    """A book's pages, as elements, by their places; `files` are its files. Each tag must be closed."""

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
    folder = tmp_path_factory.mktemp("made")
    make_book.write_site(site.Site(ROOT, REPOSITORY).files(), folder / "book")
    return Book(folder / "book")


def all_of(one, attribute, *tags):
    """The values of an attribute, of these tags or of all."""
    elements = (element for element in one.iter() if not tags or element.tag in tags)
    return [element.get(attribute) for element in elements if element.get(attribute) is not None]


def texts(elements):
    return ["".join(element.itertext()) for element in elements]


def test_pages(book):
    """Every rung, idea and note has its page, and no source or record; the first page leads to each,
    and begins with the ladder and a ring. What the search loads is small."""
    wanted = {f"{name}/index.html" for name in ("rungs", "ideas", "notes")}
    wanted |= {"index.html", "search.html", *(f"rungs/{name}.html" for name in RUNGS)}
    notes = [*ROOT.glob("notes/[!R]*.md"), *ROOT.glob("notes/ideas/*.md")]
    wanted |= {f"{path.parent.name}/{path.stem}.html" for path in notes}
    assert RUNGS and {*book.places} == wanted
    assert wanted - {*all_of(book["index.html"], "href", "a")} <= {
        "notes/index.html",
        "search.html",
    }
    hero = book["index.html"].find(".//div[@class='hero']")
    assert "pictures/ladder." in all_of(hero, "src", "img")[0]
    assert hero.find("section").get("class") == "moving"
    assert len(book.files["search-index.js"]) < 70_000


def test_links(book):
    """Every link and anchor leads somewhere, the search's and the repository's too; nothing is loaded
    from elsewhere; the title is before the list of pages; and a picture is told in words."""
    ids, wrong = {place: all_of(book[place], "id") for place in book.places}, []
    for place in book.places:
        one, alts = book[place], [element.get("alt", "") for element in book[place].iter("img")]
        order = [each.tag for each in one.iter() if "rail" == each.get("class") or each.tag == "h1"]
        wrong += [(place, "the title is not first")] * (order != ["h1", "nav"])
        wrong += [(place, f"'{alt}' is a title") for alt in alts if len(alt.split()) < 8]
        bad = len({*ids[place]}) < len(ids[place]) or b"<!--" in book.files[place]
        wrong += [(place, "has an id twice, or a comment")] * bad
        loads = all_of(one, "src") + all_of(one, "href", "link")
        wrong += [(place, link) for link in loads if urlsplit(link).scheme not in ("", "data")]
        for link in [*loads, *all_of(one, "href", "a")]:
            parts = urlsplit(link)
            there = site.beside(place, unquote(parts.path)) if parts.path else place
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
    assert wrong == [] and not re.search(rb"url\(|@import", book.files["style.css"])


@pytest.mark.parametrize("name", RUNGS)
def test_rung(book, name):
    """A rung's page is its title, its result, its diff, the rest; no table has raw keys. The diff has
    the new file up to its step record, and what was removed. Neighbours on the path are linked."""
    rung, one = RUNGS[name], book[f"rungs/{name}.html"]
    main = [element.get("class") or element.tag for element in one.find(".//main")]
    assert main[: main.index("diff")] in (["h1", "where", "blockquote"], ["h1", "where"])
    assert not re.findall(r"(?m)^(?:.*_Z[\dA-Z].*|\w+_\w+)$", "\n".join(texts(one.iter("th"))))
    path = [None, *(other for other in RUNGS if not RUNGS[other].aside), None]
    if name in path:
        beside = path[path.index(name) - 1], path[path.index(name) + 1]
        turns = all_of(one.find(".//nav[@class='turn']"), "href", "a")
        assert turns == [f"{other}.html" for other in beside if other]
    shown = {"old": [], "new": [], None: []}
    for line in one.findall(".//section[@class='diff']//code"):
        shown[line.get("class")].append((int(line.get("data-n")), *texts([line])))
    files = [path.read_text() for path in (rung.path, RUNGS[rung.below or name].path)]
    kept = [text.partition(highlight.RECORD)[0].rstrip().split("\n") for text in files]
    new, old = (enumerate(lines, 1) for lines in kept)
    assert sorted(shown[None] + shown["new"]) == [*new]
    assert {*shown["old"]} <= {*old} and bool(shown["old"] + shown["new"]) == bool(rung.below)


MARKED = (
    ("int a = 1;", "int a = 2;", "1", "2"),
    ("f(a, b);", "f(a, c, b);", "", "c,"),
    ("  a b c\nd e f", "a b\nc d e f", "", ""),
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


SMALL = {
    "README.md": "# small\n\nA small book of [v98](steps/v98_first.cu).\n",
    "steps/v98_first.cu": '// v98: first.\n#include "step.h"\nint a;\n',
    "notes/README.md": "# Notes\n\n[One](one.md).\n",
    "notes/one.md": "# One\n",
    **dict.fromkeys(("common/step.h", "plots/p.png"), ""),
}
NOT_THERE = ["[a](gone.md)", "[a](/etc/passwd)", "[a](../../../etc)", "![a](gone.png)"]
NOT_THERE += ["![a](https://example.org/c.png)", "[a](one.md#c)"]


def test_refused(tmp_path, capsys, monkeypatch):
    """A link to what is not there leaves the old book, and so does a folder that holds something else."""
    tree, out = tmp_path / "tree", tmp_path / "tree/build/book"
    for place, text in SMALL.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(text, encoding="utf-8")
    monkeypatch.setattr(make_book, "ROOT", tree)
    assert make_book.main(["--out", str(out)]) == 0
    made = Book(out).files
    assert make_book.main(["--out", str(tree)]) == 2 and (tree / "README.md").exists()
    (tree / "notes/README.md").write_text("# Notes\n\n" + "\n".join(NOT_THERE) + "\n")
    assert make_book.main(["--out", str(out)]) == 1 and Book(out).files == made
    said = capsys.readouterr().err
    told = [(n, text[4:-1].lstrip("(")) for n, text in enumerate(NOT_THERE, 3)]
    assert [one for one in told if not re.search("/README.md:{}: .*{}".format(*one), said)] == []


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
WIDTHS = (1400, 390)  # of a desktop and a phone, pixels
DARK = ("--blink-settings=preferredColorScheme=0", "--force-prefers-reduced-motion")
# As root it starts in no sandbox; it opens nothing but files made here, one in a frame of another.
FLAGS = ("--headless", "--no-sandbox", "--disable-dev-shm-usage", "--hide-scrollbars", "--dump-dom")
FLAGS += ("--allow-file-access-from-files", "--virtual-time-budget=1000000000", "--disable-gpu")
# Opens one page after the other in a frame, and looks at it: [page, width, what is wrong with it].
DRIVER = """<!doctype html><body><script>(async () => {
  const found = [], frame = document.body.appendChild(document.createElement("iframe"));
  for (const [page, width] of JOBS) {
    frame.style = `border: 0; height: 900px; width: ${width}px`;
    await new Promise(loaded => { frame.onload = loaded; frame.src = page; });
    found.push([page, width, frame.contentWindow.eval(LOOK)]);
  }
  document.body.textContent = JSON.stringify(found);
})();</script></body>"""
LOOK = """(() => {
  const one = what => document.querySelector(what), root = document.documentElement, wrong = [];
  const note = (bad, words) => { if (bad) wrong.push(words); };
  note(root.scrollWidth > innerWidth, `it is ${root.scrollWidth} wide`);
  const diff = one(".diff")?.getBoundingClientRect().top ?? 0;
  note(innerWidth > 600 && diff > 1200, `its diff begins at ${diff}`);
  for (const each of document.images) note(!each.naturalWidth, `it lacks ${each.src}`);
  const hit = one(".hits a")?.getAttribute("href") ?? "";
  note(!hit.startsWith(location.hash.slice(1)), `the search leads to ${hit}`);
  const ring = one(".moving"), slider = one(".moving input"), before = slider?.value;
  one(".moving button")?.click();
  const moved = !ring || (!ring.hidden && slider.value - before === 1 && one(".moving mark"));
  note(!moved, "the ring does not move, or shows no line");
  const isDark = () => getComputedStyle(root).color.match(/[0-9]+/)[0] > 128;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches, right = isDark() === dark;
  one("#theme").click();
  note(!right || isDark() === dark || !localStorage.theme, "another theme, or it can't be changed");
  delete localStorage.theme;
  return wrong;
})()"""
SOME = ("index", "ideas/index", "notes/the-climb", "rungs/v04", "rungs/v13", "rungs/a01")
QUERIES = {"phases": "ideas/mbarrier-and-phases.html", "v07": "rungs/v07.html", "zyzzyva": ""}


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_browser(book, tmp_path, dark):
    """Each page fits both widths and has both themes; the ring moves; the search finds."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None) or pytest.skip(
        "needs a browser"
    )
    places = book.places if FULL else [f"{place}.html" for place in SOME]
    places = [*places, *(f"search.html?q={words}#{hit}" for words, hit in QUERIES.items())]
    jobs = [(f"{book.folder.as_uri()}/{place}", width) for width in WIDTHS for place in places]
    driver = DRIVER.replace("JOBS", json.dumps(jobs)).replace("LOOK", json.dumps(LOOK))
    (tmp_path / "driver.html").write_text(driver, encoding="utf-8")
    command = [browser, *FLAGS, *DARK * dark, f"--user-data-dir={tmp_path}/profile"]
    command.append((tmp_path / "driver.html").as_uri())
    ended = call(*command, stderr=subprocess.PIPE)
    said = re.search(r"<body>(\[.*\])</body>", ended.stdout, re.DOTALL)
    assert said, f"it did not look at all pages: {ended.stdout[-300:]}{ended.stderr[-300:]}"
    assert [one for one in json.loads(html.unescape(said[1])) if one[2]] == []
