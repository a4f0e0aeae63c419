"""Live streams of the inbox: one poll of the store serves every listener of a process.

Notifications of a whole and its parts that come together are pushed once: their entry of the inbox has changed once.
A slow listener is disconnected: it reconnects with its last offset and misses nothing. So is one whose token is no
longer valid or whose user has changed, and everybody when the store is unavailable or replaced.
Next: ``server/inbox/arrivals.py``.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import anyio
import anyio.to_thread
import structlog

from tocsin.clock import Clock
from tocsin.errors import LogDiverged, TooManyRequests
from tocsin.model.people import Actor
from tocsin.server.inbox.arrivals import PAGE, Arrivals, Arriving
from tocsin.server.inbox.sent_entries import SentEntries
from tocsin.server.inbox.state_changes import StateChanges
from tocsin.server.login.tokens import StreamSession
from tocsin.store.database.faults import fault_of
from tocsin.store.outbox.inbox import Arrival, InboxEntry

_POLL_S = 0.15
CHECK_S = 0.3
"""Between two looks at the tokens of all listeners; what was revoked ends its streams within this and one poll."""
_CHECKED_FOR_MS = 30_000
_RETRY_AFTER_S = 5
_LONGEST_WAIT_MS = 60_000  # what is due later than this is found by the next page that a person opens

BACKLOG = 200
"""Groups a listener may fall behind before it is let go."""

T = TypeVar("T")
_log = structlog.get_logger()


class Entries(Arrivals, Protocol):
    """What the loop asks of the inbox (``store/outbox/inbox.py``)."""

    def entries_at(self, places: list[tuple[int, str]]) -> list[InboxEntry]:
        """Return the entries at these (offset, user id) places."""

    def entries_after(self, user_id: str, offset: int, now_ms: int, *, limit: int) -> list[InboxEntry]:
        """Return a user's notifications after an offset, oldest first."""

    def wake(self, now_ms: int, user_ids: Collection[str] | None = None) -> set[str]:
        """Bring back what was snoozed and waits no longer, of these people or of all."""

    def changes(self, *, limit: int) -> list[tuple[str, int]]:
        """Return whose inboxes were changed last, newest first, with numbers that grow."""


class StatesChanged:
    """Says to a listener that entries were marked, or have come back."""


_STATES_CHANGED = StatesChanged()


class TokenSessions(Protocol):
    """What the loop asks about tokens (``store/catalogue/people/tokens.py``)."""

    def access_revision(self) -> tuple[int, ...]:
        """Return numbers that grow whenever a token is revoked, or a user changed."""

    def holders(self, token_ids: Collection[str], now_ms: int) -> dict[str, Actor]:
        """Return whose each of these tokens is, those that work."""


@dataclass(frozen=True)
class StreamLimits:
    """How many streams one person may have open in a process, and how many all together."""

    per_person: int
    in_all: int


class Streams:
    """The listeners of one process, and the one loop that feeds them."""

    def __init__(self, inbox: Entries, sessions: TokenSessions, clock: Clock, limits: StreamLimits) -> None:
        self._inbox, self._sessions, self._clock, self._limits = inbox, sessions, clock, limits
        self._listeners: dict[str, set[_Listener]] = defaultdict(set)
        self._open: Counter[str] = Counter()
        self._revision: tuple[int, ...] = ()
        self._lane = anyio.CapacityLimiter(1)  # the loop never waits for a thread that requests keep busy
        self._waiting: list[Arrival] = []
        self._starting = asyncio.Lock()
        self._arriving = Arriving(inbox)
        self._sent_entries = SentEntries()
        self._state_changes = StateChanges(lambda limit: inbox.changes(limit=limit))
        self._loop: asyncio.Task[None] | None = None
        self._closed = False

    def check_room(self, actor: Actor) -> None:
        """Refuse one more stream than a person, or the process, may have open.

        Raises
        ------
        TooManyRequests : the person, or the process, has as many streams open as it may
        """
        if self._is_full(actor):
            raise TooManyRequests(
                f"Too many open streams: at most {self._limits.per_person} per person and {self._limits.in_all} in"
                " total; close one.",
                retry_after_s=_RETRY_AFTER_S,
            )

    def _is_full(self, actor: Actor) -> bool:
        return self._open[actor.id] >= self._limits.per_person or self._open.total() >= self._limits.in_all

    async def listen(
        self, user_id: str, last_seen: int | None, session: StreamSession
    ) -> AsyncIterator[InboxEntry | StatesChanged]:
        """Yield this person's notifications from now on, and first those after offset ``last_seen``.

        Of those of a group that come together it yields the newest. Between them it says when states have changed.
        It ends when the token of the session does.
        """
        if self._closed or self._is_full(session.actor):
            return
        listener = _Listener(session)
        self._add(user_id, listener)
        try:
            async for entry in self._entries(user_id, last_seen, listener):
                if listener.is_over(self._clock.now_ms()):
                    return
                yield entry
        finally:
            self._forget(user_id, listener)

    async def _entries(
        self, user_id: str, last_seen: int | None, listener: _Listener
    ) -> AsyncIterator[InboxEntry | StatesChanged]:
        await self._ensure_running()
        start, passed_offset = self._arriving.read_to, self._arriving.passed
        position = start if last_seen is None else last_seen
        sent_ids: set[str] = set()  # what the loop may hand on once more
        if passed_offset < position:  # rows that came late, while nobody listened, precede what was seen
            entries = await self._missed_entries(user_id, passed_offset)
            sent_ids |= {entry.id for entry in entries}
            for group in self._unseen_groups(entries, last_seen, listener):
                yield self._sent_entry(group, listener)
        while missed_entries := await self._missed_entries(user_id, position):
            for group in _groups_of(missed_entries):
                yield self._sent_entry(group, listener)
            sent_ids |= {entry.id for entry in missed_entries if entry.log_offset > min(start, passed_offset)}
            position = missed_entries[-1].log_offset
        while (arrival := await listener.queue.get()) is not None:
            if isinstance(arrival, StatesChanged):
                listener.has_changed = False
                yield arrival
            elif not arrival.places.keys() <= sent_ids:
                yield self._sent_entry(arrival, listener)

    def _unseen_groups(
        self, entries: Sequence[InboxEntry], last_seen: int | None, listener: _Listener
    ) -> list[_EntryArrival]:
        """Return what precedes the place that was seen last and may have come after it; nothing if none was."""
        if last_seen is None:
            return []
        token_id = listener.session.token_id
        seen_last = [entry for entry in entries if entry.log_offset == last_seen]
        sent_before: set[str] = set().union(*(self._sent_entries.ids_before(token_id, entry) for entry in seen_last))
        return _groups_of(
            entry
            for entry in entries
            if entry.log_offset <= last_seen and not entry.read and entry.id not in sent_before
        )

    def _sent_entry(self, group: _EntryArrival, listener: _Listener) -> InboxEntry:
        """Return the newest of a group, and record that the group is sent."""
        self._sent_entries.note(listener.session.token_id, group.newest.recipient_id, group.places)
        return group.newest

    async def close(self) -> None:
        """Let every listener go and end the loop."""
        self._closed = True
        self._let_all_go()
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.wait([self._loop])

    async def _ensure_running(self) -> None:
        """Start the loop with the first listener; it ends when there are none."""
        if self._loop is not None and not self._loop.done():
            return
        async with self._starting:
            if self._loop is None or self._loop.done():  # nobody else started it meanwhile
                await _in_thread(self._begin)
                self._loop = asyncio.create_task(self._run())
                self._loop.add_done_callback(self._on_loop_end)

    def _begin(self) -> None:
        self._arriving.begin()
        self._state_changes.begin()

    def _on_loop_end(self, loop: asyncio.Task[None]) -> None:
        """Let the listeners of a loop that failed go: each comes back and starts the next one."""
        if not loop.cancelled() and (error := loop.exception()) is not None:
            _say(error)
            self._let_all_go()

    def _let_all_go(self) -> None:
        for group in self._listeners.values():
            for listener in group:
                listener.let_go()

    def _add(self, user_id: str, listener: _Listener) -> None:
        self._listeners[user_id].add(listener)
        self._open[listener.session.actor.id] += 1

    def _forget(self, user_id: str, listener: _Listener) -> None:
        opener = listener.session.actor.id
        self._open[opener] -= 1
        if not self._open[opener]:
            del self._open[opener]
        self._listeners[user_id].discard(listener)
        if not self._listeners[user_id]:
            del self._listeners[user_id]

    async def _missed_entries(self, user_id: str, offset: int) -> list[InboxEntry]:
        return await _in_thread(lambda: self._inbox.entries_after(user_id, offset, self._clock.now_ms(), limit=PAGE))

    async def _run(self) -> None:
        check_at_s = 0.0
        while self._listeners:
            if (now_s := asyncio.get_running_loop().time()) >= check_at_s:
                await self._end_sessions()
                await self._in_lane(lambda: self._inbox.wake(self._clock.now_ms()))
                await self._hand_on(await self._in_lane(self._arriving.late))
                self._sent_entries.forget(self._arriving.passed)
                check_at_s = now_s + CHECK_S
            arrivals = await self._in_lane(self._arriving.next)
            await self._hand_on(arrivals)
            await self._say_changes(arrivals)
            if len(arrivals) < PAGE:
                await asyncio.sleep(_POLL_S)

    async def _end_sessions(self) -> None:
        """End the streams whose token has expired or was revoked, or whose user has changed since.

        Tokens are looked up when any was revoked, anywhere, since the last look, and for each listener at first and
        every half a minute: a session that is not used ends.
        """
        now_ms, revision = self._clock.now_ms(), await self._in_lane(self._sessions.access_revision)
        listeners = [listener for group in self._listeners.values() for listener in group]
        is_all = revision != self._revision
        unchecked_listeners = [listener for listener in listeners if is_all or listener.is_unchecked(now_ms)]
        ids = {listener.session.token_id for listener in unchecked_listeners}
        holders = await self._in_lane(lambda: self._sessions.holders(ids, now_ms)) if ids else {}
        for listener in unchecked_listeners:
            listener.checked_at_ms = now_ms
            if holders.get(listener.session.token_id) != listener.session.actor:
                listener.end()
        for listener in listeners:
            if listener.is_over(now_ms):
                listener.end()
        self._revision = revision

    async def _hand_on(self, arrived: list[Arrival]) -> None:
        """Hand on what has arrived and what is due by now of what has waited."""
        now_ms = self._clock.now_ms()
        expected = [one for one in (*self._waiting, *arrived) if one.recipient_id in self._listeners]
        self._waiting = [one for one in expected if now_ms < one.due_at_ms <= now_ms + _LONGEST_WAIT_MS]
        due = [(one.log_offset, one.recipient_id) for one in expected if one.due_at_ms <= now_ms]
        for group in _groups_of(await self._in_lane(lambda: self._inbox.entries_at(due)) if due else ()):
            for listener in self._listeners.get(group.newest.recipient_id, ()):
                listener.push(group)

    async def _say_changes(self, arrived: list[Arrival]) -> None:
        """Tell listeners whose inbox has changed; what they have snoozed may have waited for what has arrived."""
        people = {one.recipient_id for one in arrived if one.recipient_id in self._listeners}
        if people:
            await self._in_lane(lambda: self._inbox.wake(self._clock.now_ms(), people))
        for person in await self._in_lane(self._state_changes.next):
            for listener in self._listeners.get(person, ()):
                listener.push_change()

    async def _in_lane(self, work: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(work, limiter=self._lane)


class ending_with_the_store:  # noqa: N801  read as a word of a with statement
    """End a stream without an error, with a log line, if the store becomes unavailable."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> bool:
        """Return whether the store is to blame, and not this program."""
        is_fault = isinstance(error, Exception) and fault_of(error) is not None
        if is_fault and error is not None:
            _say(error)
        return is_fault


class _EntryArrival(NamedTuple):
    """Notifications of one person that came together and are one entry of the inbox: the newest, and where all are.

    ``places`` has their offsets by id.
    """

    newest: InboxEntry
    places: dict[str, int]


def _groups_of(entries: Iterable[InboxEntry]) -> list[_EntryArrival]:
    """Return notifications by their groups, in the order of the newest of each, so that a resumed stream skips none."""
    members: dict[tuple[str, str], list[InboxEntry]] = defaultdict(list)
    for entry in entries:
        members[entry.recipient_id, entry.group].append(entry)
    groups = [
        _EntryArrival(max(many, key=_offset_of), {one.id: one.log_offset for one in many}) for many in members.values()
    ]
    return sorted(groups, key=lambda group: _offset_of(group.newest))


def _offset_of(entry: InboxEntry) -> int:
    return entry.log_offset


class _Listener:
    """One open connection: the groups that wait to be sent to it; None ends it."""

    def __init__(self, session: StreamSession) -> None:
        self.session = session
        self.checked_at_ms: int | None = None
        self.has_changed = False  # the queue says so
        self.queue: asyncio.Queue[_EntryArrival | StatesChanged | None] = asyncio.Queue()
        self._ended = False

    def push(self, group: _EntryArrival) -> None:
        if self.queue.qsize() >= BACKLOG:
            self.let_go()
        else:
            self.queue.put_nowait(group)

    def push_change(self) -> None:
        if not self.has_changed:
            self.has_changed = True
            self.queue.put_nowait(_STATES_CHANGED)

    def let_go(self) -> None:
        self.queue.put_nowait(None)

    def end(self) -> None:
        """Close it at once; messages that wait are not sent any more."""
        self._ended = True
        self.let_go()

    def is_unchecked(self, now_ms: int) -> bool:
        return self.checked_at_ms is None or abs(now_ms - self.checked_at_ms) >= _CHECKED_FOR_MS

    def is_over(self, now_ms: int) -> bool:
        expires_at_ms = self.session.expires_at_ms
        return self._ended or (expires_at_ms is not None and expires_at_ms <= now_ms)


async def _in_thread(work: Callable[[], T]) -> T:
    return await anyio.to_thread.run_sync(work)


def _say(error: BaseException) -> None:
    """Log why the loop failed: for an unavailable or replaced store, in one line."""
    fault = fault_of(error)
    if isinstance(error, LogDiverged):
        _log.warning("inbox_streams_ended", reason=error.message)
    elif fault is not None:
        _log.warning("inbox_streams_ended", fault=fault.name, reason=fault.sentence)
    else:
        _log.error("inbox_poll_failed", exc_info=error)
