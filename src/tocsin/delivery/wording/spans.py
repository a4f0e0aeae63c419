"""Lines of changes as styled text: names of columns as code, what was before struck, what is now underlined.

Next: ``delivery/channels/slack/render.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tocsin.delivery.lines import ARROW, ChangeLine
from tocsin.delivery.rich_text import Span

WAS, NOW = "was: ", "now: "
"""Before values that stand on lines of their own."""


def spans_of(line: ChangeLine) -> tuple[Span, ...]:
    """Return a line with its values as styled text."""
    spans = [Span(f"{line.label[0].upper()}{line.label[1:]}: ", bold=True)] if line.label else []
    if line.name:
        before, name, after = line.parts()
        spans += [Span(before), Span(name, code=True), Span(after)]
    else:
        spans += _with_moments(line.lead or line.text, line.moments)
    if line.is_inline:
        spans += [Span(" "), Span(line.old or "?", struck=True), Span(ARROW), Span(line.new or "?", underlined=True)]
    else:
        if line.old is not None:
            spans += [Span(f"\n{WAS}"), Span(line.old, struck=True)]
        if line.new is not None:
            spans += [Span(f"\n{NOW}"), Span(line.new, underlined=True)]
    return tuple(span for span in spans if span.text)


def _with_moments(text: str, moments: Sequence[tuple[str, int]]) -> Iterator[Span]:
    """Yield a text in parts, the times in it apart; they are in the order in which it names them."""
    for moment, at_ms in moments:
        before, _, behind = text.partition(moment)
        if moment in text:
            yield from (Span(before), Span(moment, at_ms=at_ms))
            text = behind
    yield Span(text)
