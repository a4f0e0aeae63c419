"""Tests of large documents stored as differences: small, read back byte for byte, never without their snapshot."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, insert, select, text, update
from tests.soak import SOAK
from tests.store.catalogues import JANE, SCHEMA, company
from tests.store.large import change_word, columns, create, store_bytes, words

from tocsin.catalogue.writes import Writes
from tocsin.errors import NotFound, TocsinError
from tocsin.flow.eventlog.differences import SMALLEST_BYTES
from tocsin.model.people import Actor
from tocsin.model.stored import Key, Written
from tocsin.store.catalogue.entities.history import History
from tocsin.store.database.documents import Row
from tocsin.store.database.engine import is_sqlite, open_engine, writing
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.snapshots import EVENT_TEXT, VERSION_TEXT, Texts, rows_to_store
from tocsin.store.database.tables import change_event, document_snapshot, entity, entity_version
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.finding import Damage
from tocsin.store.upkeep.fsck.inspection import inspect

LARGE = 2_500_000
JOHN = Actor("00000000-0000-4000-8000-000000000002", "john.doe")


@pytest.mark.soak_on_postgresql
def test_a_changed_word_costs_a_small_part_of_the_document(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, LARGE)
    sizes = []
    for number in range(6):
        change_word(shop, creation.document["id"], 600 * number, f"word{number}")
        sizes.append(store_bytes(store_engine))
    # The first two also take the pages that every later update of the entity frees and uses again.
    assert (sizes[-1] - sizes[1]) / 4 < LARGE / 100


def test_an_event_that_changes_no_version_costs_as_little(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, LARGE)
    for actor in (JANE, JOHN):
        shop.writes.follow("table", creation.document["id"], shop.ids[actor.name], actor=actor)
    with store_engine.connect() as connection:
        query = select(func.length(change_event.c.difference)).order_by(change_event.c.log_offset.desc()).limit(2)
        assert max(connection.execute(query).scalars()) < 1_000


def test_small_documents_are_stored_as_they_are(store_engine: Engine) -> None:
    shop = company(store_engine)
    shop.patch(("add", "/description", "small"))
    with store_engine.connect() as connection:
        for table in (entity_version, change_event):
            assert connection.execute(select(func.count()).where(table.c.difference.is_not(None))).scalar_one() == 0
            assert connection.execute(select(func.count()).where(table.c.document == "")).scalar_one() == 0
        assert connection.execute(select(func.count()).select_from(document_snapshot)).scalar_one() == 0


def test_versions_are_read_by_number_time_and_in_pages(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, 50_000)
    key, states = Key.by_id(creation.document["id"]), {creation.document["version"]: creation.document}
    times = {creation.document["version"]: shop.clock.now_ms()}
    for number in range(4):
        shop.clock.advance(60_000)
        after = change_word(shop, key.id or "", number, "other").document
        states[after["version"]], times[after["version"]] = after, shop.clock.now_ms()
    reader = History(store_engine)
    for version, document in states.items():
        assert reader.version("table", key, str(version)) == document
        assert reader.as_of("table", key, times[version]) == document
        assert shop.catalogue.version(key.id or "", str(version)) == document
    assert shop.catalogue.versions(key.id or "") == list(reversed(states.values()))
    assert reader.newest("table", key, before="0.3") == states[0.2]


def test_a_page_holds_as_many_large_versions_as_fit(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, 50_000)
    for number in range(4):
        change_word(shop, creation.document["id"], number, "other")
    small = type(shop.catalogue)(store_engine, page_bytes=120_000)
    page = small.versions(creation.document["id"])
    assert (len(page), page.is_cut) == (2, True)
    log = EventLog(store_engine, page_bytes=120_000).read(EventLog(store_engine).readable_end() - 4, 100)
    assert isinstance(log, BoundedList)
    assert (len(log), log.is_cut) == (2, True)


def test_documents_that_change_much_get_new_snapshots(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, 50_000)
    for seed in range(2, 5):
        shop.patch(("replace", "/columns", columns(50_000, seed=seed)), fqn=f"{SCHEMA}.wide")
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(document_snapshot)).scalar_one() >= 4
        largest = select(func.max(func.length(entity_version.c.difference)))
        assert (
            connection.execute(largest.where(entity_version.c.entity_id == creation.document["id"])).scalar_one()
            < 1_000
        )


def test_what_is_gone_for_good_can_still_be_read(store_engine: Engine) -> None:
    shop = company(store_engine)
    creation = create(shop, 50_000)
    change_word(shop, creation.document["id"], 3, "last")
    deletion = shop.writes.delete("table", Key.by_id(creation.document["id"]), actor=JANE, hard=True)
    assert deletion.event is not None
    (logged,) = EventLog(store_engine).read(EventLog(store_engine).readable_end() - 1, 10)
    assert logged.event.to_json() == deletion.event.to_json()
    assert History(store_engine).version("table", Key.by_id(creation.document["id"]), "0.1") == creation.document
    assert _damages(store_engine) == set()


# --- nothing is ever without its snapshot


def test_a_write_that_fails_leaves_no_snapshot(store_engine: Engine) -> None:
    shop = company(store_engine)
    with pytest.raises(ZeroDivisionError), writing(store_engine) as connection:
        rows_to_store(connection, [_row("e1", "x" * SMALLEST_BYTES)])
        raise ZeroDivisionError
    with store_engine.connect() as connection:
        assert connection.execute(select(func.count()).select_from(document_snapshot)).scalar_one() == 0
    create(shop, 50_000)
    assert _damages(store_engine) == set()


def test_what_was_undone_in_a_transaction_is_no_snapshot_for_the_rest_of_it(store_engine: Engine) -> None:
    first, second = "x" * SMALLEST_BYTES, "x" * SMALLEST_BYTES + "y"
    with writing(store_engine) as connection:
        undone = connection.begin_nested()
        rows_to_store(connection, [_row("e1", first)])
        undone.rollback()
        version_rows = rows_to_store(connection, [_row("e1", second)])
        connection.execute(insert(entity_version), version_rows)
    with store_engine.connect() as connection:
        assert [Texts(connection).of(row) for row in connection.execute(select(*VERSION_TEXT))] == [second]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=40 if SOAK else 5, deadline=None)
def test_random_histories_read_back_byte_for_byte(sqlite_url_of: Callable[[], str], seed: int) -> None:
    _check_history(sqlite_url_of(), seed)


@pytest.mark.parametrize("seed", range(3 if SOAK else 1))
def test_a_random_history_reads_back_byte_for_byte(store_url: str, seed: int) -> None:
    _check_history(store_url, seed)


@pytest.fixture(scope="session")
def sqlite_url_of(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Return what gives the address of one more migrated, empty store."""

    def create_store() -> str:
        path = tmp_path_factory.mktemp("history") / "store.db"
        path.write_bytes(sqlite_template.read_bytes())
        return f"sqlite:///{path}"

    return create_store


class _Watched:
    """A company whose events and versions are noted as they were written, as text."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.engine, self.chance = engine, Random(seed)
        self.shop = company(engine)
        self.consolidating = Writes(self.shop.catalogue, self.shop.clock, consolidate_ms=600_000)
        self.events: dict[str, str] = {}
        self.versions: dict[tuple[str, int], str] = {}
        self._note_versions()

    def step(self) -> None:
        """Do something to a table or to what is above it; most of it makes versions, some of it is refused."""
        self.shop.clock.advance(self.chance.choice((1_000, 3_600_000)))
        try:
            written = self.chance.choice(_STEPS)(self)
        except TocsinError:
            return
        for event in (written.event, *written.cascaded):
            if event is not None:
                self.events[event.id] = event.to_json()
        self._note_versions()

    def _note_versions(self) -> None:
        with self.engine.connect() as connection:
            columns = (entity.c.id, entity.c.version_tenths, entity.c.document)
            self.versions |= {(one, tenths): kept for one, tenths, kept in connection.execute(select(*columns))}

    def table(self) -> Key:
        """Return a table by chance, deleted softly or not."""
        with self.engine.connect() as connection:
            query = select(entity.c.id).where(entity.c.entity_type == "table").order_by(entity.c.id)
            table_ids = list(connection.execute(query).scalars())
        if not table_ids:
            raise NotFound("no table is left")
        return Key.by_id(self.chance.choice(table_ids))

    @property
    def writes(self) -> Writes:
        return self.chance.choice((self.shop.writes, self.consolidating))


def _make(watched: _Watched) -> Written:
    length = watched.chance.choice((500, 9_000, 60_000))
    return create(watched.shop, length, name=f"t{watched.chance.randrange(100)}")


def _word(watched: _Watched) -> Written:
    return change_word(watched.shop, watched.table().id or "", watched.chance.randrange(3), words(watched.chance, 1))


def _describe(watched: _Watched) -> Written:
    value = watched.chance.choice(("first", words(watched.chance, watched.chance.choice((5, 4_000)))))
    operation = {"op": "add", "path": "/description", "value": value}
    actor = watched.chance.choice((JANE, JOHN))
    return watched.writes.patch("table", watched.table(), [operation], actor=actor)


def _replace(watched: _Watched) -> Written:
    new_columns = columns(watched.chance.choice((500, 60_000)), seed=watched.chance.randrange(100))
    operation = {"op": "add", "path": "/columns", "value": new_columns}
    return watched.shop.writes.patch("table", watched.table(), [operation], actor=JANE)


def _delete(watched: _Watched) -> Written:
    hard = watched.chance.random() < 0.4
    return watched.shop.writes.delete("table", watched.table(), actor=JANE, hard=hard)


def _restore(watched: _Watched) -> Written:
    return watched.shop.writes.restore("table", watched.table().id or "", actor=JANE)


def _roll_back(watched: _Watched) -> Written:
    version = Decimal(watched.chance.randrange(1, 6)) / 10
    return watched.shop.writes.rollback("table", watched.table(), version, actor=JANE).written


def _rename(watched: _Watched) -> Written:
    key = watched.table()
    operation = {"op": "replace", "path": "/name", "value": f"r{watched.chance.randrange(1000)}"}
    return watched.shop.writes.patch("table", key, [operation], actor=JANE)


def _follow(watched: _Watched) -> Written:
    key = watched.table()
    return watched.shop.writes.follow("table", key.id or "", watched.shop.ids["jane"], actor=JANE)


_STEPS: tuple[Callable[[_Watched], Written], ...] = (
    *(_make, _make, _word, _word, _word, _describe, _describe),
    *(_replace, _delete, _restore, _roll_back, _rename, _follow),
)


def _check_history(url: str, seed: int) -> None:
    engine = open_engine(url, synchronous="OFF")
    try:
        watched = _Watched(engine, seed)
        for _ in range(25):
            watched.step()
        _check_texts(engine, watched)
        assert _damages(engine, deep=True) == set()
    finally:
        engine.dispose()


def _check_texts(engine: Engine, watched: _Watched) -> None:
    with engine.connect() as connection:
        texts = Texts(connection)
        events = {row.id: texts.of(row) for row in connection.execute(select(change_event.c.id, *EVENT_TEXT))}
        versions = select(entity_version.c.entity_id, entity_version.c.version_tenths, *VERSION_TEXT)
        stored_texts = {(row.entity_id, row.version_tenths): texts.of(row) for row in connection.execute(versions)}
    assert watched.events.items() <= events.items()
    assert stored_texts.items() <= watched.versions.items()


# --- damage is found


@pytest.mark.parametrize(
    ("statement", "damages"),
    [
        ("UPDATE change_event SET difference = {junk} WHERE snapshot_id IS NOT NULL", {Damage.UNREADABLE}),
        ("UPDATE entity_version SET difference = {junk} WHERE snapshot_id IS NOT NULL", {Damage.UNREADABLE}),
        ("UPDATE entity_version SET difference = NULL WHERE snapshot_id IS NOT NULL", {Damage.UNREADABLE}),
        ("UPDATE document_snapshot SET content = {junk}", {Damage.UNREADABLE}),
        ("DELETE FROM document_snapshot", {Damage.UNREADABLE}),
    ],
)
@pytest.mark.soak_on_postgresql
def test_a_difference_that_cannot_be_read_is_found(store_engine: Engine, statement: str, damages: set[Damage]) -> None:
    shop = company(store_engine)
    create(shop, 50_000)
    assert _damages(store_engine, deep=True) == set()
    with store_engine.begin() as connection:
        junk = "x'00ff'" if is_sqlite(connection) else "'\\x00ff'::bytea"
        connection.execute(text(statement.format(junk=junk).replace("::", "\\:\\:")))
    assert damages <= _damages(store_engine)
    assert damages <= _damages(store_engine, deep=True)


def test_a_difference_to_another_snapshot_is_found(store_engine: Engine) -> None:
    shop = company(store_engine)
    create(shop, 50_000)
    shop.writes.create("table", shop.table("other", columns=columns(50_000, seed=9)), actor=JANE)
    with store_engine.begin() as connection:
        newest_snapshot = select(func.max(document_snapshot.c.id)).scalar_subquery()
        connection.execute(
            update(entity_version).where(entity_version.c.snapshot_id.is_not(None)).values(snapshot_id=newest_snapshot)
        )
    assert _damages(store_engine) == {Damage.UNREADABLE}


def _damages(engine: Engine, *, deep: bool = False) -> set[Damage]:
    return set(inspect(engine, deep=deep).counts)


def _row(entity_id: str, document: str) -> Row:
    return {"entity_id": entity_id, "version_tenths": 1, "updated_at_ms": 1, "document": document}
