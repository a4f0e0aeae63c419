"""Random changes of the small company: owners, followers, lineage, teams, descriptions, tests, hard deletions."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.company import PEOPLE, SmallCompany

from tocsin.errors import TocsinError
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key

TABLES = ("orders", "revenue", "profit")
TEAMS = ("shop", "tills")
DOMAINS = ("Finance", "Payments")
CONTAINERS = (
    *(("databaseSchema", "public"), ("database", "store"), ("databaseService", "pg")),
    *(("domain", name) for name in DOMAINS),
)
DOWNSTREAM_DEPTH = 3
Step = Callable[[SmallCompany, Random], object]


def prepare(company: SmallCompany) -> None:
    """Add a third table and an alert that notifies owners and followers, downstream too, and a team."""
    company.table("profit")
    company.put("domain", {"name": "Finance", "domainType": "Aggregate", "description": "x"})
    below = {"name": "Payments", "domainType": "Aggregate", "description": "x", "parent": "Finance"}
    company.put("domain", below)
    destinations = [
        {"category": category, "type": "ActivityFeed", "downstreamDepth": DOWNSTREAM_DEPTH, "notifyDownstream": True}
        for category in ("Owners", "Followers")
    ]
    team = {"category": "Teams", "type": "Email", "config": {"receivers": ["shop"]}}
    company.alert("everything", [*destinations, team])


def change(company: SmallCompany, chance: Random) -> bool:
    """Change something; False if that was refused."""
    try:
        chance.choice(STEPS)(company, chance)
    except TocsinError:
        return False
    return True


def owner(company: SmallCompany, chance: Random) -> Document:
    name = chance.choice((*PEOPLE, *TEAMS))
    return {"id": company.ids[name], "type": "team" if name in TEAMS else "user"}


def assign_owners(company: SmallCompany, chance: Random) -> None:
    kind, name = chance.choice((("table", "orders"), ("table", "profit"), ("databaseSchema", "public")))
    owners = [owner(company, chance) for _ in range(chance.randrange(3))]
    patch = [{"op": "add", "path": "/owners", "value": list({one["id"]: one for one in owners}.values())}]
    company.writes.patch(kind, company.key(name), patch, actor=SYSTEM)


def govern(company: SmallCompany, chance: Random) -> None:
    kind, name = chance.choice((("table", "orders"), ("table", "profit"), ("databaseSchema", "public")))
    domains = [{"id": company.ids[chance.choice(DOMAINS)], "type": "domain"}] if chance.random() < 0.7 else []
    patch = [{"op": "add", "path": "/domains", "value": domains}]
    company.writes.patch(kind, company.key(name), patch, actor=SYSTEM)


def follow(company: SmallCompany, chance: Random) -> None:
    method = chance.choice((company.writes.follow, company.writes.unfollow))
    kind, name = chance.choice((*(("table", one) for one in TABLES), *CONTAINERS))
    method(kind, company.ids[name], company.ids[chance.choice(PEOPLE)], actor=SYSTEM)


def connect(company: SmallCompany, chance: Random) -> None:
    ends = [{"type": "table", "id": company.ids[name]} for name in chance.sample(TABLES, 2)]
    if chance.random() < 0.6:
        company.writes.put_edge({"fromEntity": ends[0], "toEntity": ends[1]}, actor=SYSTEM)
    else:
        company.writes.delete_edge(ends[0], ends[1], actor=SYSTEM)


def join(company: SmallCompany, chance: Random) -> None:
    users = [{"id": company.ids[name], "type": "user"} for name in PEOPLE if chance.random() < 0.5]
    patch = [{"op": "add", "path": "/users", "value": users}]
    company.writes.patch("team", company.key(chance.choice(TEAMS)), patch, actor=SYSTEM)


def nest(company: SmallCompany, chance: Random) -> None:
    parents = [{"id": company.ids["shop"], "type": "team"}] if chance.random() < 0.5 else []
    company.writes.patch(
        "team", company.key("tills"), [{"op": "add", "path": "/parents", "value": parents}], actor=SYSTEM
    )


def describe(company: SmallCompany, chance: Random) -> None:
    company.describe(chance.choice(TABLES), f"{chance.random()}", by=chance.choice(PEOPLE))


def test(company: SmallCompany, chance: Random) -> None:
    """Make a test of a table, report a result of it, follow it, or delete it for good."""
    table = chance.choice(TABLES)
    case = company.test_case(table)
    match chance.randrange(4):
        case 0:
            company.writes.follow("testCase", case["id"], company.ids[chance.choice(PEOPLE)], actor=SYSTEM)
        case 1:
            company.writes.delete("testCase", Key.by_id(case["id"]), actor=SYSTEM, hard=True)
        case _:
            company.result(table, chance.choice(("Success", "Failed")))


def replace(company: SmallCompany, chance: Random) -> None:
    """Delete a table for good, and make one of its name."""
    name = chance.choice(TABLES)
    company.writes.delete("table", company.key(name), actor=SYSTEM, hard=True, recursive=True)
    owners = [owner(company, chance)] if chance.random() < 0.5 else []
    company.table(name, owners=owners)


STEPS: tuple[Step, ...] = (
    assign_owners,
    govern,
    follow,
    follow,
    connect,
    join,
    nest,
    describe,
    describe,
    test,
    test,
    replace,
)
