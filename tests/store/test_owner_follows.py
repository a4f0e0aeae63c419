"""Tests of follows of people and teams: what they own is followed with them."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_container_follows import (
    BELL,
    SCHEMA,
    follow,
    follower_count,
    last_event,
    reasons_by_person,
    reasons_for_change,
    unfollow,
)
from tests.store.test_resolving import restrict

from tocsin.errors import InvalidInput
from tocsin.model.change import LoggedEvent
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.people import SYSTEM
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

DIA, SHOP = ("user", "dia"), ("team", "shop")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def put_owners(company: SmallCompany, kind: str, name: str, *owners: tuple[str, str]) -> LoggedEvent:
    """Give an entity these owners, and no others; return the event."""
    value = [{"id": company.ids[owner], "type": owner_type} for owner_type, owner in owners]
    patch = [{"op": "add", "path": "/owners", "value": value}]
    company.writes.patch(kind, company.key(name), patch, actor=SYSTEM)
    return last_event(company)


def owner_follow(kind: str, name: str) -> list[str]:
    return [f"you follow the {kind} {name}, {'who' if kind == 'user' else 'which'} owns it"]


@pytest.mark.parametrize("owner", [DIA, SHOP])
def test_who_follows_an_owner_hears_of_what_comes_until_it_leaves(
    company: SmallCompany, owner: tuple[str, str]
) -> None:
    company.table("profit")
    company.alert("bell", BELL, resources=("table",))
    follow(company, "cem", owner)
    assert reasons_for_change(company, "profit") == {}
    outside = last_event(company)
    arriving = put_owners(company, "table", "profit", owner)
    company.describe("profit", "inside", by="ana")
    inside = last_event(company)
    leaving = put_owners(company, "table", "profit")
    company.describe("profit", "outside", by="ana")
    reasons, events = {"cem": owner_follow(*owner)}, (outside, arriving, inside, leaving, last_event(company))
    assert [reasons_by_person(company, one) for one in events] == [{}, reasons, reasons, reasons, {}]
    unfollow(company, "cem", owner)
    assert [reasons_by_person(company, one) for one in events] == [{}, reasons, reasons, reasons, {}], "as it was then"
    put_owners(company, "table", "profit", owner)
    assert reasons_for_change(company, "profit") == {}


def test_what_is_created_with_an_owner_and_a_domain_never_belonged_to_those_of_its_schema(
    company: SmallCompany,
) -> None:
    company.alert("bell", BELL, resources=("table",))
    for name in ("Sales", "Finance"):
        company.put("domain", {"name": name, "domainType": "Aggregate", "description": "x"})
    put_owners(company, "databaseSchema", "public", DIA)
    above = [{"op": "add", "path": "/domains", "value": [{"id": company.ids["Sales"], "type": "domain"}]}]
    company.writes.patch("databaseSchema", company.key("public"), above, actor=SYSTEM)
    for target in (DIA, ("domain", "Sales")):
        follow(company, "cem", target)
    own_fields = {"owners": [{"id": company.ids["ana"], "type": "user"}], "domains": ["Finance"]}
    company.table("profit", **own_fields)
    assert reasons_by_person(company, last_event(company)) == {}
    company.table("loss")
    creation = last_event(company)
    put_owners(company, "table", "loss", ("user", "ana"))
    reasons = [reasons_by_person(company, one) for one in (creation, last_event(company))]
    domain_follow = "you follow the domain Sales, which contains it"
    assert reasons == [{"cem": [domain_follow, *owner_follow(*DIA)]}] * 2, "it left the owner, and stays in the domain"


def test_an_inherited_owner_counts_while_it_is_inherited(company: SmallCompany) -> None:
    company.table("profit")
    company.alert("bell", BELL, resources=("table",))
    follow(company, "cem", DIA)
    put_owners(company, "databaseSchema", "public", DIA)
    company.describe("profit", "inherits", by="ana")
    assert reasons_by_person(company, last_event(company)) == {"cem": owner_follow(*DIA)}
    leaving = put_owners(company, "table", "profit", SHOP)
    assert reasons_by_person(company, leaving) == {"cem": owner_follow(*DIA)}, "the last that is told"
    company.describe("profit", "its own", by="ana")
    assert reasons_by_person(company, last_event(company)) == {}


def test_what_is_owned_is_told_once_with_every_way_that_leads_to_it(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table",))
    for target in (SCHEMA, DIA, ("table", "revenue")):
        follow(company, "cem", target)
    company.describe("revenue", "new", by="ana")
    assert reasons_by_person(company, last_event(company)) == {
        "cem": [
            "you follow it",
            "you follow the database schema pg.store.public, which contains it",
            *owner_follow(*DIA),
        ]
    }


def test_what_an_owner_owned_is_told_when_it_goes_for_good_and_so_is_who_goes(company: SmallCompany) -> None:
    company.alert("bell", BELL, resources=("table", "team"))
    follow(company, "cem", DIA)
    company.put("team", {"name": "owned", "teamType": "Group", "owners": [{"type": "user", "name": "dia"}]})
    company.describe("revenue", "before", by="ana")
    before = last_event(company)
    company.writes.delete("table", company.key("revenue"), actor=SYSTEM, hard=True)
    assert reasons_by_person(company, last_event(company)) == {"cem": owner_follow(*DIA)}
    company.writes.delete("team", company.key("owned"), actor=SYSTEM, hard=True)
    assert reasons_by_person(company, last_event(company)) == {}, "a team is no asset"
    put_owners(company, "table", "orders", DIA)
    company.writes.delete("user", company.key("dia"), actor=SYSTEM, hard=True)
    events = [one for one in EventLog(company.engine).read(0, 10_000) if one.event.entity_id == company.ids["orders"]]
    assert list(reasons_by_person(company, events[-1])) == ["cem"], "that it has lost its owner"
    assert list(reasons_by_person(company, before)) == ["cem"]
    company.describe("orders", "after", by="ana")
    assert reasons_by_person(company, last_event(company)) == {"cem": ["you follow it"]}


def test_a_test_of_what_is_owned_and_a_table_downstream_of_it_are_told_as_of_a_follower(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    company.alert("far", [{**BELL[0], "notifyDownstream": True}], resources=("table",))
    company.test_case("revenue")
    follow(company, "cem", DIA)
    failure = company.result("revenue", "Failed")
    logged_event = EventLog(company.engine).find(failure["id"]) if failure else None
    assert logged_event is not None
    assert reasons_by_person(company, logged_event) == {"cem": owner_follow(*DIA)}
    unfollow(company, "cem", ("table", "orders"))
    company.describe("orders", "upstream", by="ana")
    assert reasons_by_person(company, last_event(company)) == {
        "cem": ["you follow the user dia, who owns pg.store.public.revenue, 1 step below"]
    }


def test_user_follows_and_a_muted_or_hidden_owner(company: SmallCompany) -> None:
    by_name = {"category": "Users", "type": "Email", "config": {"receivers": ["ben", "cem"]}}
    company.alert("named", [by_name], "user.follows(entity)", resources=("table",))
    for who in ("ben", "cem"):
        follow(company, who, DIA)
    company.describe("revenue", "new", by="ana")
    logged_event = last_event(company)
    reasons = owner_follow(*DIA)
    assert reasons_by_person(company, logged_event) == {"ben@example.com": reasons, "cem@example.com": reasons}
    mute = Mute(company.ids["ben"], MuteKind.ASSET, company.ids["dia"], since_ms=company.clock.now_ms())
    Mutes(company.engine).put(mute)
    company.describe("revenue", "newer", by="ana")
    assert set(reasons_by_person(company, last_event(company))) == {"cem@example.com"}
    restrict(company, "cem", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["user"]})
    company.describe("revenue", "newest", by="ana")
    assert reasons_by_person(company, last_event(company)) == {}


def test_the_cost_depends_neither_on_what_else_is_owned_nor_on_owners_whom_nobody_follows(
    company: SmallCompany,
) -> None:
    without_follow, among_one, among_many = list[str](), list[str](), list[str]()
    assert follower_count(company, without_follow) == 0
    put_owners(company, "table", "revenue")
    without_owner = list[str]()
    assert follower_count(company, without_owner) == 0
    put_owners(company, "table", "revenue", DIA)
    assert len(without_follow) == len(without_owner)
    follow(company, "cem", DIA)
    assert follower_count(company, among_one) == 1
    for number in range(30):
        company.table(f"more{number}", owners=[{"type": "user", "name": "dia"}])
    assert follower_count(company, among_many) == 1
    assert len(among_many) == len(among_one) <= len(without_follow) + 9, "without a follow nothing of it is read"


def test_what_cannot_be_followed_says_what_can(company: SmallCompany) -> None:
    company.put("role", {"name": "Reader", "policies": []})
    with pytest.raises(InvalidInput, match="a role cannot be followed; people follow assets, users and teams"):
        follow(company, "cem", ("role", "Reader"))
