"""Finds figures that somebody typed into a note instead of naming the result they are from.

notes/README.md has the rule in words. A figure is a number with a unit of measurement behind it, a
number of times or a multiple, a number "of cuBLAS" or the like, a count of millions, or any number
with a decimal point that is no version. Sections whose heading is "Prediction" may have any.
"""

from __future__ import annotations

import re

from bench import markdown

WORDS = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty "
)
WORDS += "seventy eighty ninety hundred thousand"
DIGITS = r"[0-9]+(?:[,.][0-9]+)*[⁰¹²³⁴⁵⁶⁷⁸⁹]*"
NUMBER = rf"(?<![\w.,])(?:{DIGITS}|(?i:{'|'.join(WORDS.split())}))"
UNITS = (
    r"[TGM]FLOPS?(?:/s)?",
    r"[TGMk]i?B/s",
    r"bytes? (?:per|a) second",
    r"[GMk]Hz",
    r"[TGMk]B",
    r"(?:m|µ|μ|u|n)?s",
    r"(?:(?:milli|micro|nano)?seconds?)",
    r"[mpnµ]?J",
    r"joules?",
    r"k?W",
    r"watts?",
    r"%",
    r"per ?cent",
    r"cycles?",
    r"(?:bank |shared-memory )*conflicts?",
    r"wavefronts?",
    r"instructions executed",
    r"(?:million|billion)s?",
)
MULTIPLE = r"times (?:as|faster|slower|more|less|fewer|higher|lower|the)\b|-?fold\b|[x×](?![\w×])(?! ?[0-9])"
OF_WHOM = r"(?:of|times) (?:cuBLAS(?:Lt)?|the (?:device )?copy|the peak|peak|the roofline)\b"
VERSION = (
    r"(?:PTX|ISA|CUDA|cuBLAS(?:Lt)?|driver|ncu|Compute|compute capability|capability|[Ss]ections?"
)
VERSION += r"|[Cc]hapter|[Vv]ersion|[Tt]able|[Ff]igure|gcc|g\+\+|Python|§|and|to|or)"
GAP = r"[ \n\u00a0\u202f-]?"  # with the two blanks that do not break
FIGURES = (
    ("a number with a unit", re.compile(rf"{NUMBER}{GAP}(?:{'|'.join(UNITS)})(?![\w/])")),
    ("a multiple", re.compile(rf"(?<![\w.,]){DIGITS}{GAP}(?:{MULTIPLE})")),
    ("a share", re.compile(rf"(?<![\w.,]){DIGITS}{GAP}{OF_WHOM}")),
    ("a decimal number", re.compile(r"(?<![\w.,])[0-9]+\.[0-9]+(?![\w.]*[0-9])")),
)
BEHIND_A_VERSION = re.compile(rf"{VERSION} ?$")
HEADING = re.compile(r"^(#{1,6}) +(.+?)#* *$")
EXEMPT = "prediction"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
LINK_TARGET = re.compile(r"\]\([^)\s]*\)|<https?://[^>\s]*>")


def blanked(match):
    """As many blanks and line ends as the match has: places in the text stay what they are."""
    return re.sub(r"[^\n]", " ", match[0])


def masked_figure(match):
    """A figure's marker, or code, as a word that is no number."""
    return "~" + blanked(match)[1:]


def prose(note):
    """The note's own text, line for line: code, blocks and filled figures are blank."""
    kept = []
    for segment in markdown.segments(note):
        text = segment.text
        if segment.kind != "text":
            text = re.sub(r"[^\n]", " ", text)
        else:
            text = markdown.FIGURE.sub(masked_figure, text)
            text = LINK_TARGET.sub(blanked, COMMENT.sub(blanked, text))
        kept.append(text)
    return "".join(kept)


def without_predictions(text):
    """The text with the lines of every section that is headed "Prediction" blank."""
    lines, exempt_level = [], 0
    for line in text.split("\n"):
        heading = HEADING.match(line)
        if heading:
            level = len(heading[1])
            if heading[2].strip().lower() == EXEMPT:
                exempt_level = level
            elif exempt_level and level <= exempt_level:
                exempt_level = 0
        lines.append("" if exempt_level else line)
    return "\n".join(lines)


def is_version(text, match):
    """True for 13.0 in 'CUDA 13.0'."""
    return BEHIND_A_VERSION.search(text[: match.start()].replace("\n", " "))


def typed_figures(note):
    """[(line, what, text)] of every figure that is not between markers. ValueError for a note whose
    markers are broken."""
    text = without_predictions(prose(note))
    found = {}
    for what, pattern in FIGURES:
        for match in pattern.finditer(text):
            if what == "a decimal number" and is_version(text, match):
                continue
            if any(start <= match.start() < end for start, end in found):
                continue
            found[match.span()] = (1 + text.count("\n", 0, match.start()), what, match[0])
    return sorted((line, what, " ".join(words.split())) for line, what, words in found.values())
