"""Scanner of notification templates: the text between tags, and what the tags say, each with its position.

``{{~`` and ``~}}`` take the white space beside a tag with them, a block's tag or comment alone on its line takes the
line. After a backslash ``{{`` is no tag; two backslashes before a tag are one. Source: handlebarsjs.com, "Language
Guide"; Mustache specification, "Sections". Next: ``delivery/templates/parse.py``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from tocsin.delivery.templates.syntax import TemplatePosition, template_error

_SIGNS = "#^/>&!*"
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>"(?:\\"|[^"])*"|'(?:\\'|[^'])*')
    |(?P<number>-?\d+(?:\.\d+)?(?=[\s)}~]|$))
    |(?P<named>[\w-]+)(?=\s*=)\s*=
    |(?P<path>@?(?:\.\./)*(?:\./)?(?:\.?\[(?:\\\]|[^\]])*\]|\.\.?|[\w$:-]+)(?:[./](?:\[(?:\\\]|[^\]])*\]|[\w$:-]+))*)
    |(?P<bar>\|)
    |(?P<open>\()
    |(?P<close>\))""",
    re.VERBOSE,
)
_ELSE = re.compile(r"\s*else\b(?![\w-])")
_LINE_END = re.compile(r"[ \t]*(?:\r?\n|\Z)")


@dataclass(frozen=True)
class TagToken:
    """A word of a tag; ``kind`` is a group of the pattern."""

    kind: str
    text: str
    at: TemplatePosition


@dataclass(frozen=True)
class Tag:
    """What stands between braces: its sign (``#``, ``/``, ``^``, ``&``, or none) and its words."""

    sign: str
    words: tuple[TagToken, ...]
    at: TemplatePosition


@dataclass(frozen=True)
class _TagMatch:
    """A tag as it stands in the text, from its first brace to its last."""

    sign: str
    inner: tuple[int, int]
    span: tuple[int, int]
    takes_before: bool
    takes_after: bool


class Scanner:
    """Scans one template."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def parts(self) -> Iterator[str | Tag]:
        """Yield texts and tags in their order; comments are left out.

        Raises
        ------
        InvalidTemplate : a tag has no end, or holds what is no word
        """
        end, takes_space = 0, False
        while (opening := self._text.find("{{", end)) >= 0:
            before = self._text[end:opening]
            if before.endswith("\\") and not before.endswith("\\\\"):
                yield _strip_space(before[:-1], before=takes_space) + "{{"
                end, takes_space = opening + 2, False
                continue
            tag = self._tag(opening)
            line_end = self._line_taken(tag, end)
            before = before.removesuffix("\\") if line_end is None else before.rstrip(" \t")
            yield _strip_space(before, before=takes_space, after=tag.takes_before)
            end, takes_space = tag.span[1] if line_end is None else line_end, tag.takes_after
            if tag.sign != "!":
                yield Tag(tag.sign, tuple(self._words(*tag.inner)), self.place(opening))
        yield _strip_space(self._text[end:], before=takes_space)

    def _line_taken(self, tag: _TagMatch, begin: int) -> int | None:
        """Return where the line ends that a tag takes with it, None where it is not alone or writes a value.

        ``begin`` is where the part before the tag ends.
        """
        begins_else = tag.sign == "" and _ELSE.match(self._text, *tag.inner)
        if tag.sign not in ("#", "/", "^", "!") and not begins_else:
            return None
        opened, closed = tag.span
        before = self._text[begin:opened].rpartition("\n")
        begins_line = bool(before[1]) or begin == 0 or self._text[begin - 1] == "\n"
        after = _LINE_END.match(self._text, closed) if begins_line and not before[2].strip(" \t") else None
        return after.end() if after else None

    def place(self, offset: int) -> TemplatePosition:
        """Return the position of a character."""
        line = bisect_right(self._lines, offset)
        return TemplatePosition(line, offset - self._lines[line - 1] + 1)

    def _tag(self, opened: int) -> _TagMatch:
        text, at = self._text, opened + 2
        if text.startswith("{{", at):
            raise template_error("raw blocks are not supported; write \\{{ for braces", self.place(opened))
        takes_before = text.startswith("~", at)
        at += takes_before
        if text.startswith("!--", at):
            return self._comment(opened, at + 3, takes_before)
        is_triple = text.startswith("{", at)
        sign = "&" if is_triple else text[at : at + 1] if text[at : at + 1] in tuple(_SIGNS) else ""
        at += len(sign)
        closing = "}}}" if is_triple else "}}"
        close_at = text.find(closing, at)
        if close_at < 0 or (sign != "!" and "{{" in text[at:close_at]):
            raise template_error(f"this tag has no end; write {closing}", self.place(opened))
        takes_after = close_at > at and text[close_at - 1] == "~"
        span = (opened, close_at + len(closing))
        return _TagMatch(sign, (at, close_at - takes_after), span, takes_before, takes_after)

    def _comment(self, opened: int, at: int, takes_before: bool) -> _TagMatch:
        closed = self._text.find("--", at)
        while closed >= 0 and not self._text.startswith(("--}}", "--~}}"), closed):
            closed = self._text.find("--", closed + 1)
        if closed < 0:
            raise template_error("this comment has no end; write --}}", self.place(opened))
        takes_after = self._text.startswith("--~", closed)
        span = (opened, closed + (5 if takes_after else 4))
        return _TagMatch("!", (at, closed), span, takes_before, takes_after)

    def _words(self, start: int, end: int) -> Iterator[TagToken]:
        while start < end:
            match = _TOKEN.match(self._text, start, end)
            if match is None:
                raise template_error(f"unexpected {self._text[start]!r}", self.place(start))
            kind = str(match.lastgroup)
            if kind != "space":
                yield TagToken(kind, match.group(kind), self.place(start))
            start = match.end()


def _strip_space(text: str, *, before: bool, after: bool = False) -> str:
    text = text.lstrip() if before else text
    return text.rstrip() if after else text
