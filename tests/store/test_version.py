"""Tests of the store's version, and of rows that are not looked for again while nothing is committed."""

from __future__ import annotations

from sqlalchemy import Engine
from tests.company import SmallCompany

from tocsin.store.database.version import SeldomRows, store_version


class CountingLook:
    def __init__(self) -> None:
        self.count, self.are_there = 0, False

    def __call__(self) -> bool:
        self.count += 1
        return self.are_there


def test_the_version_of_a_sqlite_store_changes_with_each_commit(sqlite_engine: Engine) -> None:
    company = SmallCompany(sqlite_engine)
    versions = [store_version(sqlite_engine)]
    assert versions[0] is not None
    for number in range(3):
        assert store_version(sqlite_engine) == versions[-1], "reading changes nothing"
        company.describe("orders", f"Orders {number}.")
        versions.append(store_version(sqlite_engine))
    assert len(set(versions)) == 4


def test_postgresql_has_no_version(postgres_engine: Engine) -> None:
    assert store_version(postgres_engine) is None


def test_what_is_missing_is_looked_for_again_after_a_commit(sqlite_engine: Engine) -> None:
    company, look = SmallCompany(sqlite_engine), CountingLook()
    seldom = SeldomRows(sqlite_engine, look)
    assert not seldom.are_known_to_be_missing(), "nobody has looked"
    assert not seldom.are_there()
    assert not seldom.are_there()
    assert seldom.are_known_to_be_missing()
    assert look.count == 1
    company.describe("orders", "All orders.")
    look.are_there = True
    assert not seldom.are_known_to_be_missing()
    assert seldom.are_there()
    assert seldom.are_there()
    assert look.count == 3


def test_without_a_version_each_look_asks_the_store(postgres_engine: Engine) -> None:
    look = CountingLook()
    seldom = SeldomRows(postgres_engine, look)
    assert not seldom.are_there()
    assert not seldom.are_there()
    assert not seldom.are_known_to_be_missing()
    assert look.count == 2


def test_the_version_ends_with_its_engine(sqlite_engine: Engine) -> None:
    before = store_version(sqlite_engine)
    sqlite_engine.dispose()
    assert isinstance(before, int)
    assert isinstance(store_version(sqlite_engine), int), "who goes on opens it again"
    sqlite_engine.dispose()
