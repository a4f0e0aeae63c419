"""Tests of follows of what assets belong to: a schema, a database, a service, a glossary."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sqlalchemy import Engine, event, select
from tests.company import SmallCompany
from tests.notifying import dependencies_of, notify_all
from tests.store.test_resolving import restrict

from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import notifications_for
from tocsin.flow.resolve.directory import NO_END, Portion
from tocsin.model.change import LoggedEvent
from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.model.notification import ReasonKind, parse_reasons
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.mutes import Mutes

BELL: list[Document] = [{"category": "Followers", "type": "ActivityFeed"}]
SCHEMA, DATABASE, SERVICE = ("databaseSchema", "public"), ("database", "store"), ("databaseService", "pg")


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


def follow(company: SmallCompany, who: str, followed: tuple[str, str]) -> None:
    """Let a person follow what has this type and name."""
    kind, name = followed
    company.writes.follow(kind, company.ids[name], company.ids[who], actor=company.actor(who))


def unfollow(company: SmallCompany, who: str, followed: tuple[str, str]) -> None:
    """Let them follow it no longer."""
    kind, name = followed
    company.writes.unfollow(kind, company.ids[name], company.ids[who], actor=company.actor(who))


def last_event(company: SmallCompany) -> LoggedEvent:
    return EventLog(company.engine).read(0, 10_000)[-1]


def reasons_by_person(company: SmallCompany, logged: LoggedEvent) -> dict[str, list[str]]:
    """Return who is notified of an event, and why."""
    alerts = [one for one in Subscriptions(company.engine).list_enabled() if matches(plan_of(one), logged)]
    names = {identity: name for name, identity in company.ids.items()}
    scheduled = notifications_for(logged, alerts, dependencies_of(company.engine, alerts, company.clock))
    drafts = [one.draft for one in scheduled if not one.is_muted]
    assert len({(draft.channel, draft.key) for draft in drafts}) == len(drafts), "one row for each person"
    return {
        names.get(draft.key, draft.key): [one.sentence().partition(" (")[0] for one in draft.reasons.in_order]
        for draft in drafts
    }


def reasons_for_change(company: SmallCompany, table: str = "orders") -> dict[str, list[str]]:
    company.describe(table, f"at {company.clock.now_ms()}")
    return reasons_by_person(company, last_event(company))


def follow_of(kind: str, name: str, asset: str = "it") -> str:
    return f"you follow the {kind} {name}, which contains {asset}"


@pytest.mark.parametrize(
    ("followed", "reason"),
    [
        (SCHEMA, follow_of("database schema", "pg.store.public")),
        (DATABASE, follow_of("database", "pg.store")),
        (SERVICE, follow_of("database service", "pg")),
    ],
)
def test_who_follows_what_contains_a_table_hears_of_it_while_they_do(
    company: SmallCompany, followed: tuple[str, str], reason: str
) -> None:
    company.alert("bell", BELL)
    assert reasons_for_change(company, "revenue") == {}
    before = last_event(company)
    follow(company, "ben", followed)
    assert reasons_for_change(company, "revenue") == {"ben": [reason]}
    during = last_event(company)
    unfollow(company, "ben", followed)
    assert reasons_for_change(company, "revenue") == {}
    assert (reasons_by_person(company, before), reasons_by_person(company, during)) == ({}, {"ben": [reason]}), (
        "each at its place"
    )


def test_a_table_that_comes_is_told_of_and_who_goes_for_good_as_well(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    follow(company, "ben", SCHEMA)
    company.table("profit")
    created = last_event(company)
    company.writes.delete("table", company.key("profit"), actor=SYSTEM, hard=True)
    deleted = last_event(company)
    reason = follow_of("database schema", "pg.store.public")
    assert [reasons_by_person(company, one) for one in (created, deleted)] == [{"ben": [reason]}] * 2


def test_the_most_direct_follow_comes_first_and_a_person_has_one_row(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    for followed in (SERVICE, SCHEMA, DATABASE):
        follow(company, "cem", followed)
    assert reasons_for_change(company) == {
        "cem": [
            "you follow it",
            follow_of("database schema", "pg.store.public"),
            follow_of("database", "pg.store"),
            follow_of("database service", "pg"),
        ]
    }


def test_followers_of_a_table_are_those_who_follow_itself(company: SmallCompany) -> None:
    follow(company, "ben", SCHEMA)
    followers = SqlCatalogue(company.engine).followers(company.ids["orders"])
    assert [one["name"] for one in followers] == ["cem"]


def test_a_test_and_a_thread_are_what_their_table_is(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    company.test_case("orders")
    follow(company, "ben", SCHEMA)
    failure = company.result("orders", "Failed")
    logged = EventLog(company.engine).find(failure["id"]) if failure else None
    assert logged is not None
    assert reasons_by_person(company, logged) == {
        "ben": [follow_of("database schema", "pg.store.public")],
        "cem": ["you follow it"],
    }


def test_a_term_that_moves_is_told_of_where_it_was_for_the_last_time(company: SmallCompany) -> None:
    for name in ("words", "terms"):
        company.put("glossary", {"name": name, "description": "x"})
    company.put("glossaryTerm", {"name": "old", "glossary": "words", "description": "x"})
    company.put("glossaryTerm", {"name": "new", "glossary": "words", "description": "x"})
    company.put("glossaryTerm", {"name": "order", "glossary": "words", "parent": "words.old", "description": "x"})
    company.alert("bell", BELL, resources=("glossaryTerm",))
    follow(company, "ana", ("glossaryTerm", "old"))
    follow(company, "ben", ("glossaryTerm", "new"))
    patch = [{"op": "replace", "path": "/parent", "value": {"type": "glossaryTerm", "id": company.ids["new"]}}]
    company.writes.patch("glossaryTerm", company.key("order"), patch, actor=SYSTEM)
    move_event = last_event(company)
    describing = [{"op": "replace", "path": "/description", "value": "y"}]
    company.writes.patch("glossaryTerm", company.key("order"), describing, actor=SYSTEM)
    after = last_event(company)
    from_old, to_new = follow_of("glossary term", "words.old"), follow_of("glossary term", "words.new")
    assert reasons_by_person(company, move_event) == {"ana": [from_old], "ben": [to_new]}
    assert reasons_by_person(company, after) == {"ben": [to_new]}
    company.writes.delete("glossaryTerm", company.key("order"), actor=SYSTEM, hard=True)
    assert reasons_by_person(company, move_event) == {"ana": [from_old], "ben": [to_new]}, "as it was then"


def test_a_renamed_glossary_is_followed_on_by_its_new_name(company: SmallCompany) -> None:
    company.put("glossary", {"name": "words", "description": "x"})
    company.put("glossaryTerm", {"name": "order", "glossary": "words", "description": "x"})
    company.alert("bell", BELL, resources=("glossaryTerm",))
    follow(company, "ana", ("glossary", "words"))
    rename = [{"op": "replace", "path": "/name", "value": "terms"}]
    company.writes.patch("glossary", company.key("words"), rename, actor=SYSTEM)
    describing = [{"op": "replace", "path": "/description", "value": "y"}]
    company.writes.patch("glossaryTerm", company.key("order"), describing, actor=SYSTEM)
    assert reasons_by_person(company, last_event(company)) == {"ana": [follow_of("glossary", "terms")]}


@pytest.mark.parametrize("hard", [False, True])
def test_a_deleted_schema_is_one_notification_for_who_follows_the_database(company: SmallCompany, hard: bool) -> None:
    company.alert("bell", BELL)
    follow(company, "ana", SCHEMA)
    follow(company, "ben", DATABASE)
    notify_all(company.engine)
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, recursive=True, hard=hard)
    whole_event = last_event(company)
    notify_all(company.engine)
    with company.engine.connect() as connection:
        notified_people = connection.execute(
            select(notification.c.recipient, notification.c.event_id).where(
                notification.c.recipient.in_([company.ids["ben"], company.ids["ana"]])
            )
        ).all()
    assert sorted(map(tuple, notified_people)) == sorted(
        (company.ids[who], whole_event.event.id) for who in ("ana", "ben")
    )


def test_who_follows_a_schema_that_goes_for_good_hears_of_its_tables_where_only_they_are_told(
    company: SmallCompany,
) -> None:
    company.alert("bell", BELL, "eventType == 'entityDeleted'", resources=("table",))
    follow(company, "ana", SCHEMA)
    company.writes.delete("databaseSchema", company.key("public"), actor=SYSTEM, recursive=True, hard=True)
    notify_all(company.engine)
    with company.engine.connect() as connection:
        query = select(notification.c.reasons).where(notification.c.recipient == company.ids["ana"])
        reasons = [parse_reasons(text) for text in connection.scalars(query)]
    assert [[one.sentence(names_alert=False) for one in some] for some in reasons] == [
        [follow_of("database schema", "pg.store.public")]
    ] * 2


def test_user_follows_holds_of_who_follows_what_contains_the_asset(company: SmallCompany) -> None:
    by_name = {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["ben", "dia"]}}
    company.alert("named", [by_name], "user.follows(entity)")
    company.alert("selected", [{"category": "Users", "type": "Email"}], "user.follows(entity)")
    follow(company, "ben", SCHEMA)
    company.describe("revenue", "new", by="ana")
    reason = follow_of("database schema", "pg.store.public")
    assert reasons_by_person(company, last_event(company)) == {"ben": [reason], "ben@example.com": [reason]}


def test_who_follows_what_contains_a_downstream_asset_hears_of_it_as_a_follower_of_that_asset_does(
    company: SmallCompany,
) -> None:
    company.alert("far", [{**BELL[0], "notifyDownstream": True}], resources=("table",))
    company.put("databaseSchema", {"name": "marts", "database": "pg.store"})
    mart = company.put("table", {"name": "daily", "databaseSchema": "pg.store.marts", "columns": []})
    ends = [{"type": "table", "id": one} for one in (company.ids["revenue"], mart["id"])]
    company.writes.put_edge({"fromEntity": ends[0], "toEntity": ends[1]}, actor=SYSTEM)
    follow(company, "ben", ("databaseSchema", "marts"))
    assert reasons_for_change(company, "revenue") == {
        "ben": [f"{follow_of('database schema', 'pg.store.marts', 'pg.store.marts.daily')}, 1 step below"]
    }


def test_a_muted_schema_is_quiet_and_so_is_a_table_in_it_that_is_followed_itself(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    for who in ("ben", "cem"):
        follow(company, who, SCHEMA)
        muted = Mute(company.ids[who], MuteKind.ASSET, company.ids["public"], since_ms=company.clock.now_ms())
        Mutes(company.engine).put(muted)
    assert reasons_for_change(company) == {}


def test_what_a_person_may_not_view_tells_them_nothing_of_what_it_contains(company: SmallCompany) -> None:
    company.alert("bell", BELL)
    by_name = {"category": "Users", "type": "Email", "config": {"receivers": ["ben"]}}
    company.alert("named", [by_name], "user.follows(entity)")
    follow(company, "ben", SCHEMA)
    follow(company, "cem", SCHEMA)
    denied = {"name": "No", "effect": "deny", "operations": ["ViewAll"], "resources": ["databaseSchema"]}
    assert set(reasons_for_change(company)) == {"ben", "ben@example.com", "cem"}
    for who in ("ben", "cem"):
        restrict(company, who, denied)
    assert reasons_for_change(company) == {"cem": ["you follow it"]}


def test_followers_of_what_contains_an_asset_are_cut_into_portions_as_well(company: SmallCompany) -> None:
    for who in ("ana", "ben", "cem", "dia"):
        follow(company, who, SCHEMA)
    directory = SqlDirectory(company.engine)
    ids = sorted(company.ids[who] for who in ("ana", "ben", "cem", "dia"))
    assert directory.cuts([company.ids["revenue"]], 4) == []
    assert directory.cuts([company.ids["revenue"]], 2) == ids[1::2]
    assert len(directory.cuts([company.ids["orders"]], 2)) == 2, "five follows of four people"


@pytest.mark.parametrize("followed_tables", [(), ("orders",)])
def test_a_portion_stays_bounded_by_how_many_of_its_assets_a_followed_schema_contains(
    company: SmallCompany, followed_tables: tuple[str, ...]
) -> None:
    for number in range(6):
        company.table(f"more{number}")
    for who in ("ana", "ben", "cem", "dia"):
        follow(company, who, SCHEMA)
    asset_ids = [company.ids[name] for name in (*followed_tables, *(f"more{number}" for number in range(6)))]
    directory = SqlDirectory(company.engine)
    assert directory.cuts(asset_ids, 100) == []
    cuts = directory.cuts(asset_ids, 12)
    for after, through in pairwise(["", *cuts, None]):
        principals = directory.of(Portion(after or "", through)).stakeholders(asset_ids, ReasonKind.FOLLOWER)
        most_of_a_person = len(asset_ids) + len(followed_tables)
        assert len(list(principals)) < 12 + most_of_a_person
    assert len(cuts) == 2


def test_the_first_followers_are_counted_each_once_and_only_while_the_asset_is_in_what_they_follow(
    company: SmallCompany,
) -> None:
    for who in ("ana", "ben", "cem", "dia"):
        follow(company, who, SCHEMA)
    unfollow(company, "dia", SCHEMA)
    ids = sorted(company.ids[who] for who in ("ana", "ben", "cem"))
    directory = SqlDirectory(company.engine)
    assert directory.first_followers(company.ids["orders"], 2) == (ids[:2], 3), "one of them follows both"
    company.writes.delete("table", Key.by_id(company.ids["revenue"]), actor=SYSTEM, hard=True)
    assert directory.first_followers(company.ids["revenue"], 2) == ([], 0)


def follower_count(company: SmallCompany, statements: list[str]) -> int:
    """Return how many ways lead to followers of a table; note the statements that this takes."""

    def note(*arguments: object) -> None:
        statements.append(str(arguments[2]))

    event.listen(company.engine, "before_cursor_execute", note)
    principals = list(SqlDirectory(company.engine).stakeholders([company.ids["revenue"]], ReasonKind.FOLLOWER))
    event.remove(company.engine, "before_cursor_execute", note)
    return len(principals)


def test_the_cost_does_not_depend_on_what_else_the_schema_contains(company: SmallCompany) -> None:
    follow(company, "ben", SCHEMA)
    among_two, among_many = list[str](), list[str]()
    assert follower_count(company, among_two) == 1
    for number in range(30):
        company.table(f"more{number}")
    assert follower_count(company, among_many) == 1
    assert len(among_many) == len(among_two) <= 11


def test_a_follow_of_what_contains_an_asset_has_the_span_that_both_have(company: SmallCompany) -> None:
    follow(company, "ben", SCHEMA)
    followed = last_event(company).offset
    (principal,) = SqlDirectory(company.engine).stakeholders([company.ids["revenue"]], ReasonKind.FOLLOWER)
    assert (principal.since_offset, principal.until_offset) == (followed, NO_END)
    assert principal.through is not None
    assert (principal.through.type, principal.through.id) == ("databaseSchema", company.ids["public"])
    company.writes.delete("table", Key.by_id(company.ids["revenue"]), actor=SYSTEM, hard=True)
    (principal,) = SqlDirectory(company.engine).stakeholders([company.ids["revenue"]], ReasonKind.FOLLOWER)
    assert principal.since_offset == followed and principal.until_offset >= last_event(company).offset


def domain(company: SmallCompany, name: str, **fields: str) -> None:
    company.put("domain", {"name": name, "domainType": "Aggregate", "description": "x", **fields})


def put_in(company: SmallCompany, kind: str, name: str, *domains: str) -> LoggedEvent:
    """Give an asset these domains, and no others; return the event."""
    value = [{"id": company.ids[one], "type": "domain"} for one in domains]
    patch = [{"op": "add", "path": "/domains", "value": value}]
    company.writes.patch(kind, company.key(name), patch, actor=SYSTEM)
    return last_event(company)


def test_who_follows_a_domain_hears_of_what_comes_until_it_leaves(company: SmallCompany) -> None:
    domain(company, "Finance")
    domain(company, "Payments", parent="Finance")
    company.alert("bell", BELL, resources=("table",))
    follow(company, "ben", ("domain", "Finance"))
    in_domain, below = follow_of("domain", "Finance"), [follow_of("domain", "Finance")]
    assert reasons_for_change(company, "revenue") == {}
    arriving = put_in(company, "table", "revenue", "Payments")
    company.describe("revenue", "inside")
    inside = last_event(company)
    leaving = put_in(company, "table", "revenue")
    company.describe("revenue", "outside")
    reasons = [reasons_by_person(company, one) for one in (arriving, inside, leaving, last_event(company))]
    assert reasons == [{"ben": below}, {"ben": [in_domain]}, {"ben": [in_domain]}, {}]
    put_in(company, "table", "revenue", "Finance")
    company.writes.delete("domain", company.key("Finance"), actor=SYSTEM, hard=True, recursive=True)
    assert list(reasons_by_person(company, inside)) == ["ben"], "as it was then, though nobody knows the name any more"


def test_an_inherited_domain_counts_while_it_is_inherited(company: SmallCompany) -> None:
    for name in ("Finance", "Sales"):
        domain(company, name)
    company.alert("bell", BELL, resources=("table", "databaseSchema"))
    follow(company, "ana", ("domain", "Finance"))
    follow(company, "ben", ("domain", "Sales"))
    finance, sales = {"ana": [follow_of("domain", "Finance")]}, {"ben": [follow_of("domain", "Sales")]}
    assert reasons_by_person(company, put_in(company, "databaseSchema", "public", "Finance")) == finance
    assert reasons_for_change(company, "revenue") == finance
    event_in_finance = last_event(company)
    assert reasons_by_person(company, put_in(company, "table", "revenue", "Sales")) == finance | sales
    assert reasons_for_change(company, "revenue") == sales
    assert reasons_by_person(company, put_in(company, "databaseSchema", "public")) == finance
    assert reasons_by_person(company, put_in(company, "table", "revenue")) == sales
    assert reasons_for_change(company, "revenue") == {}
    assert reasons_by_person(company, event_in_finance) == finance


def test_who_follows_a_data_product_hears_of_its_assets(company: SmallCompany) -> None:
    domain(company, "Finance")
    company.put("dataProduct", {"name": "Ledger", "domains": ["Finance"], "description": "x"})
    put_in(company, "table", "revenue", "Finance")
    company.alert("bell", BELL, resources=("table",))
    follow(company, "ben", ("dataProduct", "Ledger"))
    value = [{"id": company.ids["Ledger"], "type": "dataProduct"}]
    patches = ([{"op": "add", "path": "/dataProducts", "value": one}] for one in (value, []))
    reasons = []
    for patch in patches:
        company.writes.patch("table", company.key("revenue"), patch, actor=SYSTEM)
        reasons.append(reasons_by_person(company, last_event(company)))
        company.describe("revenue", f"{len(reasons)}")
        reasons.append(reasons_by_person(company, last_event(company)))
    by_product = {"ben": [follow_of("data product", "Ledger")]}
    assert reasons == [by_product, by_product, by_product, {}]


def test_a_user_or_an_alert_in_a_domain_is_not_followed_with_it(company: SmallCompany) -> None:
    domain(company, "Finance")
    company.alert("bell", BELL)
    follow(company, "ben", ("domain", "Finance"))
    put_in(company, "user", "dia", "Finance")
    assert reasons_by_person(company, last_event(company)) == {}
    company.writes.delete("user", company.key("dia"), actor=SYSTEM, hard=True)
    deletion = [one for one in EventLog(company.engine).read(0, 10_000) if one.event.entity_id == company.ids["dia"]]
    assert reasons_by_person(company, deletion[-1]) == {}
