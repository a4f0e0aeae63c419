"""Tests of the erasure of a person as the pipeline runs it: store, lake and search index, killed and repeated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from unicodedata import normalize

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_erasure import ADDRESS, FULL_NAME, NAME, traces
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.clock import FixedClock
from tocsin.errors import Conflict, Forbidden, Unavailable
from tocsin.jobs import erasure
from tocsin.jobs.erasure import READERS, ErasureParts, erase
from tocsin.jobs.lake import LakeParts, grow
from tocsin.jobs.search_rebuild import rebuild
from tocsin.lake_files.folder import FolderFiles
from tocsin.model.entity import Document
from tocsin.model.erasure import Erasure
from tocsin.model.people import SYSTEM
from tocsin.model.retention import LegalHold
from tocsin.spark.lake import HistoryLocation, history
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.catalogue.people.identities import People
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.erasure.requests import Erasures
from tocsin.store.upkeep.retention.policy import Holds

__all__ = ["store_url"]

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def parts(spark: SparkSession, store_engine: Engine, tmp_path: Path) -> ErasureParts:
    session = spark.newSession()
    register_source(session, LogSource)
    url = store_engine.url.render_as_string(hide_password=False)
    place = HistoryLocation(str(tmp_path / "lake"), url)
    lake = LakeParts(session, EventLog(store_engine), Lake(store_engine), place, FixedClock(1), events_per_segment=10)
    return ErasureParts(store_engine, lake, url, patience_s=5)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company in which Zoë has changed what she owns."""
    company = SmallCompany(store_engine)
    company.put("user", {"name": NAME, "email": ADDRESS, "displayName": FULL_NAME})
    company.put("user", {"name": "head", "email": "head@example.com", "isAdmin": True})
    company.table("sales", owners=[{"id": company.ids[NAME], "type": "user"}], description=f"Ask {NAME}")
    for number in range(5):
        company.describe("sales", f"{number}: ask {ADDRESS}", by=NAME)
    company.describe("revenue", f"{normalize('NFD', FULL_NAME.upper())} wrote it")
    operations = [{"op": "add", "path": "/displayName", "value": "Revenue"}]
    asked_by_her = replace(company.actor("dia"), reason=f"{FULL_NAME} asked ({ADDRESS})")
    company.writes.patch("table", company.key("revenue"), operations, actor=asked_by_her)
    return company


@pytest.fixture
def in_lake_and_search(company: SmallCompany, parts: ErasureParts) -> None:
    """Lake and search index have the company."""
    grow(parts.lake)
    rebuild(parts.lake.session, company.engine, parts.url, lambda _done, _total: None)


def request_of(company: SmallCompany, *, is_dry: bool = False) -> Erasure:
    erasures, user_id = Erasures(company.engine), company.ids[NAME]
    identity = erasures.identity_of(user_id)
    request = Erasure("e2" if is_dry else "e1", user_id, company.ids["head"], 1, is_dry=is_dry, identity=identity)
    if not is_dry:
        erasures.add(request)
    return request


def read_everything(company: SmallCompany) -> None:
    """Let the pipeline's queries have read the log, with what the erasure adds to it."""
    for name in READERS:
        Notifications(company.engine).advance(name, EventLog(company.engine).readable_end() + 100, now_ms=1)


def run(company: SmallCompany, parts: ErasureParts, request: Erasure | None = None) -> Document:
    return erase(request or request_of(company), parts, lambda _done, _total: None)


def texts_of_lake(parts: ErasureParts) -> str:
    files = Path(parts.lake.place.root).rglob("*.parquet")
    return "\n".join(str(pq.read_table(file).to_pylist()) for file in files)


def test_what_changed_after_the_request_is_erased_as_well(company: SmallCompany, parts: ErasureParts) -> None:
    request = request_of(company)
    company.put("user", {"name": NAME, "email": "zq@example.com", "displayName": "Zoë of Malmö"})
    company.describe("orders", "Ask zq@example.com or Zoë of Malmö")
    read_everything(company)
    run(company, parts, request)
    for trace in ("zq@example.com", "of Malm"):
        assert not any(trace in logged.event.to_json() for logged in EventLog(company.engine).read(0, 10_000))
    assert list(traces(company.engine)) == []


def test_a_legal_hold_that_was_set_after_the_request_keeps_everything(
    company: SmallCompany, parts: ErasureParts
) -> None:
    request = request_of(company)
    hold = LegalHold(id="h1", reason="a lawsuit", set_by="ana", set_at_ms=1, user_name=NAME)
    Holds(company.engine).add(hold)
    read_everything(company)
    with pytest.raises(Conflict, match="h1"):
        run(company, parts, request)
    assert People(company.engine).by_id(company.ids[NAME]) is not None


def test_in_the_lake_what_is_called_like_them_stays(company: SmallCompany, parts: ErasureParts) -> None:
    """A log-in name may be the word for a type, a service or an operation."""
    company.put("user", {"name": "table", "email": "table@example.com"})
    company.describe("sales", "of the user called table", by="table")
    grow(parts.lake)
    identity = Erasures(company.engine).identity_of(company.ids["table"])
    request = Erasure("e3", company.ids["table"], company.ids["head"], 1, is_dry=False, identity=identity)
    Erasures(company.engine).add(request)

    def rows() -> list[Document]:
        events = history(parts.lake.session, parts.lake.place, parts.lake.extent())
        return [row.asDict() for row in events.where("entity_type = 'table'").orderBy("log_offset").collect()]

    before = rows()
    read_everything(company)
    run(company, parts, request)
    before_without_names = [
        {key: value for key, value in row.items() if key not in ("user_name", "event")} for row in before
    ]
    after = rows()
    assert [{key: row[key] for key in before_without_names[0]} for row in after] == before_without_names
    assert "table" not in {row["user_name"] for row in after}


@ON_BOTH_STORES
@pytest.mark.usefixtures("in_lake_and_search")
def test_store_lake_and_search_name_them_no_more(company: SmallCompany, parts: ErasureParts) -> None:
    before = history(parts.lake.session, parts.lake.place, parts.lake.extent()).select("event_id").collect()
    dry = run(company, parts, request_of(company, is_dry=True))
    assert NAME in texts_of_lake(parts)
    read_everything(company)
    certificate = run(company, parts)
    assert list(traces(company.engine)) == []
    assert not {word for word in (NAME, "quist", ADDRESS) if word in texts_of_lake(parts).lower()}
    after = history(parts.lake.session, parts.lake.place, parts.lake.extent()).select("event_id").collect()
    assert {row.event_id for row in before} < {row.event_id for row in after}
    assert len(after) == len({row.event_id for row in after})
    assert certificate["lake"]["events"] >= dry["lake"]["events"] >= 6
    assert certificate["rewritten"]["change_event"] >= dry["rewritten"]["change_event"] >= 6
    assert certificate["searchEntries"] > 0
    assert certificate["outOfReach"]
    assert NAME not in str(certificate)


@pytest.mark.usefixtures("in_lake_and_search")
def test_an_erasure_that_was_killed_goes_on(
    company: SmallCompany, parts: ErasureParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fault scenario 63."""
    request = request_of(company)
    read_everything(company)

    def kill(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for place, name in (
        (erasure, "rewrite_segment"),
        (FolderFiles, "remove_segment"),
    ):
        with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
            patches.setattr(place, name, kill)
            run(company, parts, request)
    run(company, parts, request)
    assert list(traces(company.engine)) == []
    assert NAME not in texts_of_lake(parts)


def test_of_two_administrators_who_erase_each_other_one_stays(company: SmallCompany, parts: ErasureParts) -> None:
    request = request_of(company)
    company.writes.delete("user", company.key("head"), actor=SYSTEM, hard=True)
    with pytest.raises(Forbidden, match="no administrator any more"):
        run(company, parts, request)
    assert People(company.engine).by_id(company.ids[NAME]) is not None


def test_a_pipeline_that_does_not_get_on_is_named(company: SmallCompany, parts: ErasureParts) -> None:
    with pytest.raises(Unavailable, match=r"match_stream has read up to offset 0"):
        run(company, replace(parts, patience_s=0.1))


def test_what_is_written_again_and_again_ends_it(
    company: SmallCompany, parts: ErasureParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_everything(company)
    real: Callable[..., object] = erasure.grow  # type: ignore[attr-defined]  # replaced where it is used

    def grow_and_write(lake: LakeParts) -> object:
        company.describe("orders", f"{NAME} again at {company.clock.now_ms()}", by="ana")
        return real(lake)

    monkeypatch.setattr(erasure, "grow", grow_and_write)
    monkeypatch.setattr(erasure, "MOST_PASSES", 2)
    with pytest.raises(Unavailable, match="2 passes"):
        run(company, parts)
