"""Loop of a consumer: read a portion, offer its batches until each is handled, then commit the portion.

At least once: what was not committed is read again. Next: ``client/consume/api_source.py``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Protocol

from tocsin.client.answers import Change
from tocsin.client.consume.steps import EventBatch, Pause, Steps
from tocsin.errors import InvalidInput, Unavailable
from tocsin.model.subscription import BATCH_BY_ENTITY_TYPE

MOST_EVENTS = 10_000
LONGEST_WAIT_S = 60.0
_log = logging.getLogger("tocsin.client")

OnRetry = Callable[[Exception, float], None]
"""Is told what failed, and in how many seconds it is tried again."""


@dataclass(frozen=True)
class EventPortion:
    """What a source has read at once.

    ``end`` is the offset in the log behind it, where the source has one. ``token`` is what the source needs to commit
    it. ``is_last``: nothing followed it when it was read.
    """

    changes: tuple[Change, ...]
    end: int | None = None
    token: object = None
    is_last: bool = False


class EventSource(Protocol):
    """Where a consumer gets events from."""

    stop_at_end: bool

    def open(self, server: str) -> Steps[None]:
        """Begin, for a client of ``server``; raises a TocsinError where that cannot succeed."""

    def read(self, limit: int, group_by: str | None) -> Steps[EventPortion]:
        """Return the next events, at most ``limit``, or none."""

    def keep(self, portion: EventPortion, wait_s: float) -> Steps[bool]:
        """Keep a portion that is offered again after a wait; return whether it still belongs to this consumer."""

    def commit(self, portion: EventPortion) -> Steps[None]:
        """Record that a portion was handled."""

    def give_back(self, portion: EventPortion) -> Steps[None]:
        """Let others have a portion that was not handled."""

    def close(self) -> Steps[None]:
        """End."""


@dataclass(frozen=True)
class ConsumerOptions:
    """How a consumer reads: ``retries`` counts how often a batch is offered again, None: for ever."""

    batch_size: int = 100
    group_by: str | None = None
    retries: int | None = 3
    on_retry: OnRetry | None = None

    def check(self) -> None:
        """Raise InvalidInput where an option is none."""
        if not 1 <= self.batch_size <= MOST_EVENTS:
            raise InvalidInput(f"batch_size must be from 1 to {MOST_EVENTS}", field="batch_size")
        if self.group_by not in (None, BATCH_BY_ENTITY_TYPE):
            raise InvalidInput(f"group_by must be {BATCH_BY_ENTITY_TYPE}, or omitted", field="group_by")


def consume(source: EventSource, options: ConsumerOptions, server: str) -> Steps[None]:
    """Consume a source until its end, or for ever; ``server`` is the address of the client's.

    Raises
    ------
    InvalidInput : an option is none
    Exception : what handling a batch has raised once more than the retries allow
    """
    options.check()
    yield from source.open(server)
    try:
        is_first = True
        while True:
            read = source.read(options.batch_size, options.group_by)
            portion = yield from (read if is_first else _wait_for_source(source, options))
            is_first = False
            yield from _take_through(source, portion, options)
            if portion.is_last and source.stop_at_end:
                return
    finally:
        yield from source.close()


def _wait_for_source(source: EventSource, options: ConsumerOptions) -> Steps[EventPortion]:
    """Return the next portion; a source that is away is waited for."""
    for failure_count in count(1):
        try:
            return (yield from source.read(options.batch_size, options.group_by))
        except Unavailable as error:
            if error.retry_after_s is None:
                raise
            yield Pause(_report(options, error, failure_count))
    raise AssertionError("unreachable")


def _take_through(source: EventSource, portion: EventPortion, options: ConsumerOptions) -> Steps[None]:
    """Offer all batches of a portion, and commit it."""
    try:
        for batch in batches_of(portion, options.group_by):
            if not (yield from _offer(source, portion, batch, options)):
                return
    except BaseException:
        yield from source.give_back(portion)
        raise
    yield from _commit(source, portion, options)


def _offer(source: EventSource, portion: EventPortion, batch: EventBatch, options: ConsumerOptions) -> Steps[bool]:
    """Offer a batch until it is handled; return whether it belonged to this consumer until then."""
    for failure_count in count(1):
        try:
            yield batch
            return True
        except Exception as error:  # whatever the program that handles events raises
            if options.retries is not None and failure_count > options.retries:
                raise
            wait_s = _report(options, error, failure_count)
        if not (yield from source.keep(portion, wait_s)):
            return False
        yield Pause(wait_s)
    raise AssertionError("unreachable")


def _commit(source: EventSource, portion: EventPortion, options: ConsumerOptions) -> Steps[None]:
    for failure_count in count(1):
        try:
            return (yield from source.commit(portion))
        except Unavailable as error:
            if error.retry_after_s is None:
                raise
            yield Pause(_report(options, error, failure_count))


def batches_of(portion: EventPortion, group_by: str | None) -> list[EventBatch]:
    """Return the batches of a portion: one, or one per entity type in the order of their first events."""
    if not portion.changes:
        return []
    if group_by is None:
        return [EventBatch(portion.changes, end=portion.end)]
    by_type: dict[str, list[Change]] = {}
    for change in portion.changes:
        by_type.setdefault(change.entity_type, []).append(change)
    last_type = [*by_type][-1]
    return [
        EventBatch(tuple(changes), entity_type, portion.end if entity_type == last_type else None)
        for entity_type, changes in by_type.items()
    ]


def _report(options: ConsumerOptions, error: Exception, failure_count: int) -> float:
    """Say that something failed; return after how many seconds it is tried again."""
    wait_s = min(LONGEST_WAIT_S, 2.0 ** min(failure_count - 1, 10))
    if options.on_retry is None:
        _log.warning("%s: %s; again in %.0f s", type(error).__name__, error, wait_s)
    else:
        options.on_retry(error, wait_s)
    return wait_s
