"""Settings of OpenLineage: which service holds the datasets and jobs of a namespace, and whether new ones are created.

They are the setting ``openLineageSettings`` of OpenMetadata's API. Next: ``sources/openlineage/datasets.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tocsin.catalogue.observations.field_checks import Check, check_of, flag, list_check_of, name, one_of, shape
from tocsin.model.entity import Document
from tocsin.sources.openlineage.events import LONGEST_NAME, RunEventType

SETTING = "openLineageSettings"
DEFAULTS: Document = {
    "enabled": True,
    "autoCreateEntities": True,
    "eventTypeFilter": [RunEventType.COMPLETE.value],
    "defaultPipelineService": "openlineage",
    "namespaceToServiceMapping": {},
}
"""The setting as it is until an administrator writes it: nothing is mapped, so no table is created."""

MOST_NAMESPACES = 1_000


def _is_mapping(value: object) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= MOST_NAMESPACES
        and all(isinstance(text, str) and 0 < len(text) <= LONGEST_NAME for pair in value.items() for text in pair)
    )


FORM: Check = shape(
    {},
    {
        "enabled": flag,
        "autoCreateEntities": flag,
        "eventTypeFilter": list_check_of(one_of(*RunEventType)),
        "defaultPipelineService": name,
        "namespaceToServiceMapping": check_of(
            _is_mapping, f"an object of namespaces and names of services, at most {MOST_NAMESPACES:,}"
        ),
    },
)
"""What a written value looks like."""


@dataclass(frozen=True)
class LineageMapping:
    """What the setting says.

    Attributes
    ----------
    is_enabled : whether events are accepted
    creates : whether tables of mapped namespaces, and pipelines, are created when an event names them first
    event_types : events of these types bring lineage; the others only the state of their run
    pipeline_service : the service of pipelines whose namespace is not mapped
    targets : by namespace, the FQN of a service, or of a database in it
    """

    is_enabled: bool = True
    creates: bool = True
    event_types: frozenset[str] = frozenset({RunEventType.COMPLETE})
    pipeline_service: str = "openlineage"
    targets: Mapping[str, str] = field(default_factory=dict)


def mapping_of(setting: Document) -> LineageMapping:
    """Return what a value of the setting says; keys that it lacks have their defaults."""
    value = DEFAULTS | setting
    return LineageMapping(
        is_enabled=value["enabled"],
        creates=value["autoCreateEntities"],
        event_types=frozenset(value["eventTypeFilter"]),
        pipeline_service=value["defaultPipelineService"],
        targets=value["namespaceToServiceMapping"],
    )
