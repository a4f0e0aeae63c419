"""Resources that a rule can name: every entity type, and other resources of the API.

Source: OpenMetadata 1.13's entity types, and ``ResourceRegistry``. Next: ``access/defaults.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import words
from tocsin.model.entity_types import ENTITY_TYPES

POWERS = ("bot", "policy", "role")
"""What decides who may do what."""

_OTHERS = words(
    "app eventsubscription feed kpi lineage notificationTemplate page persona suggestion task team type user"
)
_UPSTREAM_ALONE = words("directory driveService file securityService spreadsheet worksheet")

ASSETS = tuple(sorted(ENTITY_TYPES.keys() - _OTHERS - {*POWERS} | _UPSTREAM_ALONE))
"""What people own, describe, tag and follow, and what orders it."""

CONTAINERS = words(
    "dataProduct directory driveService ingestionPipeline securityService spreadsheet testDefinition"
).union(*(place.types for row in ENTITY_TYPES.values() for place in row.places))
"""Assets that hold others, bring them in or order them: their owners have a say in what others own."""

CLAIMABLE = tuple(one for one in ASSETS if one not in CONTAINERS)
"""Assets of which anybody may name an owner while they have none."""

ORDER = ("classification", "dataProduct", "domain", "glossary", "glossaryTerm", "tag")
"""Assets that order others, and on which policies may rest."""

DATA = tuple(one for one in ASSETS if one not in ORDER)
"""All other assets."""

LAKE = "lake"
"""The event history, of which rules may allow `QueryLake`."""

RESOURCES = frozenset({*ASSETS, *POWERS, *_OTHERS, LAKE})
"""Everything that a rule may name."""
