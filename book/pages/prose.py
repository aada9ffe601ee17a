"""Markdown as HTML: links and pictures are those of the book, comments vanish."""

from __future__ import annotations

import html
import re
import textwrap
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

from markdown_it import MarkdownIt

from book.pages import highlight

# A fenced block or a code span, which are left alone, or a comment. A span does not reach beyond its
# paragraph.
CODE_OR_COMMENT = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,})[^`\n]*\n.*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)"
    r"|(?P<comment><!--.*?-->)",
    re.DOTALL | re.MULTILINE,
)
# The end of a line before another in a quote that begins in bold: a rung's result are three lines.
RESULT = re.compile(r"^(> .*)\n(?=> \*\*)", re.MULTILINE)
IMAGE = re.compile(r"<img\s([^<>]*)>")
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
LANGUAGE = re.compile(r"[A-Za-z0-9+#-]*")
SENTENCE = re.compile(r".{25,}?[.?!:](?= |$)|.*", re.DOTALL)
SAID = 80  # letters of a first sentence that the search shows
LONG = 24  # letters of code that may be wider than a phone
JOINT = re.compile(r"(/|::|,|_|\.)(?=\w)|(?<=[a-z])(?=[A-Z])")  # where such code may break
WITH_BREAK = r"\1<wbr>"


def slug(text):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def text_of(inline):
    """The words of an inline token."""
    content = {"text": "{}", "code_inline": "{}", "softbreak": " ", "hardbreak": " "}
    return "".join(content.get(one.type, "").format(one.content) for one in inline.children or ())


@dataclass
class Prose:
    """A page's text."""

    title: str = ""  # its first heading of the first level, as text
    title_html: str = ""
    html: str = ""  # the rest
    lead: str = ""  # the first sentence, as text
    headings: list = field(default_factory=list)  # [id, text, first sentence], but for the title
    tops: list = field(default_factory=list)  # those of the second level


class Renderer:
    """Markdown to HTML, with the links of a site: of the file `source`, for the page at `here`."""

    def __init__(self, site, here, source):
        self.site, self.at = site, (here, source)
        self.markdown = MarkdownIt("commonmark", {"html": True, "highlight": self.fence})
        self.markdown.enable(["table", "strikethrough"])
        rules = {
            # A table is wider than a phone: it scrolls in a box of its own.
            "table_open": lambda *_: '<div class="scroll"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "image": lambda token, _: self.picture(token.attrs["src"], token.content),
            "code_inline": self.code_inline,
            "html_inline": lambda token, _: self.in_html(token.content),
            "html_block": lambda token, _: self.in_html(token.content),
        }
        # A rule is made a method of markdown-it's renderer, which is its first argument.
        for name, rule in rules.items():
            self.markdown.add_render_rule(
                name, lambda _, tokens, at, *__, rule=rule: rule(tokens[at], tokens[:at])
            )
        self.html_of = partial(self.markdown.renderer.render, options=self.markdown.options, env={})

    @staticmethod
    def fence(code, language, _attributes):
        """A fenced block."""
        return highlight.block_html(code, LANGUAGE.match(language)[0].lower())

    def code_inline(self, token, before):
        """Code; if it names a file of the tree, a link to it. Long code breaks at its joints."""
        text = html.escape(token.content, quote=False)
        code = f"<code>{JOINT.sub(WITH_BREAK, text) if len(text) > LONG else text}</code>"
        inside = sum(one.nesting for one in before if one.type.startswith("link_"))
        link = None if inside else self.site.named(self.at[0], token.content)
        return f'<a href="{html.escape(link)}">{code}</a>' if link else code

    def in_html(self, text):
        """HTML in a note: a picture is the book's own, and everything else is text."""
        made = []
        for number, part in enumerate(IMAGE.split(text)):
            known = {name: html.unescape(value) for name, value in ATTRIBUTE.findall(part)}
            picture = number % 2 and self.picture(known.get("src", ""), known.get("alt", ""))
            made.append(picture or html.escape(part, quote=False))
        return "".join(made)

    def picture(self, source, words):
        """A picture, which opens alone and large: on a phone it is small."""
        there, words = html.escape(self.site.picture(*self.at, source)), html.escape(words)
        return f'<a class="picture" href="{there}"><img src="{there}" alt="{words}"></a>'

    def parse(self, text):
        """The tokens of a page. Comments, which hold what fills a note, are taken out before Markdown
        sees them: a line that begins with one would be HTML to it."""
        text = CODE_OR_COMMENT.sub(lambda match: "" if match["comment"] else match[0], text)
        tokens, used = self.markdown.parse(RESULT.sub(r"\1\\\n", text)), Counter()
        for opening, token in zip(tokens, tokens[1:]):
            if opening.type == "heading_open":
                name = slug(text_of(token))
                used[name] += 1
                opening.attrSet("id", f"{name}-{used[name] - 1}" if used[name] > 1 else name)
        return tokens

    def render(self, text):
        """A whole page."""
        tokens, prose = self.parse(text), Prose()
        kept = list(tokens)
        for opening, token in zip(tokens, tokens[1:]):
            for child in token.children or ():
                child.content = child.content.replace(" %", "\N{NO-BREAK SPACE}%")
                if child.type == "link_open":
                    child.attrSet("href", self.site.link(*self.at, child.attrs["href"]))
            if opening.type == "paragraph_open":
                said = textwrap.shorten(SENTENCE.match(text_of(token))[0], SAID, placeholder=" …")
                prose.lead = prose.lead or said
                if prose.headings and not prose.headings[-1][2]:
                    prose.headings[-1][2] = said
            elif opening.type == "heading_open" and opening.tag == "h1" and not prose.title:
                prose.title, prose.title_html = text_of(token), self.html_of([token])
                at = kept.index(opening)
                del kept[at : at + 3]
            elif opening.type == "heading_open":
                prose.headings.append([opening.attrs["id"], text_of(token), ""])
                prose.tops += [prose.headings[-1]] * (opening.tag == "h2")
        prose.html = self.html_of(kept)
        return prose
