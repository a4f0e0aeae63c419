"""Parser of a template's HTML to rich text, which each channel shows in its own format.

The HTML of a template never goes out as it is: what is not in these tables (scripts, styles, images, forms) is left
out, and links lead to the web or to a mail address only. Not by ``html.parser``: it hides ``<!…>`` and ``<?…>``, which
are text here, and takes tags within titles and scripts otherwise. Next: ``delivery/templates/html_text.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from html import unescape

from tocsin.delivery.lines import CONTROL
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.templates.values import Markup

LONGEST_BLOCK = 2_900
"""Most characters of a block; what is longer becomes several."""

_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]{0,20})((?:\s[^<>]*)?/?)>")
_HREF = re.compile(r"""\shref\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_LINKABLE = ("https://", "http://", "mailto:")
_LONGEST_LINK = 2_000
_SPACES = re.compile(r"\s+")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BOLD, _ITALIC, _STRUCK = ("b", "strong", "th"), ("i", "em"), ("s", "strike", "del")
_CODE = ("code", "kbd", "tt", "samp")
_BOLD_TOO = ("ins", "mark")
_BREAKS = frozenset("p div section article header footer table tbody thead tr dl dt dd center form".split())
_BLOCKS = frozenset((*_HEADINGS, *_BREAKS, "ul", "ol", "li", "blockquote", "pre"))
_HIDDEN = frozenset("script style head title template noscript iframe object svg textarea select".split())
_DEEPEST = 32


def blocks_of(markup: str) -> tuple[RichBlock, ...]:
    """Return what HTML says as blocks, in order; empty ones are left out."""
    reader = _RichTextReader()
    end = 0
    for match in _TAG.finditer(html := _without_comments(markup)):
        reader.say(html[end : match.start()])
        end = match.end()
        name = match[2].lower()
        if match[1]:
            reader.close(name)
        else:
            reader.open(name, match[3])
    reader.say(html[end:])
    reader.end_block()
    return tuple(part for block in reader.blocks for part in _split_block(block))


def plain_of(text: str) -> str:
    """Return the text that markup shows; what is no markup is text already."""
    if not isinstance(text, Markup):
        return text
    return "\n".join(block.text() for block in blocks_of(text))


@dataclass
class _List:
    is_ordered: bool
    count: int = 0


@dataclass
class _RichTextReader:
    """Reads HTML tag by tag; ``styles`` counts the open tags of each style."""

    blocks: list[RichBlock] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    styles: dict[str, int] = field(default_factory=dict)
    links: list[str | None] = field(default_factory=list)
    lists: list[_List] = field(default_factory=list)
    kind: BlockKind = BlockKind.PARAGRAPH
    level: int = 0
    marker: str = ""
    hidden: str = ""
    has_cell: bool = False

    def say(self, text: str) -> None:
        if self.hidden or not text:
            return
        cleaned = unescape(text)
        if self.kind is not BlockKind.CODE:
            cleaned = _SPACES.sub(" ", cleaned)
            if not self.spans or self.spans[-1].text.endswith(("\n", " ")):
                cleaned = cleaned.lstrip(" ")
        else:
            cleaned = cleaned.replace("\t", "    ")
        cleaned = "\n".join(CONTROL.sub(" ", line) for line in cleaned.split("\n"))
        if cleaned:
            self.spans.append(self._styled_span(cleaned))

    def open(self, name: str, attributes: str) -> None:
        if self.hidden:
            return
        match name:
            case _ if name in _HIDDEN:
                self.hidden = "" if attributes.endswith("/") else name
            case "br" | "hr":
                self._line(name)
            case "a":
                self.links.append(_address_in(attributes))
            case "td" | "th":
                self._cell(name)
            case _ if name in _BLOCKS:
                self._open_block(name)
            case _:
                self._count(name, 1)

    def _open_block(self, name: str) -> None:
        match name:
            case "ul" | "ol":
                self.end_block()
                self.lists.append(_List(name == "ol"))
            case "li":
                self._point()
            case "blockquote" | "pre":
                self._begin(BlockKind.QUOTE if name == "blockquote" else BlockKind.CODE)
            case _ if name in _HEADINGS:
                self._begin(BlockKind.HEADING, _HEADINGS[name])
            case _:
                self._pause()

    def close(self, name: str) -> None:
        if self.hidden:
            self.hidden = "" if name == self.hidden else self.hidden
        elif name in ("ul", "ol"):
            self.end_block()
            if self.lists:
                self.lists.pop()
        elif name in _HEADINGS or name in ("li", "blockquote", "pre"):
            self.end_block()
        elif name == "tr":
            self.has_cell = False
            self.end_block()
        elif name in _BREAKS:
            self._pause()
        elif name == "a":
            if self.links:
                self.links.pop()
        else:
            self._count(name, -1)

    def end_block(self) -> None:
        """Keep what was said as a block, and begin a paragraph."""
        spans = tuple(_trim_spans(self.spans))
        if spans:
            self.blocks.append(RichBlock(self.kind, spans, self.level, self.marker))
        self.spans, self.kind, self.level, self.marker = [], BlockKind.PARAGRAPH, 0, ""

    def _begin(self, kind: BlockKind, level: int = 0) -> None:
        self.end_block()
        self.kind, self.level = kind, level

    def _pause(self) -> None:
        """End a paragraph; inside of a point or a quote begin a line."""
        if self.kind is BlockKind.PARAGRAPH:
            self.end_block()
        elif self.spans and not self.spans[-1].text.endswith("\n"):
            self.spans.append(Span("\n"))

    def _line(self, name: str) -> None:
        if name == "br":
            self.spans += [Span("\n")] if self.spans else []
            return
        self.end_block()
        self.blocks.append(RichBlock(BlockKind.RULE))

    def _point(self) -> None:
        around = self.lists[-1] if self.lists else _List(is_ordered=False)
        around.count += 1
        self._begin(BlockKind.POINT, min(max(0, len(self.lists) - 1), _DEEPEST))
        self.marker = f"{around.count}." if around.is_ordered else "•"

    def _cell(self, name: str) -> None:
        if self.has_cell and self.spans:
            self.spans.append(Span(" | "))
        self.has_cell = True
        self._count(name, 1)

    def _count(self, name: str, by: int) -> None:
        self.styles[name] = max(0, self.styles.get(name, 0) + by)

    def _styled_span(self, text: str) -> Span:
        has = {name for name, count in self.styles.items() if count}
        return Span(
            text,
            bold=not has.isdisjoint((*_BOLD, *_BOLD_TOO)),
            italic=not has.isdisjoint(_ITALIC),
            struck=not has.isdisjoint(_STRUCK),
            code=not has.isdisjoint(_CODE),
            link=next((link for link in reversed(self.links) if link), None),
        )


def _without_comments(markup: str) -> str:
    parts, end = [], 0
    while (opened := markup.find("<!--", end)) >= 0:
        parts.append(markup[end:opened])
        closed = markup.find("-->", opened)
        if closed < 0:
            return "".join(parts)
        end = closed + 3
    return "".join([*parts, markup[end:]])


def _address_in(attributes: str) -> str | None:
    """Return where a link leads, if that is a place on the web or a mail address."""
    match = _HREF.search(attributes)
    if match is None:
        return None
    address = CONTROL.sub("", unescape(match[1] if match[1] is not None else match[2])).strip()
    is_good = address.lower().startswith(_LINKABLE) and len(address) <= _LONGEST_LINK and " " not in address
    return address if is_good else None


def _trim_spans(spans: list[Span]) -> Iterator[Span]:
    """Yield spans without white space at both ends of the block; of one style, as one."""
    joint_spans: list[Span] = []
    for span in spans:
        if joint_spans and joint_spans[-1][1:] == span[1:]:
            joint_spans[-1] = span._replace(text=joint_spans[-1].text + span.text)
        else:
            joint_spans.append(span)
    while joint_spans and not joint_spans[0].text.strip():
        joint_spans.pop(0)
    while joint_spans and not joint_spans[-1].text.strip():
        joint_spans.pop()
    if joint_spans:
        joint_spans[0] = joint_spans[0]._replace(text=joint_spans[0].text.lstrip("\n "))
        joint_spans[-1] = joint_spans[-1]._replace(text=joint_spans[-1].text.rstrip())
    yield from joint_spans


def _split_block(block: RichBlock) -> Iterator[RichBlock]:
    """Yield a block as blocks of at most ``LONGEST_BLOCK`` characters."""
    room, spans = LONGEST_BLOCK, list[Span]()
    for span in block.spans:
        text = span.text
        while len(text) > room:
            spans.append(span._replace(text=text[:room]))
            yield replace(block, spans=tuple(spans))
            text, room, spans = text[room:], LONGEST_BLOCK, []
        if text:
            spans.append(span._replace(text=text))
            room -= len(text)
    if spans or block.kind is BlockKind.RULE:
        yield replace(block, spans=tuple(spans))
