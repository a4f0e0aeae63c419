"""Tests of follows of single columns, and of single test cases."""

from __future__ import annotations

from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError

import pytest
from sqlalchemy import Connection, Engine, func, select
from tests.company import SmallCompany
from tests.store.test_container_follows import (
    BELL,
    SCHEMA,
    follow,
    follower_count,
    last_event,
    reasons_by_person,
    unfollow,
)
from tests.store.test_resolving import restrict

from tocsin.catalogue.feed.operations import FeedWrites
from tocsin.conditions.relations import ANYBODY
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import plan_of
from tocsin.flow.resolve.counted import Moment, SimilarEvents, recipients_of_similar
from tocsin.flow.resolve.directory import EVERYBODY, NO_END, Portion
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.flow.resolve.recipient_rules import recipient_rules
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import ReasonKind
from tocsin.model.notification_draft import head_of
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.relations import column_follows
from tocsin.store.database.follow_tables import column_follow
from tocsin.store.eventlog.log import EventLog, events_at
from tocsin.store.recipients import column_followers
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.followed_assets import FollowedAssets
from tocsin.store.recipients.mutes import Mutes

OF_COLUMN = ["you follow the column email of it"]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    company = SmallCompany(store_engine)
    company.alert("bell", BELL, resources=("table", "testCase"))
    company.table("people")
    return company


def change_column(company: SmallCompany, who: str, *, column: str = "email", follows: bool = True) -> bool:
    """Let a person follow a column of people, or no longer; return whether that made a difference."""
    write = company.writes.follow if follows else company.writes.unfollow
    written = write("table", company.ids["people"], company.ids[who], actor=company.actor(who), column=column)
    return written.event is not None


def patch(company: SmallCompany, *operations: Document) -> LoggedEvent:
    """Change the table of people by these operations; return the event."""
    company.clock.advance(1_000)
    company.writes.patch("table", company.key("people"), list(operations), actor=SYSTEM)
    return last_event(company)


def describe_column(company: SmallCompany, number: int, text: str) -> LoggedEvent:
    return patch(company, {"op": "add", "path": f"/columns/{number}/description", "value": text})


def test_who_follows_a_column_hears_of_that_column_alone_while_they_do(company: SmallCompany) -> None:
    before = describe_column(company, 1, "before")
    assert change_column(company, "cem")
    assert not change_column(company, "cem"), "followed already"
    changes = [
        describe_column(company, 1, "addresses"),
        describe_column(company, 0, "numbers"),
        patch(company, {"op": "add", "path": "/description", "value": "people"}),
        patch(company, {"op": "replace", "path": "/columns/1/dataLength", "value": 90}),
    ]
    reasons_of_changes = [reasons_by_person(company, one) for one in changes]
    assert reasons_of_changes == [{"cem": OF_COLUMN}, {}, {}, {"cem": OF_COLUMN}]
    assert change_column(company, "cem", follows=False)
    assert not change_column(company, "cem", follows=False)
    after = describe_column(company, 1, "after")
    reasons = [reasons_by_person(company, one) for one in (before, *changes, after)]
    assert reasons == [{}, *reasons_of_changes, {}], "each at its place"


def test_who_follows_a_column_twice_at_once_follows_it_once(
    company: SmallCompany, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as by two clicks: the second waits for the first, and finds that there is nothing to do."""
    both_looked = Barrier(2)
    is_current = column_follows.is_current

    def look_together(connection: Connection, key: tuple[str, str, str]) -> bool:
        is_followed = is_current(connection, key)
        with suppress(BrokenBarrierError):
            both_looked.wait(1)
        return is_followed

    monkeypatch.setattr(column_follows, "is_current", look_together)
    with ThreadPoolExecutor(2) as pool:
        are_new = list(pool.map(lambda _: change_column(company, "cem"), range(2)))
    assert sorted(are_new) == [False, True]
    with company.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(column_follow)) == 1


def test_only_the_events_at_hand_are_read_and_once(company: SmallCompany, monkeypatch: pytest.MonkeyPatch) -> None:
    """However far the pipeline lags, and however many portions the people have."""
    change_column(company, "cem")
    changes = [describe_column(company, 1, f"text {number}") for number in range(5)]
    offsets_read: list[int] = []

    def read(connection: Connection, offsets: Collection[int]) -> dict[int, ChangeEvent]:
        offsets_read.extend(offsets)
        return events_at(connection, offsets)

    monkeypatch.setattr(column_followers, "events_at", read)
    people = company.ids["people"]
    directory = SqlDirectory(company.engine).for_events({one.offset: people for one in changes[1:3]})
    for portion in (EVERYBODY, Portion(only=frozenset({company.ids["cem"]}))):
        principals = directory.of(portion).stakeholders([people], ReasonKind.FOLLOWER)
        assert [one.since_offset for one in principals] == [one.offset for one in changes[1:3]]
    assert offsets_read == [one.offset for one in changes[1:3]]


def test_events_that_are_counted_together_are_told_each(company: SmallCompany) -> None:
    change_column(company, "cem")
    changes = [describe_column(company, number % 2, f"text {number}") for number in range(4)]
    (alert,) = Subscriptions(company.engine).list_enabled()
    similar = SimilarEvents(
        MatchedEvent(head_of(changes[0]), {alert.id: ANYBODY}),
        {None: [Moment(one.offset, one.event.timestamp) for one in changes]},
    )
    rules = {alert.id: recipient_rules(alert, plan_of(alert).questions)}
    counted = list(recipients_of_similar([similar], rules, SqlDirectory(company.engine)))
    assert sorted(offset for one in counted for offset in one.log_offsets) == [changes[1].offset, changes[3].offset]


def test_a_field_of_a_request_and_a_response_is_followed_until_neither_has_it(company: SmallCompany) -> None:
    company.put("apiService", {"name": "rest", "serviceType": "Rest"})
    company.put("apiCollection", {"name": "v1", "service": "rest", "endpointURL": "https://a.example"})
    schema = {"schemaFields": [{"name": "key", "dataType": "STRING"}, {"name": "size", "dataType": "INT"}]}
    schemas = {"requestSchema": schema, "responseSchema": schema}
    endpoint = {"name": "get", "apiCollection": "rest.v1", "endpointURL": "https://a.example/get", **schemas}
    company.put("apiEndpoint", endpoint)
    cem, key = company.ids["cem"], company.ids["get"]
    company.writes.follow("apiEndpoint", key, cem, actor=SYSTEM, column="key")
    column_counts = []
    for side in ("requestSchema", "responseSchema"):
        removal = [{"op": "remove", "path": f"/{side}/schemaFields/0"}]
        company.writes.patch("apiEndpoint", company.key("get"), removal, actor=SYSTEM)
        follows = FollowedAssets(company.engine).of(cem)
        column_counts.append(len([one for one in follows if one.column == "key"]))
    assert column_counts == [1, 0]


def test_a_column_is_followed_until_it_is_removed(company: SmallCompany) -> None:
    change_column(company, "cem")
    change = describe_column(company, 1, "addresses")
    removal = patch(company, {"op": "remove", "path": "/columns/1"})
    column = {"name": "email", "dataType": "VARCHAR", "dataLength": 80}
    comeback = patch(company, {"op": "add", "path": "/columns/1", "value": column})
    reasons = [reasons_by_person(company, one) for one in (change, removal, comeback)]
    assert reasons == [{"cem": OF_COLUMN}, {"cem": OF_COLUMN}, {}]
    assert [one.column for one in FollowedAssets(company.engine).of(company.ids["cem"])] == [None], "orders, as ever"


def test_a_table_that_goes_for_good_takes_its_columns_along(company: SmallCompany) -> None:
    change_column(company, "cem")
    company.writes.delete("table", company.key("people"), actor=SYSTEM)
    softly = last_event(company)
    company.writes.delete("table", company.key("people"), actor=SYSTEM, hard=True)
    finally_gone = last_event(company)
    reasons = [reasons_by_person(company, one) for one in (softly, finally_gone)]
    assert reasons == [{"cem": OF_COLUMN}, {"cem": OF_COLUMN}], "the name of what is gone is in its event"
    assert len(FollowedAssets(company.engine).of(company.ids["cem"])) == 1


def test_a_person_who_goes_leaves_no_follow_of_a_column(company: SmallCompany) -> None:
    change_column(company, "dia")
    company.writes.delete("user", company.key("dia"), actor=SYSTEM, hard=True)
    assert FollowedAssets(company.engine).of(company.ids["dia"]) == []


def column_test(company: SmallCompany, column: str) -> LoggedEvent:
    """Put a test of a column of people, and let it fail; return the event of the failure."""
    company.test_case("people", "on_table")
    definition = {"name": "isFilled", "entityType": "COLUMN", "testPlatforms": ["OpenMetadata"]}
    company.writes.upsert("testDefinition", definition, actor=SYSTEM)
    link = f"<#E::table::pg.store.public.people::columns::{column}>"
    name = f"on_{column}"
    company.put("testCase", {"name": name, "entityLink": link, "testDefinition": "isFilled"})
    company.clock.advance(1_000)
    report = {"timestamp": company.clock.now_ms(), "testCaseStatus": "Failed"}
    company.writes.add_test_result(f"pg.store.public.people.{column}.{name}", report, actor=SYSTEM)
    return last_event(company)


def test_failures_of_tests_of_the_column_are_told_and_no_others(company: SmallCompany) -> None:
    change_column(company, "cem")
    of_email, of_id = column_test(company, "email"), column_test(company, "id")
    failure = company.result("people", "Failed", "on_table")
    of_table = EventLog(company.engine).find(failure["id"]) if failure else None
    assert of_table is not None
    reasons = [list(reasons_by_person(company, one)) for one in (of_email, of_id, of_table)]
    assert reasons == [["cem"], [], []]


def test_a_test_of_the_column_that_goes_for_good_is_told(company: SmallCompany) -> None:
    change_column(company, "cem")
    for column, people in (("email", ["cem"]), ("id", [])):
        case_id = column_test(company, column).event.entity_id
        company.writes.delete("testCase", Key.by_id(case_id), actor=SYSTEM, hard=True)
        assert list(reasons_by_person(company, last_event(company))) == people


@pytest.mark.parametrize("spelling", ["a.b", '"a.b"'])
def test_threads_about_the_column_are_told_however_it_is_spelt(company: SmallCompany, spelling: str) -> None:
    company.alert("talk", BELL, resources=("thread",))
    columns = [{"name": name, "dataType": "INT"} for name in ("email", "a.b")]
    company.put("table", {"name": "people", "databaseSchema": "pg.store.public", "columns": columns})
    change_column(company, "cem", column="a.b")
    for column, people in ((spelling, ["cem"]), ("email", [])):
        about = f"<#E::table::pg.store.public.people::columns::{column}::description>"
        FeedWrites(company.writes).create({"message": "What is it?", "about": about}, actor=SYSTEM)
        assert list(reasons_by_person(company, last_event(company))) == people


def test_a_column_and_another_way_make_one_row(company: SmallCompany) -> None:
    change_column(company, "cem")
    follow(company, "cem", SCHEMA)
    reasons = reasons_by_person(company, describe_column(company, 1, "x"))
    assert reasons == {"cem": [*OF_COLUMN, "you follow the database schema pg.store.public, which contains it"]}


def test_user_follows_mutes_and_rights_hold_of_columns_too(company: SmallCompany) -> None:
    by_name = {"category": "Users", "type": "Email", "config": {"receivers": ["ben"]}}
    company.alert("named", [by_name], "user.follows(entity)", resources=("table",))
    change_column(company, "ben")
    reasons = {"ben": OF_COLUMN, "ben@example.com": OF_COLUMN}
    assert reasons_by_person(company, describe_column(company, 1, "x")) == reasons
    assert reasons_by_person(company, describe_column(company, 0, "y")) == {}
    mute = Mute(company.ids["ben"], MuteKind.ASSET, company.ids["people"], since_ms=company.clock.now_ms())
    Mutes(company.engine).put(mute)
    assert reasons_by_person(company, describe_column(company, 1, "z")) == {}
    change_column(company, "dia")
    restrict(company, "dia", {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]})
    assert reasons_by_person(company, describe_column(company, 1, "hidden")) == {}


def test_columns_cost_no_statement_where_nobody_follows_any(company: SmallCompany) -> None:
    statements, with_columns = list[str](), list[str]()
    assert follower_count(company, statements) == 0
    change_column(company, "cem")
    assert follower_count(company, with_columns) == 0, "of another table"
    assert len(with_columns) == len(statements)


def test_a_column_that_is_not_there_cannot_be_followed(company: SmallCompany) -> None:
    with pytest.raises(InvalidInput, match=r"pg\.store\.public\.people has no column emial; did you mean"):
        change_column(company, "cem", column="emial")
    with pytest.raises(InvalidInput, match="has no column email"):
        company.writes.follow(
            "databaseSchema", company.ids["public"], company.ids["cem"], actor=company.actor("cem"), column="email"
        )


def test_the_list_has_columns_beside_assets(company: SmallCompany) -> None:
    change_column(company, "cem")
    follow(company, "cem", ("table", "people"))
    follows = FollowedAssets(company.engine).of(company.ids["cem"])
    expected_names = ["pg.store.public.orders", "pg.store.public.people", "pg.store.public.people.email"]
    assert sorted(one.name for one in follows) == expected_names
    assert all(one.since_ms is not None and one.since_ms < NO_END for one in follows)


def test_who_follows_one_test_case_hears_of_its_failures_and_of_no_other(company: SmallCompany) -> None:
    for name in ("has_rows", "is_fresh"):
        company.test_case("people", name)
    follow(company, "cem", ("testCase", "has_rows"))
    events = []
    for name in ("has_rows", "is_fresh"):
        failure = company.result("people", "Failed", name)
        events.append(EventLog(company.engine).find(failure["id"]) if failure else None)
    reasons = [reasons_by_person(company, one) for one in events if one is not None]
    assert reasons == [{"cem": ["you follow it"]}, {}]
    unfollow(company, "cem", ("testCase", "has_rows"))
