"""Text of rows that failed a test: a few of them, of each a few columns, long values cut.

Next: ``delivery/wording/surroundings.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tocsin.delivery.dispatch import FailingRows
from tocsin.delivery.lines import ChangeLine, Rank, clean_line
from tocsin.delivery.wording.values import value_text
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text

_MOST_ROWS, _MOST_COLUMNS = 3, 5
_CELL_LIMIT, _NAME_LIMIT = 60, 40
_SAMPLE = "sample"
_WITHHELD = "failing rows are kept; you may not see them"


def failing_rows_of(sample: Document, mask: Callable[[Document], Document]) -> FailingRows:
    """Return what a message shows of kept rows, once ``mask`` has masked it."""
    columns, kept_rows = sample["columns"], sample["rows"]
    shown_rows = [row[:_MOST_COLUMNS] for row in kept_rows[:_MOST_ROWS]]
    masked_sample = mask({"columns": columns[:_MOST_COLUMNS], "rows": shown_rows})
    return FailingRows(
        columns=tuple(clean_line(str(name), limit=_NAME_LIMIT) for name in columns[:_MOST_COLUMNS]),
        cells=tuple(tuple(map(_cell_text, row)) for row in masked_sample["rows"]),
        row_count=len(kept_rows),
        column_count=len(columns),
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


def _cell_text(cell: object) -> str:
    """Return a value as a short text: ``null`` for none, quotation marks for an empty one."""
    if cell is None:
        return "null"
    return clean_line(value_text(cell) or "", limit=_CELL_LIMIT) or '""'
