"""The pages of notes/: every rung and every idea has one, with the headings that a page has, few
figures in its sentences, and none typed. What make notes writes is what the records say, and what it
cannot write it refuses."""

from __future__ import annotations

import re

import pytest

from tools import ROOT, made_runs

from bench import results, rungs
from exercises.table import EXERCISES
from notes.tools import figures, fill, tables
from planted import plant

NOTES = ROOT / "notes"
RUNGS = rungs.find()
PAGES = {path.relative_to(ROOT).as_posix(): path for path in fill.pages(NOTES)}
LIBRARY = tables.Library()

# --- pages ----------------------------------------------------------------------------------

CHAPTERS = ["The idea", "What the hardware does", "Prediction", "Measurement", "Why they differ"]
CHAPTERS += ["Hazards", "Exercises", "What you learned", "Sources"]
NEEDED = {"Prediction", "Measurement", "Hazards", "Sources"}
CARD = ["Measurement", "Hazard", "Sources"]  # of a rung whose story an article tells
# The most words of a page, as a reader sees them; a commit that raises one says why.
WORDS = {
    "README.md": 1100,
    "notes/start-here.md": 900,
    **dict.fromkeys(("notes/results.md", "notes/proof.md"), 700),
    **dict.fromkeys(("notes/using.md", "notes/what-did-not-help.md"), 650),
    **dict.fromkeys(("notes/found-in-the-wild.md", "notes/check-your-kernel.md"), 650),
    "notes/README.md": 200,
    "notes/the-climb.md": 4000,
    "notes/any-shape.md": 2300,
    "notes/ampere.md": 1700,
    "notes/moving-data.md": 1900,
    "notes/measure-and-profile.md": 1200,
    "notes/emulator.md": 800,
    "notes/when-it-fails.md": 1100,
}
MOST_WORDS = {"notes/ideas": 1250, "notes/rungs": 1200}  # of others
OF_CARD = 190
ALL_WORDS = 45_000
RESULT_FIRST = re.compile(r"# .*\n\n> \*\*What .*\n(?:> .*\n)*> \*\*Wh[yo].*\n(?:> .*\n)*\n")
SHORTEST = 60  # words
MOST_FIGURES = 6  # in the sentences of a page
STORIES = {"notes/the-climb.md": 20} | dict.fromkeys(  # they go through all rungs of a track
    ("notes/any-shape.md", "notes/ampere.md", "notes/moving-data.md"), 12
)
TYPED = re.compile(  # a rate, or what was gained
    r"(?<![\w.,])(?<!Expected: )(?:[0-9][0-9.,]*[ \n]?(?:TFLOPS|GB/s|GHz|W|J)(?![\w/])"
    r"|[+−][0-9][0-9.,]*\s%|[0-9][0-9.,]*\s%\s(?:faster|slower))"
)
OF_DATASHEETS = ("700 W", "989 TFLOPS")  # the power limit and the peak
PREDICTION = re.compile(r"^(#+) Prediction$.*?(?=^(?!\1#)#+ |\Z)", re.DOTALL | re.MULTILINE)
OF_TABLES = re.compile(r"(?:trace|energy|emulator)\.|__")


def prose_of(note):
    """A page without its blocks and its code."""
    return fill.PIECE.sub(lambda one: "" if one["block"] or one["fence"] else one[0], note)


@pytest.mark.check
@pytest.mark.parametrize("name", RUNGS)
def test_rung(name):
    """A rung's page says the result first, and has its chapters, its exercises and its table."""
    note = (NOTES / "rungs" / f"{name}.md").read_text(encoding="utf-8")
    prose = prose_of(note)
    begins = note[:7] == f"# {name}: " and RESULT_FIRST.match(note)
    assert begins, "its first lines: see CONTRIBUTING.md"
    chapters = re.findall(r"^## +(.+?) *$", prose, re.MULTILINE)
    assert "<!-- sources -->" in note
    # A rung that is measured beside variants or rivals has a table of its own choice.
    chosen = rf"figures [^:]*:[^:]*\b{name}\b[^:]*: .*"
    assert re.search(rf"^<!-- (rung {name}( @\w+)*|{chosen}) -->$", note, re.MULTILINE)
    if chapters == CARD:
        assert words_of(note) <= OF_CARD
        return
    assert chapters == [one for one in CHAPTERS if one in chapters] and {*chapters} >= NEEDED
    short = re.sub("v0?|(?<=[satf])0", "", name)
    wanted = [f"N={short} E={number}" for number in range(1, 1 + len(EXERCISES.get(name, ())))]
    assert re.findall(r"`make exercise (N=\w+ E=\d+)`", prose) == wanted


def words_of(note):
    """How many words a reader sees: of links and pictures the text, of tables the cells."""
    note = re.sub(r"(?s)<!--.*?-->|<img[^>]*>|(?<=\])\([^)]*\)", "", note)
    return sum(bool(re.search(r"\w", word)) for word in note.split())


@pytest.mark.check
def test_words():
    """No page has more words than its budget, nor have all together."""
    counted = {place: words_of(path.read_text(encoding="utf-8")) for place, path in PAGES.items()}
    most = {place: MOST_WORDS.get(place.rpartition("/")[0], 0) for place in counted} | WORDS
    assert {place: n for place, n in counted.items() if n > most[place]} == {}
    assert sum(counted.values()) <= ALL_WORDS


@pytest.mark.check
def test_all_pages():
    """Each page of a rung is of one, and notes/README.md leads to every page."""
    assert {path.stem for path in NOTES.glob("rungs/*.md")} == {*RUNGS}
    linked = re.findall(r"\]\(([\w/-]+\.md)\)", PAGES["notes/README.md"].read_text())
    missing = {one.relative_to(NOTES).as_posix() for one in NOTES.glob("[ri]*/*.md")} - {*linked}
    assert not missing, "notes/README.md leads to none of these"


@pytest.mark.check
def test_path():
    """The route of notes/start-here.md is the learner's path; its next table has the rungs that the
    path leaves out, each beside the one that it leads to."""
    page = PAGES["notes/start-here.md"].read_text(encoding="utf-8")
    route, _, besides = page.partition("## How to read a rung")[0].partition("| purpose |")
    asides = {name: rung.leads_to for name, rung in RUNGS.items() if rung.aside}
    linked = re.compile(r"\(rungs/(v\d+)\.md\)")
    path = [name for name in RUNGS if name[0] == "v" and name not in asides]
    assert linked.findall(route) == path
    assert sorted(linked.findall(besides)) == sorted(asides)
    for name, there in asides.items():
        assert not there or re.search(rf"/{name}\.md\).*/{there}\.md\)", besides)


@pytest.mark.check
@pytest.mark.parametrize("place", PAGES)
def test_figures(place):
    """Few figures in sentences, and no measured rate or gain typed, but for code and predictions."""
    prose = prose_of(PAGES[place].read_text(encoding="utf-8"))
    # A comment at the start of a line would begin a block of HTML (CommonMark, HTML blocks).
    assert not re.search(r"^(> | +|- )?<!--=", prose, re.MULTILINE)
    named = [piece["figure"] for piece in fill.pieces(prose) if piece["figure"] is not None]
    assert not [text for text in named if OF_TABLES.search(text)]
    assert len(named) <= STORIES.get(place, MOST_FIGURES)
    if place.startswith(("notes/rungs/", "notes/ideas/")):
        assert prose.startswith("# ") and len(prose.split()) >= SHORTEST
        prose = re.sub(r"(?s)<!--.*?-->", "", fill.PIECE.sub("~", prose))
        typed = {" ".join(one[0].split()) for one in TYPED.finditer(PREDICTION.sub("", prose))}
        assert typed - {*OF_DATASHEETS} == set()


def test_rules():
    """Each row of the table of the emulator's rules says how it is checked, and what it names is
    there; each case of the emulator is named."""
    tests, page = ROOT / "emulator" / "tests", (ROOT / "emulator" / "RULES.md").read_text()
    texts = {path.stem: path.read_text() for path in tests.glob("cases/*.cu")}
    expected = re.findall(r"^// expect ([^:]+):", "\n".join(texts.values()), re.MULTILINE)
    known = {*texts, *re.findall(r"\w+", " ".join(expected))}
    known |= {bug.name for bug in plant.read_bugs()}
    rows = re.findall(r"^\| (?!rule )(.+) \|$", page, re.MULTILINE)
    rules = [row.split(" | ") for row in rows if row.count("|") == 3]
    how = re.compile("exact|approximate|stricter|not modelled")
    assert rules and [row for row in rules if not how.match(row[2])] == []
    named = {name for row in rules for name in re.findall(r"`([^`]+)`", row[3])}
    assert named - known == set() and [name for name in texts if f"`{name}`" not in page] == []


# --- what make notes writes -----------------------------------------------------------------

WRITTEN = (  # that no page has: test_results compares what the pages have
    (2.18e6, "cycles", "", "2.180 million cycles"),
    (1024.0, "cycles", "", "1024 cycles"),
    (8.11e9, "bytes", "MB", "8110.0 MB"),
)


def test_written():
    """Figures in their units; a bar begins no other cell."""
    for value, kind, form, text in WRITTEN:
        assert figures.write_as(value, kind, *form.split()) == text
    assert figures.markdown([["head", "a|b"]], 1) == ["| head |", "|---|", "| a\\|b |"]


ONE = "<!--=v07/v07 tflops as .0-->1<!--/-->"
RIGHT = f"text {ONE} and `<!--=v07-->9<!--/-->`\n\n```\n<!--=v07-->9<!--/-->\n```\n"
WRONG = RIGHT.replace("1<!--/-->", "3<!--/-->")
NO_FIGURES = (
    *("", "v07", "v07 tflops tflops", "v07.tflops", "__import__('os')"),
    *("v07 speed", "v07 emulator.naps", "v07 who__knows.sum"),
    *("v99 tflops", "v07-unheard-of tflops", "somebody tflops"),
    *("v07 tflops @1234567", "v07 tflops @b200", "t02 tflops", "v07/t02 time"),
    *("v01 share", "v07 joules", "v07 gb_per_s", "cublas against", "cublaslt dram_bytes"),
    *("v07 tflops @nowhere", "v07 tflops @8192 @4096", "v07 tflops @8192x8192"),
    *("v07 tflops @sustained @burst", "v07 tflops as GHz", "v07 tflops as gain"),
)
NO_BLOCKS = (
    *("rung ", "rung v99", "rung v07 @1234567", "rung v07 4096"),
    *("hazard v07 no-such-bug", "hazard ../v07 x", "sources of this"),
    *("figures v07 : tflops", "figures : v99 : tflops", "figures : v07 : speed"),
    *("figures : v06/v07/v08 : tflops", "figures @1234567 : v07 : tflops"),
    *("sweep ", "sweep 8", "sweep s09 one", "sweep v99"),
)
BROKEN = (
    *("<!--=v07 tflops-->2\n", "2<!--/-->\n", "<!--=v07-->2<!--/-->\n", "<!-- end -->\n"),
    *("<!-- rung v07 -->\n", "<!-- rung v07 --> <!-- end -->\n"),
    *(f"<!--={text}-->2<!--/-->\n" for text in NO_FIGURES),
    *(f"<!-- {text.strip()} -->\n<!-- end -->\n" for text in NO_BLOCKS),
)


def test_sweep(tmp_path):
    """A row for each family, columns for each card, a dash where a card was not swept or a row doesn't tell.
    Without a record that is said."""
    assert tables.sweep(tables.Library(tmp_path), "s09") == [tables.NOTHING]
    for gpu, families in ((made_runs.H200, ("aligned", "odd")), (made_runs.H100, ("odd",))):
        for family in families:
            for row in made_runs.swept(family, gpu, tuned=gpu == made_runs.H200):
                results.append(tmp_path / results.slug(gpu) / "shapes.jsonl", row)
    _, _, *rows, _, words = tables.sweep(tables.Library(tmp_path), "s09")
    assert rows[0] == "| aligned | 1.210 | 1.032 | +10.0 | +3.2 | – | – | – | – |"
    assert rows[4] == "| odd | 1.210 | 1.032 | +10.0 | +3.2 | 1.210 | 1.065 | +10.0 | – |"
    assert "random shapes a row" in words


@pytest.mark.parametrize("note", BROKEN)
def test_refused(note):
    """What is no marker is refused, with its line."""
    with pytest.raises(ValueError, match="^line 1: "):
        fill.fill(note, LIBRARY)


@pytest.mark.parametrize(
    "note, options, status, wanted",
    [(RIGHT, ["--check"], 0, RIGHT), (WRONG, ["--check"], 1, WRONG), (WRONG, [], 0, RIGHT)]
    + [(BROKEN[0], [], 2, BROKEN[0])],
    ids=("right", "found", "put right", "refused"),
)
def test_filled(note, options, status, wanted, tmp_path, capsys):
    """A figure that isn't the record's is found, and put right."""
    (tmp_path / "notes").mkdir()
    page = tmp_path / "notes" / "v07.md"
    page.write_text(note, encoding="utf-8")
    assert fill.main(["--notes", str(page.parent), *options]) == status
    assert page.read_text(encoding="utf-8") == wanted
    assert ("v07.md: " in capsys.readouterr().err) == (status > 0)
