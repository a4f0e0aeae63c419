"""Tests of the revisions: they create exactly the tables of the code, also when processes start together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, text
from tests.postgres import Cluster

from tocsin.errors import Conflict
from tocsin.store import migrations
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import METADATA

_HEAD = ScriptDirectory(next(iter(migrations.__path__))).get_current_head()
_CATALOGUE = (
    # Numbered anew: PostgreSQL does not give the place of a dropped column to the next one.
    "SELECT table_name, row_number() OVER (PARTITION BY table_name ORDER BY ordinal_position), column_name, data_type,"
    " character_maximum_length, is_nullable, column_default, collation_name"
    " FROM information_schema.columns WHERE table_schema = 'public'",
    "SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'public'::regnamespace",
    "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'",
    "SELECT sequencename, data_type, start_value, increment_by FROM pg_sequences WHERE schemaname = 'public'",
    "SELECT tgrelid::regclass, tgname FROM pg_trigger WHERE NOT tgisinternal",
)


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
def test_the_revisions_make_the_same_catalogue_as_the_tables_on_postgresql(
    postgres_engine: Engine, postgres: Cluster
) -> None:
    postgres.run("CREATE DATABASE plain")
    plain = create_engine(postgres.url("plain"))
    METADATA.create_all(plain)
    assert _catalogue(postgres_engine) == _catalogue(plain)
    plain.dispose()


def _revision_of(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return MigrationContext.configure(connection).get_current_revision()


def test_migrating_again_changes_nothing(store_engine: Engine) -> None:
    before = _revision_of(store_engine)
    migrate(store_engine)
    assert _revision_of(store_engine) == before is not None


def test_a_store_of_another_version_is_refused_with_the_way_out(store_engine: Engine) -> None:
    """Fault scenario 8."""
    with store_engine.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0027'")
    with pytest.raises(Conflict, match=r"does not know \(0027\).*Run the version that made it, or use another store"):
        migrate(store_engine)
    assert _revision_of(store_engine) == "0027"


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
    assert {_revision_of(engine) for engine in engines} == {_HEAD}
    for engine in engines:
        engine.dispose()


def _is_described(name: str | None, kind: str, _parents: object) -> bool:
    """Leave out the words of search, which each store keeps in its own way: no table of SQLAlchemy's describes them."""
    return kind != "table" or not (name or "").startswith("search_words")


def _sql(engine: Engine) -> dict[str, str]:
    with engine.connect() as connection:
        definitions = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
        return {name: " ".join(str(sql).split()) for name, sql in definitions if name != "alembic_version"}


def _catalogue(engine: Engine) -> set[str]:
    """Return what PostgreSQL knows of our columns, constraints, indexes, sequences and triggers, one text for each."""
    with engine.connect() as connection:
        return {
            str(row) for query in _CATALOGUE for row in connection.execute(text(query)) if "alembic" not in str(row)
        }


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
