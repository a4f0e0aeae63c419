"""Reads of announcements as OpenMetadata 2 has them: pages by status, single ones, and those whose start has come.

Next: ``store/catalogue/feed/threads.py``, whose threads they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Engine, and_, false, or_, select

from tocsin.errors import NotFound
from tocsin.model.announced_thread import AnnouncementStatus, announcement_document
from tocsin.model.entity import Document
from tocsin.model.thread import StoredThread, ThreadType
from tocsin.store.catalogue.access.visibility import Scopes
from tocsin.store.catalogue.feed.filters import lies_at, lies_in_domain, lies_in_scopes
from tocsin.store.catalogue.feed.rows import THREAD_COLUMNS, thread_of
from tocsin.store.catalogue.feed.threads import Sees, ThreadPage, ThreadWindow, asset_in, count_threads, threads_in
from tocsin.store.database.documents import references_by_id
from tocsin.store.database.engine import reading
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.tables import entity

_THREAD = thread.c
_Condition = ColumnElement[bool]
_MOST_DUE = 500


@dataclass(frozen=True)
class AnnouncementFilter:
    """Filters of announcements at a time; None is no filter.

    Attributes
    ----------
    status, now_ms : where they are in their period at this time
    is_active : whether they are active
    about_id, steps : the asset that they are about, and the part of it
    domain_id : id of a domain in which that lies; empty: no domain is so called
    scopes : which assets the requester may see
    """

    now_ms: int
    status: AnnouncementStatus | None = None
    is_active: bool | None = None
    about_id: str | None = None
    steps: tuple[str, ...] = ()
    domain_id: str | None = None
    scopes: Scopes = field(default_factory=dict)


class AnnouncementList:
    """Reads announcements."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, thread_id: str, now_ms: int) -> Document:
        """Return an announcement as of a time. Raises ``NotFound``: there is none."""
        return self._single(_THREAD.id == thread_id, thread_id, now_ms)

    def get_by_name(self, name: str, now_ms: int) -> Document:
        """Return an announcement by its name; one that was made without has its id as name. Raises as ``get``."""
        return self._single(or_(_THREAD.name == name, and_(_THREAD.id == name, _THREAD.name.is_(None))), name, now_ms)

    def about(self, thread_id: str) -> tuple[str, str]:
        """Return the type and id of what a thread is about. Raises ``NotFound``: there is no such thread."""
        with reading(self._engine) as connection:
            row = connection.execute(
                select(_THREAD.about_type, _THREAD.about_id).where(_THREAD.id == thread_id)
            ).one_or_none()
        if row is None:
            raise NotFound(f"announcement {thread_id} not found")
        return row.about_type, row.about_id

    def page(self, announcement_filter: AnnouncementFilter, sees: Sees, window: ThreadWindow) -> ThreadPage:
        """Return the announcements that fit the filter and ``sees`` allows."""
        with reading(self._engine) as connection:
            threads, after, before = threads_in(connection, window, _conditions(announcement_filter), sees)
            documents = _documents(connection, threads, announcement_filter.now_ms)
            conditions = _conditions(announcement_filter) + lies_in_scopes(announcement_filter.scopes)
            return ThreadPage(documents, count_threads(connection, conditions), after, before)

    def due(self, now_ms: int) -> list[str]:
        """Return the ids of announcements of live assets whose start has come and that nobody was told of."""
        query = (
            select(_THREAD.id)
            .join(entity, entity.c.id == _THREAD.about_id)
            .where(_THREAD.is_announced == false(), _THREAD.start_ms <= now_ms, entity.c.deleted == false())
        )
        with reading(self._engine) as connection:
            return list(connection.scalars(query.order_by(_THREAD.start_ms).limit(_MOST_DUE)))

    def _single(self, condition: _Condition, name: str, now_ms: int) -> Document:
        with reading(self._engine) as connection:
            query = select(*THREAD_COLUMNS).where(condition, _THREAD.kind == ThreadType.ANNOUNCEMENT.value)
            row = connection.execute(query).one_or_none()
            if row is None:
                raise NotFound(f"announcement {name} not found")
            return _documents(connection, [thread_of(row)], now_ms)[0]


def _conditions(announcement_filter: AnnouncementFilter) -> list[_Condition]:
    now_ms = announcement_filter.now_ms
    by_status: dict[AnnouncementStatus, _Condition] = {
        AnnouncementStatus.ACTIVE: and_(_THREAD.start_ms <= now_ms, _THREAD.end_ms >= now_ms),
        AnnouncementStatus.SCHEDULED: _THREAD.start_ms > now_ms,
        AnnouncementStatus.EXPIRED: _THREAD.end_ms < now_ms,
    }
    conditions: list[_Condition] = [_THREAD.kind == ThreadType.ANNOUNCEMENT.value]
    if announcement_filter.status is not None:
        conditions.append(by_status[announcement_filter.status])
    if announcement_filter.is_active is not None:
        active = by_status[AnnouncementStatus.ACTIVE]
        conditions.append(active if announcement_filter.is_active else ~active)
    if announcement_filter.about_id is not None:
        conditions += [_THREAD.about_id == announcement_filter.about_id, lies_at(announcement_filter.steps)]
    if announcement_filter.domain_id is not None:
        conditions.append(lies_in_domain(announcement_filter.domain_id))
    return conditions


def _documents(connection: Connection, threads: Sequence[StoredThread], now_ms: int) -> list[Document]:
    ids = {one.about_id for one in threads}
    ids |= {domain for one in threads for domain in one.document.get("domains") or ()}
    references = references_by_id(connection, ids)
    documents = []
    for stored_thread in threads:
        asset = asset_in(references, stored_thread)
        domain_ids = stored_thread.document.get("domains") or ()
        domains = [references[one] for one in domain_ids if one in references]
        documents.append(announcement_document(stored_thread, asset, domains, now_ms))
    return documents
