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

from tools import FULL, ROOT, made_runs

from bench import results, rungs
from bench import trace as traces
from book.pages import changes

for library in ("jinja2", "markdown_it", "pygments"):
    pytest.importorskip(library, reason=f"needs {library}")
from book import make_book
from book.pages import site

VOID = re.compile(r"<(meta|link|img|br|hr|input)\b([^>]*[^/>])>")
RUNGS = rungs.find()


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
            make_book.write_site(site.Site(ROOT).files(), folder / "book")
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
    settings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
    command = [sys.executable, "-m", "book.make_book", "--out", tmp_path / "book"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **settings}, check=True)
    assert Book(tmp_path / "book").files == book.files


def test_pages(book):
    """Every rung, idea and note has its page, and the first page leads to it."""
    wanted = {f"rungs/{name}.html" for name in RUNGS}
    wanted |= {f"ideas/{path.stem}.html" for path in ROOT.glob("notes/ideas/[!R]*.md")}
    wanted |= {f"notes/{path.stem}.html" for path in ROOT.glob("notes/[!R]*.md")}
    links = {link.partition("#")[0] for link in all_of(book["index.html"], "href", "a")}
    assert RUNGS and wanted - links == set()
    text = book.files["index.html"].decode()
    assert "fp8.png" in text and "No run is recorded yet" not in text


def wrong_in(book):
    """[(page, what is wrong with its links, or with itself, or with what the search leads to)]"""
    ids, wrong = {place: all_of(book[place], "id") for place in book.places}, []
    for place in book.places:
        one, alts = book[place], [element.get("alt", "") for element in book[place].iter("img")]
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
            if parts.scheme not in ("http", "https", "mailto", "data"):
                wrong += [(place, link)] * (there not in book.files or not known)
    index = book.files["search-index.js"].decode().removeprefix("const PAGES = ")
    searched = json.loads(index.rstrip().rstrip(";"))
    wrong += {*book.places} ^ {place for place, _, _ in searched} ^ {"search.html"}
    for place, _, parts in searched:
        wrong += [(place, name) for name, _, _ in parts if name not in ("", "L", *ids[place])]
        lines = [text.rstrip("\n").split("\n") for name, _, text in parts if name == "L"]
        wrong += [(place, "other lines")] * (lines not in ([], [lines_of(book[place])]))
    return wrong


def lines_of(one):
    """The lines of a page's source."""
    return texts(one.findall(".//pre[@class='source']/span"))


def test_links(book):
    """Every link and anchor leads somewhere, the search's too; nothing is loaded from elsewhere; and a
    picture is told in words."""
    assert wrong_in(book) == []
    assert not re.search(rb"url\(|@import", book.files["style.css"])


@pytest.mark.parametrize("name", RUNGS)
def test_rung(book, name):
    """A rung's page has its whole source and its diff; unmarked words are on both sides. It leads to
    its parts and its neighbours on the learner's path."""
    rung, one = RUNGS[name], book[f"rungs/{name}.html"]
    lines = rung.path.read_text(encoding="utf-8").splitlines()
    assert lines_of(one) == lines
    links = all_of(one.find(".//nav[@class='onpage']"), "href", "a")
    parts = ["note", "times", "resources", "source", *["diff"] * bool(rung.below)]
    assert {f"#{part}-of-{name}" for part in parts} <= {*links}
    path = [None, *(other for other in RUNGS if other == name or not RUNGS[other].aside), None]
    beside = path[path.index(name) - 1], path[path.index(name) + 1]
    for where in ("above", "below"):
        turns = all_of(one.find(f".//nav[@class='turn {where}']"), "href", "a")
        assert turns == [f"{other}.html" for other in beside if other]
    assert one.find(".//body/a[@class='skip']").get("href") == "#content"
    shown, kept = [one.findall(f".//code[@class='{side}']") for side in ("old", "new")], []
    for elements, path in zip(shown, (RUNGS[rung.below].path, rung.path) if rung.below else ()):
        wanted = path.read_text(encoding="utf-8").splitlines()
        numbered = [*enumerate(wanted, 1)][changes.first_include(wanted) :]
        assert [(int(each.get("data-n")), *texts([each])) for each in elements] == numbered
        marks = [mark for each in elements for tag in ("del", "ins") for mark in each.iter(tag)]
        assert marks
        for mark in marks:
            mark[:], mark.text = [], " "
        kept.append(changes.WORD.findall("\n".join(texts(elements))))
    assert kept[:1] == kept[1:] and bool(kept) == bool(rung.below) == any(shown)
    place = ".//div[@class='hunk change']/code[@class='{}']"
    hunks = (one.findall(place.format(side)) for side in ("old", "new"))
    said = "{} lines removed, {} added".format(*map(len, hunks))
    assert not kept or said in texts(one.findall(".//p[@class='where']"))[0]


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


def test_recorded(book):
    """Each rung's time is on its page beside the file that has it; each file has a page with a row
    for each program."""
    home = results.load(results.RESULTS / results.HOME / "burst.jsonl")[0]
    for name in home.measured:
        one = book[f"rungs/{name}.html"]
        assert home.rate(name).to(1) in texts([one])[0]
        assert f"../results/{results.HOME}/burst.html" in all_of(one, "href", "a")
    for path in results.RESULTS.glob("*/**/*.jsonl"):
        place = path.relative_to(results.RESULTS).with_suffix(".html")
        shown = texts([book[f"results/{place}"]])[0]
        for run in results.load(path):
            names = run.measured if "counters" in path.stem else run.names  # and why it failed
            words = {run.commit, *(name.partition("-parts")[0] for name in names)}
            assert {word for word in words if word not in shown} == set()


# --- what is written in a note or a record ----------------------------------------------------

LIVE = '<script>x</script> <b onclick="x">b</b> <a href="javascript:x">c</a> [d](javascript:x)'
IN_A_NOTE = (
    ("<!--=a-->two<!--/--> & *more*", "<p>two &amp; <em>more</em></p>"),
    ("| a |\n| ---: |\n| <!--=v02.tflops - 1-->775<!--/--> |", ">775</td>"),
    ("[i](../ideas/tma-and-tensor-maps.md#a-b)", 'href="../ideas/tma-and-tensor-maps.html#a-b"'),
    ("[v01](../../steps/v01_register_tiling.cu#L2)", 'href="v01.html#L2"'),
    ("`steps/v01_register_tiling.cu`", 'href="v01.html"><code>steps/v01_register_tiling.cu</code>'),
    ("`<!-- kept -->`", "<code>&lt;!-- kept --&gt;</code>"),
    ("```\n<!-- kept -->\n```", "&lt;!-- kept --&gt;"),
    ("a\n\n```c\nint a;\n```", '<span class="t">int</span> a;'),
    ('<img src="../../plots/power.png" alt="a & b">', '"../pictures/power.png" alt="a &amp; b"'),
    (LIVE, "&lt;script&gt;x&lt;/script&gt; &lt;b onclick"),
    (f"<div>\n{LIVE} e < f\n</div>", '&lt;a href="javascript:x"&gt;c'),
)
NOT_THERE = ("[a](../gone.md)", "[a](/etc/passwd)", "[a](../../../../etc)", "![a](../gone.png)")
NOT_THERE += ("![a](https://example.org/c.png)",)


@pytest.mark.parametrize("text, wanted", IN_A_NOTE, ids=range(len(IN_A_NOTE)))
def test_note(text, wanted):
    """Comments vanish, links and pictures become the book's, and other HTML is text."""
    one = site.Site(ROOT)
    found = one.prose("rungs/v07.html", "notes/rungs/v07.md", text).html
    assert wanted in found and not one.wrong
    assert not re.search('<script|<b |<a [^>]*"javascript', found)


SMALL = {
    "README.md": "# small\n\nA small book.\n",
    "steps/v98_first.cu": '// v98: first.\n//\n// It <is> so.\n#include "step.h"\nint a;\n'
    '    .idea = "the first & only",\n',
    "steps/v99_second.cu": '// v99: second.\n#include "step.h"\nint a, b;\n',
    "common/step.h": "int step;\n",
    "notes/README.md": "# Notes\n\nNone.\n",
}
ON_PAGES = {
    "rungs/v98.html": ("It &lt;is&gt; so.", "the first &amp; only", "No note is written"),
    "rungs/v99.html": ("<ins>, b</ins>;</code>", 'href="../source/common/step.h.html"')
    + ("No finished run of this rung is recorded", "Not recorded yet: python3 -m bench.resources"),
    "index.html": ("small", "&lt;script&gt;x&lt;/script&gt;"),
    f"results/{results.HOME}/live.html": ("&lt;script&gt;x&lt;/script&gt;",),
}


def test_small(tmp_path, capsys, monkeypatch):
    """Of two rungs, the second not recorded: what is not recorded, or not written, is said; HTML in a
    record is text. A note that links to what is not there leaves the old book, and so does a folder
    that holds something else."""
    tree, out = tmp_path / "tree", tmp_path / "book"
    for place, text in SMALL.items():
        (tree / place).parent.mkdir(parents=True, exist_ok=True)
        (tree / place).write_text(text, encoding="utf-8")
    for row in made_runs.rows(["v98", "v16"]):
        results.append(tree / f"bench/results/{results.HOME}/live.jsonl", {**row, "idea": LIVE})
    monkeypatch.setattr(make_book, "ROOT", tree)
    assert make_book.main(["--out", str(out)]) == 0
    made = Book(out)
    assert wrong_in(made) == []
    for place, wanted in ON_PAGES.items():
        text = made.files[place].decode()
        assert [words for words in wanted if words not in text] == []
        assert "<b onclick" not in text and "<script>x" not in text
    assert make_book.main(["--out", str(tree)]) == 2 and (tree / "README.md").exists()
    (tree / "notes/README.md").write_text(f"# Notes\n\n{' '.join(NOT_THERE)}\n")
    assert make_book.main(["--out", str(out)]) == 1 and Book(out).files == made.files
    said = capsys.readouterr().err
    assert said.count("book: notes/README.md: ") == len(NOT_THERE)
    assert [text for text in NOT_THERE if text.partition("(")[2][:-1] not in said] == []


# --- in a browser -----------------------------------------------------------------------------

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = 1400, 390  # pixels
DARK = ("--blink-settings=preferredColorScheme=0", "--force-prefers-reduced-motion")
OPTIONS = (
    "--headless",
    "--no-sandbox",  # as root it does not start with one; it opens nothing but files made here
    "--disable-gpu",
    "--disable-dev-shm-usage",  # in a container there may be too little of it
    "--hide-scrollbars",
    "--allow-file-access-from-files",  # a page may look into a frame with another one
    "--host-resolver-rules=MAP * ~NOTFOUND",  # nothing is to be found in the network
    "--virtual-time-budget=1000000000",  # it waits for the script
    "--dump-dom",
)
# Opens one page after the other in a frame, and looks at it in all widths: [page, width, what is wrong
# with it, how the ring moved].
DRIVER = """<!doctype html><meta charset="utf-8"><body><script>(async () => {
  const found = [], frame = document.createElement("iframe");
  frame.style = "border: 0; height: 900px";
  document.body.append(frame);
  for (const [page, widths] of JOBS) {
    frame.width = widths[0];
    await new Promise(loaded => { frame.onload = loaded; frame.src = page; });
    for (const width of widths) {
      frame.width = width;
      found.push([page, width, ...await frame.contentWindow.eval(LOOK)]);
    }
  }
  document.body.textContent = JSON.stringify(found);
})();</script></body>"""
# WCAG 2.2 wants a contrast of 4.5 of text, level AA. The hash of a search is how its first hit begins.
LOOK = """(async () => {
  const all = what => [...document.querySelectorAll(what)];
  const box = one => one.getBoundingClientRect();
  const hidden = one => !box(one).width || !box(one).height;
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const paint = one => numbers(getComputedStyle(one).backgroundColor);
  const ground = one => {
    for (; one; one = one.parentElement) if (paint(one).length === 3) return paint(one);
    return [255, 255, 255];
  };
  const light = colour => colour.map(part => part / 255)
    .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, i) => sum + part * [0.2126, 0.7152, 0.0722][i], 0.05);
  const wrong = all("img").filter(one => !one.naturalWidth).map(one => `it lacks ${one.src}`);
  const note = (bad, words) => { if (bad) wrong.push(words); };

  const width = document.documentElement.scrollWidth, phone = innerWidth < 600;
  const marks = all(".sides del, .sides ins"), lines = all(".sides .change code");
  note(width > innerWidth, `it is ${width} wide`);
  note([...all(".sides"), ...lines].some(hidden), "a changed line is hidden");
  note(lines.some(one => one.scrollWidth > one.clientWidth), "a line is clipped");
  note(marks.some(one => hidden(one) || paint(one)[3] === 0), "a changed word is not marked");
  const over = (one, i) => i && box(one).top < box(lines[i - 1]).bottom - 1;
  const old = all(".change .old").map(one => box(one).right);
  const fresh = all(".change .new").map(one => box(one).left);
  note(phone ? lines.some(over) : Math.max(...old) > Math.min(...fresh) + 1, "lines cover others");

  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  note((light(ground(document.body)) < 0.5) !== dark, "its ground is of the other theme");
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let count = 0;
  while (nodes.nextNode()) {
    const text = nodes.currentNode.data.trim(), one = nodes.currentNode.parentElement;
    if (!text || !one.checkVisibility() || !one.getClientRects().length) continue;
    const pair = [numbers(getComputedStyle(one).color), ground(one)];
    const [low, high] = pair.map(light).sort((a, b) => a - b);
    ++count;
    note(high / low < 4.5, `contrast ${(high / low).toFixed(2)}: ${text.slice(0, 40)}`);
  }
  note(count < 6, "no text is shown");

  const hit = document.querySelector(".hits a")?.getAttribute("href") ?? "";
  const said = document.querySelector("#said")?.textContent;
  note(!hit.startsWith(location.hash.slice(1)), `the search leads to ${hit}`);
  note(location.search && !hit && !said.startsWith("0 pages"), `the search says ${said}`);
  return [wrong, phone || !document.querySelector(".moving") ? null : await MOVE];
})()"""
# The ring at some steps; what the button says before it is pressed, and what it did after one press
# and after another; whether the ring can be reached, below its picture.
MOVE = """(async () => {
  const one = what => document.querySelector(what);
  const slider = one(".moving input"), button = one(".moving button"), found = [];
  for (slider.value = 0; ; slider.stepUp(13)) {
    slider.dispatchEvent(new Event("input"));
    found.push([
      Number(one(".moving output").textContent.match(/[0-9]+/)[0]),
      all(".ring li").map(place => place.dataset.state),
      all(".warp").map(warp => Number(warp.querySelector("mark")?.dataset.n ?? 0)),
    ]);
    if (slider.value === slider.max) break;
  }
  slider.value = 20;
  const played = [button.textContent];
  for (let press = 0; press < 2; ++press) {
    button.click();
    await new Promise(done => setTimeout(done, 1100));
    played.push(button.textContent, slider.value - 20);
  }
  const picture = one(`img[src*="${one(".moving").dataset.picture}"]`);
  const below = box(one(".moving")).top - box(picture).bottom;
  const reached = slider.tabIndex === 0 && !one(".onpage [href^='#ring']").hidden;
  return [found, played, reached && 0 < below && below < 200];
})()"""
SOME = f"""index.html readme.html ideas/index.html ideas/mbarrier-and-phases.html notes/index.html
    notes/emulator-rules.html rungs/v07.html rungs/a01.html rungs/t08.html rungs/f08.html
    source/common/device/tma.cuh.html source/common/device/index.html results/index.html
    results/{results.HOME}/burst.html""".split()
QUERIES = {"mbarrier+parity": "ideas/mbarrier-and-phases.html#parity", "v07": "rungs/v07.html"}
QUERIES |= {"MAKE_TENSOR_MAP_2D(": "rungs/v", "zyzzyva": ""}
PLAYED = {False: ["Play", "Pause", 5, "Play", 5]}
PLAYED[True] = ["Next step", "Next step", 1, "Next step", 2]  # no motion: a press for each step


def looks(folder, jobs, *options):
    """What pages say: (address, width, what is wrong, the ring). Jobs are (address, widths). The
    browser writes into the folder."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip("needs a browser")
    words = {"JOBS": jobs, "LOOK": LOOK.replace("MOVE", MOVE)}
    driver = re.sub("|".join(words), lambda word: json.dumps(words[word[0]]), DRIVER)
    (folder / "driver.html").write_text(driver, encoding="utf-8")
    command = [browser, *OPTIONS, *options, f"--user-data-dir={folder}/profile"]
    command.append((folder / "driver.html").as_uri())
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    said = re.search(r"<body>(\[.*\])</body>", ended.stdout, re.DOTALL)
    assert said, f"it did not look at all pages: {ended.stdout[-300:]}{ended.stderr[-300:]}"
    return json.loads(html.unescape(said[1]))


def wrong_moves(name, found):
    """What is wrong with what the moving ring of that rung showed. If the rung has changed, trace it
    again."""
    trace = traces.Trace(traces.load(traces.TRACES / f"{name}-emulator.json"))
    source = ["", *RUNGS[name].path.read_text(encoding="utf-8").splitlines()]
    stages = [traces.states(stage, trace.end + 1) for stage in traces.stages(trace)]
    for time, states, lines in found:
        at = [[what for what, begin, end in spans if begin <= time < end] for spans in stages]
        if states != [what[0] if what else "empty" for what in at]:
            yield f"step {time}: {states}, not {at}"
        for warp, line in zip(trace.warps, lines):
            now = [event for event in warp.events if event.begin <= time < event.end and event.line]
            text = trace.source(now[0].line) if now else ""
            if source[line].partition("//")[0].strip() != text:
                yield f"step {time}: warp {warp.number} is at line {line}, not at {now[:1]}"


@pytest.mark.seconds(25 if FULL else 3)
@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_browser(book, tmp_path, dark):
    """Each page is whole on a desktop and on a phone, shows its diff, and can be read; the ring
    moves as the trace tells; the search leads to what is written. In the dark without sources and
    records, which only scroll, and are looked at on a phone alone. Without FULL some of each kind."""
    jobs = [(f"search.html?q={query}#{hit}", (DESKTOP, PHONE)) for query, hit in QUERIES.items()]
    for place in book.places if FULL else SOME:
        listed = place.startswith(("source/", "results/"))
        jobs += [(place, (PHONE,) if listed else (DESKTOP, PHONE))] * (not (listed and dark))
    jobs = [(f"{book.folder.as_uri()}/{place}", widths) for place, widths in jobs]
    found = looks(tmp_path, jobs, *(DARK if dark else ()))
    assert [(page, width, why) for page, width, wrong, _ in found for why in wrong] == []
    moved = {page.rpartition("/")[2][:-5]: moved for page, _, _, moved in found if moved}
    assert {*moved} >= ({"v04", "v07", "v15"} if FULL else {"v07"})
    for name, (moments, *how) in moved.items():
        box = book[f"rungs/{name}.html"].find(".//section[@class='moving']")
        assert (name, box.get("hidden"), *how) == (name, "", PLAYED[dark], True)
        assert len(moments) > 5 and [*wrong_moves(name, moments)] == []
