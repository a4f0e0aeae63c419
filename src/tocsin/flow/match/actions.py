"""Named actions (triggers) of alerts: which resources have them, and so what each says something about.

Source: OpenMetadata 1.13 EntityObservabilityFilterDescriptor.json; ``GetSchemaChanges``, ``GetOwnershipChanges`` and
``GetTagChanges`` are ours. Next: ``flow/match/plan.py``, ``server/alerts/offers.py``.
"""

from __future__ import annotations

from tocsin.model.subscription import FilteringRules

ANY_ACTIONS = ("GetOwnershipChanges", "GetTagChanges")
"""What every resource has that can be observed."""

ACTIONS: dict[str, tuple[str, ...]] = {
    "table": ("GetTableSchemaChanges", "GetTableMetricsUpdates"),
    "topic": ("GetTopicSchemaChanges",),
    "container": ("GetContainerSchemaChanges", "GetSchemaChanges"),
    "pipeline": ("GetPipelineStatusUpdates",),
    "ingestionPipeline": ("GetIngestionPipelineStatusUpdates",),
    "testCase": ("GetTestCaseStatusUpdates", "GetTestCaseStatusUpdatesUnderSuite"),
    "testSuite": (),
    **dict.fromkeys(("storedProcedure", "dashboardDataModel", "searchIndex", "apiEndpoint"), ("GetSchemaChanges",)),
    **dict.fromkeys(("dashboard", "mlmodel"), ("GetSchemaChanges",)),
}
"""The actions of each resource, besides ``ANY_ACTIONS``."""

WITHDRAWN: dict[str, tuple[str, ...]] = {"testSuite": ("GetTestSuiteStatusUpdates",)}
"""Actions that alerts stored by earlier releases may name, by resource: no event meets them, no new alert has them."""

_NAMED = {resource: (*names, *WITHDRAWN.get(resource, ())) for resource, names in ACTIONS.items()}
_OF_ONE_RESOURCE = frozenset(name for names in _NAMED.values() for name in names)


def actions_by_resources(filtering: FilteringRules) -> dict[tuple[int, ...], list[str]]:
    """Return the resources of an alert by the positions of the actions that are about them.

    An action that is named as one of other resources says nothing about a resource that has actions of its own. A
    resource without one has all of them, as has ``all``; and so does every resource where no action has such a name.
    """
    together: dict[tuple[int, ...], list[str]] = {}
    for resource in filtering.resources:
        together.setdefault(_actions_of(resource, filtering), []).append(resource)
    return together


def _actions_of(resource: str, filtering: FilteringRules) -> tuple[int, ...]:
    names, resource_names = [rule.name for rule in filtering.actions], _NAMED.get(resource, ())
    if not set(names) & set(resource_names):
        return tuple(range(len(names)))
    return tuple(index for index, name in enumerate(names) if name in resource_names or name not in _OF_ONE_RESOURCE)
