"""Tests of what the members of a team follow by default, at an event's place in the log."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.store.test_container_follows import (
    BELL,
    follow,
    last_event,
    reasons_by_person,
    reasons_for_change,
    unfollow,
)
from tests.store.test_resolving import restrict

from tocsin.errors import InvalidInput
from tocsin.flow.resolve.directory import Portion
from tocsin.model import follow_review
from tocsin.model.notification import ReasonKind
from tocsin.model.people import SYSTEM
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.team_follows import TeamFollows

REASON = ["your team shop follows it"]
BY_SCHEMA = ["your team shop follows the database schema pg.store.public, which contains it"]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.table("profit")
    company.alert("bell", BELL)
    return company


def follows_of(company: SmallCompany) -> TeamFollows:
    return TeamFollows(company.engine)


def let_follow(company: SmallCompany, asset: str, kind: str = "table", team: str = "shop") -> bool:
    now_ms = company.clock.now_ms()
    return follows_of(company).add(company.ids[team], kind, company.ids[asset], now_ms=now_ms)


def put_members(company: SmallCompany, *names: str) -> None:
    """Let these people be the direct members of team shop."""
    members = [{"id": company.ids[name], "type": "user"} for name in names]
    patch = [{"op": "add", "path": "/users", "value": members}]
    company.writes.patch("team", company.key("shop"), patch, actor=SYSTEM)


def test_members_are_notified_while_their_team_follows_and_they_are_in_it(company: SmallCompany) -> None:
    assert reasons_for_change(company, "profit") == {}
    before = last_event(company)
    assert let_follow(company, "profit")
    assert not let_follow(company, "profit")
    both = {"ana": REASON, "ben": REASON}  # ben is in a team below
    assert reasons_for_change(company, "profit") == both
    during = last_event(company)
    put_members(company, "cem")
    assert reasons_for_change(company, "profit") == {"ben": REASON, "cem": REASON}
    assert follows_of(company).remove(company.ids["shop"], company.ids["profit"])
    assert not follows_of(company).remove(company.ids["shop"], company.ids["profit"])
    assert reasons_for_change(company, "profit") == {}
    assert [reasons_by_person(company, one) for one in (before, during)] == [{}, both], "as it was then"
    assert let_follow(company, "profit")
    assert list(reasons_for_change(company, "profit")) == ["ben", "cem"]


def test_a_team_may_follow_what_contains_an_asset(company: SmallCompany) -> None:
    assert let_follow(company, "public", "databaseSchema")
    assert reasons_for_change(company, "profit") == {"ana": BY_SCHEMA, "ben": BY_SCHEMA}


def test_who_refuses_is_notified_no_longer_and_of_what_was_before_still(company: SmallCompany) -> None:
    let_follow(company, "profit")
    both = reasons_for_change(company, "profit")
    during = last_event(company)
    assert follows_of(company).refuse(company.ids["ana"], company.ids["profit"])
    assert not follows_of(company).refuse(company.ids["ana"], company.ids["profit"])
    assert not follows_of(company).refuse(company.ids["dia"], company.ids["profit"]), "no member"
    assert reasons_for_change(company, "profit") == {"ben": REASON}
    assert reasons_by_person(company, during) == both
    follow(company, "ana", ("table", "profit"))
    assert reasons_for_change(company, "profit") == {"ana": ["you follow it"], "ben": REASON}
    unfollow(company, "ana", ("table", "profit"))
    assert reasons_for_change(company, "profit") == {"ben": REASON}, "a refusal stays"


def test_who_follows_directly_as_well_has_one_reason(company: SmallCompany) -> None:
    follow(company, "ana", ("table", "profit"))
    let_follow(company, "profit")
    assert reasons_for_change(company, "profit") == {"ana": ["you follow it"], "ben": REASON}
    unfollow(company, "ana", ("table", "profit"))
    assert reasons_for_change(company, "profit") == {"ana": REASON, "ben": REASON}


def test_a_deleted_team_follows_nothing_until_it_is_restored(company: SmallCompany) -> None:
    let_follow(company, "profit", team="tills")
    company.writes.delete("team", company.key("tills"), actor=SYSTEM)
    assert reasons_for_change(company, "profit") == {}
    meanwhile = last_event(company)
    company.writes.restore("team", company.ids["tills"], actor=SYSTEM)
    assert reasons_for_change(company, "profit") == {"ben": ["your team tills follows it"]}
    assert reasons_by_person(company, meanwhile) == {}


def test_members_of_a_deleted_team_below_are_told_as_little_as_their_lists_say(company: SmallCompany) -> None:
    let_follow(company, "profit")
    company.writes.delete("team", company.key("tills"), actor=SYSTEM)
    assert reasons_for_change(company, "profit") == {"ana": REASON}
    meanwhile = last_event(company)
    assert follows_of(company).of_member(company.ids["ben"]) == []
    company.writes.restore("team", company.ids["tills"], actor=SYSTEM)
    assert reasons_for_change(company, "profit") == {"ana": REASON, "ben": REASON}
    assert len(follows_of(company).of_member(company.ids["ben"])) == 1
    assert reasons_by_person(company, meanwhile) == {"ana": REASON}, "as it was then"


def test_members_count_for_the_size_of_portions_of_people(company: SmallCompany) -> None:
    for number in range(3):
        company.table(f"more{number}")
    let_follow(company, "public", "databaseSchema")
    follow(company, "cem", ("table", "more0"))
    asset_ids = [company.ids[f"more{number}"] for number in range(3)]
    directory = SqlDirectory(company.engine)
    assert directory.cuts(asset_ids, 7) == [], "three for each of the members, and one"
    cuts = directory.cuts(asset_ids, 3)
    portions = [Portion(after or "", through) for after, through in pairwise(["", *cuts, None])]
    principals = [list(directory.of(one).stakeholders(asset_ids, ReasonKind.FOLLOWER)) for one in portions]
    assert len(cuts) == 2
    assert max(map(len, principals)) <= 6, "one person more than the size"
    assert sum(map(len, principals)) == 7


def test_what_one_may_not_see_is_not_followed_through_a_team(company: SmallCompany) -> None:
    restrict(
        company, "ana", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["databaseSchema"]}
    )
    let_follow(company, "public", "databaseSchema")
    assert reasons_for_change(company, "profit") == {"ben": BY_SCHEMA}


def test_an_asset_that_goes_for_good_is_told_of(company: SmallCompany) -> None:
    let_follow(company, "profit")
    company.writes.delete("table", company.key("profit"), actor=SYSTEM, hard=True)
    assert reasons_by_person(company, last_event(company)) == {"ana": REASON, "ben": REASON}
    assert follows_of(company).of(company.ids["shop"]) == []


def test_lists_say_what_a_team_and_its_members_follow(company: SmallCompany) -> None:
    let_follow(company, "profit")
    let_follow(company, "public", "databaseSchema")
    let_follow(company, "profit", team="tills")
    follow(company, "ben", ("databaseSchema", "public"))

    def names_of(name: str) -> dict[str, str | None]:
        followed = follows_of(company).of_member(company.ids[name])
        return {one.name: one.team["name"] if one.team else None for one in followed}

    schema, table = "pg.store.public", "pg.store.public.profit"
    assert {one.name for one in follows_of(company).of(company.ids["shop"])} == {schema, table}
    assert names_of("ana") == {schema: "shop", table: "shop"}
    assert names_of("ben") == {table: "shop"}, "what they follow themselves is left out"
    follows_of(company).refuse(company.ids["ana"], company.ids["profit"])
    assert names_of("ana") == {schema: "shop"}
    assert names_of("dia") == {}


def test_a_team_follows_so_much_at_most(company: SmallCompany, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tocsin.store.recipients.team_follows.MOST_OF_TEAM", 1)
    assert follow_review.MOST_OF_TEAM == 1_000
    let_follow(company, "profit")
    with pytest.raises(InvalidInput, match="1 asset"):
        let_follow(company, "public", "databaseSchema")
    company.writes.delete("table", company.key("profit"), actor=SYSTEM, hard=True)
    assert let_follow(company, "public", "databaseSchema"), "what is gone for good does not count"
