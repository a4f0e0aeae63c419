"""Route of an inbox by cause: one run, one person's edits of neighbours, one failure with what fails below it.

Next: ``server/access/inbox_causes.py``; ``model/causes.py`` has the rules.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, NamedTuple

from fastapi import Query, Response

from tocsin.delivery.wording.causes import CauseActor, cause_title
from tocsin.errors import NotFound
from tocsin.model.causes import CauseKind
from tocsin.model.entity import Document
from tocsin.model.inbox import MOST_COUNTED
from tocsin.model.people import Actor
from tocsin.server.access.inbox import InboxView
from tocsin.server.access.inbox_causes import CauseEntries, causes_after, leading_entries
from tocsin.server.alerts.cause_audience import CAUSE_AUDIENCE, audience_of_events
from tocsin.server.build import Parts
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, TEXT, TIME, array, either, exact_object, nullable, ref
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, PartsHere, PathText, RequestActor, answer
from tocsin.server.routes.notifications.inbox import (
    AskedDetails,
    AskedKind,
    AskedTab,
    Owner,
    inbox_cursor,
    parse_cursor,
    parse_filter,
    shown_entries,
    view_of,
)
from tocsin.store.outbox.inbox import InboxCursor, PageOf

router = DeclaredRoutes(prefix="/users/{user_id}/notifications", tags=["inbox"])


class _ShownCause(NamedTuple):
    """A cause, who did it, and the entry that leads it as a list shows it."""

    entries: CauseEntries
    actor: CauseActor | None
    leading: Document

    @property
    def title(self) -> str:
        """Return it in words."""
        return cause_title(self.entries.group, str(self.leading["title"]), self.actor)


_CAUSE: Shape[_ShownCause] = {
    "id": (TEXT, lambda cause: str(cause.entries.group.token)),
    "kind": (either(*CauseKind), lambda cause: cause.entries.group.kind.value),
    "title": (TEXT, lambda cause: cause.title),
    "userName": (nullable(TEXT), lambda cause: cause.actor.name if cause.actor else None),
    "count": (COUNT, lambda cause: len(cause.entries.heads)),
    "assetCount": (COUNT, lambda cause: len({head.facts.entity_id for head in cause.entries.heads})),
    "unread": (COUNT, lambda cause: sum(not head.is_read for head in cause.entries.heads)),
    "firstTimestamp": (TIME, lambda cause: min(head.facts.timestamp_ms for head in cause.entries.heads)),
    "timestamp": (TIME, lambda cause: max(head.facts.timestamp_ms for head in cause.entries.heads)),
    "leading": (ref("Notification"), lambda cause: cause.leading),
}
_AUDIENCE = schema_of(CAUSE_AUDIENCE)
AUDIENCE_OF_CAUSE = exact_object(_AUDIENCE["properties"] | {"causeId": TEXT, "paging": ref("Paging")})
_COUNTS: Shape[Sequence[CauseEntries]] = {
    "causes": (COUNT, len),
    "unreadCauses": (COUNT, lambda causes: sum(one.is_unread for one in causes)),
}
_PAGE = exact_object({"data": array(schema_of(_CAUSE)), "paging": ref("Paging"), "counts": schema_of(_COUNTS)})


@router.get("/causes", openapi_extra=answers("CausesOfInbox", _PAGE))
def list_causes(
    owner: Owner,
    sender: RequestActor,
    parts: PartsHere,
    detail_names: AskedDetails,
    page_of: AskedKind,
    *,
    limit: Annotated[int, Query(ge=0, le=100)] = 20,
    after: Annotated[str | None, Query(max_length=100)] = None,
) -> Response:
    """Return the causes of a tab, each where the first of its entries is, of 1,000 entries at a time.

    A cause is one run (what one bot or person did and says to be one), one person's edits of neighbours without a pause
    of more than an hour, one failure with what fails below it, or a single event. ``leading`` is its most important
    entry, with the ``fields`` that a page of the list has. Filters are those of the list; with ``cause``, the ``id`` of
    one, lists and marks have its entries. ``counts`` says how many causes there are, and how many have something
    unread; ``limit=0`` only counts. What lies on both sides of the thousandth entry is two causes; ``counts`` and
    ``total`` are of the thousand that the page is of.
    """
    parts.inbox.wake(parts.clock.now_ms(), [owner])
    view = view_of(owner, sender, parts)
    start, place = _parse_places(after)
    window = causes_after(view, page_of, start)
    causes = window.causes
    following = [one for one in causes if place is None or one.is_after(page_of, place)]
    page = following[:limit]
    paging: Document = {"total": len(causes)}
    if page and len(following) > limit:
        paging["after"] = _cursor_of(start, page[-1].place(page_of))
    elif limit and window.end is not None:
        paging["after"] = _cursor_of(window.end, None)
    data = [json_of(_CAUSE, one) for one in _shown_causes(page, view, sender, parts, detail_names)] if page else []
    return answer({"data": data, "paging": paging, "counts": json_of(_COUNTS, causes)})


@router.get("/causes/{cause_id}/audience", openapi_extra=answers("CauseAudience", AUDIENCE_OF_CAUSE))
def audience_of_cause(
    owner: Owner,
    cause_id: PathText,
    caller: Asked,
    *,
    tab: AskedTab,
    limit: Annotated[int, Query(ge=0, le=1000)] = 100,
    after: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
) -> Response:
    """Return who else was told of what a cause of the inbox did, and has read it, as far as the caller may know.

    Administrators know of everybody, editors of whom their alert told, others of themselves. Only events that the
    caller may view count.
    """
    kind = PageOf(tab, entry_filter=parse_filter({"cause": cause_id}))
    entries = view_of(owner, caller.actor, caller.parts).page(kind, None, MOST_COUNTED).entries
    if not entries:
        raise NotFound(f"the inbox has no entries of the cause {cause_id}")
    offsets = {entry.log_offset for entry in entries}
    return answer({"causeId": cause_id} | audience_of_events(offsets, caller, limit=limit, skip=after))


def _cursor_of(start: InboxCursor | None, place: InboxCursor | None) -> str:
    """Return the text of a place among the causes of the entries that begin after another place, ``start``."""
    return ".".join(inbox_cursor(one) if one else "" for one in ((place,) if start is None else (start, place)))


def _parse_places(after: str | None) -> tuple[InboxCursor | None, InboxCursor | None]:
    """Return the places that ``_cursor_of`` put into a text; ``InvalidInput`` if it names none."""
    if not after:
        return None, None
    first, dot, second = after.partition(".")
    if not dot:
        return None, parse_cursor(first)
    return parse_cursor(first), parse_cursor(second) if second else None


def _shown_causes(
    causes: Sequence[CauseEntries], view: InboxView, sender: Actor, parts: Parts, detail_names: frozenset[str]
) -> list[_ShownCause]:
    """Return causes as a list shows them, but for those whose leading entry has gone meanwhile."""
    entries = leading_entries(view, causes)
    leading_documents = shown_entries(list(entries.values()), view, sender, parts, detail_names=detail_names)
    documents = dict(zip(entries, leading_documents, strict=True))
    names = view.inbox.actor_names({cause.group.key.actor for cause in causes} - {""}, view.visibility.sees)
    return [
        _ShownCause(cause, _actor_of(cause, names), documents[cause.leading_head.id])
        for cause in causes
        if cause.leading_head.id in documents
    ]


def _actor_of(cause: CauseEntries, names: Mapping[str, str]) -> CauseActor | None:
    """Return who did it; of a failure, nobody: several may have reported it."""
    events = cause.group.events
    name = events[0].actor if len(events) == 1 else cause.group.key.actor
    return CauseActor(name, names.get(name)) if name else None
