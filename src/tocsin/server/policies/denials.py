"""Log of denied requests as events, limited to one per person, asset and operation in a time window.

A denial is only queued: the denied request neither waits for the log nor fails because of it. A thread
writes the events (``catalogue/people/violations.py``). Suppressed denials are counted, and the next event has
their number, so none is lost.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import structlog
from sqlalchemy.exc import SQLAlchemyError

from tocsin.access.decide import Verdict
from tocsin.access.evaluate import Facts
from tocsin.catalogue.people.violations import Violation
from tocsin.clock import Clock
from tocsin.errors import TocsinError
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM, Actor

WINDOW_MS = 10 * 60_000
"""For this long, the same person, asset and operation give one event."""
MOST_PER_MINUTE = 60
"""Events a minute in all; the number of further ones is written when the minute is over."""

_WAITING = 1_000
_MOST_KNOWN = 10_000
_LOOK_S = 0.5
_MINUTE_MS = 60_000
_log = structlog.get_logger()

Write = Callable[[Violation, Actor], object]
Key = tuple[str, str, str]


@dataclass
class _Window:
    """State of one person, asset and operation: start of the window, and the number of suppressed denials."""

    since_ms: int
    violation: Violation
    actor: Actor
    unrecorded: int = 0


@dataclass
class _Minute:
    """One minute: when it began, how many events it had, and how many refusals went beyond."""

    began_ms: int = 0
    recorded: int = 0
    unrecorded: int = 0


class RefusalLog:
    """Takes note of refusals and writes the events; one per server."""

    def __init__(self, write: Write, clock: Clock) -> None:
        self._write, self._clock = write, clock
        self._lock = threading.Lock()
        self._windows: dict[Key, _Window] = {}
        self._minute = _Minute()
        self._queue: queue.Queue[tuple[Violation, Actor] | None] = queue.Queue(_WAITING)
        self._thread: threading.Thread | None = None

    def note(self, actor: Actor, operation: Operation, resource: str, document: Document, verdict: Verdict) -> None:
        """Take note that ``actor`` was refused ``operation`` on this document; neither waits nor fails.

        Why they asked is left out: it would reach people whom they may not write to.
        """
        actor = replace(actor, reason=None)
        key = (actor.id, str(document.get("id") or resource), operation.value)
        now_ms = self._clock.now_ms()
        with self._lock:
            self._ensure_running()
            window = self._windows.get(key)
            if window is not None and now_ms - window.since_ms < WINDOW_MS:
                window.unrecorded += 1
                return
            if not self._has_room(now_ms):
                return
            violation = _violation(actor, operation, resource, document, verdict)
            if window is not None and window.unrecorded:
                violation.details["repeated"] = window.unrecorded
            self._windows[key] = _Window(now_ms, violation, actor)
            self._put(violation, actor)

    def close(self) -> None:
        """Write the pending counts and events, and end the thread."""
        with self._lock:
            self._settle(self._clock.now_ms(), is_final=True)
            thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(5)

    def _has_room(self, now_ms: int) -> bool:
        self._turn_minute(now_ms)
        minute = self._minute
        if minute.recorded >= MOST_PER_MINUTE or len(self._windows) >= _MOST_KNOWN:
            minute.unrecorded += 1
            return False
        minute.recorded += 1
        return True

    def _turn_minute(self, now_ms: int) -> None:
        minute = self._minute
        if now_ms - minute.began_ms < _MINUTE_MS:
            return
        self._minute = _Minute(began_ms=now_ms)
        if minute.unrecorded:
            self._put(Violation(None, {"repeated": minute.unrecorded, "sinceMs": minute.began_ms}), SYSTEM)

    def _settle(self, now_ms: int, *, is_final: bool = False) -> None:
        """Write the counts of closed windows in which denials were suppressed."""
        self._turn_minute(now_ms if not is_final else now_ms + _MINUTE_MS)
        closed_keys = [
            key for key, window in self._windows.items() if is_final or now_ms - window.since_ms >= WINDOW_MS
        ]
        for key in closed_keys:
            window = self._windows.pop(key)
            if window.unrecorded:
                details = {**window.violation.details, "repeated": window.unrecorded}
                self._put(Violation(window.violation.policy_id, details), window.actor)

    def _put(self, violation: Violation, actor: Actor) -> None:
        try:
            self._queue.put_nowait((violation, actor))
        except queue.Full:
            self._minute.unrecorded += 1 + int(violation.details.get("repeated", 0))

    def _ensure_running(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="refusals", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            try:
                refusal = self._queue.get(timeout=_LOOK_S)
            except queue.Empty:
                with self._lock:
                    self._settle(self._clock.now_ms())
                continue
            if refusal is None:
                return
            self._record(*refusal)

    def _record(self, violation: Violation, actor: Actor) -> None:
        try:
            self._write(violation, actor)
        except TocsinError as error:
            _log.warning("violation not recorded", reason=error.message)
        except SQLAlchemyError:  # the thread outlives a store that is away for a moment
            _log.exception("violation not recorded")


def _violation(actor: Actor, operation: Operation, resource: str, document: Document, verdict: Verdict) -> Violation:
    ruling = verdict.ruling
    asset = {"type": resource} | {key: document[key] for key in ("id", "name", "fullyQualifiedName") if key in document}
    details: Document = {
        "operation": operation.value,
        "entity": asset,
        "tags": sorted(Facts(resource, document).tags),
        "user": {"id": actor.id, "type": "user", "name": actor.name},
        "rule": ruling.rule.name if ruling else None,
        "role": ruling.grant.role if ruling else None,
    }
    filled_details = {key: value for key, value in details.items() if value is not None}
    return Violation(ruling.grant.policy.id if ruling else None, filled_details)
