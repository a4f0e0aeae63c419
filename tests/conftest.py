"""Shared fixtures: migrated, empty stores on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings
from pydantic import SecretStr
from sqlalchemy import Dialect, Engine
from sqlalchemy.pool import QueuePool
from sqlalchemy.util import LRUCache
from tests.postgres import MISSING, Cluster, binaries, running_cluster
from tests.quickspark import make_archive, use_home
from tests.reuse import Databases
from tests.soak import SOAK, is_in_list, names_in_list

from tocsin.model.preferences import DefaultPreferences
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault
from tocsin.store.outbox.preferences import SqlPreferences

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from tests.s3server import S3Server
    from tests.startedstore import StartedStore

KEY = "dGVzdHMgc2VhbCB3aXRoIHRoaXMga2V5LCAzMmJ5dGU="
_TEMPLATE = "tocsin_template"
_MEMORY = Path("/dev/shm")
_ROOM = 4 * 2**30
_GIVEN_BACK_WITHIN_S = 5.0
_COLLECTED_AFTER = (10_000, 20, 50)
_STATEMENTS = 2_000
_GROUPS = {
    "started_spark": "spark",
    "browser": "browser",
    "prestarted": "cli",
    "sources": "sources",
    "loaded_sample": "sample load",
}
"""Groups of tests that one worker runs, by the fixture that they share: each worker would start its own."""
_COMPILED: dict[str, tuple[Dialect, LRUCache[Any, Any]]] = {}
"""Dialect and compiled statements of each kind of store."""


def pytest_configure() -> None:
    """Keep what the tests write in memory where there is room: none of it must outlive a power cut.

    A thousand stores, each made and thrown away, wait for a disk longer than they compute. Settings of the shell that
    tests are started from stay outside: no test may write into the store that somebody works with. How long one
    example takes says more of the machine than of us. What a process compiles is kept: hundreds are started.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    example_count = 100 if SOAK else 15
    settings.register_profile(
        "ours", max_examples=example_count, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("ours")
    for name in [one for one in os.environ if one.startswith("TOCSIN_") and not one.startswith("TOCSIN_TEST_")]:
        del os.environ[name]
    if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
    use_home()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let nothing look for garbage while tests are collected: nearly all that is made then lasts.

    Each worker collects all tests; a fifth of that was such looks.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to fetch what tests of Kafka need: a download, for which they would wait most of a minute.

    Keep the garbage collector from what lasts as long as the run: modules, ten thousand tests, their arguments.
    """
    if session.config.option.collectonly:
        return
    if any("kafka" in getattr(item, "fixturenames", ()) for item in session.items):
        from tests.kafka import fetch_beside  # here, so that only tests of it import its client

        fetch_beside()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before the first test that needs Spark, make what lets all of them start it quickly."""
    if item.get_closest_marker("spark"):
        make_archive()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one worker have all tests of the one Spark session, and one all of the one browser; begin with the slow ones.

    Whoever took a slow one last would leave the other workers idle.
    """
    names = names_in_list()
    for item in items:
        for fixture in _GROUPS.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group(_GROUPS[fixture]))
        if item.get_closest_marker("xdist_group") is None and _shares_fixture_of_its_module(item):
            item.add_marker(pytest.mark.xdist_group(Path(item.path).stem.removeprefix("test_")))
        if _is_on_both_stores_with_spark(item) or _is_one_more_on_postgresql(item, names):
            item.add_marker(pytest.mark.soak)
        if SOAK and _is_longer_in_soak(item):
            item.add_marker(pytest.mark.slow)
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    if not SOAK:
        items_by_soak: dict[bool, list[pytest.Item]] = {True: [], False: []}
        for item in items:
            items_by_soak[item.get_closest_marker("soak") is not None].append(item)
        config.hook.pytest_deselected(items=items_by_soak[True])
        items[:] = items_by_soak[False]


def _shares_fixture_of_its_module(item: pytest.Item) -> bool:
    """Return whether the tests of its module look at one thing, which each worker would make for itself."""
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
    return any(
        definition.scope == "module" and definition.baseid.endswith(".py")
        for definition in chain.from_iterable(definitions.values())
    )


def _is_longer_in_soak(item: pytest.Item) -> bool:
    """Return whether it repeats or generates more in ``make soak``, which runs what is marked."""
    return hasattr(getattr(item, "module", None), "SOAK") or hasattr(getattr(item, "obj", None), "hypothesis")


def _is_on_both_stores_with_spark(item: pytest.Item) -> bool:
    """Return whether it repeats a test of Spark on SQLite, which all acceptance tests of the pipeline use as well."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return (
        "spark" in getattr(item, "fixturenames", ())
        and params.get("store_url") in ("sqlite", "sqlite_url")
        and binaries() is not None
    )


def _is_one_more_on_postgresql(item: pytest.Item, names: Collection[str]) -> bool:
    """Return whether it repeats on PostgreSQL what others show there: it all, or for one more ``name``."""
    if item.get_closest_marker("soak_on_postgresql") or is_in_list(item.nodeid, names):
        return item.get_closest_marker("postgres") is not None
    few, params = item.get_closest_marker("few_on_postgresql"), getattr(getattr(item, "callspec", None), "params", {})
    is_on_postgresql = "postgresql" in (params.get("client"), params.get("store_url"))
    return few is not None and is_on_postgresql and params.get("name", few.args[0]) not in few.args


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_name_groups(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let pytest see the groups of tests: xdist 3.8 names them in ``_nodeid``, which pytest 9.2 no longer reads."""
    if getattr(config.option, "loadgroup", False):
        for item in items:
            node_id = getattr(item, "_nodeid", item.nodeid)
            if node_id != item.nodeid:
                item._id = type(item.id).parse(node_id)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """A running PostgreSQL with a migrated template database; skips when there are no binaries."""
    programs = binaries()
    if programs is None:
        pytest.skip(MISSING)
    with running_cluster(programs) as cluster:
        cluster.run(f"CREATE DATABASE {_TEMPLATE}")
        _migrate_store(cluster.url(_TEMPLATE)).dispose()
        yield cluster


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated, empty SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    _migrate_store(f"sqlite:///{path}").dispose()
    return path


@pytest.fixture
def sqlite_url(sqlite_template: Path, tmp_path: Path) -> str:
    """Address of a migrated, empty SQLite store of this test's own."""
    path = tmp_path / "tocsin.db"
    path.write_bytes(sqlite_template.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def started_store(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> StartedStore:
    """A SQLite file to copy whose first start is done, and its administrator's password."""
    from tests.startedstore import first_started  # here, so that only tests with a server import one

    path = tmp_path_factory.mktemp("started_store") / "started_store.db"
    path.write_bytes(sqlite_template.read_bytes())
    return first_started(path)


@pytest.fixture(scope="session")
def loaded_sample(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file to copy that holds the sample company, without a first start."""
    from tests.loadedsample import load_sample  # here, so that only tests of it import a server

    path = tmp_path_factory.mktemp("loaded_sample") / "sample.db"
    path.write_bytes(sqlite_template.read_bytes())
    load_sample(path)
    return path


@pytest.fixture
def started_store_url(started_store: StartedStore, tmp_path: Path) -> str:
    """Address of a SQLite store of this test's own, first start done."""
    path = tmp_path / "tocsin.db"
    path.write_bytes(started_store.path.read_bytes())
    return f"sqlite:///{path}"


@pytest.fixture(scope="session")
def postgres_databases(postgres: Cluster) -> Iterator[Databases]:
    """The databases of the tests, which are used again and again."""
    with postgres.connect() as connection:
        databases = Databases(postgres, connection, _TEMPLATE)
        yield databases
        databases.close()


@pytest.fixture
def postgres_url(postgres_databases: Databases) -> Iterator[str]:
    """Address of a migrated, empty PostgreSQL store of this test's own."""
    url = postgres_databases.take()
    yield url
    postgres_databases.give_back(url)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    """Address of a migrated, empty store, once on SQLite and once on PostgreSQL."""
    fixture = "sqlite_url" if request.param == "sqlite" else "postgres_url"
    return str(request.getfixturevalue(fixture))


@pytest.fixture
def store_engine(store_url: str, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An engine on a migrated, empty store, once on SQLite and once on PostgreSQL."""
    is_sqlite = store_url.startswith("sqlite")
    yield from _engine_on(store_url, None if is_sqlite else request.getfixturevalue("postgres_databases"))


@pytest.fixture
def sqlite_engine(sqlite_url: str) -> Iterator[Engine]:
    """An engine on a migrated, empty SQLite store."""
    yield from _engine_on(sqlite_url, None)


@pytest.fixture
def postgres_engine(postgres_url: str, postgres_databases: Databases) -> Iterator[Engine]:
    """An engine on a migrated, empty PostgreSQL store."""
    yield from _engine_on(postgres_url, postgres_databases)


def _engine_on(url: str, databases: Databases | None) -> Iterator[Engine]:
    engine = open_engine(url, synchronous="NORMAL", most_connections=40)
    _share_statements(engine)
    if databases is not None:
        databases.share_pool(engine, url)
    pool = engine.pool
    use_vault(engine, _vault_settings())
    yield engine
    _wait_for_connections(engine)
    if databases is None or engine.pool is not pool:
        engine.dispose()


@cache
def _vault_settings() -> Settings:
    """Return the settings with the key of the tests; to read them takes longer than most tests of a store."""
    return Settings(secrets_key=SecretStr(KEY))


def _share_statements(engine: Engine) -> None:
    """Let an engine of one test use the statements that those of earlier tests have compiled.

    SQLAlchemy keeps them by dialect, so that is shared as well; one that has never connected knows too little.
    """
    if engine.dialect.name not in _COMPILED:
        with engine.connect():
            _COMPILED[engine.dialect.name] = (engine.dialect, LRUCache(_STATEMENTS))
        engine.pool.dispose()  # it may get another one
    engine.dialect, engine._compiled_cache = _COMPILED[engine.dialect.name]


def _wait_for_connections(engine: Engine) -> None:
    """Wait a while until threads have given their connections to PostgreSQL back, such as a callback of Spark's.

    One that comes back after ``dispose`` belongs to no pool: it is never closed, and some later test is blamed for it.
    """
    deadline = time.monotonic() + _GIVEN_BACK_WITHIN_S
    pool = engine.pool
    while isinstance(pool, QueuePool) and engine.dialect.name == "postgresql" and pool.checkedout():
        if time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _migrate_store(url: str) -> Engine:
    engine = open_engine(url)
    migrate(engine)
    SqlPreferences(engine).put_defaults(DefaultPreferences(), now_ms=0)  # tests say themselves what waits for digests
    return engine


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """The run's S3 server; tests share its bucket, each below its own prefix."""
    from tests.s3server import running_s3  # here, so that only tests of it import Arrow

    with running_s3() as server:
        yield server


@pytest.fixture(scope="session")
def started_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The run's one Spark. Fixtures of it stand here: one that is imported into a module is made anew for it."""
    from tests.sparksession import running_spark  # here, so that only tests of it import Spark

    with running_spark(tmp_path_factory.mktemp("python")) as session:
        yield session


@pytest.fixture(scope="session")
def spark(started_spark: SparkSession) -> SparkSession:
    """The session of most tests, which interprets."""
    return started_spark


@pytest.fixture(scope="session")
def compiling_spark(started_spark: SparkSession) -> SparkSession:
    """A session that compiles its queries, as production does; tests of transforms use it in place of ``spark``."""
    from tests.sparksession import compiling_session

    return compiling_session(started_spark)
