"""Notices to one person in the store, and what they say when they are sent: what their person may view by then.

Next: ``delivery/wording/notices.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, or_, select, update

from tocsin.access.permission_cache import PermissionCache
from tocsin.access.person_visibility import Visibility
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.rich_text import RichText
from tocsin.delivery.wording.health import health_text
from tocsin.delivery.wording.notices import ExpiringFollow, expiring_text
from tocsin.model.entity import Document
from tocsin.model.personal_notice import NoticeKind, PersonalNotice, is_notice
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import personal_notice
from tocsin.store.database.tables import entity
from tocsin.store.outbox.health_summaries import HealthSummaries
from tocsin.store.recipients.idle_follows import DAY_MS, WARNED_DAYS, IdleFollows

_ROW, _LATER = personal_notice.c, personal_notice.alias("later").c
_KEPT = 15
"""Notices of one kind that a person keeps at least: those of a quarter, if they are weekly."""

_WEEK_MS = WARNED_DAYS * DAY_MS
_MOST_BEGUN = 1_000
_COLUMNS = (_ROW.thread_id, _ROW.user_id, _ROW.kind, _ROW.since_ms, _ROW.until_ms)


class PersonalNotices:
    """The notices of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, notice: PersonalNotice, *, is_begun: bool = True) -> None:
        """Store a notice, once; with a thread that is not ``is_begun`` it is among the ``unbegun``."""
        with writing(self._engine) as connection:
            insert = insert_into(connection, personal_notice).values(**asdict(notice), is_begun=is_begun)
            connection.execute(insert.on_conflict_do_nothing())

    def of(self, thread_ids: Collection[str]) -> dict[str, PersonalNotice]:
        """Return those of these threads that are notices."""
        with reading(self._engine) as connection:
            return {one.thread_id: one for one in _notices_of(connection, thread_ids)}

    def unbegun(self, kind: NoticeKind) -> list[PersonalNotice]:
        """Return notices whose threads are to begin, the oldest first."""
        query = select(*_COLUMNS).where(~_ROW.is_begun, _ROW.kind == kind.value)
        with reading(self._engine) as connection:
            return [_notice(row) for row in connection.execute(query.order_by(_ROW.until_ms).limit(_MOST_BEGUN))]

    def note_begun(self, notice: PersonalNotice) -> None:
        """Note that the thread of a notice has begun."""
        with writing(self._engine) as connection:
            is_it = _ROW.thread_id == notice.thread_id
            connection.execute(update(personal_notice).where(is_it).values(is_begun=True))

    def last_until_ms(self, kind: NoticeKind, user_ids: Collection[str]) -> dict[str, int]:
        """Return until when the last notice of this kind to each of these people is; nothing of who had none."""
        query = select(_ROW.user_id, func.max(_ROW.until_ms)).where(_ROW.kind == kind.value).group_by(_ROW.user_id)
        with reading(self._engine) as connection:
            return {row[0]: int(row[1]) for row in rows_by_key(connection, query, _ROW.user_id, user_ids)}

    def forget(self, kind: NoticeKind, *, before_ms: int, after_ms: int) -> None:
        """Forget notices of long ago, and those of a clock that was ahead and has been set back since.

        The last ones of a person stay, however old: a clock that leaps ahead forgets none of the present.
        """
        is_of_person = (_LATER.user_id == _ROW.user_id) & (_LATER.kind == _ROW.kind)
        later_count = select(func.count()).where(is_of_person, _LATER.until_ms > _ROW.until_ms).scalar_subquery()
        is_old = (_ROW.until_ms < before_ms) & (later_count >= _KEPT)
        with writing(self._engine) as connection:
            is_over = or_(is_old, _ROW.until_ms > after_ms)
            connection.execute(delete(personal_notice).where(_ROW.kind == kind.value, is_over))


class NoticeTexts:
    """What notices say, for their person alone."""

    def __init__(self, engine: Engine, permission_cache: PermissionCache, *, base_url: str = "") -> None:
        self._engine, self._permission_cache, self._base_url = engine, permission_cache, base_url
        self._summaries = HealthSummaries(engine, permission_cache)
        self._notices, self._idle, self._standing = (
            PersonalNotices(engine),
            IdleFollows(engine),
            SqlEntityStates(engine),
        )

    def of(self, dispatch: Dispatch, zone: str) -> dict[str, RichText | None]:
        """Return what the notices in a message say, by notification; None for one of which there is nothing to say."""
        threads = {
            entry.notification_id: (entry.event.entity_id, entry.recipient_id)
            for entry in dispatch.entries
            if is_notice(entry.event)
        }
        if not threads:
            return {}
        notices = self._notices.of({thread_id for thread_id, _ in threads.values()})
        texts: dict[str, RichText | None] = {}
        for notification_id, (thread_id, recipient_id) in threads.items():
            notice = notices.get(thread_id)
            if notice is not None:
                is_theirs = notice.user_id == recipient_id and dispatch.reaches_recipient
                texts[notification_id] = self._text_of(notice, zone) if is_theirs else None
        return texts

    def _text_of(self, notice: PersonalNotice, zone: str) -> RichText | None:
        if notice.kind is NoticeKind.HEALTH:
            summary = self._summaries.of(notice.user_id, notice.since_ms, notice.until_ms)
            return None if summary.is_empty else health_text(summary, zone=zone, base_url=self._base_url)
        places = self._idle.places_of([notice.thread_id]).get(notice.thread_id, ())
        assets = self._visible({place.entity_id for place in places}, notice.user_id)
        follows = [ExpiringFollow(assets[one.entity_id], one.column_path) for one in places if one.entity_id in assets]
        if not follows:
            return None
        days = (notice.until_ms - notice.since_ms) // DAY_MS
        return expiring_text(follows, days, notice.until_ms + _WEEK_MS, zone=zone, base_url=self._base_url)

    def _visible(self, entity_ids: Collection[str], user_id: str) -> dict[str, Document]:
        """Return references to those of these assets that are not deleted, and that a person may view now."""
        live = select(*REFERENCE).where(~entity.c.deleted)
        with reading(self._engine) as connection:
            found_rows = list(rows_by_key(connection, live, entity.c.id, entity_ids))
        references = [reference_of(*row) for row in found_rows]
        permissions = self._permission_cache.current_policies().of(user_id)
        visible_ids = Visibility(permissions, self._standing).sees(references)
        return {str(one["id"]): one for one in references if one["id"] in visible_ids}


def _notices_of(connection: Connection, thread_ids: Collection[str]) -> Iterator[PersonalNotice]:
    yield from map(_notice, rows_by_key(connection, select(*_COLUMNS), _ROW.thread_id, thread_ids))


def _notice(row: Row[Any, Any, Any, Any, Any]) -> PersonalNotice:  # Any: the columns of _COLUMNS
    thread_id, user_id, kind, since_ms, until_ms = row
    return PersonalNotice(thread_id, user_id, NoticeKind(kind), since_ms, until_ms)
