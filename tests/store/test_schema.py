"""Do the revisions make exactly the tables of ``store/tables.py``, whoever starts first?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, inspect
from tests.postgres import Cluster

from tocsin.store.engine import open_engine
from tocsin.store.schema import migrate, revision_of
from tocsin.store.tables import METADATA


def test_the_revisions_make_exactly_the_tables(store_engine: Engine) -> None:
    with store_engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
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
    assert {revision_of(engine) for engine in engines} == {"0001"}
    for engine in engines:
        engine.dispose()


def _sql(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        return {name: " ".join(str(sql).split()) for name, sql in rows if name != "alembic_version"}
