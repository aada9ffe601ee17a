#!/usr/bin/env python3
"""Tests of the book (`make book`): what stands on its pages, its links, and how a browser shows it.

Runs in build/venv, where make puts the libraries of book/requirements.txt. The last cases need a
Chromium; without one they are skipped. Prints one line per case; exits 1 if any failed.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent
VOID = re.compile(r"<(meta|link|img|br|hr|input)\b([^>]*[^/>])>")
SIDES = ("old", "new")  # of a diff
WORD = re.compile(r"[A-Za-z0-9_.]+|[^\sA-Za-z0-9_.]")

from tools import pictures
from tools.cases import Skipped, require, same
from tools.made_runs import rows

from bench import results
from bench import rungs as rungs_today
from bench import trace as traces


def run(*arguments, root=ROOT, **environment):
    """Runs the program and returns its result with captured text."""
    command = [sys.executable, "-m", "book.make_book", *map(str, arguments)]
    how = {"capture_output": True, "text": True, "env": {**os.environ, **environment}, "cwd": root}
    return subprocess.run(command, check=False, timeout=300, **how)


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
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


@functools.cache
def page(path):
    """A page's elements. A tag that is not closed is an error: but for the tags that need no closing
    and the first line, a page is XML."""
    text = VOID.sub(r"<\1\2/>", path.read_text(encoding="utf-8"))
    return ElementTree.fromstring(text.removeprefix("<!doctype html>"))


def all_of(one, attribute, *tags):
    """The values of an attribute, of these tags or of all."""
    elements = (element for element in one.iter() if not tags or element.tag in tags)
    return [element.get(attribute) for element in elements if element.get(attribute) is not None]


def foreign(element):
    """True for what only HTML in a note could bring: the book's own scripts are those of book/, a
    trace and the index, and its forms lead to the search."""
    if element.tag == "script":
        inside = (element.text or "").strip().removeprefix("//").removesuffix("//").strip()
        own = [path.read_text(encoding="utf-8").strip() for path in ROOT.glob("book/*.js")]
        data = element.get("type") == "application/json" or element.get("src") == "search-index.js"
        return not data and inside not in own
    if element.tag == "form":
        return Path(element.get("action", "")).name != "search.html"
    return element.tag in ("iframe", "object")


def link_problems(folder):
    """What is wrong with the links of all pages in a folder, and with the pages themselves."""
    files, problems = files_of(folder), []
    pages = {path: page(path) for place, path in files.items() if place.endswith(".html")}
    ids = {path: all_of(one, "id") for path, one in pages.items()}
    for path, one in pages.items():
        wrong = [
            f"#{name} stands there twice" for name in set(ids[path]) if ids[path].count(name) > 1
        ]
        wrong += [f"it has a <{element.tag}>" for element in one.iter() if foreign(element)]
        said = [(img.get("src"), img.get("alt") or "") for img in one.iter("img")]
        wrong += [f"'{alt}' of {link} is a title" for link, alt in said if len(alt.split()) < 8]
        wrong += ["a comment is left"] * ("<!--" in path.read_text(encoding="utf-8"))
        wrong += ["no viewport"] * ("viewport" not in all_of(one, "name", "meta"))
        loads = all_of(one, "src") + all_of(one, "href", "link")
        wrong += [f"it loads {link}" for link in loads if urlsplit(link).scheme not in ("", "data")]
        for link in [*loads, *all_of(one, "href", "a")]:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto", "data"):
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.is_file() or not there.is_relative_to(folder):
                wrong.append(f"{link}: no such file")
            elif parts.fragment and unquote(parts.fragment) not in ids[there]:
                wrong.append(f"{link}: no such anchor")
        problems += [f"{path.relative_to(folder)}: {why}" for why in wrong]
    return problems


# --- what stands on the pages -----------------------------------------------------------------


def rung_page(name):
    """A rung's page."""
    return page(book()[1] / "rungs" / f"{name}.html")


def texts(elements):
    """The text of each."""
    return ["".join(element.itertext()) for element in elements]


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
    wanted = [f"rungs/{name}.html" for name in rungs_today.find(ROOT / "steps")]
    wanted += [f"ideas/{path.stem}.html" for path in (ROOT / "notes" / "ideas").glob("[!R]*.md")]
    wanted += [f"notes/{path.stem}.html" for path in (ROOT / "notes").glob("[!R]*.md")]
    none_of([f"there is no {place}" for place in wanted if not (folder / place).is_file()])
    links = {link.partition("#")[0] for link in all_of(page(folder / "index.html"), "href", "a")}
    none_of([f"index.html does not lead to {place}" for place in wanted if place not in links])
    text = (folder / "index.html").read_text(encoding="utf-8")
    require(
        "fp8.svg" in text and "No run is recorded yet" not in text, "a track has no results there"
    )


def test_links(_):
    """Every link and anchor leads somewhere, and nothing is loaded from elsewhere."""
    none_of(link_problems(book()[1]))
    style = (book()[1] / "style.css").read_text(encoding="utf-8")
    require("url(" not in style and "@import" not in style, "style.css loads something")


def test_diffs(_):
    """A rung's page has its whole source, and its diff both; unmarked words are on both sides."""
    found = rungs_today.find(ROOT / "steps")
    require(found, "steps/ is empty")
    for name, rung in found.items():
        one = rung_page(name)
        source = texts(one.findall(".//pre[@class='source']/span"))
        same((name, source), (name, rung.path.read_text(encoding="utf-8").splitlines()))
        sides = [one.findall(f".//code[@class='{side}']") for side in SIDES]
        if rung.below is None:
            same((name, sides), (name, [[], []]))
            continue
        kept = []
        for lines, file in zip(sides, (found[rung.below].path, rung.path)):
            wanted = list(enumerate(file.read_text(encoding="utf-8").splitlines(), 1))
            first = next(i for i, (_, line) in enumerate(wanted) if line.startswith("#include"))
            shown = [(int(line.get("data-n")), text) for line, text in zip(lines, texts(lines))]
            same((name, shown), (name, wanted[first:]))
            marks = [mark for line in lines for tag in ("del", "ins") for mark in line.iter(tag)]
            require(marks, f"{name}: no word is marked")
            for mark in marks:
                mark[:], mark.text = [], " "
            kept.append(WORD.findall("\n".join(texts(lines))))
        require(kept[0] == kept[1], f"{name}: the unmarked words of both sides differ")
        changed = [
            one.findall(f".//div[@class='hunk change']/code[@class='{side}']") for side in SIDES
        ]
        said = "{} lines removed, {} added".format(*map(len, changed))
        require(said in texts(one.findall(".//p[@class='where']"))[0], f"{name}: not '{said}'")


def test_marks(_):
    """The words that changed are marked, and no others."""
    from book.pages import changes

    for old, new, gone, come in (
        ("int a = 1;", "int a = 2;", "1", "2"),
        ("f(a, b);", "f(a, c, b);", "", "c,"),
        ("    x();", "x();", "", ""),
        ("a b c\nd e f", "a b\nc d e f", "", ""),
        ("same", "same\nadded line", "", "added line"),
        ('.name = "v09",', '.name = "v10",', "v09", "v10"),
        ("x = f(a);", "if (b) g(c, d);", "x = f(a);", "if (b) g(c, d);"),
        ("{ 1\n}\n{ 2\n}", "{ 1\n}\n{ 3\n}\n{ 2\n}", "", "{ 3 }"),  # begins as late as it can
    ):
        sides = [old.splitlines(), new.splitlines()]
        blocks = changes.compare(*sides)
        found = [
            " ".join(
                lines[line][begin:end]
                for block in blocks
                for line, places in block.marks[side].items()
                for begin, end in places
            )
            for side, lines in enumerate(sides)
        ]
        same((old, new, *found), (old, new, gone, come))


def test_results(_):
    """The recorded times of every rung stand on the first page, and on its own, beside its file."""
    path = results.RESULTS / results.HOME / "burst.jsonl"
    run_of, start = results.load(path)[0], texts([page(book()[1] / "index.html")])[0]
    for name in run_of.measured:
        rate, one = run_of.rate(name), rung_page(name)
        require(rate.plus_minus(0) in start, f"{name}: {rate} isn't on the first page")
        require(rate.to(1) in texts([one])[0], f"{name}: {rate} isn't on its page")
        require(f"../results/{results.HOME}/burst.html" in all_of(one, "href", "a"), name)
    for path in results.RESULTS.glob("*/**/*.jsonl"):  # every program has its row
        place = path.relative_to(results.RESULTS).with_suffix(".html")
        shown = texts([page(book()[1] / "results" / place)])[0]
        wanted = [word for one in results.load(path) for word in (one.commit, *one.names)]
        none_of(
            [f"{place}: no {word}" for word in wanted if word.partition("-parts")[0] not in shown]
        )


def test_tops(_):
    """From the top of a rung's page one comes to its parts, to its neighbours, and to the text."""
    names = list(rungs_today.find(ROOT / "steps"))
    for before, name, after in zip([None, *names], names, [*names[1:], None]):
        one = rung_page(name)
        links = all_of(one.find(".//nav[@class='onpage']"), "href", "a")
        parts = ["note", *["diff"] * (before is not None), "times", "resources", "source"]
        missing = [part for part in parts if f"#{part}-of-{name}" not in links]
        same((name, missing if name[1:] != "01" else []), (name, []))
        for where in ("above", "below"):
            turns = all_of(one.find(f".//nav[@class='turn {where}']"), "href", "a")
            wanted = [f"{other}.html" for other in (before, after) if other]
            same((name, where, turns), (name, where, wanted))
        skip = one.find(".//body/a")
        same((skip.get("class"), skip.get("href")), ("skip", "#content"))


def test_index(_):
    """The search knows every page, and what it leads to is there."""
    folder = book()[1]
    text = (folder / "search-index.js").read_text(encoding="utf-8")
    found = json.loads(text.removeprefix("const PAGES = ").rstrip().rstrip(";"))
    pages = [place for place in files_of(folder) if place.endswith(".html")]
    same(sorted(place for place, _, _ in found), sorted({*pages} - {"search.html"}))
    for place, _, parts in found:
        known = {"", "L", *all_of(page(folder / place), "id")}
        none_of([f"{place}#{anchor}" for anchor, _, _ in parts if anchor not in known])
        lines = [text.split("\n") for anchor, _, text in parts if anchor == "L"]
        shown = texts(page(folder / place).findall(".//pre[@class='source']/span"))
        require(lines in ([], [shown], [[*shown, ""]]), f"{place}: other lines")


# --- a small tree -----------------------------------------------------------------------------

NOTE = """# v02: <!--=a-->two<!--/--> & more

<!-- results:begin -->
| a | b |
| --- | ---: |
| <!--=v02.tflops - 1-->775<!--/--> | *x* |
<!-- results:end -->

<!--=z-->12<!--/--> *begins* a line; see [the idea](../ideas/banks.md#the-second-part),
[v01](../../steps/v01_first.cu), [its code](../../steps/v01_first.cu#L2), `steps/v02_second.cu` and `<!-- kept -->`.

<img src="../../plots/ideas/some%20banks.png" width="900" alt="Banks & more: which of 32 holds a word">

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
SMALL_PAGES = {  # what stands on them
    "rungs/v02.html": (
        "v02: two &amp; more",
        "<td>775</td>",
        "12 <em>begins</em> a line",
        'href="../ideas/banks.html#the-second-part"',
        'href="v01.html"',
        'href="v01.html#L2"',
        'href="v02.html"><code>steps/v02_second.cu</code>',
        "<code>&lt;!-- kept --&gt;</code>",
        "&lt;!-- kept as well --&gt;",
        'src="../pictures/ideas/some%20banks.svg" alt="Banks &amp; more: which of 32 holds a word"',
        '<span class="t">int</span> a<ins>, b</ins>;</code>',
        'href="../source/common/step.h.html"',
        "No finished run of this rung is recorded yet.",
        "Not recorded yet: python3 -m bench.resources",
    ),
    "rungs/v01.html": ("It &lt;is&gt; so.", "the first &amp; only", "No note is written"),
    "index.html": ("No run is recorded yet.", "small", "Banks"),
    "ideas/index.html": ('href="banks.html">Banks</a>', "Thirty-two."),
}


def small_tree(folder, **changed):
    """A tree with two rungs and nothing recorded; returns its root and the book's folder."""
    root = Path(folder) / "tree"
    ignore = shutil.ignore_patterns("__pycache__", "results")
    for part in ("book", "bench"):
        shutil.copytree(ROOT / part, root / part, ignore=ignore)
    for place, text in {**SMALL, **changed}.items():
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(text, encoding="utf-8")
    return root, root.resolve() / "build" / "book"


def test_small(folder):
    """Comments vanish, links and pictures become the book's, and nothing recorded is said so."""
    root, out = small_tree(folder)
    result = run(root=root)
    same((result.returncode, result.stderr), (0, ""))
    none_of(link_problems(out))
    for place, wanted in SMALL_PAGES.items():
        text = (out / place).read_text(encoding="utf-8")
        none_of([f"{words!r} isn't in {place}" for words in wanted if words not in text])


def test_live(folder):
    """HTML in a note or a record is text, but for pictures."""
    live = '<script>x</script> <b onclick="x">b</b> <a href="javascript:x">c</a> [d](javascript:x)'
    note = f"# v01\n\n{live}\n\n<div>\n{live} e < f\n</div>\n\n<script>\nx < y\n"
    root, out = small_tree(folder, **{"notes/rungs/v01.md": note, "plots/ladder.png": ""})
    for row in rows(["v01", "v16"]):
        place = root / "bench" / "results" / results.HOME / "live.jsonl"
        results.append(place, {**row, "idea": live})
    result = run(root=root)
    same((result.returncode, result.stderr), (0, ""))
    none_of(link_problems(out))
    for place, count in (
        ("rungs/v01.html", 3),
        ("index.html", 2),
        (f"results/{results.HOME}/live.html", 2),
    ):
        text = (out / place).read_text(encoding="utf-8")
        same((place, text.count("&lt;script&gt;")), (place, count))
        require("<b onclick" not in text, text)
        require("x &lt; y" in text or place != "rungs/v01.html", text)


def test_refuses(folder):
    """What a note links to must be there: exit 1, one line each, and the old book stays."""
    links = (
        "[a](gone.md) ![b](../../plots/gone.png) ![c](https://example.org/c.png) [d](/etc/passwd)"
    )
    root, out = small_tree(folder)
    same(run(root=root).returncode, 0)
    before = {place: path.read_bytes() for place, path in files_of(out).items()}
    (root / "notes/rungs/v01.md").write_text(f"# v01\n\n{links} [e](../../../../etc)\n")
    result = run(root=root)
    same((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 5))
    for words in ("gone.md", "plots/gone.png", "example.org/c.png", "/etc/passwd", "../../etc"):
        require(words in result.stderr, f"{words} isn't in {result.stderr}")
    require(result.stderr.startswith("book: notes/rungs/v01.md: "), result.stderr)
    same({place: path.read_bytes() for place, path in files_of(out).items()}, before)
    other = Path(folder) / "other"
    other.mkdir()
    (other / "mine").write_text("precious")
    result = run("--out", other, root=root)
    same((result.returncode, result.stderr.count("\n")), (2, 1))
    same((other / "mine").read_text(), "precious")


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
# Opens one page after the other in a frame, and looks at it in all widths.
DRIVER = """<!doctype html><meta charset="utf-8"><body><script>(async () => {
  const found = [], frame = document.createElement("iframe");
  frame.style = "border: 0; height: 900px";
  document.body.append(frame);
  for (const [page, widths, look] of JOBS) {
    found.push([]);
    frame.width = widths[0];
    await new Promise(loaded => { frame.onload = loaded; frame.src = page; });
    for (const width of widths) {
      frame.width = width;
      found.at(-1).push(await frame.contentWindow.eval(LOOKS[look]));
    }
  }
  document.body.textContent = JSON.stringify(found);
})();</script></body>"""
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


def looks(jobs, *options):
    """What pages say of themselves, a list for each job: (the page's address, widths, what to ask)."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Skipped(
            f"none of {', '.join(BROWSERS)} is installed; Debian's package is {BROWSERS[0]}"
        )
    asked = list(dict.fromkeys(look for _, _, look in jobs))
    words = {"JOBS": [(*job[:2], asked.index(job[2])) for job in jobs], "LOOKS": asked}
    with tempfile.TemporaryDirectory() as folder:
        driver = Path(folder) / "driver.html"
        text = re.sub("|".join(words), lambda word: json.dumps(words[word[0]]), DRIVER)
        driver.write_text(text, encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        command = [browser, *OPTIONS, *options, profile, driver.as_uri()]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
    said = re.search(r"<body>(\[.*\])</body>", ended.stdout, re.DOTALL)
    require(
        said, f"the browser did not look at all pages: {ended.stdout[-300:]}{ended.stderr[-300:]}"
    )
    return json.loads(html.unescape(said[1]))


def look_problems(look, width, wants_diff):
    """What is wrong with a page that says this of itself."""
    problems = [f"it does not show {url}" for url in look["pictures"]]
    problems += [f"it is {look['width']} wide"] * (look["width"] > width)
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


def widths_of(path):
    """The widths in which a page is looked at: one of source or of records, which only scrolls, on a
    phone alone."""
    listed = {"source", "results"}.intersection(path.parts)
    return (PHONE,) if listed else (DESKTOP, PHONE)


def page_problems(pages, found):
    """What is wrong with pages in a browser, on a desktop and on a phone: {path: wants a diff}, and
    what they say of themselves."""
    return [
        f"{path.name}, {width} wide: {why}"
        for path, of_page in zip(pages, found)
        for look, width in zip(of_page, widths_of(path))
        for why in look_problems(look, width, pages[path])
    ]


# The text of a page that is hard to read, as the browser paints it: [contrast, colours, the text]. WCAG
# 2.2 wants 4.5 of text, level AA.
CONTRAST = """(() => {
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
  const light = colour => {
    const part = i => {
      const one = colour[i] / 255;
      return one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2) + 0.05;
  };
  const ground = one => {
    for (; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  let count = 0;
  while (texts.nextNode()) {
    const text = texts.currentNode.data.trim(), one = texts.currentNode.parentElement;
    if (!text || !one.checkVisibility() || !one.getClientRects().length) continue;
    const pair = [numbers(getComputedStyle(one).color), ground(one)];
    const [low, high] = pair.map(light).sort((a, b) => a - b);
    ++count;
    if (high / low < 4.5) found.push([high / low, pair, text.slice(0, 40)]);
  }
  const width = document.documentElement.scrollWidth;
  return { width, count, found, paper: ground(document.body) };
})()"""


# What the moving ring shows at some steps, and after the button was pressed for a while and again.
MOVE = """(async () => {
  const one = what => document.querySelector(what);
  const all = what => [...document.querySelectorAll(what)];
  const slider = one(".moving input"), button = one(".moving button");
  const wait = time => new Promise(done => setTimeout(done, time));
  const shown = () => ({
    step: Number(one(".moving output").textContent.match(/\\d+/)[0]),
    states: all(".ring li").map(place => place.dataset.state),
    does: all(".does").map(does => does.textContent),
    lines: all(".warp").map(warp => {
      const mark = warp.querySelector("mark");
      return mark && [Number(mark.dataset.n), mark.textContent];
    }),
  });
  const found = [];
  for (slider.value = 0; ; slider.stepUp(13)) {
    slider.dispatchEvent(new Event("input"));
    found.push(shown());
    if (slider.value === slider.max) break;
  }
  slider.value = 20;
  const names = [button.textContent];
  button.click();
  await wait(1100);
  names.push(button.textContent, slider.value - 20);
  button.click();
  await wait(1100);
  const picture = one(`img[src*="${one(".moving").dataset.picture}"]`).getBoundingClientRect();
  return {
    found, names: [...names, button.textContent, slider.value - 20], focusable: slider.tabIndex,
    below: one(".moving").getBoundingClientRect().top - picture.bottom,
    linked: !one(".onpage [href^='#ring']").hidden,
  };
})()"""


def wanted_states(trace, time):
    """What each stage is at that time, as the picture shows it."""
    return [
        next((what for what, begin, end in spans if begin <= time < end), "empty")
        for spans in (traces.states(stage, trace.end + 1) for stage in traces.stages(trace))
    ]


def move_problems(name, moved):
    """What is wrong with what the moving ring of that rung showed."""
    trace, problems = traces.Trace(traces.load(traces.TRACES / f"{name}-emulator.json")), []
    source = rungs_today.find(ROOT / "steps")[name].path.read_text(encoding="utf-8").splitlines()
    for shown in moved["found"]:
        where, time = f"{name}, step {shown['step']}", shown["step"]
        if shown["states"] != wanted_states(trace, time):
            problems.append(f"{where}: {shown['states']}, not {wanted_states(trace, time)}")
        for warp, line in zip(trace.warps, shown["lines"]):
            now = [event for event in warp.events if event.begin <= time < event.end and event.line]
            wanted = trace.source(now[0].line) if now else None
            text = source[line[0] - 1].partition("//")[0].strip() if line else None
            if text != wanted or (line and line[1].strip() != source[line[0] - 1].strip()):
                problems.append(f"{where}: warp {warp.number} is at {line}, not at {wanted}")
    shape = " ".join(f"--{side} {trace.run.problem[side]}" for side in "mnk")
    again = (
        f'if the rung has changed: make trace N={name} EMULATE=1 ARGS="{shape} --keep", make plots'
    )
    return [f"{problem} ({again})" for problem in problems]


def all_pages():
    """{path: whether it has a diff}."""
    found = rungs_today.find(ROOT / "steps")
    diffs = {f"rungs/{name}.html" for name, rung in found.items() if rung.below}
    files = files_of(book()[1]).items()
    return {path: place in diffs for place, path in files if path.suffix == ".html"}


# A page of each kind, and those with most on them.
KINDS = ("index", "search", "readme", "notes/results", "ideas/index", "ideas/mbarrier-and-phases")
KINDS += ("results/index", "rungs/v01", "rungs/v07", "rungs/v15", "rungs/v18", "rungs/a03")
KINDS += ("source/common/device/index", "source/common/device/tma.cuh", "results/emulator/counts")
MOVING = ("v04", "v07", "v15")
QUERIES = {  # and how the first address found begins
    "mbarrier+parity": "ideas/mbarrier-and-phases.html#parity",
    "v07": "rungs/v07.html",
    "MAKE_TENSOR_MAP_2D(": "rungs/v",
    "zyzzyva": None,
}
HITS = """({
  said: document.querySelector("#said").textContent,
  links: [...document.querySelectorAll(".hits a")].map(one => one.getAttribute("href")),
  ...CONTRAST
})"""


@functools.cache
def tour(dark):
    """What the pages of the book say, light or dark: (all of them when light, what is hard to read
    on one of each kind, the moving rings, the search)."""
    folder = book()[1]
    rings = [(folder / f"rungs/{name}.html").as_uri() for name in MOVING]
    place = (folder / "search.html").as_uri()
    few = [folder / f"{name}.html" for name in KINDS]
    jobs = [
        [(path.as_uri(), widths_of(path), LOOK) for path in all_pages() if not dark],
        [(path.as_uri(), (DESKTOP, PHONE), CONTRAST) for path in few],
        [(page, (DESKTOP,), MOVE) for page in rings],
        [
            (f"{place}?q={query}", (DESKTOP, PHONE), HITS.replace("CONTRAST", CONTRAST))
            for query in QUERIES
        ],
    ]
    found = iter(looks([job for part in jobs for job in part], *(DARK if dark else ())))
    return [[next(found) for _ in part] for part in jobs]


def test_browser(_):
    """In a browser, on a desktop and on a phone: every page is whole, every diff is shown."""
    none_of(page_problems(all_pages(), tour(False)[0]))


def test_themes(_):
    """In a browser, light and dark: a page of each kind fits, and its text can be read."""
    grounds = set()
    for dark in (False, True):
        _, readable, _, searched = tour(dark)
        for name, found in zip((*KINDS, *QUERIES), (*readable, *searched)):
            none_of([f"{name}: {text} on {width}" for width in found for text in width["found"]])
            require(all(one["count"] > 5 for one in found), f"{name}: no text is shown")
            widths = [one["width"] for one in found]
            require(widths[0] <= DESKTOP and widths[1] <= PHONE, f"{name} is {widths} wide")
            grounds.update((dark, *one["paper"]) for one in found)
    same(len(grounds), 2)


def test_moving(_):
    """In a browser the ring moves: each step shows what the trace tells, and the button plays."""
    for name in MOVING:
        section = rung_page(name).find(".//section[@class='moving']")
        require(section.get("hidden") == "", f"{name}: it shows without a script")
    played = {False: ["Play", "Pause", 5, "Play", 5], True: ["Next step", "Next step", 1]}
    played[True] += ["Next step", 2]  # who wants no motion presses for each step
    for dark, names in played.items():
        for name, (moved,) in zip(MOVING, tour(dark)[2]):
            same((name, moved["names"]), (name, names))
            require(moved["linked"] and moved["focusable"] == 0, "it cannot be reached")
            require(0 < moved["below"] < 200, f"{name}: {moved['below']} below the picture")
            require(len(moved["found"]) > 15, f"{name}: {len(moved['found'])} steps")
            none_of(move_problems(name, moved))


def test_search(_):
    """In a browser the search finds what is written, and leads there."""
    for (query, wanted), (found, _) in zip(QUERIES.items(), tour(False)[3]):
        first = next(iter(found["links"]), "")
        require(first.startswith(wanted or ""), f"{query} leads to {first}")
        require(first or (wanted is None and found["said"].startswith("0 pages")), found["said"])


def test_finds_faults(folder):
    """The checks in the browser find what is planted."""
    cell = '<code class="old">a <del>b</del></code><code class="new">a <ins>c</ins></code>'
    planted = {
        '<img src="gone.png" alt="x">': "it does not show file:",
        '<div style="width: 500px">x</div>': f"{PHONE} wide: it is 5",
        "<style>del{background:red} ins{background:none}</style>": "1 of 2 changed words not",
        f'<div class="sides"><div class="hunk change">{cell}</div></div>': "lines should be stacked",
    }
    path = Path(folder).resolve() / "page.html"
    grey = '<p style="color: #777">a grey that is too light</p>'
    text = f"<!doctype html><meta charset=utf-8>{''.join(planted)}{grey}"
    path.write_text(text, encoding="utf-8")
    widths = (DESKTOP, PHONE)
    found, ((said, _)) = looks([(path.as_uri(), widths, one) for one in (LOOK, CONTRAST)])
    problems = page_problems({path: True}, [found])
    none_of([why for why in planted.values() if not any(why in line for line in problems)])
    same([round(one[0], 2) for one in said["found"]], [4.48])


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(pictures.run_tests("book", globals(), "book", "jinja2"))
