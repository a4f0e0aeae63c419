"""Requests to an OpenMetadata server: lists page by page, change events, single entities.

Requests obey the egress rules. What may pass, such as a 500, a cut answer or a 429, is tried again; a list that cannot
be read to its end raises, so nobody takes it for a complete one. Source: OpenMetadata's pull request 29958 for the
cursor of ``GET /v1/events``; before it the route took a ``timestamp`` only and answered everything since.
Next: ``sources/openmetadata/mirror.py``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import orjson

from tocsin.clock import Clock
from tocsin.delivery.transport.egress import Egress
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.delivery.transport.request import Request, Timeouts, web_address
from tocsin.errors import InvalidSetting, Unavailable
from tocsin.model.entity import Document
from tocsin.model.message import Delivered, OutcomeReason, Retry
from tocsin.sources.openmetadata.json_texts import parse_json

PAGE = 100
"""Entities of one page."""

MOST_PAGES = 100_000
"""Pages of one list, so that one whose cursors never end does."""

MOST_EVENTS = 1_000_000
"""Change events that are held at once."""

_TRIES = 5
_LONGEST_WAIT_S = 120.0
_LONGEST_DETAIL = 300
_TIMEOUTS = Timeouts(connect_s=10.0, read_s=60.0, total_s=300.0)
_UNKNOWN_FIELD = re.compile(r"Invalid field name (\w+)")
_FOR_GOOD = frozenset({400, 401, 403, 404, 405})

Wait = Callable[[float], bool]
"""Waits for so many seconds; returns whether the run is to end."""


class SourceUnavailable(Unavailable):
    """The source does not answer as it should; the next run tries again."""

    code = "SOURCE_UNAVAILABLE"


class AnswerTooLarge(SourceUnavailable):
    """The answer of the source is larger than the limit."""

    code = "SOURCE_ANSWER_TOO_LARGE"


@dataclass(frozen=True)
class Access:
    """Where the server is and how to reach it; ``answer_bytes`` are the most of one answer that are read."""

    address: str
    token: str
    egress: Egress
    answer_bytes: int = 64 * 2**20


class Upstream:
    """One OpenMetadata server, used by one thread in a ``with`` statement."""

    def __init__(self, access: Access, clock: Clock, wait: Wait) -> None:
        url = web_address(access.address)
        if url is None:
            raise InvalidSetting(f"{access.address!r} is not an http or https address", field="openmetadata_url")
        path = url.path.rstrip("/").removesuffix("/v1").removesuffix("/api")
        self._root = url.with_path(f"{path}/api/v1").with_query(None)
        self._access, self._clock, self._wait = access, clock, wait
        self._runner = asyncio.Runner()
        self._refused_fields: dict[str, set[str]] = {}

    def __enter__(self) -> Self:
        self._requests = self._runner.run(self._open())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._runner.run(self._requests.__aexit__())
        self._runner.close()

    async def _open(self) -> HttpRequests:
        return HttpRequests(self._access.egress, user_agent="Tocsin mirror")

    def pages(self, collection: str, fields: tuple[str, ...], *, limit: int = PAGE) -> Iterator[tuple[Document, ...]]:
        """Yield the pages of a list with deleted entities; nothing if the server has no such list.

        Raises
        ------
        SourceUnavailable : a page could not be read
        """
        cursors = _Cursors(collection)
        while True:
            page = self._list(collection, fields, {"limit": str(limit), "include": "all"}, cursors.last)
            if page is None:
                return
            yield tuple(page["data"])
            if not cursors.follow(page):
                return

    def has(self, collection: str) -> bool:
        """Return whether the server has such a list."""
        return self._get(collection, {"limit": "1"}) is not None

    def entity(self, collection: str, entity_id: str, fields: tuple[str, ...]) -> Document | None:
        """Return an entity, deleted or not; None if there is none."""
        return self._with_fields(f"{collection}/{entity_id}", collection, fields, {"include": "all"})

    def lineage(self, entity_type: str, entity_id: str) -> Document | None:
        """Return what the edges to an entity say, one step up; None if there is no such entity."""
        return self._get(f"lineage/{entity_type}/{entity_id}", {"upstreamDepth": "1", "downstreamDepth": "0"})

    def events(self, since_ms: int, until_ms: int, *, limit: int = 1_000) -> list[Document]:
        """Return the change events from one time to another, in the order of the source.

        An older server answers all events since the first time at once.

        Raises
        ------
        AnswerTooLarge : they are too many for one answer
        """
        query = {"timestamp": str(since_ms), "endTs": str(until_ms), "limit": str(limit)}
        query |= dict.fromkeys(("entityCreated", "entityUpdated", "entityRestored", "entityDeleted"), "*")
        events: list[Document] = []
        cursors = _Cursors("events", may_end_in_itself=True)
        while True:
            page = self._page("events", query | ({"after": cursors.last} if cursors.last else {}))
            if page is None:
                raise SourceUnavailable("events: the server has no such route")
            events += page["data"]
            if len(events) > MOST_EVENTS:
                raise AnswerTooLarge(f"events: there are more than {MOST_EVENTS} since {since_ms}")
            if not cursors.follow(page):
                return events

    def _list(
        self, collection: str, fields: tuple[str, ...], query: dict[str, str], after: str | None
    ) -> Document | None:
        page = self._with_fields(collection, collection, fields, query | ({"after": after} if after else {}))
        return None if page is None else _checked_page(collection, page)

    def _page(self, path: str, query: dict[str, str]) -> Document | None:
        page = self._get(path, query)
        return None if page is None else _checked_page(path, page)

    def _with_fields(
        self, path: str, collection: str, fields: tuple[str, ...], query: dict[str, str]
    ) -> Document | None:
        """Ask with fields, without those that this version of the server does not know."""
        while True:
            refused_fields = self._refused_fields.setdefault(collection, set())
            names = ",".join(name for name in fields if name not in refused_fields)
            try:
                return self._get(path, query | ({"fields": names} if names else {}))
            except _UnknownField as unknown:
                if unknown.name in refused_fields or unknown.name not in fields:
                    raise SourceUnavailable(unknown.message) from unknown
                refused_fields.add(unknown.name)

    def _get(self, path: str, query: dict[str, str]) -> Document | None:
        place = f"{path}{' after ' + query['after'] if 'after' in query else ''}"
        reason = ""
        for number in range(_TRIES):
            answer = self._ask(path, query, place)
            if not isinstance(answer, _Failed):
                return answer
            reason = answer.reason
            wait_s = min(answer.after_s if answer.after_s is not None else 2.0**number, _LONGEST_WAIT_S)
            if number + 1 < _TRIES and self._wait(wait_s):
                raise SourceUnavailable(f"{place}: the run was ended")
        raise SourceUnavailable(f"{place}: {reason}")

    def _ask(self, path: str, query: dict[str, str], place: str) -> Document | _Failed | None:
        limit = self._access.answer_bytes
        request = Request(
            "GET",
            self._root.joinpath(path).with_query(query),
            {"Authorization": f"Bearer {self._access.token}", "Accept": "application/json"},
            b"",
            _TIMEOUTS,
            limit,
        )
        outcome, body = self._runner.run(self._requests.exchange(request, now_ms=self._clock.now_ms()))
        if isinstance(outcome, Delivered):
            if len(body) >= limit:
                raise AnswerTooLarge(f"{place}: the answer has more than {limit} bytes")
            return _parse(body)
        if outcome.status_code == 404:
            return None
        if unknown_field := _UNKNOWN_FIELD.search(outcome.detail) if outcome.status_code == 400 else None:
            raise _UnknownField(unknown_field.group(1), f"{place}: {unknown_field.group(0)}")
        reason = _reason_of(outcome.status_code, outcome.reason, outcome.detail)
        if outcome.status_code in _FOR_GOOD or not isinstance(outcome, Retry):
            raise SourceUnavailable(f"{place}: {reason}")
        return _Failed(reason, outcome.after_s)


@dataclass(frozen=True)
class _Failed:
    """A request that may succeed later."""

    reason: str
    after_s: float | None = None


class _Cursors:
    """The cursors of one list, of which none may come again."""

    def __init__(self, place: str, *, may_end_in_itself: bool = False) -> None:
        self._place, self._may_end_in_itself = place, may_end_in_itself
        self._seen: set[str] = set()
        self.last: str | None = None

    def follow(self, page: Document) -> bool:
        """Go to the next page; return whether there is one.

        Raises
        ------
        SourceUnavailable : the cursor is no text, was there before, or follows more pages than a list may have
        """
        page_links = page.get("paging") or {}
        after = page_links.get("after") if isinstance(page_links, dict) else 0
        if after is None or (self._may_end_in_itself and after == self.last):
            return False
        if not isinstance(after, str):
            raise SourceUnavailable(f"{self._place}: the cursor is no text")
        if after in self._seen or len(self._seen) >= MOST_PAGES:
            raise SourceUnavailable(f"{self._place}: the pages do not end")
        self._seen.add(after)
        self.last = after
        return True


class _UnknownField(SourceUnavailable):
    """The server does not know a field."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def _parse(body: bytes) -> Document | _Failed:
    try:
        answer = parse_json(body)
    except orjson.JSONDecodeError:
        return _Failed("the answer is cut or no JSON")
    return answer if isinstance(answer, dict) else _Failed("the answer is no JSON object")


def _checked_page(place: str, page: Document) -> Document:
    data = page.get("data")
    if not isinstance(data, list) or not all(isinstance(member, dict) for member in data):
        raise SourceUnavailable(f"{place}: the answer is no list")
    return page


def _reason_of(status: int | None, reason: OutcomeReason, detail: str) -> str:
    match status:
        case 401 | 403:
            return f"the server answers {status}: check the token and its rights"
        case None:
            return detail or reason.value
        case 400:
            return f"the server answers 400: {detail[:_LONGEST_DETAIL]}"
        case _:
            return f"the server answers {status}"
