"""Operations of both clients on the lake: SQL queries on what the caller may view. Next: ``operations.py``."""

from __future__ import annotations

from urllib.parse import quote

from tocsin.client.call import ApiCall, query_of, read_document, without_none
from tocsin.model.entity import Document


def start_lake_query(
    sql: str, *, at: str | int | None = None, since: str | int | None = None, wait: int = 0
) -> ApiCall[Document]:
    """Ask a query in SQL of what you may view of ``change_events``, and return its state after ``wait`` seconds.

    ``at`` is an earlier state: an offset of the log, an ISO date or time, how long ago (``90d``), or milliseconds.
    Events from before ``since`` are not read, which takes less time.
    """
    window = without_none({"at": at, "since": since})
    body = {"sql": sql, **window}
    return ApiCall("POST", "lake/query", read_document, {"wait": str(wait)}, body=body)


def get_lake_query(query_id: str, *, wait: int = 0) -> ApiCall[Document]:
    """Return the state of a query of yours, and its ``columns`` and ``rows`` once its ``state`` is ``done``.

    Waits so many seconds (at most 30) for it to end; returns at once when it does.
    """
    return ApiCall("GET", f"lake/queries/{quote(query_id, safe='')}", read_document, query_of({"wait": wait or None}))


def cancel_lake_query(query_id: str) -> ApiCall[Document]:
    """Cancel a query of yours."""
    return ApiCall("DELETE", f"lake/queries/{quote(query_id, safe='')}", read_document)
