"""Test of a worker while the disk of PostgreSQL is full: it records later what was sent, and sends no other copy."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.acceptance.worker.test_worker import Receiver, destination_at, receiver, statuses, until, working
from tests.fulldisk import SmallDisk, postgres_disk
from tests.store.rows import add_alert, add_messages

from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

__all__ = ["postgres_disk", "receiver"]

pytestmark = pytest.mark.postgres


def faults_in(logged: list[MutableMapping[str, Any]]) -> set[str]:
    return {entry["fault"] for entry in logged if "fault" in entry}


async def test_what_a_full_disk_keeps_from_being_recorded_is_recorded_later(
    postgres_disk: SmallDisk, receiver: Receiver
) -> None:
    """Fault scenario 74."""
    engine = open_engine(postgres_disk.url)
    migrate(engine)
    add_alert(engine, [destination_at(receiver, "/hook")])
    ids = add_messages(engine, 20)
    postgres_disk.take(engine, "attempt")
    postgres_disk.fill()
    with capture_logs() as log_entries:
        async with working(engine):
            await until(lambda: "disk_full" in faults_in(log_entries))
            assert statuses(engine)["delivered"] == 0
            postgres_disk.clear()
            await until(lambda: statuses(engine) == {"delivered": 20})
    assert sorted(set(receiver.ids("/hook"))) == sorted(ids)
    assert len(receiver.arrived) == 20
    engine.dispose()
