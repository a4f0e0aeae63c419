"""Activity feeds: each page is what a walk through the whole log would give."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, event, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_container_follows import follow

from tocsin.model.activity_feed import FeedScope
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.entity import Document
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.activity import WINDOW, Activity, FeedPage
from tocsin.store.eventlog.log import EventLog

Feed = Callable[[FeedPage], BoundedList[LoggedEvent]]
BELL: list[Document] = [
    {"category": "Followers", "type": "ActivityFeed"},
    {"category": "Owners", "type": "ActivityFeed"},
]


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def pages_of(feed: Feed, limit: int, **filters: object) -> Iterator[LoggedEvent]:
    """Yield all events of a feed, page by page."""
    below = None
    while page := feed(FeedPage(limit=limit, below=below, **filters)):  # type: ignore[arg-type]
        yield from page
        if len(page) < limit:
            return
        below = page[-1].offset


def walk(company: SmallCompany, *names: str) -> list[LoggedEvent]:
    """Return what happened to these, newest first, by reading the whole log."""
    ids = {company.ids[name] for name in names}
    entries = [one for one in EventLog(company.engine).read(0, 10_000) if one.event.entity_id in ids]
    return [one for one in reversed(entries) if not _is_of_followers(one)]


def _is_of_followers(logged: LoggedEvent) -> bool:
    changed = logged.event.change_description
    return changed is not None and set(changed.paths()) == {"followers"}


def titles(entries: list[LoggedEvent]) -> list[tuple[int, str]]:
    return [(one.offset, str(one.event.entity_fully_qualified_name)) for one in entries]


def change_at_random(company: SmallCompany, seed: int) -> None:
    """Change some tables often, and others once, report results, and let others follow."""
    rng = random.Random(seed)
    names = ["orders", "revenue", *(f"t{number}" for number in range(6))]
    for name in names[2:]:
        company.table(name)
    company.test_case("orders")
    company.test_case("t1", "t1_rows")
    for turn in range(60):
        name = rng.choices(names, weights=[12, 1, 1, 5, 1, 1, 3, 1])[0]
        match rng.randrange(6):
            case 0 if name in {"orders", "t1"}:
                company.result(name, rng.choice(["Failed", "Success"]), "has_rows" if name == "orders" else "t1_rows")
            case 1:
                who = rng.choice(["ana", "dia"])
                company.writes.follow("table", company.ids[name], company.ids[who], actor=company.actor(who))
            case _:
                company.describe(name, f"text {turn}", by=rng.choice(["ana", "dia"]))


@pytest.mark.parametrize("window", [0, 12, WINDOW])
@pytest.mark.parametrize("limit", [1, 3, 7, 200])
def test_pages_of_a_feed_are_the_log_of_its_assets(company: SmallCompany, limit: int, window: int) -> None:
    change_at_random(company, limit)
    for name in ("orders", "t1", "t4"):
        follow(company, "cem", ("table", name))
    activity, cem = Activity(company.engine, window=window), company.ids["cem"]
    logged_events = walk(company, "orders", "has_rows", "t1", "t1_rows", "t4")

    def feed(page: FeedPage) -> BoundedList[LoggedEvent]:
        return activity.of_person(cem, page)

    assert titles(list(pages_of(feed, limit))) == titles(logged_events)
    of_results = [one for one in logged_events if one.event.event_type is EventType.TEST_CASE_FAILURE]
    assert titles(list(pages_of(feed, limit, event_types=[EventType.TEST_CASE_FAILURE]))) == titles(of_results)
    assert feed(FeedPage(limit=limit, below=0)) == [], "before the first event there is none"
    since_ms = logged_events[len(logged_events) // 2].event.timestamp
    recent = [one for one in logged_events if one.event.timestamp >= since_ms]
    assert titles(list(pages_of(feed, limit, since_ms=since_ms))) == titles(recent)


def test_owners_see_what_they_and_their_teams_own_and_a_team_what_is_owned_below_it(company: SmallCompany) -> None:
    company.describe("orders", "for the shop")
    company.describe("revenue", "for dia")
    activity = Activity(company.engine)
    for who in ("ana", "ben"):  # ben is in a team below the owner
        owned = activity.of_person(company.ids[who], FeedPage(), FeedScope.OWNED)
        assert titles(owned) == titles(walk(company, "orders"))
        assert activity.of_person(company.ids[who], FeedPage(), FeedScope.FOLLOWING) == []
    assert titles(activity.of_person(company.ids["dia"], FeedPage())) == titles(walk(company, "revenue"))
    assert titles(activity.of_team(company.ids["shop"], FeedPage())) == titles(walk(company, "orders"))
    assert activity.of_team(company.ids["tills"], FeedPage()) == []


def test_what_a_person_was_told_of_is_in_their_feed_by_what_they_were_told_for(company: SmallCompany) -> None:
    follow(company, "cem", ("databaseSchema", "public"))
    company.alert("bell", BELL)
    company.describe("revenue", "in the schema that cem follows")
    notify_all(company.engine)
    activity, cem = Activity(company.engine), company.ids["cem"]
    (latest, *_) = walk(company, "revenue")
    for scope, is_there in ((FeedScope.ALL, True), (FeedScope.FOLLOWING, True), (FeedScope.OWNED, False)):
        assert (latest.offset in [one.offset for one in activity.of_person(cem, FeedPage(), scope)]) is is_there


def test_a_feed_of_what_contains_assets_has_what_lies_below_and_what_is_in_it(company: SmallCompany) -> None:
    company.put("domain", {"name": "Sales", "domainType": "Aggregate", "description": "d"})
    company.put("domain", {"name": "Tills", "domainType": "Aggregate", "description": "d", "parent": "Sales"})
    company.table("receipts", domains=["Sales.Tills"])
    company.test_case("receipts", "receipts_rows")
    company.result("receipts", "Failed", "receipts_rows")
    company.describe("orders", "elsewhere")
    activity = Activity(company.engine)
    of_domain = walk(company, "Sales", "Tills", "receipts", "receipts_rows")
    assert titles(activity.of_entity(company.ids["Sales"], FeedPage())) == titles(of_domain)
    of_schema = walk(company, "public", "receipts", "receipts_rows", "orders", "revenue")
    assert titles(activity.of_entity(company.ids["public"], FeedPage())) == titles(of_schema)
    assert titles(activity.of_entity(company.ids["orders"], FeedPage())) == titles(walk(company, "orders"))


def test_statements_of_a_page_do_not_grow_with_what_is_followed(company: SmallCompany) -> None:
    statements: list[str] = []
    event.listen(company.engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    activity, cem = Activity(company.engine), company.ids["cem"]

    def statement_count() -> int:
        statements.clear()
        activity.of_person(cem, FeedPage(limit=5))
        return len(statements)

    company.describe("orders", "x")
    for _ in range(5):
        company.describe("orders", f"at {company.clock.now_ms()}")
    before = statement_count()
    for number in range(30):
        company.table(f"more{number}")
        follow(company, "cem", ("table", f"more{number}"))
    assert statement_count() <= before + 4, "their newest events are follows, so that more of them are looked at"


@pytest.mark.parametrize("most_since", [1, 50_000])
def test_what_is_logged_late_has_its_own_time(
    company: SmallCompany, monkeypatch: pytest.MonkeyPatch, most_since: int
) -> None:
    monkeypatch.setattr("tocsin.store.eventlog.activity.MOST_SINCE", most_since)
    change_at_random(company, 5)
    entries = walk(company, "revenue")
    with company.engine.begin() as connection:
        for place, entry in enumerate(entries):  # every second one is of an earlier time than those around it
            row = change_event.c
            of_entry = update(change_event).where(row.log_offset == entry.offset)
            connection.execute(of_entry.values(timestamp_ms=1_000 + place % 2))
    late_titles = titles(entries[1::2])
    activity, dia = Activity(company.engine), company.ids["dia"]
    with company.engine.begin() as connection:
        is_of_others = change_event.c.entity_id != company.ids["revenue"]
        connection.execute(update(change_event).where(is_of_others).values(timestamp_ms=1))
    assert titles(list(pages_of(lambda page: activity.of_person(dia, page), 2, since_ms=1_001))) == late_titles
    assert activity.of_person(dia, FeedPage(since_ms=1_002)) == []


@pytest.mark.parametrize("limit", [3, 200])
def test_an_entity_an_actor_and_everything_have_feeds_of_their_own(company: SmallCompany, limit: int) -> None:
    change_at_random(company, 7)
    activity = Activity(company.engine)
    whole_log = [one for one in reversed(EventLog(company.engine).read(0, 10_000)) if not _is_of_followers(one)]
    feeds: list[tuple[Feed, Callable[[LoggedEvent], bool]]] = [
        (
            lambda page: activity.of_itself(company.ids["t1"], page),
            lambda one: one.event.entity_id == company.ids["t1"],
        ),
        (lambda page: activity.of_actor("ana", page), lambda one: one.event.user_name == "ana"),
        (lambda page: activity.of_all(page, "testCase"), lambda one: one.event.entity_type == "testCase"),
        (activity.of_all, lambda one: True),
    ]
    for feed, is_in in feeds:
        walked_events = [one for one in whole_log if is_in(one)]
        assert walked_events
        assert titles(list(pages_of(feed, limit))) == titles(walked_events)
