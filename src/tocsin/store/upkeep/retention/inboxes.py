"""What leaves the inboxes of people who have chosen for how many days they keep it, in portions.

Nothing is removed: a notification that has left is in no tab and no count, and explanations, feeds and statistics still
have it. What is unread, saved or snoozed stays, and so does what still needs its person. Next: ``jobs/retention.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Engine, and_, exists, select, tuple_, update

from tocsin.model.inbox import Tab
from tocsin.model.retention import DAY_MS
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import is_one_of, pages_of
from tocsin.store.database.people_tables import EVERYBODY, notification_preference
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox_groups import PARTS, READ_PART
from tocsin.store.outbox.inbox_marks import note_change
from tocsin.store.outbox.open_needs import open_needs
from tocsin.store.upkeep.retention.progress import give_sign

PORTION = 1_000
"""Notifications of one transaction, and people of one page."""

_ROW, _CHOICE = notification.c, notification_preference.c
_KEY = "inboxDays"
_MAY_HAVE_CHOSEN = and_(_CHOICE.user_id != EVERYBODY, _CHOICE.document.contains(f'"{_KEY}"'))
_TIMES: tuple[tuple[ColumnElement[bool], ColumnElement[int | None]], ...] = (
    (READ_PART.is_in, _ROW.read_at_ms),
    (PARTS[Tab.DONE][0].is_in, _ROW.done_at_ms),
)
"""What may leave, and the time from which its days count: of what is read, of what is done."""


_Place = tuple[str, int, str]
"""Person, log offset and id of a notification."""


class _Leaving(NamedTuple):
    """What leaves the inboxes of these people: what meets ``is_old``."""

    people: Sequence[str]
    is_old: ColumnElement[bool]


class InboxRetention:
    """The inboxes of one store that are kept for some days only."""

    def __init__(self, engine: Engine, *, portion: int = PORTION) -> None:
        self._engine, self._portion = engine, portion

    def is_chosen(self) -> bool:
        """Return whether anybody may have chosen for how many days they keep their inbox."""
        with reading(self._engine) as connection:
            return bool(connection.scalar(select(exists(select(_CHOICE.user_id).where(_MAY_HAVE_CHOSEN)))))

    def leave(self, trusted_ms: int, run_id: str, clock_ms: Callable[[], int]) -> Iterator[int]:
        """Let what people have kept long enough leave, by the time ``trusted_ms``; yield a count per portion."""
        for leaving in self._parts(trusted_ms):
            yield from self._portions(leaving, run_id, clock_ms)

    def _portions(self, leaving: _Leaving, run_id: str, clock_ms: Callable[[], int]) -> Iterator[int]:
        after: _Place | None = ("", -1, "")
        while after is not None:
            with writing(self._engine) as connection:
                if not give_sign(connection, run_id, now_ms=clock_ms()):
                    return
                after, count = _leave_portion(connection, leaving, (after, self._portion), clock_ms())
            yield count

    def _parts(self, trusted_ms: int) -> Iterator[_Leaving]:
        """Yield people who have chosen alike, a page full at most, with what leaves: what is read, what is done."""
        query = select(_CHOICE.user_id, _CHOICE.document).where(_MAY_HAVE_CHOSEN)
        with reading(self._engine) as connection:
            pages = list(pages_of(connection, query, _CHOICE.user_id, size=self._portion))
        for page in pages:
            people_by_days = defaultdict[int, list[str]](list)
            for user_id, document in page:
                if (days := orjson.loads(document).get(_KEY)) is not None:
                    people_by_days[days].append(user_id)
            for days, people in sorted(people_by_days.items()):
                for is_in, since_ms in _TIMES:
                    yield _Leaving(
                        people, and_(is_in, _ROW.saved_at_ms.is_(None), since_ms < trusted_ms - days * DAY_MS)
                    )


def _leave_portion(
    connection: Connection, leaving: _Leaving, page: tuple[_Place, int], now_ms: int
) -> tuple[_Place | None, int]:
    """Let a portion leave; return where it ended, None for the last, and how many have left."""
    after, limit = page
    place = (_ROW.recipient_id, _ROW.log_offset, _ROW.id)
    may_leave = and_(_ROW.channel == Channel.ACTIVITY_FEED.value, leaving.is_old)
    query = select(*place, _ROW.need).where(is_one_of(connection, _ROW.recipient_id, leaving.people), may_leave)
    old_rows = connection.execute(query.where(tuple_(*place) > after).order_by(*place).limit(limit)).all()
    needing_ids = open_needs(connection, [row.id for row in old_rows if row.need is not None])
    left_rows = [row for row in old_rows if row.id not in needing_ids]
    for person in sorted({str(row.recipient_id) for row in left_rows}):
        note_change(connection, person)
    # Marks of the same moment count: each row is judged again where it is written.
    is_left = and_(is_one_of(connection, _ROW.id, {row.id for row in left_rows}), may_leave)
    count = (
        connection.execute(update(notification).where(is_left).values(left_at_ms=now_ms)).rowcount if left_rows else 0
    )
    last = old_rows[-1] if len(old_rows) == limit else None
    return (None if last is None else (str(last.recipient_id), int(last.log_offset), str(last.id))), count
