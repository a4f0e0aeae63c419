"""Text of rows that failed a test: a few of them, of each a few columns, long values cut.

Next: ``delivery/wording/surroundings.py``.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

import orjson

from tocsin.delivery.dispatch import FailingRows
from tocsin.delivery.lines import ChangeLine, Rank, clean_line
from tocsin.delivery.wording.values import value_text
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

MOST_EXCERPT_CHARACTERS = 8_192
"""More characters than an excerpt has as JSON, whatever the rows hold."""

_MOST_ROWS, _MOST_COLUMNS = 3, 5
_CELL_LIMIT, _NAME_LIMIT = 60, 40
_KEPT_NAME_LIMIT = 512
"""Characters of a kept name as JSON, which has up to six for one."""

_SEPARATORS = frozenset(";|")
"""Between values and between rows, where they are shown in one line."""

_SAMPLE = "sample"
_WITHHELD = "failing rows are kept; you may not see them"


def excerpt_of(sample: Document) -> Document:
    """Return the part of rows that a message may show: its first rows and columns, every value a short text.

    A column keeps its name, by which it is masked. One that is cut belongs to no column, and is masked as such.
    """
    columns, kept_rows = sample["columns"], sample["rows"]
    return {
        "columns": [_kept_name(name) for name in columns[:_MOST_COLUMNS]],
        "rows": [[_cell_text(cell) for cell in row[:_MOST_COLUMNS]] for row in kept_rows[:_MOST_ROWS]],
        "rowCount": len(kept_rows),
        "columnCount": len(columns),
    }


def failing_rows_of(excerpt: Document, mask: Callable[[Document], Document]) -> FailingRows:
    """Return what a message shows of an excerpt, once ``mask`` has masked it."""
    masked_excerpt = mask(excerpt)
    return FailingRows(
        columns=tuple(map(_name_text, excerpt["columns"])),
        cells=tuple(tuple(row) for row in masked_excerpt["rows"]),
        row_count=excerpt["rowCount"],
        column_count=excerpt["columnCount"],
    )


def failing_row_lines(failing: FailingRows) -> Iterator[ChangeLine]:
    """Yield a line for each row, ``id: 7; total: -3``, and how much is left out; or that the reader may see none."""
    if failing.are_withheld:
        yield ChangeLine(_WITHHELD, rank=Rank.REPORTED, label=_SAMPLE)
        return
    for number, row in enumerate(failing.cells, start=1):
        cells = "; ".join(f"{name}: {cell}" for name, cell in zip(failing.columns, row, strict=True))
        yield ChangeLine(cells, rank=Rank.REPORTED, label=f"failing row {number}")
    if (len(failing.cells), len(failing.columns)) != (failing.row_count, failing.column_count):
        count_words = f"{count_text(failing.row_count, 'row')} of {count_text(failing.column_count, 'column')}"
        yield ChangeLine(f"the first of {count_words} that are kept", rank=Rank.REPORTED, label=_SAMPLE)


def _kept_name(name: str) -> str:
    beginning = name[:_KEPT_NAME_LIMIT]
    lengths = accumulate(len(orjson.dumps(character).decode()) - len('""') for character in beginning)
    kept_count = bisect_right(list(lengths), _KEPT_NAME_LIMIT)
    return name if kept_count == len(name) else f"{beginning[:kept_count]}…"


def _cell_text(cell: object) -> str:
    """Return a value as a short text: ``null`` for none, in quotation marks what is empty or reads as several."""
    if cell is None:
        return "null"
    text = clean_line(value_text(cell) or "", limit=_CELL_LIMIT)
    return text if text and _SEPARATORS.isdisjoint(text) else _quotation_of(text)


def _name_text(name: str) -> str:
    text = clean_line(name, limit=_NAME_LIMIT)
    return text if _SEPARATORS.isdisjoint(text) and ":" not in text else _quotation_of(text)


def _quotation_of(text: str) -> str:
    """Return a text in quotation marks, with none inside: no value reads as that of another column."""
    inner_text = text.replace('"', "'")
    return f'"{inner_text}"'
