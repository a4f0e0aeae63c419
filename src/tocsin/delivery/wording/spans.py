"""Lines of changes as styled text: names of columns as code, what was before struck, what is now underlined.

Next: ``delivery/channels/slack/render.py``.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.delivery.lines import ARROW, ChangeLine
from tocsin.delivery.rich_text import Span

WAS, NOW = "was: ", "now: "
"""Before values that stand on lines of their own."""


def spans_of(line: ChangeLine) -> tuple[Span, ...]:
    """Return a line with its values as styled text."""
    return tuple(span for span in _spans(line) if span.text)


def _spans(line: ChangeLine) -> Iterator[Span]:
    if line.label:
        yield Span(f"{line.label.capitalize()}: ", bold=True)
    before, name, after = line.parts()
    yield from (Span(before), Span(name, code=True), Span(after))
    if line.is_inline:
        yield from (Span(" "), Span(line.old or "?", struck=True), Span(ARROW), Span(line.new or "?", underlined=True))
        return
    if line.old is not None:
        yield from (Span(f"\n{WAS}"), Span(line.old, struck=True))
    if line.new is not None:
        yield from (Span(f"\n{NOW}"), Span(line.new, underlined=True))
