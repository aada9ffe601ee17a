"""Markdown as HTML: links and pictures are those of the book, comments vanish."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from markdown_it import MarkdownIt

from book.pages import highlight

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
# A code span, which is left alone, or a comment; neither reaches beyond its paragraph.
SPAN_OR_COMMENT = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n[ \t]*\n).)+?(?<!`)(?P=ticks)(?!`)|<!--.*?-->", re.DOTALL
)
LANGUAGE = re.compile(r"[A-Za-z0-9+#-]*")


def without_comments(text):
    """The text without HTML comments, which hold what fills a note. Those in code stay.

    They are taken out before Markdown sees them: a line that begins with one would be HTML to it.
    """
    parts, prose, fence = [], [], None
    for line in text.splitlines(keepends=True):
        match = FENCE.match(line)
        if fence is None and match:
            parts += [clean("".join(prose)), line]
            prose, fence = [], match[1]
        elif fence is not None:
            parts.append(line)
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = None
        else:
            prose.append(line)
    return "".join([*parts, clean("".join(prose))])


def clean(text):
    """The same of text without fenced blocks."""
    return SPAN_OR_COMMENT.sub(lambda match: match[0] if match["ticks"] else "", text)


def slug(text):
    """The anchor that GitHub gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", text.strip().lower())
    return kept.replace(" ", "-")


def text_of(inline):
    """The words of an inline token."""
    words = ("text", "code_inline")
    return "".join(
        " " if token.type == "softbreak" else token.content
        for token in inline.children or ()
        if token.type in words or token.type == "softbreak"
    )


class Pictures(HTMLParser):
    """HTML in a note: a picture is the book's own, and everything else is text."""

    CDATA_CONTENT_ELEMENTS = RCDATA_CONTENT_ELEMENTS = ()  # in a <script> as well

    def __init__(self, picture):
        super().__init__(convert_charrefs=False)
        self.picture, self.made = picture, []

    def handle_starttag(self, tag, attributes):
        """A picture, or text."""
        known = dict(attributes)
        if tag == "img":
            self.made.append(self.picture(known.get("src") or "", known.get("alt") or ""))
        else:
            self.handle_data(self.get_starttag_text())

    def handle_endtag(self, tag):
        """Text."""
        self.handle_data(f"</{tag}>")

    def handle_data(self, data):
        """Text."""
        self.made.append(html.escape(data, quote=False))

    def handle_entityref(self, name):
        """As it is."""
        self.made.append(f"&{name};")

    def handle_charref(self, name):
        """As it is."""
        self.made.append(f"&#{name};")


@dataclass
class Prose:
    """A page's text."""

    title: str = ""  # its first heading of the first level, as text
    title_html: str = ""
    title_id: str = ""
    html: str = ""  # the rest
    lead: str = ""  # the first paragraph, as text
    headings: list = field(default_factory=list)  # (id, text) of the second level


class Renderer:
    """Markdown to HTML. `resolve(link)` gives the link in the book, `picture(source)` the
    picture's; `find(text)` the link for a file that is named in code, or None."""

    def __init__(self, resolve, picture, find):
        self.resolve, self.source_of_picture, self.find = resolve, picture, find
        self.markdown = MarkdownIt("commonmark", {"html": True, "highlight": self.fence})
        self.markdown.enable(["table", "strikethrough"])
        rules = {
            # A table is wider than a phone: it scrolls in a box of its own.
            "table_open": lambda *_: '<div class="scroll"><table>\n',
            "table_close": lambda *_: "</table></div>\n",
            "image": self.render_image,
            "code_inline": self.render_code_inline,
            "html_inline": self.render_html,
            "html_block": self.render_html,
        }
        # A rule is made a method of markdown-it's renderer, which is its first argument.
        for name, rule in rules.items():
            self.markdown.add_render_rule(name, lambda _, *known, rule=rule: rule(*known))

    @staticmethod
    def fence(code, language, _attributes):
        """A fenced block."""
        return highlight.block_html(code, LANGUAGE.match(language)[0].lower())

    def render_image(self, tokens, index, *_):
        """A picture of Markdown."""
        return self.picture(tokens[index].attrs["src"], tokens[index].content)

    def render_code_inline(self, tokens, index, *_):
        """Code; if it names a file of the tree, a link to it."""
        code = f"<code>{html.escape(tokens[index].content, quote=False)}</code>"
        inside = sum(token.nesting for token in tokens[:index] if token.type.startswith("link_"))
        link = None if inside else self.find(tokens[index].content)
        return f'<a href="{html.escape(link)}">{code}</a>' if link else code

    def render_html(self, tokens, index, *_):
        """HTML in a note."""
        parser = Pictures(self.picture)
        parser.feed(tokens[index].content)
        parser.close()
        return "".join(parser.made)

    def picture(self, source, words):
        """A picture, which opens alone and large: on a phone it is small."""
        there, words = html.escape(self.source_of_picture(source)), html.escape(words)
        return f'<a class="picture" href="{there}"><img src="{there}" alt="{words}"></a>'

    def render(self, text):
        """A whole page."""
        tokens = self.markdown.parse(without_comments(text))
        prose = Prose()
        used = {}
        for index, token in enumerate(tokens):
            if token.type == "heading_open":
                self.heading(prose, tokens, index, used)
            elif token.type == "inline":
                self.links(token.children)
                if not prose.lead and tokens[index - 1].type == "paragraph_open":
                    prose.lead = text_of(token)
        kept = [token for token in tokens if not token.meta.get("title")]
        prose.html = self.html_of(kept)
        return prose

    def html_of(self, tokens):
        """Tokens as HTML."""
        return self.markdown.renderer.render(tokens, self.markdown.options, {})

    def heading(self, prose, tokens, index, used):
        """Gives a heading its anchor; the first of the first level is the page's title."""
        opening, inline, closing = tokens[index : index + 3]
        name = slug(text_of(inline))
        count = used.get(name, 0)
        used[name] = count + 1
        name = f"{name}-{count}" if count else name
        opening.attrSet("id", name)
        if opening.tag == "h1" and not prose.title:
            prose.title, prose.title_id = text_of(inline), name
            self.links(inline.children)
            prose.title_html = self.html_of([inline])
            for token in (opening, inline, closing):
                token.meta["title"] = True
        elif opening.tag == "h2":
            prose.headings.append((name, text_of(inline)))

    def links(self, children):
        """Resolves the links of a line; once, however often it is asked."""
        for token in children or ():
            if token.type == "link_open" and not token.meta.get("resolved"):
                token.attrSet("href", self.resolve(token.attrs["href"]))
                token.meta["resolved"] = True


def paragraphs(lines):
    """The paragraphs of a comment, without its slashes."""
    words = [line.lstrip("/").strip() for line in lines]
    joined = " ".join(word or "\n" for word in words)
    parts = [part.strip() for part in joined.split("\n")]
    return [part for part in parts if part]
