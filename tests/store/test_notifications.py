"""Notifications are written once, with their deliveries, on both stores."""

from __future__ import annotations

from sqlalchemy import Engine, func, select
from tests.company import SmallCompany

from tocsin.store.log import EventLog
from tocsin.store.notifications import Notifications
from tocsin.store.tables import delivery, notification, outbox


def row(number: int, *, leaves: bool) -> dict[str, object]:
    return {
        "id": f"n{number}",
        "event_id": "e",
        "log_offset": 1,
        "channel": "Email" if leaves else "ActivityFeed",
        "key": f"k{number}",
        "target": f"t{number}",
        "recipient_id": None,
        "reasons": "[]",
        "delivery_id": f"d{number}" if leaves else None,
        "subscription_id": "s",
        "destination_id": "x",
        "due_at_ms": 5,
        "created_at_ms": 5,
    }


def count(engine: Engine, table: object) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()  # type: ignore[arg-type]


def test_rows_written_again_change_nothing(store_engine: Engine) -> None:
    notes = Notifications(store_engine)
    notes.add([row(1, leaves=True), row(2, leaves=False)])
    with store_engine.begin() as connection:
        connection.execute(delivery.update().values(status="delivered"))
        connection.execute(notification.update().values(read_at_ms=9))
    notes.add([row(1, leaves=True), row(2, leaves=False), row(3, leaves=True)])
    assert (count(store_engine, notification), count(store_engine, delivery)) == (3, 2)
    with store_engine.connect() as connection:
        statuses = connection.execute(select(delivery.c.id, delivery.c.status).order_by(delivery.c.id)).all()
        read = connection.execute(select(notification.c.read_at_ms).where(notification.c.id == "n1")).scalar_one()
    assert [tuple(one) for one in statuses] == [("d1", "delivered"), ("d3", "pending")]
    assert read == 9


def test_a_batch_is_stored_whole_or_not_at_all(store_engine: Engine) -> None:
    broken = {**row(2, leaves=True), "target": None}
    try:
        Notifications(store_engine).add([row(1, leaves=True), broken])
    except Exception as error:  # noqa: BLE001  whatever the driver calls it
        assert "target" in str(error)
    assert count(store_engine, notification) == 0


def test_progress_moves_and_lets_the_outbox_go(store_engine: Engine) -> None:
    SmallCompany(store_engine)
    log, notes = EventLog(store_engine), Notifications(store_engine)
    end = log.readable_end()
    notes.advance("q", end - 2, now_ms=1)
    assert (log.progress("q"), log.lag("q"), count(store_engine, outbox)) == (end - 2, 2, 2)
    notes.advance("q", end, now_ms=2)
    assert (log.progress("q"), log.lag("q"), count(store_engine, outbox)) == (end, 0, 0)
