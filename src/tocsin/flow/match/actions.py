"""Named actions (triggers) of alerts, and the resources that each applies to.

Source: OpenMetadata 1.13 EntityObservabilityFilterDescriptor.json; ``GetSchemaChanges``, ``GetOwnershipChanges`` and
``GetTagChanges`` are ours. Next: ``flow/match/plan.py``, ``alerts/offers.py``.
"""

from __future__ import annotations

from tocsin.model.change import EventType
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
    "testSuite": ("GetTestSuiteStatusUpdates",),
    **dict.fromkeys(("storedProcedure", "dashboardDataModel", "searchIndex", "apiEndpoint"), ("GetSchemaChanges",)),
    **dict.fromkeys(("dashboard", "mlmodel"), ("GetSchemaChanges",)),
}
"""The actions of each resource, besides ``ANY_ACTIONS``."""

TYPES_NAMED: dict[str, EventType] = {"GetTestSuiteStatusUpdates": EventType.TEST_SUITE_RUN_COMPLETED}
"""The type of event that an action names, of those that alerts match by name only, whatever its condition says."""

_OF_ONE_RESOURCE = frozenset(name for names in ACTIONS.values() for name in names)


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
    names, resource_names = [rule.name for rule in filtering.actions], ACTIONS.get(resource, ())
    if not set(names) & set(resource_names):
        return tuple(range(len(names)))
    return tuple(index for index, name in enumerate(names) if name in resource_names or name not in _OF_ONE_RESOURCE)
