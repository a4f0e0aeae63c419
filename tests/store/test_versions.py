"""Tests of listing versions in a time window, in pages, in both directions."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.store.catalogues import JANE, SCHEMA, Company, company

from tocsin.access.nodes import Tagged
from tocsin.errors import InvalidInput
from tocsin.model.stored import Key
from tocsin.store.catalogue.entities import history
from tocsin.store.catalogue.entities.history import History, VersionsAsked

START_MS, END_MS = 0, 2**62


@pytest.fixture(params=["few", "many"])
def shop(request: pytest.FixtureRequest, store_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Company:
    """Three tables of several versions; the type counts as one of few entities, or of many."""
    if request.param == "many":
        monkeypatch.setattr(history, "_FEW", 0)
    sample_company = company(store_engine)
    for name in ("a", "b"):
        sample_company.clock.advance(1_000)
        sample_company.writes.create("table", {"name": name, "databaseSchema": SCHEMA, "columns": []}, actor=JANE)
        sample_company.patch(("add", "/description", name))
        sample_company.patch(("add", "/description", name), fqn=f"{SCHEMA}.{name}")
    return sample_company


def _names(documents: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(one["name"], one["version"]) for one in documents]


def test_versions_come_newest_first_and_once(shop: Company, store_engine: Engine) -> None:
    page = History(store_engine).versions_written("table", VersionsAsked(START_MS, END_MS, 100))
    times = [one["updatedAt"] for one in page.documents]
    assert times == sorted(times, reverse=True)
    assert sorted(_names(page.documents)) == [("a", 0.1), ("a", 0.2), ("b", 0.1), ("b", 0.2)] + [
        ("orders", version) for version in (0.1, 0.2, 0.3)
    ]
    assert (page.total, page.after, page.before) == (7, None, None)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_go_on_where_the_last_one_ended_and_back(shop: Company, store_engine: Engine, limit: int) -> None:
    reader = History(store_engine)
    all_names = _names(reader.versions_written("table", VersionsAsked(START_MS, END_MS, 100)).documents)
    page = reader.versions_written("table", VersionsAsked(START_MS, END_MS, limit))
    pages = [_names(page.documents)]
    while page.after:
        page = reader.versions_written("table", VersionsAsked(START_MS, END_MS, limit, after=page.after))
        pages.append(_names(page.documents))
    assert [one for names in pages for one in names] == all_names
    back = [pages[-1]]
    while page.before:
        page = reader.versions_written("table", VersionsAsked(START_MS, END_MS, limit, before=page.before))
        back.append(_names(page.documents))
    assert [one for names in reversed(back) for one in names] == all_names


def test_only_what_was_written_in_the_window_is_found(shop: Company, store_engine: Engine) -> None:
    reader, now_ms = History(store_engine), shop.clock.now_ms()
    last = reader.versions_written("table", VersionsAsked(now_ms, now_ms))
    assert sorted(_names(last.documents)) == [("b", 0.1), ("b", 0.2), ("orders", 0.3)]
    assert reader.versions_written("table", VersionsAsked(now_ms + 1, END_MS)).total == 0
    assert reader.versions_written("table", VersionsAsked(now_ms, now_ms - 1)).documents == []


def test_what_is_gone_for_good_and_what_may_not_be_seen_is_left_out(shop: Company, store_engine: Engine) -> None:
    shop.writes.delete("table", Key.by_name(f"{SCHEMA}.a"), actor=JANE)
    shop.writes.delete("table", Key.by_name(f"{SCHEMA}.b"), actor=JANE, hard=True)
    reader = History(store_engine)
    assert reader.versions_written("table", VersionsAsked(START_MS, END_MS)).total == 6
    page = reader.versions_written("table", VersionsAsked(START_MS, END_MS, visible=Tagged("PII.None")))
    assert (page.documents, page.total) == ([], 0)


@pytest.mark.parametrize("cursor", ["x", "%%", "MXw", "MXx4fHg", "MXxhfC0x"])
def test_what_is_no_cursor_is_refused(store_engine: Engine, cursor: str) -> None:
    with pytest.raises(InvalidInput):
        History(store_engine).versions_written("table", VersionsAsked(START_MS, END_MS, after=cursor))
