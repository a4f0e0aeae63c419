"""First weeks of the sample's catalogue: registered people, discovered assets, and the first models built on them.

Next: ``sample/history.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tocsin.catalogue.seed_entities import standards
from tocsin.model.people import SYSTEM
from tocsin.sample.alerts import PROPERTIES
from tocsin.sample.assets import Asset, places
from tocsin.sample.calendar import MINUTE_MS, Calendar
from tocsin.sample.company import BOTS, CLASSIFICATIONS, DOMAINS, MAIL_DOMAIN, PEOPLE, TEAMS
from tocsin.sample.edits import SOURCES
from tocsin.sample.rows import TestRow
from tocsin.sample.steps import Act, Connect, Create, Define, Enlist, Ensure, SampleStep

CATALOGUER = "ingestion-bot"
_SUITES = {
    "revenue": "All data behind sales figures.",
    "customers": "Data about customers.",
    "products": "Data about products.",
    "finance": "Invoices and payments.",
    "stock": "Stock and locations.",
}
_LATE = 0.2  # share of the less important tables that the shop added in the course of the year
_LEADS = {"raw": CATALOGUER, "staging": "tomas.ferreira", "marts": "tomas.ferreira"}


def first_morning(calendar: Calendar) -> Iterator[SampleStep]:
    """Yield the first morning: teams, people, bots, domains, services, databases and schemas."""
    at_ms = calendar.at(0, 5)
    first = (*_bots(), *_teams(), *_people(), *_domains(), *_standards(), *_properties())
    acts: list[tuple[str, Act]] = [(SYSTEM.name, act) for act in first]
    acts += [(CATALOGUER, Create(entity_type, request)) for entity_type, request in places()]
    for place, (actor, act) in enumerate(acts):
        yield SampleStep(at_ms + place * 1_000, actor, act)


def births(assets: Sequence[Asset], calendar: Calendar, rng: Random) -> dict[str, int]:
    """Return when each asset was catalogued, by FQN: always after its inputs."""
    born: dict[str, int] = {}
    for place, asset in enumerate(assets):
        ready_ms = max((born[fqn] for fqn in asset.inputs), default=calendar.at(0, 6) + place * 2_000)
        born[asset.fqn] = max(_birth(asset, ready_ms, calendar, rng), ready_ms)
    return born


def arrivals(assets: Sequence[Asset], born: dict[str, int]) -> Iterator[SampleStep]:
    """Yield the steps that catalogue each asset and connect it with its inputs."""
    assets_by_fqn = {asset.fqn: asset for asset in assets}
    for asset in assets:
        at_ms, actor = born[asset.fqn], _cataloguer_of(asset)
        yield SampleStep(at_ms, actor, Create(asset.entity_type, asset.request))
        for place, fqn in enumerate(asset.inputs, start=1):
            copied = tuple(name for name in _columns(asset) if name in _columns(assets_by_fqn[fqn]))
            edge = Connect(assets_by_fqn[fqn].entity_type, fqn, asset.entity_type, asset.fqn, asset.made_by, copied)
            yield SampleStep(at_ms + place * 1_000, actor, edge)


def _columns(asset: Asset) -> tuple[str, ...]:
    return tuple(column["name"] for column in asset.request.get("columns", ()))


def test_cases(tests: Sequence[TestRow], born: dict[str, int], calendar: Calendar, rng: Random) -> Iterator[SampleStep]:
    """Yield how tests are set up, once their tables are there; every table's owner has its tests."""
    for place, (suite, description) in enumerate(_SUITES.items()):
        request = {"name": suite, "description": description, "owners": [{"type": "team", "name": "DataGovernance"}]}
        yield SampleStep(calendar.at(10, 9) + place * MINUTE_MS, "jonas.lindqvist", Create("testSuite", request))
    for test in tests:
        day = max(calendar.day_of(born[test.table]), 10) + rng.randint(1, 12)
        at_ms = calendar.by_day(day, rng)
        yield SampleStep(at_ms, "jonas.lindqvist", Create("testCase", _case(test)))
        yield SampleStep(at_ms + 1_000, "jonas.lindqvist", Enlist(test.suite, case_fqn(test)))


def case_fqn(test: TestRow) -> str:
    """Return the FQN of a test case."""
    return ".".join(part for part in (test.table, test.column, test.name) if part)


def _case(test: TestRow) -> dict[str, object]:
    column = f"::columns::{test.column}" if test.column else ""
    return {
        "name": test.name,
        "displayName": test.name.replace("_", " ").capitalize(),
        "entityLink": f"<#E::table::{test.table}{column}>",
        "testDefinition": test.definition,
        "parameterValues": [{"name": name, "value": value} for name, value in test.parameters],
        "owners": [{"type": "team", "name": "DataEngineering"}, {"type": "user", "name": "jonas.lindqvist"}],
    }


def _birth(asset: Asset, ready_ms: int, calendar: Calendar, rng: Random) -> int:
    day = calendar.day_of(ready_ms)
    tiers = {label["tagFQN"] for label in asset.request["tags"]}
    match asset.layer:
        case layer if layer in SOURCES and not tiers & {"Tier.Tier1", "Tier.Tier2"} and rng.random() < _LATE:
            return calendar.by_night(rng.randint(20, 200), rng)
        case "raw" if asset.inputs:
            return calendar.by_night(day + rng.randint(1, 4), rng)
        case "raw":
            return calendar.by_night(rng.randint(1, 40), rng)
        case "staging":
            return calendar.by_day(day + rng.randint(1, 14), rng)
        case "marts" | "dashboard":
            return calendar.by_day(day + rng.randint(1, 24), rng)
        case _:
            return ready_ms


def _cataloguer_of(asset: Asset) -> str:
    people = [one["name"] for one in asset.request["owners"] if one["type"] == "user"]
    if asset.layer in ("marts", "dashboard") and people:
        return str(people[0])
    return _LEADS.get(asset.layer, CATALOGUER)


def _bots() -> Iterator[Act]:
    for name, description in BOTS:
        address = f"{name}@{MAIL_DOMAIN}"
        yield Create("user", {"name": name, "email": address, "isBot": True, "description": description})
        yield Create("bot", {"name": name, "botUser": name, "description": description})


def _teams() -> Iterator[Act]:
    for team in TEAMS:
        parents = [team.parent] if team.parent else []
        request = {"name": team.name, "teamType": team.kind, "description": team.description, "parents": parents}
        yield Create("team", {**request, "displayName": team.display_name})


def _people() -> Iterator[Act]:
    for person in PEOPLE:
        yield Create(
            "user",
            {
                "name": person.name,
                "displayName": person.display_name,
                "email": person.email,
                "description": person.title,
                "teams": [person.team],
            },
        )


def _standards() -> Iterator[Act]:
    yield from (Ensure(entity_type, request) for entity_type, request in standards())
    for name, description, tags in CLASSIFICATIONS:
        yield Create("classification", {"name": name, "description": description, "mutuallyExclusive": True})
        for tag, meaning in tags:
            yield Create("tag", {"name": tag, "description": meaning, "classification": name})


def _domains() -> Iterator[Act]:
    for domain in DOMAINS:
        yield Create(
            "domain",
            {
                "name": domain.name,
                "domainType": domain.kind,
                "description": domain.description,
                "owners": [{"type": "team", "name": domain.team}],
            },
        )


def _properties() -> Iterator[Act]:
    for custom_property in PROPERTIES:
        yield Define("eventsubscription", custom_property)
