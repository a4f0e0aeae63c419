"""Comparison of the two ways in which the log is read: as events, and as JSON for a relay."""

from __future__ import annotations

from sqlalchemy import Engine

from tocsin.delivery.wording.event_formats import EVENT_FORMATS
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.change import LoggedDocument
from tocsin.relay.records import RecordForm, records_of
from tocsin.store.eventlog.log import EventLog

_LIMIT = 100_000


def assert_records_are_the_same(engine: Engine) -> None:
    """Assert that both ways lead to the same records, byte for byte, in every format."""
    log = EventLog(engine)
    documents = log.list_documents(EventSelection(), after=0, through=log.readable_end(), limit=_LIMIT)
    events = log.read(0, _LIMIT)
    assert documents
    for payload_format in EVENT_FORMATS:
        form = RecordForm("events", payload_format, "https://tocsin.example.com", limit_bytes=20_000)
        by_model = records_of([LoggedDocument(one.offset, one.event.as_wire()) for one in events], form)
        assert records_of(documents, form) == by_model
