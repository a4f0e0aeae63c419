"""Query results in portions limited by the total size of their documents in bytes.

A page is limited by its number of rows; its memory depends on their size. Next: ``server/access/pages.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, Select

_FETCHED_AT_ONCE = 20
T = TypeVar("T")


class BoundedList(list[T]):
    """What was read; ``is_cut`` where more was asked for, and would have been too large together."""

    is_cut = False


def cut_page(
    page_rows: BoundedList[T], limit: int, *, after: str | None, before: str | None
) -> tuple[list[T], bool, bool]:
    """Return the rows of a page in order, and whether there are pages after it and before it.

    The rows, one more than ``limit`` if there are as many, begin at one of these cursors; at ``before`` they go back.
    """
    has_more, page = page_rows.is_cut or len(page_rows) > limit, page_rows[:limit]
    if before is not None:
        return page[::-1], bool(page), has_more and bool(page)
    return page, has_more and bool(page), after is not None and bool(page)


def bounded_list(
    connection: Connection,
    query: Select[Any],  # Any: whatever it selects, a ``document`` among it, perhaps with ``document_bytes``
    made_of: Callable[[Row[Any]], T],  # Any: as above
    most_bytes: int | None,
) -> BoundedList[T]:
    """Return the results of the query's rows: the first, and further ones while their documents fit."""
    results, size = BoundedList[T](), 0
    if most_bytes is None:
        results.extend(map(made_of, connection.execute(query)))
        return results
    with connection.execute(query.execution_options(yield_per=_FETCHED_AT_ONCE)) as result_rows:
        may_differ = "document_bytes" in result_rows.keys()  # noqa: SIM118  # it is no dictionary
        for row in result_rows:
            size += (may_differ and row.document_bytes) or len(row.document)
            if results and size > most_bytes:
                results.is_cut = True
                break
            results.append(made_of(row))
    return results
