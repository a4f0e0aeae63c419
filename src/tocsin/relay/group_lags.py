"""Measurement, beside a relay, of the lags of its topics' consumer groups; the server takes them from the store.

Only relays know the broker, so neither server nor worker needs its address or the libraries of its client.
Next: ``relay/kafka/groups.py``, ``relay/pulsar/subscriptions.py``, ``store/upkeep/lag.py``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from tocsin.clock import Clock
from tocsin.errors import TocsinError
from tocsin.model.entity import Document
from tocsin.store.eventlog.lag_states import ConsumerGroups
from tocsin.threads import run_beside

MOST_GROUPS = 200
"""The most groups or subscriptions that are measured, in the order of their names."""

_ENDS_WITHIN_S = 10.0
_LONGEST_NAME, _DIGEST_LENGTH = 200, 8
_log = structlog.get_logger("tocsin.relay")


def short_name(name: str) -> str:
    """Return a group's name, of a long one its beginning and a digest."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - _DIGEST_LENGTH - 1]}-{sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]}"


def measure_groups(measure: Callable[[], list[Document]] | None, engine: Engine, relay_name: str, clock: Clock) -> None:
    """Store the lags of the consumer groups, or why they are unknown."""
    try:
        document: Document = {"groups": measure() if measure else []}
    except TocsinError as error:
        document = {"groups": [], "fault": error.message}
    ConsumerGroups(engine).put(relay_name, document, now_ms=clock.now_ms())


@contextmanager
def measuring(work: Callable[[], None], *, every_s: float) -> Iterator[None]:
    """Measure in a thread until the block ends; 0 seconds: never. What the store refuses is passed over."""

    def run(ending: threading.Event) -> None:
        while not ending.is_set():
            try:
                work()
            except (SQLAlchemyError, OSError, TocsinError) as error:
                _log.warning("relay.groups_not_measured", reason=str(error).splitlines()[0])
            ending.wait(every_s)

    with run_beside(run, "tocsin-group-lags", ends_within_s=_ENDS_WITHIN_S) if every_s else nullcontext():
        yield
