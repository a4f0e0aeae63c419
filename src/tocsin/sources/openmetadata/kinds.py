"""Types of entities that the mirror reads, containers first, and the fields it asks for.

What carries secrets, rights or data is not among them: roles, policies, bots, alerts, templates, ingestion pipelines,
queries, reports. Next: ``sources/openmetadata/documents.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES

PEOPLE = ("team", "user")
"""Types that are mirrored only with the setting ``openmetadata_people``."""

_NAMES = (
    *PEOPLE,
    *("classification", "tag", "glossary", "glossaryTerm", "domain", "dataProduct"),
    *("databaseService", "dashboardService", "messagingService", "pipelineService", "mlmodelService"),
    *("storageService", "searchService", "apiService"),
    *("database", "databaseSchema", "table", "storedProcedure"),
    *("dashboardDataModel", "chart", "dashboard", "topic", "pipeline", "mlmodel", "container", "searchIndex"),
    *("apiCollection", "apiEndpoint", "metric"),
    *("testDefinition", "testSuite", "testCase"),
)

KINDS: tuple[EntityType, ...] = tuple(ENTITY_TYPES[name] for name in _NAMES)
"""The types, in the order in which they are read; they are deleted in the opposite one."""

MARKED = frozenset(kind.name for kind in KINDS if "tags" in kind.keys)
"""Types whose entities can carry the mark of what is for administrators only."""

DELETED_UNMAPPED = ("classification", "tag", "testDefinition")
"""Types that cannot carry it: they are deleted when their mapping is taken back, and restored when it comes again."""

LINKED = (
    *("table", "storedProcedure", "dashboardDataModel", "chart", "dashboard", "topic", "pipeline", "mlmodel"),
    *("container", "searchIndex", "apiEndpoint", "metric"),
)
"""Types whose lineage is read."""

_FIELDS = (
    *("owners", "tags", "domains", "dataProducts", "reviewers", "experts", "certification", "lifeCycle"),
    *("columns", "tableConstraints", "schemaDefinition", "dataModel", "tasks", "charts", "dataModels"),
    *("relatedTerms", "dashboard", "testDefinition", "testSuite", "entityStatus", "sourceHash", "followers"),
)
_OWN_FIELDS = {"user": (), "team": (), "glossaryTerm": ("parent",), "domain": ("parent",)}


def fields_of(kind: EntityType) -> tuple[str, ...]:
    """Return the fields to request; a server that does not know one says so and gets a request without it."""
    field_names = _OWN_FIELDS.get(kind.name, ()) if kind.name in PEOPLE else _FIELDS + _OWN_FIELDS.get(kind.name, ())
    return tuple(name for name in field_names if name in kind.keys)
