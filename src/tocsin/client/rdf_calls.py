"""Request builders for linked data, as ``client/calls.py`` has them for JSON. Next: ``client/operations.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from tocsin.client.answers import LogText
from tocsin.client.call import ApiCall, Filter, Page, Pages, query_of


def read_rdf(path: str, *, format: str = "turtle", **filters: Filter) -> Pages[str]:  # noqa: A002  the API's name
    """Iterate over the pages of a read as RDF, each a document: ``jsonld``, ``turtle`` or ``ntriples``.

    ``path`` is relative to ``/api/v1``, such as ``events`` or ``tables/name/warehouse.shop.public.orders``; filters are
    those of the read.
    """
    query = query_of({"format": format, **filters})
    first = ApiCall("GET", path.lstrip("/"), lambda text: Page((text,)), query, read_headers=_with_link, is_text=True)
    return Pages(first)


def read_log_as_rdf(
    offset: int,
    *,
    format: str = "turtle",  # noqa: A002  as above
    limit: int = 100,
    **filters: Filter,
) -> ApiCall[LogText]:
    """Return the events after a log offset as one document of RDF; filters are those of ``events``."""
    query = query_of({"offset": offset, "limit": limit, "format": format, **filters})
    return ApiCall("GET", "events", lambda text: LogText(text, offset), query, read_headers=_with_end, is_text=True)


def _with_link(page: Page[str], headers: Mapping[str, str]) -> Page[str]:
    """Return a page with the cursor of the next one, which the header ``Link`` has."""
    address = headers.get("link", "").partition(">")[0].lstrip("<")
    cursors = parse_qs(urlsplit(address).query).get("after")
    return replace(page, after=cursors[0]) if cursors else page


def _with_end(log_text: LogText, headers: Mapping[str, str]) -> LogText:
    return replace(log_text, end=int(headers["x-tocsin-log-offset"]))
