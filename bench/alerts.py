"""Mix of 100 alerts for the pipeline benchmarks, with the default in-app alert.

A condition's ``{digit}``, ``{team}`` and ``{tag}`` differ between the alerts of a family, so that no two are equal.
Next: ``bench/estate.py``, whose tables, teams and tags they name.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tocsin.model.entity import Document

TAGS = ("PII.Email", "PII.Name", "PII.Address", "Finance.Revenue", "Finance.Cost")
TIERS = ("Tier.Tier1", "Tier.Tier2", "Tier.Tier3")

_OWNERS_MAIL: Document = {"category": "Owners", "type": "Email"}
_FOLLOWERS_MAIL: Document = {"category": "Followers", "type": "Email"}
_ADMINS_BELL: Document = {"category": "Admins", "type": "ActivityFeed"}
_TEAM_MAIL: Document = {"category": "Teams", "type": "Email", "config": {"receivers": ["team{team}"]}}
_DOWNSTREAM_BELL: Document = {"category": "Owners", "type": "ActivityFeed", "notifyDownstream": True}
_HOOK: Document = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/{digit}"}}


@dataclass(frozen=True)
class Family:
    """Alerts that ask the same kind of question."""

    count: int
    name: str
    resources: tuple[str, ...]
    condition: str
    destinations: tuple[Document, ...]


MIX = (
    Family(
        20,
        "field change",
        ("table",),
        "fieldChanged == 'columns.c{digit}' && entityFullyQualifiedName.startsWith('lake.shop.s{schema}.')",
        (_OWNERS_MAIL, _HOOK),
    ),
    Family(15, "tag", ("table",), "fieldChanged == 'tags' && tags.contains('{tag}')", (_TEAM_MAIL,)),
    Family(15, "owner", ("all",), "matchAnyOwnerName({'team{team}'}) && !isBot()", (_TEAM_MAIL,)),
    Family(
        15,
        "FQN prefix",
        ("all",),
        "entityFullyQualifiedName.startsWith('lake.shop.s{schema}.t0{digit}')",
        (_DOWNSTREAM_BELL,),
    ),
    Family(
        10,
        "test status",
        ("testCase",),
        "matchTestResult({'Failed'}) && matchAnyEntityFqn({'lake.shop.s{schema}'})",
        (_OWNERS_MAIL,),
    ),
    Family(
        5, "run status", ("pipeline",), "pipelineStatus == 'Failed' && !matchAnyOwnerName({'team{team}'})", (_HOOK,)
    ),
    Family(
        10,
        "event type",
        ("table",),
        "matchAnyEventType({'entitySoftDeleted', 'entityRestored'}) && tier == '{tier}'",
        (_FOLLOWERS_MAIL, _ADMINS_BELL),
    ),
    Family(
        8,
        "negation",
        ("table",),
        "eventType != 'entityCreated' && !fieldChanged.contains('description') && !(owners == 'team{team}')"
        " && tier == '{tier}' && entityFullyQualifiedName.endsWith('_0{digit}')",
        (_FOLLOWERS_MAIL,),
    ),
    Family(1, "regex", ("table",), r"entityFullyQualifiedName.matches('lake\.shop\.s0[0-2]\.t\d+_1\d')", (_HOOK,)),
)
"""99 alerts; the activity feed's, which the first start makes, is the hundredth."""


def requests() -> Iterator[Document]:
    """Yield what creates each alert of the mix."""
    for family in MIX:
        for number in range(family.count):
            yield _request(family, number)


def _request(family: Family, number: int) -> Document:
    values = {
        "{digit}": str(number % 10),
        "{schema}": f"{number % 10:02}",
        "{team}": f"{number % 20:02}",
        "{tag}": TAGS[number % len(TAGS)],
        "{tier}": TIERS[number % len(TIERS)],
    }
    rules = [{"effect": "include", "condition": _fill_in(family.condition, values)}]
    destinations = [_fill_in(destination, values) for destination in family.destinations]
    return {
        "name": f"{family.name} {number}",
        "alertType": "Notification",
        "filteringRules": {"resources": list(family.resources), "rules": rules},
        "destinations": [
            {"id": destination_id(f"{family.name} {number} {at}"), **destination}
            for at, destination in enumerate(destinations)
        ],
    }


def destination_id(name: str) -> str:
    """Return the same id for the same name, every time."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _fill_in(template: Any, values: dict[str, str]) -> Any:  # Any: a JSON value, filled in wherever it is text
    match template:
        case str():
            for mark, value in values.items():
                template = template.replace(mark, value)
            return template
        case dict():
            return {key: _fill_in(value, values) for key, value in template.items()}
        case list():
            return [_fill_in(value, values) for value in template]
        case _:
            return template
