"""Selectivity estimates: the share of all events that have a given fact.

The numbers are guesses about a usual catalogue, not measured: they decide only under which of its facts an alert is
filed. A wrong one makes matching slower, never wrong; measured ones would make the index of one alert depend on
whatever happens to be in the log. Next: ``flow/match/indexing.py``.
"""

from __future__ import annotations

from math import prod

from tocsin.conditions.changes import CHANGE_SETS, PARTS
from tocsin.conditions.normal_form import Fact
from tocsin.conditions.paths import parts
from tocsin.flow.match.required_words import is_of_words

_BY_FIELD = {
    **dict.fromkeys(("entityId", "entityFullyQualifiedName", "testedEntityFqn"), 1e-5),
    **dict.fromkeys(("testSuites",), 1e-4),
    **dict.fromkeys(("userId", "userName", "owners", "mentions", "reason"), 1e-3),
    **dict.fromkeys(("tags", "domains", "fieldsDeleted", "threadType"), 0.02),
    **dict.fromkeys(("testStatus", "pipelineStatus", "changedTogether"), 0.03),
    **dict.fromkeys(("tier", "service", "fieldsAdded", "entityType"), 0.1),
    **dict.fromkeys(("fieldsUpdated", "changeCategory"), 0.2),
    **{"previousStatus": 0.03, "changeTarget": 0.1, "changeOperation": 0.5},
}
_WHAT_CHANGES_HOLD = {"category": 0.2, "operation": 0.5, "target": 0.1, "value": 0.01}
"""Of sets of changes: how many changes can be expected to hold a part, those of several parts so much the rarer."""

_BY_DEPTH = {
    **{"fqnPath": (0.2, 0.1, 1e-3, 1e-4), "testedNames": (1e-3, 1e-4), "fieldChanged": (0.1, 0.02)},
    **{"databaseNames": (0.05,), "schemaNames": (0.05, 0.05, 1e-3)},
}
"""Of fields that hold paths: by the number of the value's parts; deeper ones are as rare as the last."""

_BY_VALUE = {
    ("eventType", "entityUpdated"): 0.7,
    ("eventType", "entityCreated"): 0.1,
    ("entityType", "table"): 0.5,
    ("isBot", "true"): 0.5,
    ("isBreaking", "false"): 0.98,
    ("isAnnounced", "false"): 0.99,
    ("isBot", "false"): 0.9,
}
_WORD = 1e-3
_OTHERWISE = 0.02


def share_of(fact: Fact) -> float:
    """Return which part of all events can be expected to state ``fact``."""
    depths = _BY_DEPTH.get(fact.field)
    if depths:
        return depths[max(0, min(len(parts(fact.value)), len(depths)) - 1)]
    if fact.field in CHANGE_SETS:
        return prod(_WHAT_CHANGES_HOLD[PARTS[at]] for at in CHANGE_SETS[fact.field])
    if is_of_words(fact.field):
        return _WORD
    return _BY_VALUE.get((fact.field, fact.value)) or _BY_FIELD.get(fact.field, _OTHERWISE)
