"""Test of a relay whose store is a PostgreSQL with a full disk: it waits, says why, and writes each event once."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from tests.acceptance.relay.conftest import NEEDS_JAVA, Office, reasons_in, wait_until_relayed
from tests.fulldisk import SmallDisk, postgres_disk
from tests.kafka import Kafka, assert_in_order, offsets_of
from tests.waiting import until

from tocsin.flow.eventlog.selection import EventSelection
from tocsin.store.eventlog.log import EventLog

__all__ = ["postgres_disk"]

pytestmark = [NEEDS_JAVA, pytest.mark.postgres]


def test_a_relay_that_cannot_note_its_progress_waits_and_writes_each_event_once(
    kafka: Kafka,
    make_office: Callable[[str | None], Office],
    postgres_disk: SmallDisk,
    relay_log: list[MutableMapping[str, Any]],
) -> None:
    """Fault scenario 74."""
    office = make_office(postgres_disk.url)
    postgres_disk.take(office.engine, "pipeline_progress")
    postgres_disk.fill()
    with office.relaying():
        until(lambda: "could not extend file" in reasons_in(relay_log))
        office.describe(5)
        postgres_disk.clear()
        wait_until_relayed(office)
    messages = kafka.read(office.topic)
    log = EventLog(office.engine).list_events(EventSelection(), limit=99_999)
    assert sorted(offsets_of(messages)) == [logged.offset for logged in log]
    assert_in_order(messages)
