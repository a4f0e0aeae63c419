"""Index of search that follows the log without Spark: what the pipeline's query does, by its Python reference."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from sqlalchemy import Engine
from tests.entries import entry_of

from tocsin.model.change import EventType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.store.catalogue.search.writes import SearchWrites
from tocsin.store.eventlog.log import EventLog

_PORTION = 500
_PAUSE_S = 0.05


@contextmanager
def following_index(engine: Engine) -> Iterator[None]:
    """Keep the index up to date with the log until the block ends; raises what the thread raised."""
    is_over, failures = Event(), list[Exception]()

    def follow() -> None:
        offset = 0
        try:
            while not is_over.wait(_PAUSE_S):
                offset = _index_next(engine, offset)
        except Exception as error:  # noqa: BLE001  it is raised where the block ends
            failures.append(error)

    thread = Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(10)
    if failures:
        raise failures[0]


def _index_next(engine: Engine, offset: int) -> int:
    """Put the next events after an offset into the index; return the offset of the last."""
    entries = {}
    for logged in EventLog(engine).read(offset, _PORTION):
        offset, event = logged.offset, logged.event
        if event.entity_type in ENTITY_TYPES and event.entity:
            is_gone = event.event_type is EventType.ENTITY_DELETED
            entry = entry_of(event.entity_type, event.entity, log_offset=offset, is_gone=is_gone)
            entries[event.entity_id] = entry
    if entries:
        SearchWrites(engine).put(list(entries.values()))
    return offset
