"""Generated alerts for the matching benchmark: any number, of the mix below, with seed 23.

========== ===== =====================================================================================================
family     of 100 asks (``{…}`` is drawn anew for each alert)
========== ===== =====================================================================================================
owner         16  a type of asset, an owner
change        14  a type, a changed field, an owner
column        12  a type, a changed column, an FQN prefix that ends at a dot
prefix         8  an FQN prefix that ends within a name
tag            8  a type, a tag, a domain
test           8  a failed test under a schema
run            5  a failed or aborted run of a team's pipelines
tier           6  soft-deleted or restored, of a tier, in a domain
person         6  whatever one person does that is no bot
asset          6  one table by its name
teams          4  one of five owners
threshold      3  a number in the document above a threshold, of an owner
document       1  a text in the document, in a domain
negation       2  a domain, but not created, not its description, not one owner
regex          1  a regular expression over names under one database
========== ===== =====================================================================================================

Besides, one alert in a thousand (at least one) is a bare regular expression that nothing can anchor. The names are
those of ``bench/matching_events.py``: 100 departments with 10 schemas, 20 teams and 300 people each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from bench.alerts import TAGS, TIERS
from tocsin.conditions.check import parse_and_check
from tocsin.flow.match.plan import Plan

SEED = 23
_FAMILIES = (
    (16, ("table",), "owners == '{team}'"),
    (14, ("table",), "fieldChanged == '{field}' && owners == '{team}'"),
    (12, ("table",), "fieldChanged == '{column}' && entityFullyQualifiedName.startsWith('{schema}.')"),
    (8, ("all",), "entityFullyQualifiedName.startsWith('{schema}.t0{digit}')"),
    (8, ("table",), "fieldChanged == 'tags' && tags.contains('{tag}') && domains == '{domain}'"),
    (8, ("testCase",), "matchTestResult({'Failed'}) && matchAnyEntityFqn({'{schema}'})"),
    (5, ("pipeline",), "pipelineStatus in {'Failed','Aborted'} && matchAnyOwnerName({'{team}'})"),
    (6, ("table",), "matchAnyEventType({'entitySoftDeleted','entityRestored'}) && tier == '{tier}' && {where}"),
    (6, ("all",), "userName == '{person}' && !isBot()"),
    (6, ("table", "testCase"), "matchAnyEntityFqn({'{schema}.t{table}_0{copy}'})"),
    (4, ("table", "pipeline"), "matchAnyOwnerName({'{team}','{team}','{team}','{team}','{team}'})"),
    (3, ("table",), "entity.columns.dataLength > {number} && owners == '{team}'"),
    (1, ("table",), "entity.columns.description.contains('page {number}.') && {where}"),
    (2, ("table",), "eventType != 'entityCreated' && !fieldChanged.contains('description')"
        " && !(owners == '{team}') && {where} && fieldChanged == 'owners'"),
    (1, ("table",), r"entityFullyQualifiedName.matches('lake\.shopd{department}\.s0[0-2]\.t\d+_0{copy}')"),
)  # fmt: skip
_BARE = (("all",), r"entityFullyQualifiedName.matches('.*\.t{table}_0{copy}')")
_ONE_BARE_IN = 1000
_ON_PATHS = (
    "entity.columns.dataLength > {number} && owners == '{team}'",
    "entity.columns.name == 'c{digit}' && entity.version >= 0.{digit} && {where}",
    "entity.description.contains('chapter {number}.') && entityType == 'table'",
    "newValue('description').endsWith(' {number}.') && fieldChanged == 'description'",
    "entity.owners.name == '{team}' && eventType == 'entityUpdated'",
)
_MARK = re.compile(r"\{([a-z]+)\}")


def plans(count: int) -> list[Plan]:
    """Return ``count`` alerts of the mix, ready to be indexed."""
    rng = Random(SEED)
    drawn = rng.choices(_FAMILIES, [weight for weight, _, _ in _FAMILIES], k=count)
    families = [(resources, text) for _, resources, text in drawn]
    for at in range(0, count, _ONE_BARE_IN):
        families[at] = _BARE
    return [_plan(number, *family, rng) for number, family in enumerate(families)]


def plans_on_paths(count: int) -> list[Plan]:
    """Return ``count`` alerts each of which reads the document at some path."""
    rng = Random(SEED)
    return [_plan(number, ("table",), rng.choice(_ON_PATHS), rng) for number in range(count)]


def rewrite_condition(plan: Plan, number: int) -> Plan:
    """Return the alert after somebody has rewritten its condition."""
    return _plan(int(plan.subscription_id.rpartition("-")[2]), *_FAMILIES[1][1:], Random(number))


def _plan(number: int, resources: tuple[str, ...], text: str, rng: Random) -> Plan:
    return Plan(
        f"00000000-0000-4000-8000-{number:012}", resources, parse_and_check(_fill_in(text, rng)), created_at_ms=0
    )


def _fill_in(text: str, rng: Random) -> str:
    """Return ``text`` with a value drawn for each mark; all of one alert's are of one department."""
    department = f"{rng.randrange(100):02}"
    return _MARK.sub(lambda mark: _DRAWN[mark[1]](rng, department), text)


_DRAWN: dict[str, Callable[[Random, str], str]] = {
    "department": lambda _rng, department: department,
    "domain": lambda _rng, department: f"domain{department}",
    "where": lambda _rng, department: f"domains == 'domain{department}'",
    "schema": lambda rng, department: f"lake.shopd{department}.s0{rng.randrange(10)}",
    "team": lambda rng, department: f"team{rng.randrange(20):02}d{department}",
    "person": lambda rng, department: f"person{rng.randrange(300):03}d{department}",
    "field": lambda rng, _department: rng.choice(("columns", "description", "tags", "owners")),
    "column": lambda rng, _department: f"columns.c{rng.randrange(6)}",
    "tag": lambda rng, _department: rng.choice(TAGS),
    "tier": lambda rng, _department: rng.choice(TIERS),
    "table": lambda rng, _department: f"{rng.randrange(200):03}",
    "copy": lambda rng, _department: str(rng.randrange(5)),
    "digit": lambda rng, _department: str(rng.randrange(10)),
    "number": lambda rng, _department: str(rng.randrange(60, 200)),
}
"""What each mark of the mix becomes."""
