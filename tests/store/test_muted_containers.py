"""Tests of mutes of what contains assets, and of domains, on both stores: they cover what is in them, at each place."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_broad_mutes import dropped_mails
from tests.store.test_container_follows import last_event, reasons_by_person
from tests.store.test_subscriptions import counted_statements

from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.preferences import DefaultPreferences
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.mutes import Mutes

ALL_WAYS: list[Document] = [
    {"category": "Owners", "type": "ActivityFeed"},
    {"category": "Followers", "type": "ActivityFeed"},
]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Ana and Ben own the table orders, Cem follows it."""
    small_company = SmallCompany(store_engine)
    small_company.alert("bell", ALL_WAYS)
    return small_company


def mute(company: SmallCompany, who: str, about: str) -> None:
    subject = company.ids[about]
    Mutes(company.engine).put(Mute(company.ids[who], MuteKind.ASSET, subject, since_ms=company.clock.now_ms()))


def people_told(company: SmallCompany) -> set[str]:
    """Change a table; return who is notified."""
    company.describe("orders", f"at {company.clock.now_ms()}")
    return set(reasons_by_person(company, last_event(company)))


@pytest.mark.parametrize("container", ["public", "store", "pg"])
def test_a_muted_container_is_quiet_of_what_one_owns_or_follows_below_it(company: SmallCompany, container: str) -> None:
    assert people_told(company) == {"ana", "ben", "cem"}
    before = last_event(company)
    mute(company, "ana", container)
    mute(company, "cem", container)
    assert people_told(company) == {"ben"}
    company.test_case("orders", owners=[{"type": "user", "name": "ana"}])
    company.result("orders", "Failed")
    assert set(reasons_by_person(company, last_event(company))).isdisjoint({"ana", "cem"}), "a test of a table below"
    assert set(reasons_by_person(company, before)) == {"ana", "ben", "cem"}, "at its own place"
    Mutes(company.engine).remove(company.ids["ana"], company.ids[container])
    assert people_told(company) == {"ana", "ben"}


def test_what_is_beside_a_muted_container_is_told(company: SmallCompany) -> None:
    company.put("database", {"name": "other", "service": "pg"})
    company.put("databaseSchema", {"name": "aside", "database": "pg.other"})
    for container in ("aside", "other"):
        mute(company, "ana", container)
    assert people_told(company) == {"ana", "ben", "cem"}


def test_a_muted_domain_covers_what_is_in_it_while_it_is(company: SmallCompany) -> None:
    company.put("domain", {"name": "Sales", "domainType": "Aggregate", "description": ""})
    mute(company, "ana", "Sales")
    assert people_told(company) == {"ana", "ben", "cem"}
    outside = last_event(company)

    def move_to(*names: str) -> None:
        domains = [{"id": company.ids[one], "type": "domain"} for one in names]
        operation = {"op": "add", "path": "/domains", "value": domains}
        company.writes.patch("table", company.key("orders"), [operation], actor=company.actor("dia"))

    move_to("Sales")
    assert people_told(company) == {"ben", "cem"}
    inside = last_event(company)
    move_to()
    assert set(reasons_by_person(company, last_event(company))) == {"ben", "cem"}, "the event by which it leaves"
    assert people_told(company) == {"ana", "ben", "cem"}
    for event, people in ((outside, {"ana", "ben", "cem"}), (inside, {"ben", "cem"})):
        assert set(reasons_by_person(company, event)) == people


def test_it_is_stored_with_its_reason_and_holds_for_what_waits(company: SmallCompany, store_engine: Engine) -> None:
    SqlPreferences(store_engine).put_defaults(DefaultPreferences(), now_ms=0)
    company.alert("mail", [{"category": "Owners", "type": "Email"}], poll_interval_s=0)
    company.describe("orders", "before")
    notify_all(store_engine)
    mute(company, "ana", "store")
    (mail,) = dropped_mails(store_engine, 9_999_999_999_999)
    assert mail == (False, ["muted: the recipient muted what contains the asset permanently"])
    company.describe("orders", "after")
    notify_all(store_engine)
    with reading(store_engine) as connection:
        choices = connection.scalars(select(notification.c.preferred).where(notification.c.preferred.like("mute %")))
        texts = set(choices)
    (text,) = texts
    read_mute = Mute.from_text(text.split(" ")[-1])
    assert (read_mute.about_id, read_mute.in_words(str)) == (
        company.ids["store"],
        "muted what contains the asset permanently",
    )


def test_who_asks_for_many_people_or_few_finds_the_same(company: SmallCompany, store_engine: Engine) -> None:
    for container in ("public", "pg"):
        mute(company, "ana", container)
    directory, orders, ana = SqlDirectory(store_engine), company.ids["orders"], company.ids["ana"]
    few = {(one.who, one.about_id, one.within) for one in directory.mutes({ana}, {orders, "no alert"})}
    many = {(one.who, one.about_id, one.within) for one in directory.mutes({ana, *map(str, range(9))}, {orders})}
    assert few == many == {(ana, company.ids[one], orders) for one in ("public", "pg")}
    with counted_statements(store_engine) as statements:
        list(directory.mutes({ana, *map(str, range(9))}, {orders}))
    assert not any("SELECT DISTINCT mute.about_id" in one for one in statements), "what else is muted is not read"


def test_the_statements_do_not_grow_with_what_lies_below(company: SmallCompany, store_engine: Engine) -> None:
    mute(company, "ana", "public")
    tables = [company.table(f"t{number}")["id"] for number in range(30)]
    counts = []
    for ids in (tables[:2], tables):
        with counted_statements(store_engine) as statements:
            mutes = list(SqlDirectory(store_engine).mutes({company.ids["ana"]}, ids))
        assert {one.place_id for one in mutes} == set(ids)
        counts.append(len(statements))
    assert counts[0] == counts[1] <= 12
