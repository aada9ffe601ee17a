"""What the search looks through: the text of each page, part by part, as a script that a page loads from
beside it. No network is needed, and no server."""

from __future__ import annotations

import html
import json
import re

UNSEARCHED = re.compile(
    r"<(nav|script|noscript|(?:section|details)(?= class=\"(?:diff|moving|contents)\"))\b.*?</\1>",
    re.DOTALL,
)
PART = re.compile(r'<(?:h2|h3|section)\b[^>]*\bid="([^"]+)"[^>]*>')
TAG = re.compile(r"<[^>]*>")


def words(markup):
    """The text of some HTML."""
    lines = html.unescape(TAG.sub("", markup)).splitlines()
    return "\n".join(line.strip() for line in lines).strip()


def parts_of(page, text):
    """(anchor, heading, text) of each part of a page. Of a source, whose anchor is L, the lines are
    kept; of records, which are figures, only what they are."""
    main = text[text.index("<main") : text.rindex("</main>")]
    before, listing, lines = main.partition('<pre class="source">')
    if page.place.startswith("results/") or page.place.endswith(".json.html"):
        return [("", "", page.words.get("said", ""))]
    pieces = ["", *PART.split(UNSEARCHED.sub("", before))]
    found = []
    for anchor, piece in zip(pieces[::2], pieces[1::2]):
        heading, _, rest = piece.partition("</h") if anchor else ("", "", piece)
        found.append((anchor, words(heading), words(rest.partition(">")[2] if anchor else rest)))
    if listing:
        source = html.unescape(TAG.sub("", lines.partition("</pre>")[0]))
        found.append(("L", "", source))
    return [part for part in found if part[2]]


def index_of(pages):
    """The script, of all (page, HTML)."""
    found = [(page.place, page.title, parts_of(page, text)) for page, text in pages]
    return "const PAGES = " + json.dumps(found, ensure_ascii=False, separators=(",", ":")) + ";\n"
