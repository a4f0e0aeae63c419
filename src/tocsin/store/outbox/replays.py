"""Replays of one store: jobs that send messages again that were given up.

A replay collects its messages in portions and gives each the status ``awaitingReplay``: workers send them when nothing
else is due (``store/outbox/messages.py``). A message that awaits a replay cannot be collected by another one, so that
nothing is sent twice. Next: ``delivery/worker/deliver.py``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, case, exists, func, select, tuple_

from tocsin.errors import Conflict
from tocsin.flow.track.attempts import Finished
from tocsin.model.message import MessageStatus
from tocsin.model.replay import Replay, ReplayState, Selection
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import GIVEN_UP_MESSAGE, REPLAYED_MESSAGE, attempt, message, replay
from tocsin.store.outbox.dead_letters import IS_LAST, conditions_of, joined_with_last
from tocsin.store.outbox.sessions import UNCLAIMED

MOST_OPEN = 5
"""Replays that one person may have under way."""

_AT_ONCE = 500
_KEPT_MS = 30 * 86_400_000
_ROW = replay.c
_SETS = ("subscription_ids", "destination_ids")
_GIVEN_UP = (MessageStatus.FAILED.value, MessageStatus.RETRY_LIMIT_REACHED.value)
_ENDED = frozenset({MessageStatus.DELIVERED, MessageStatus.FAILED, MessageStatus.RETRY_LIMIT_REACHED})
_IS_SENT_BY_WORKERS = message.c.channel != Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT.value
_REPLAYED = {
    "status": MessageStatus.AWAITING_REPLAY.value,
    "attempts_before": message.c.attempt_count,
    "due_at_ms": message.c.created_at_ms,  # the oldest first
    "wait_ms": 0,
    "lease_owner": None,
}


class Replays:
    """The replays of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def add(self, new_replay: Replay) -> None:
        """Store a replay; ``advance`` collects its messages.

        Raises
        ------
        Conflict : they have ``MOST_OPEN`` under way already
        """
        with writing(self._engine) as connection:
            _check_open(connection, new_replay)
            connection.execute(replay.insert(), _values(new_replay))

    def add_of_one(self, new_replay: Replay, message_id: str, *, delivered: bool) -> None:
        """Store a replay of a single message; of one that was delivered only if that is said.

        Raises
        ------
        Conflict : it is not given up, or they have ``MOST_OPEN`` replays under way already
        """
        statuses = (*_GIVEN_UP, MessageStatus.DELIVERED.value) if delivered else _GIVEN_UP
        eligible = and_(message.c.id == message_id, message.c.status.in_(statuses), _IS_SENT_BY_WORKERS)
        with writing(self._engine) as connection:
            _check_open(connection, new_replay)
            assignment = message.update().where(eligible).values(**_REPLAYED, replay_id=new_replay.id)
            if not connection.execute(assignment).rowcount:
                raise Conflict(_why_not(connection, message_id))
            row = {**_values(new_replay), "state": ReplayState.SENDING.value, "total_count": 1}
            connection.execute(replay.insert(), row)

    def find(self, replay_id: str) -> Replay | None:
        """Return the replay of that id."""
        with reading(self._engine) as connection:
            row = connection.execute(select(replay).where(_ROW.id == replay_id)).first()
        return None if row is None else _replay(row)

    def newest(self, requested_by: str | None, *, limit: int) -> list[Replay]:
        """Return the newest replays, of one person or of everybody."""
        query = select(replay).order_by(_ROW.requested_at_ms.desc(), _ROW.id).limit(limit)
        narrowed_query = query if requested_by is None else query.where(_ROW.requested_by == requested_by)
        with reading(self._engine) as connection:
            return [_replay(row) for row in connection.execute(narrowed_query)]

    def cancel(self, replay_id: str) -> None:
        """Send nothing more of a replay; ``advance`` takes back waiting messages."""
        open_one = and_(_ROW.id == replay_id, _ROW.ended_at_ms.is_(None))
        with writing(self._engine) as connection:
            connection.execute(replay.update().where(open_one).values(state=ReplayState.CANCELLING.value))

    def advance_collecting(self, now_ms: int) -> bool:
        """Collect a portion of each replay that still collects, take one back of each that is being cancelled.

        Return whether to call it again at once.
        """
        query = select(_ROW.id).where(_ROW.ended_at_ms.is_(None), _ROW.state != ReplayState.SENDING.value)
        with reading(self._engine) as connection:
            ids = list(connection.execute(query.order_by(_ROW.requested_at_ms, _ROW.id)).scalars())
        return sum(self.advance(one, now_ms=now_ms) for one in ids) > 0

    def advance(self, replay_id: str, *, now_ms: int) -> bool:
        """Collect or take back a portion of a replay's messages; return whether there may be more."""
        with writing(self._engine) as connection:
            query = select(replay).where(_ROW.id == replay_id).with_for_update()
            row = connection.execute(query).first()
            if row is None or row.ended_at_ms is not None:
                return False
            if row.state == ReplayState.COLLECTING.value:
                return _collect_portion(connection, row, now_ms)
            if row.state == ReplayState.CANCELLING.value:
                return _take_back_portion(connection, row.id, now_ms)
            _end(connection, [row.id], now_ms)
            return False


def count_replayed(connection: Connection, finished: Sequence[Finished], now_ms: int) -> None:
    """Count what became of replayed messages for their replays; part of the transaction that records the attempts."""
    replay_ids = {one.message.id: one.message.replay_id for one in finished if one.message.replay_id is not None}
    if not replay_ids:
        return
    counts: dict[str, Counter[str]] = {replay_id: Counter() for replay_id in replay_ids.values()}
    ended_attempts = [one for one in finished if one.message.id in replay_ids and one.step.status in _ENDED]
    for result in ended_attempts:
        is_delivered = result.step.status is MessageStatus.DELIVERED
        counts[replay_ids[result.message.id]]["delivered_count" if is_delivered else "failed_count"] += 1
    ended_messages = message.c.id.in_([one.message.id for one in ended_attempts])
    connection.execute(message.update().where(ended_messages).values(replay_id=None))
    for replay_id, count_of_replay in sorted(counts.items()):
        _count(connection, replay_id, count_of_replay)
    waiting_ids = sorted(replay_ids.keys() - {one.message.id for one in ended_attempts})
    cancelled_ids = select(_ROW.id).where(_ROW.id.in_(counts), _ROW.state == ReplayState.CANCELLING.value)
    for replay_id in list(connection.execute(cancelled_ids).scalars()) if waiting_ids else ():
        _take_back(connection, replay_id, [one for one in waiting_ids if replay_ids[one] == replay_id], now_ms)
    _end(connection, sorted(counts), now_ms)


def is_sent() -> ColumnElement[bool]:
    """Return the condition for the replay of a message not to be cancelled."""
    cancelled = exists().where(_ROW.id == message.c.replay_id, _ROW.state == ReplayState.CANCELLING.value)
    return ~cancelled.correlate(message)


def _collect_portion(connection: Connection, row: Row[Any], now_ms: int) -> bool:  # Any: a column's value
    """Let a portion of the selection await the replay; return whether there may be more."""
    order = (message.c.updated_at_ms, message.c.id)
    query = joined_with_last(select(*order).select_from(message)).where(GIVEN_UP_MESSAGE, _IS_SENT_BY_WORKERS)
    query = query.where(*conditions_of(_selection(row)))
    if row.after_ms is not None:
        query = query.where(tuple_(*order) > (row.after_ms, row.after_id))
    dead_letters = connection.execute(query.order_by(*order).limit(_AT_ONCE)).all()
    own_update = replay.update().where(_ROW.id == row.id)
    if not dead_letters:
        connection.execute(own_update.values(state=ReplayState.SENDING.value))
        _end(connection, [row.id], now_ms)
        return False
    still_given_up = and_(message.c.id.in_([one.id for one in dead_letters]), GIVEN_UP_MESSAGE)
    count = connection.execute(message.update().where(still_given_up).values(**_REPLAYED, replay_id=row.id)).rowcount
    last = {"after_ms": dead_letters[-1].updated_at_ms, "after_id": dead_letters[-1].id}
    connection.execute(own_update.values(**last, total_count=_ROW.total_count + count))
    return True


def _take_back_portion(connection: Connection, replay_id: str, now_ms: int) -> bool:
    """Take back a portion of the waiting messages; return whether more are left. Those in hand end by themselves."""
    query = select(message.c.id).where(REPLAYED_MESSAGE, message.c.replay_id == replay_id, UNCLAIMED)
    ids = list(connection.execute(query.limit(_AT_ONCE).with_for_update(skip_locked=True)).scalars())
    _take_back(connection, replay_id, ids, now_ms)
    _end(connection, [replay_id], now_ms)
    return len(ids) == _AT_ONCE


def _take_back(connection: Connection, replay_id: str, ids: Collection[str], now_ms: int) -> None:
    """Give messages the status again that their last attempt left them in."""
    if not ids:
        return
    outcome = select(attempt.c.outcome).where(IS_LAST).correlate(message).scalar_subquery()
    status = case(
        (outcome == "delivered", MessageStatus.DELIVERED.value),
        (outcome == "retry", MessageStatus.RETRY_LIMIT_REACHED.value),
        else_=MessageStatus.FAILED.value,
    )
    values = {"status": status, "replay_id": None, "lease_owner": None, "updated_at_ms": now_ms}
    connection.execute(message.update().where(message.c.id.in_(sorted(ids))).values(**values))
    _count(connection, replay_id, {"taken_back_count": len(ids)})


def _count(connection: Connection, replay_id: str, counted: dict[str, int]) -> None:
    increments = {name: _ROW[name] + count for name, count in counted.items()}
    if increments:
        connection.execute(replay.update().where(_ROW.id == replay_id).values(**increments))


def _end(connection: Connection, replay_ids: Collection[str], now_ms: int) -> None:
    """End those of the replays that have nothing left to do."""
    is_over = _ROW.total_count == _ROW.delivered_count + _ROW.failed_count + _ROW.taken_back_count
    to_end = and_(_ROW.id.in_(replay_ids), _ROW.ended_at_ms.is_(None), is_over)
    for state, end in ((ReplayState.SENDING, ReplayState.DONE), (ReplayState.CANCELLING, ReplayState.CANCELLED)):
        ended = replay.update().where(to_end, _ROW.state == state.value)
        connection.execute(ended.values(state=end.value, ended_at_ms=now_ms))


def _check_open(connection: Connection, new_replay: Replay) -> None:
    """Refuse too many replays of one person; drop those that ended long ago."""
    connection.execute(replay.delete().where(_ROW.ended_at_ms < new_replay.requested_at_ms - _KEPT_MS))
    own_open = and_(_ROW.requested_by == new_replay.requested_by, _ROW.ended_at_ms.is_(None))
    if connection.execute(select(func.count()).where(own_open)).scalar_one() >= MOST_OPEN:
        raise Conflict(f"You have {MOST_OPEN} running replays; wait for one or cancel it.")


def _why_not(connection: Connection, message_id: str) -> str:
    row = connection.execute(select(message.c.status, message.c.channel).where(message.c.id == message_id)).first()
    status, channel = row or (None, None)
    if channel == Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT:
        return f"Message {message_id} is of a queue, which has no replays."
    if status == MessageStatus.DELIVERED.value:
        return f"Message {message_id} was delivered; to send it again all the same, say so (delivered: true)."
    return f"Message {message_id} is not given up: its status is {status}."


def _values(new_replay: Replay) -> dict[str, object]:
    selection = json.dumps(asdict(new_replay.selection), default=sorted)
    return {**vars(new_replay), "selection": selection, "state": new_replay.state.value}


def _selection(row: Row[Any]) -> Selection:  # Any: a column's value
    selection = json.loads(row.selection)
    former_id = selection.pop("destination_id", None)  # of a replay that was stored when a selection had only one
    selection.setdefault("destination_ids", None if former_id is None else [former_id])
    sets = {name: None if ids is None else frozenset(ids) for name in _SETS for ids in (selection[name],)}
    return Selection(**{**selection, **sets})


def _replay(row: Row[Any]) -> Replay:  # Any: a column's value
    plain = {field.name: getattr(row, field.name) for field in fields(Replay)}
    return Replay(**{**plain, "selection": _selection(row), "state": ReplayState(row.state)})
