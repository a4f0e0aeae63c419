"""Tests of ids across the upgrade that lets them begin with offsets: work that is done again tells nobody twice."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine, delete, select
from tests.store.test_resolving import NotifyAlone, followed_by_many, notified_count, stored_results, work_of
from tests.stores import drop_tables_after_0043

from tocsin.flow.pipeline import Context
from tocsin.jobs.resolving import Resolving
from tocsin.model.notification import ORDERED_IDS, NotificationIdScheme
from tocsin.store.database.alert_tables import firing, match_result
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notification_ids import read_id_scheme

BEFORE = "0042_source_links"
EVERY_OFFSET = 2**60


class NotifyBefore(NotifyAlone):
    """Notifies as the version before did."""

    def context(self, resolving: Resolving) -> Context:
        context = super().context(resolving)
        return replace(context, lookups=replace(context.lookups, ids=NotificationIdScheme(EVERY_OFFSET)))


def forget_results(engine: Engine) -> None:
    """Remove what keeps matches from being resolved again, so that only ids do."""
    with engine.begin() as connection:
        for table in (match_result, firing):
            connection.execute(delete(table))


def upgrade(engine: Engine) -> None:
    """Bring a store to this version from the state that the one before leaves."""
    with engine.begin() as connection:
        drop_tables_after_0043(connection)
        connection.exec_driver_sql("DROP TABLE notification_ids")
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{BEFORE}'")
    migrate(engine)


def test_a_store_without_events_has_ordered_ids_only(store_engine: Engine) -> None:
    assert read_id_scheme(store_engine) == ORDERED_IDS
    upgrade(store_engine)
    assert read_id_scheme(store_engine) == ORDERED_IDS


@pytest.mark.parametrize("are_events_removed", [False, True])
def test_what_was_told_before_the_upgrade_is_not_told_again(store_engine: Engine, are_events_removed: bool) -> None:
    company = followed_by_many(store_engine, 12)
    assert notified_count(store_engine, work_of(store_engine, NotifyBefore)) > 20
    rows_before, end = stored_results(store_engine), EventLog(store_engine).highest_offset()
    if are_events_removed:  # offsets are never taken twice
        company.describe("orders", "Orders that were placed.")
        with store_engine.begin() as connection:
            connection.exec_driver_sql(f"DELETE FROM change_event WHERE log_offset > {end}")
        end += 1
    upgrade(store_engine)
    assert read_id_scheme(store_engine) == NotificationIdScheme(end)
    assert stored_results(store_engine) == rows_before

    forget_results(store_engine)
    notified_count(store_engine, work_of(store_engine))
    assert stored_results(store_engine)[2:] == rows_before[2:], "each row was there already, whatever the results say"

    company.describe("orders", "Orders, paid or not.")
    notified_count(store_engine, work_of(store_engine))
    forget_results(store_engine)
    notified_count(store_engine, work_of(store_engine))
    with store_engine.connect() as connection:
        columns = (notification.c.log_offset, notification.c.id)
        stored_rows = connection.execute(select(*columns).order_by(notification.c.id)).all()
    later = [row for row in stored_rows if row.log_offset > end]
    assert len(later) * 2 == len(stored_rows), "as many people heard of each change, once"
    assert {row.id[:13] for row in later} == {f"00000000-{end + 1:04x}"}
