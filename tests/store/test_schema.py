"""Tests of the revisions: they create exactly the tables of ``store/tables.py``, also when processes start together."""

from __future__ import annotations

import importlib
import pkgutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, insert, inspect, select
from tests.postgres import Cluster

import tocsin.store
from tocsin.store import migrations
from tocsin.store.catalogue.reference_tables import entity_reference
from tocsin.store.engine import open_engine
from tocsin.store.outbox.sessions import Session, Sessions
from tocsin.store.schema import migrate, revision_of
from tocsin.store.tables import METADATA, delivery, entity, follow, tombstone, tombstone_relation

for _module in pkgutil.iter_modules(tocsin.store.__path__):
    if _module.name.endswith("_tables"):  # each aggregate's tables join the same METADATA
        importlib.import_module(f"tocsin.store.{_module.name}")

_HEAD = ScriptDirectory(next(iter(migrations.__path__))).get_current_head()


def test_the_revisions_make_exactly_the_tables(store_engine: Engine) -> None:
    with store_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True, "include_name": _is_described})
        assert compare_metadata(context, METADATA) == []


def test_the_revisions_make_the_same_ddl_as_the_tables_on_sqlite(sqlite_engine: Engine, tmp_path: Path) -> None:
    plain = create_engine(f"sqlite:///{tmp_path / 'plain.db'}")
    METADATA.create_all(plain)
    assert _sql(sqlite_engine) == _sql(plain)
    plain.dispose()


@pytest.mark.postgres
def test_names_sort_by_code_point_on_postgresql(postgres_engine: Engine) -> None:
    columns = {column["name"]: column for column in inspect(postgres_engine).get_columns("entity")}
    assert getattr(columns["fqn"]["type"], "collation", None) == "C"


def test_migrating_again_changes_nothing(store_engine: Engine) -> None:
    before = revision_of(store_engine)
    migrate(store_engine)
    assert revision_of(store_engine) == before is not None


def test_references_of_documents_that_are_there_already_become_rows(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    migrate(engine, "0001")
    document = '{"id": "t", "domains": [{"id": "d", "type": "domain"}], "tests": [{"name": "no id"}]}'
    row = {"id": "t", "entity_type": "table", "fqn": "t", "name": "t", "version_tenths": 1, "updated_at_ms": 1}
    with engine.begin() as connection:
        connection.execute(insert(entity), row | {"updated_by": "x", "deleted": False, "document": document})
    migrate(engine)
    with engine.connect() as connection:
        assert list(connection.execute(select(entity_reference))) == [("t", "domains", "d")]
    engine.dispose()


def test_who_has_yet_to_hear_of_a_hard_delete_is_carried_over(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    migrate(engine, "0017")
    event = "INSERT INTO change_event (id, event_type, entity_type, entity_id, timestamp_ms, document, derived)"
    parting = "INSERT INTO parting (entity_id, relation, other_id, other_type, since_ms)"
    with engine.begin() as connection:
        for number, kind in enumerate(("entityUpdated", "entityDeleted")):
            connection.exec_driver_sql(f"{event} VALUES ('{number}', '{kind}', 'table', 't', 1, '{{}}', '{{}}')")
        for relation, other in (("owner", "ann"), ("follower", "ann"), ("downstream", "u")):
            connection.exec_driver_sql(f"{parting} VALUES ('t', '{relation}', '{other}', 'x', 0)")
    migrate(engine)
    with engine.connect() as connection:
        assert connection.execute(select(tombstone.c.log_offset, tombstone.c.relation_count)).all() == [(2, 3)]
        query = select(tombstone_relation.c.relation, tombstone_relation.c.other_id)
        assert set(connection.execute(query)) == {("owner", "ann"), ("follower", "ann"), ("downstream", "u")}
    engine.dispose()


def test_leases_of_before_become_sessions_and_retries_keep_their_waits(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    migrate(engine, "0017")
    columns = "id, notification_id, event_id, log_offset, subscription_id, destination_id, channel, target, status"
    rows = {"held": ("pending", 5, "old", 95, 5), "failed": ("awaitingRetry", 65, None, 0, 5)}
    with engine.begin() as connection:
        for name, (status, due_at_ms, owner, until_ms, updated_at_ms) in rows.items():
            connection.exec_driver_sql(
                f"INSERT INTO delivery ({columns}, attempt_count, due_at_ms, lease_owner, lease_until_ms,"
                " created_at_ms, updated_at_ms)"
                " VALUES (?, 'n', 'e', 1, 's', 'd', 'Webhook', 'http://x', ?, 1, ?, ?, ?, 5, ?)",
                (name, status, due_at_ms, owner, until_ms, updated_at_ms),
            )
    migrate(engine)
    with engine.connect() as connection:
        waits = {row.id: (row.due_at_ms, row.wait_ms, row.lease_owner) for row in connection.execute(select(delivery))}
    assert waits == {"held": (5, 0, "old"), "failed": (65, 60, None)}
    assert Sessions(engine).all() == [Session("old", 90_000, 0)]
    engine.dispose()


def test_times_since_which_people_follow_become_places_in_the_log(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'old.db'}")
    migrate(engine, "0023")
    event = "INSERT INTO change_event (id, event_type, entity_type, entity_id, timestamp_ms, document, derived)"
    with engine.begin() as connection:
        for number, (entity_id, at_ms) in enumerate((("t", 10), ("u", 20), ("t", 20), ("u", 30))):
            values = f"('{number}', 'entityUpdated', 'table', '{entity_id}', {at_ms}, '{{}}', '{{}}')"
            connection.exec_driver_sql(f"{event} VALUES {values}")
        for user, at_ms in (("its own event", 20), ("between", 15), ("after all", 99), ("always", 0)):
            connection.exec_driver_sql(f"INSERT INTO follow VALUES ('t', '{user}', 'table', {at_ms})")
    migrate(engine)
    with engine.connect() as connection:
        found = dict(connection.execute(select(follow.c.user_id, follow.c.since_offset)).all())
    assert found == {"its own event": 3, "between": 2, "after all": 5, "always": 0}
    engine.dispose()


def test_two_processes_may_start_at_once_on_sqlite(tmp_path: Path) -> None:
    _migrate_at_once(f"sqlite:///{tmp_path / 'new.db'}")


@pytest.mark.postgres
def test_two_processes_may_start_at_once_on_postgresql(postgres: Cluster) -> None:
    postgres.run("CREATE DATABASE raced")
    _migrate_at_once(postgres.url("raced"))


def _migrate_at_once(url: str) -> None:
    engines = [open_engine(url) for _ in range(4)]
    with ThreadPoolExecutor(len(engines)) as pool:
        list(pool.map(migrate, engines))
    assert {revision_of(engine) for engine in engines} == {_HEAD}
    for engine in engines:
        engine.dispose()


def _is_described(name: str | None, kind: str, _parents: object) -> bool:
    """Leave out the words of search, which each store keeps in its own way: no table of SQLAlchemy's describes them."""
    return kind != "table" or not (name or "").startswith("search_words")


def _sql(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        return {name: " ".join(str(sql).split()) for name, sql in rows if name != "alembic_version"}


def test_a_new_store_may_be_opened_by_several_at_once(tmp_path: Path) -> None:
    for number in range(40):
        url = f"sqlite:///{tmp_path / f'{number}.db'}"
        engines = [open_engine(url) for _ in range(6)]
        with ThreadPoolExecutor(len(engines)) as pool:
            together = Barrier(len(engines))
            modes = list(pool.map(lambda engine, together=together: _mode(engine, together), engines))
        assert modes == ["wal"] * len(engines)
        for engine in engines:
            engine.dispose()


def _mode(engine: Engine, together: Barrier) -> str:
    together.wait(30)
    with engine.connect() as connection:
        return str(connection.exec_driver_sql("PRAGMA journal_mode").scalar_one())
