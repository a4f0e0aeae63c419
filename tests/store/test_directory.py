"""Tests of the directory on both stores, against a catalogue."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, event, insert
from tests.company import SmallCompany

from tocsin.flow.eventlog.selection import EventSelection
from tocsin.flow.resolve.directory import NO_END, DownstreamStep, Portion, Principal
from tocsin.model.notification import ReasonKind
from tocsin.model.stored import Key
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import follow, membership
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.directory import SqlDirectory


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return SmallCompany(store_engine)


@pytest.fixture
def directory(company: SmallCompany) -> SqlDirectory:
    return SqlDirectory(company.engine)


def test_reach_counts_hops_and_names_what_it_reaches(company: SmallCompany, directory: SqlDirectory) -> None:
    orders, revenue = company.ids["orders"], company.ids["revenue"]
    connected = EventLog(company.engine).readable_end()
    assert set(directory.reach({orders, revenue}, 5)) == {
        DownstreamStep(orders, orders, "pg.store.public.orders", 0),
        DownstreamStep(orders, revenue, "pg.store.public.revenue", 1, since_offset=connected),
        DownstreamStep(revenue, revenue, "pg.store.public.revenue", 0),
    }


def test_reach_ends_where_a_cycle_began_and_at_its_depth(company: SmallCompany, directory: SqlDirectory) -> None:
    """Fault scenario 29."""
    for name in ("b", "c"):
        company.table(name)
    for start, end in (("revenue", "b"), ("b", "c"), ("c", "orders"), ("c", "c")):
        edge = {
            "fromEntity": {"type": "table", "id": company.ids[start]},
            "toEntity": {"type": "table", "id": company.ids[end]},
        }
        company.writes.put_edge(edge, actor=company.actor("ana"))
    full_reach = {step.node_fqn: step.hops for step in directory.reach({company.ids["orders"]}, 99)}
    near = {step.node_fqn: step.hops for step in directory.reach({company.ids["orders"]}, 2)}
    assert full_reach == {f"pg.store.public.{name}": hops for hops, name in enumerate(("orders", "revenue", "b", "c"))}
    assert near == {fqn: hops for fqn, hops in full_reach.items() if hops <= 2}


def test_stakeholders_are_owners_or_followers(company: SmallCompany, directory: SqlDirectory) -> None:
    orders = company.ids["orders"]
    events = list(EventLog(company.engine).list_events(EventSelection(entity_id=orders), limit=10))
    (created,) = (one.offset for one in events if one.event.event_type == "entityCreated")
    (followed,) = (one.offset for one in events if one.event.user_name == "cem")
    assert list(directory.stakeholders({orders}, ReasonKind.OWNER)) == [
        Principal(ReasonKind.OWNER, company.ids["shop"], "team", node_id=orders, since_offset=created)
    ]
    assert list(directory.stakeholders({orders}, ReasonKind.FOLLOWER)) == [
        Principal(ReasonKind.FOLLOWER, company.ids["cem"], "user", node_id=orders, since_offset=followed)
    ]


def test_a_test_has_the_followers_of_its_table_and_reaches_what_that_feeds(
    company: SmallCompany, directory: SqlDirectory
) -> None:
    case, orders = company.test_case("orders")["id"], company.ids["orders"]
    company.writes.follow("testCase", case, company.ids["ana"], actor=company.actor("ana"))
    followers = list(directory.stakeholders({case, orders}, ReasonKind.FOLLOWER))
    assert {(one.principal_id, one.node_id) for one in followers} == {
        (company.ids["cem"], orders),
        (company.ids["cem"], case),
        (company.ids["ana"], case),
    }
    assert {(step.node_fqn, step.hops) for step in directory.reach({case}, 5)} == {
        ("", 0),
        ("pg.store.public.revenue", 1),
    }
    assert [one.principal_id for one in directory.stakeholders({case}, ReasonKind.OWNER)] == [company.ids["shop"]]


def test_a_test_that_was_deleted_still_has_them(company: SmallCompany, directory: SqlDirectory) -> None:
    case = company.test_case("orders")["id"]
    company.writes.delete("testCase", Key.by_id(case), actor=company.actor("ana"), hard=True)
    assert [one.principal_id for one in directory.stakeholders({case}, ReasonKind.FOLLOWER)] == [company.ids["cem"]]
    assert "pg.store.public.revenue" in {step.node_fqn for step in directory.reach({case}, 1)}


def test_the_owners_of_a_test_take_the_place_of_those_of_its_table(
    company: SmallCompany, directory: SqlDirectory
) -> None:
    case = company.test_case("orders", owners=[{"type": "user", "name": "dia"}])["id"]
    nodes = {step.node_id for step in directory.reach({case}, 1) if step.hops == 0}
    owners = [one for one in directory.stakeholders(nodes, ReasonKind.OWNER) if one.until_offset == NO_END]
    assert [one.principal_id for one in owners] == [company.ids["dia"]]


def test_members_include_nested_teams_once_even_in_a_cycle(company: SmallCompany, directory: SqlDirectory) -> None:
    """Fault scenario 30."""
    shop, tills = company.ids["shop"], company.ids["tills"]
    with company.engine.begin() as connection:  # a history may have left one; a request cannot make it
        connection.execute(insert(membership), {"team_id": tills, "member_id": shop, "member_type": "team"})
    everybody = {company.ids["ana"], company.ids["ben"]}
    assert {(one.team_name, one.user_id) for one in directory.members({shop})} == {("shop", one) for one in everybody}
    assert {one.user_id for one in directory.members({tills})} == everybody


def test_names_and_administrators_are_found(company: SmallCompany, directory: SqlDirectory) -> None:
    company.put("user", {"name": "root", "email": "root@example.com", "isAdmin": True})
    assert [one.principal_id for one in directory.administrators()] == [company.ids["root"]]
    principals = directory.principals_named(ReasonKind.USER, {"ana", "nobody"})
    assert [(one.principal_id, one.receiver) for one in principals] == [(company.ids["ana"], "ana")]
    assert [one.principal_id for one in directory.principals_named(ReasonKind.TEAM, {"shop"})] == [company.ids["shop"]]


@pytest.mark.parametrize("written_name", ["ana.b", '"ana.b"'])
def test_a_name_with_a_dot_is_found_as_it_is_written_and_as_it_is_quoted(
    company: SmallCompany, directory: SqlDirectory, written_name: str
) -> None:
    company.put("user", {"name": "ana.b", "email": "ana.b@example.com"})
    company.put("team", {"name": "ana.b", "teamType": "Group"})
    for relation, kind in ((ReasonKind.USER, "user"), (ReasonKind.TEAM, "team")):
        (principal,) = directory.principals_named(relation, {written_name})
        assert (principal.principal_type, principal.receiver) == (kind, written_name)


def test_people_are_read_with_what_decides_whether_they_are_notified(
    company: SmallCompany, directory: SqlDirectory
) -> None:
    company.put("user", {"name": "robot", "email": "Robot@Example.com", "isBot": True})
    (robot,) = directory.people({company.ids["robot"], "unknown"})
    assert (robot.email, robot.is_bot, robot.deleted) == ("robot@example.com", True, False)


def test_of_people_who_are_named_nobody_else_is_read(company: SmallCompany, directory: SqlDirectory) -> None:
    """A million follow, two share an address: those two are a portion of their own, and only they are read."""
    orders, cem = company.ids["orders"], company.ids["cem"]
    with writing(company.engine) as connection:
        other_follows = [{"entity_id": orders, "user_id": f"other {at}", "entity_type": "table"} for at in range(50)]
        connection.execute(insert(follow), other_follows)
    statements: list[tuple[str, object]] = []
    event.listen(
        company.engine, "before_cursor_execute", lambda _c, _cur, sql, args, _ctx, _many: statements.append((sql, args))
    )
    followers = list(directory.of(Portion(only=frozenset({cem}))).stakeholders({orders}, ReasonKind.FOLLOWER))
    assert [one.principal_id for one in followers] == [cem]
    of_follows = [one for one in statements if "follow.user_id" in one[0]]
    with company.engine.connect() as connection:
        counts = [len(connection.exec_driver_sql(sql, args).all()) for sql, args in of_follows]  # type: ignore[arg-type]
    assert sum(counts) == 1


def test_every_look_up_uses_an_index(sqlite_engine: Engine) -> None:
    """SQLite says how it would run each statement, whatever the size: a scan of a table would grow with the system."""
    company = SmallCompany(sqlite_engine)
    directory = SqlDirectory(sqlite_engine)
    statements: list[tuple[str, object]] = []
    event.listen(
        company.engine, "before_cursor_execute", lambda _c, _cur, sql, args, _ctx, _many: statements.append((sql, args))
    )
    ids = {company.ids["orders"], company.ids["revenue"]}
    list(directory.reach(ids, 9))
    list(directory.stakeholders(ids, ReasonKind.OWNER))
    list(directory.stakeholders(ids, ReasonKind.FOLLOWER))
    list(directory.members({company.ids["shop"]}))
    list(directory.principals_named(ReasonKind.USER, {"ana"}))
    list(directory.administrators())
    list(directory.people({company.ids["ana"]}))
    plans = [_plan(company.engine, sql, args) for sql, args in statements if sql.startswith("SELECT")]
    assert len(plans) >= 8
    scans = [line for plan in plans for line in plan if line.startswith("SCAN")]
    assert not [line for line in scans if "VIRTUAL TABLE" not in line], "nothing but the list of keys is read through"


def _plan(engine: Engine, sql: str, args: object) -> list[str]:
    with engine.connect() as connection:
        return [str(row[3]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", args)]  # type: ignore[arg-type]


def test_what_threads_and_tests_are_about_is_looked_up_once_for_some_events(company: SmallCompany) -> None:
    """Every stage asks for the same ids; events later on are asked about anew."""
    orders, revenue = company.ids["orders"], company.ids["revenue"]
    statements: list[str] = []
    event.listen(company.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))

    def ask(directory: SqlDirectory) -> int:
        statements.clear()
        list(directory.reach({orders, revenue}, 1))
        for relation in (ReasonKind.OWNER, ReasonKind.FOLLOWER):
            list(directory.stakeholders({orders, revenue}, relation))
        return sum("tombstone_part" in one for one in statements)

    directory = SqlDirectory(company.engine)
    assert [ask(directory.for_events({1: orders})), ask(directory.for_events({1: orders})), ask(directory)] == [1, 1, 3]


def test_more_keys_than_a_list_takes_find_the_same_rows(company: SmallCompany, directory: SqlDirectory) -> None:
    orders = company.ids["orders"]
    strangers = {f"00000000-0000-4000-8000-{number:012}" for number in range(3_000)}
    for relation in (ReasonKind.OWNER, ReasonKind.FOLLOWER):
        expected = list(directory.stakeholders({orders}, relation))
        assert list(directory.stakeholders({orders, *strangers}, relation)) == expected
