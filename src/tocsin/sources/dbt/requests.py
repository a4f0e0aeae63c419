"""Entities that a dbt project asks for: tables with their columns, dashboards of exposures, metrics, the pipeline.

Nothing here reads a store: what is there already is given when a request is made. Next: ``sources/dbt/writing.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.sources.column_types import column_type_of
from tocsin.sources.dbt.artifacts import Artifacts, CatalogColumn, ColumnPart, Exposure, Node

CLASSIFICATION = "dbtTags"
"""The classification of a project's tags, as OpenMetadata's connector calls it."""

SERVICE = "dbt"
"""The services of what dbt has besides tables: its pipelines, and the dashboards of its exposures."""

LONGEST_STATEMENT = 100_000
"""Characters of a statement that tables and edges keep; a longer one is left out."""

MOST_TASKS = 2_000
"""Models of one pipeline that are its tasks."""

_KEPT_OF_COLUMNS = ("description", "tags", "displayName")
_DEFAULT_DATABASE = "default"
_SERVICE_TYPES = {
    "postgres": "Postgres",
    "snowflake": "Snowflake",
    "bigquery": "BigQuery",
    "redshift": "Redshift",
    "databricks": "Databricks",
    "spark": "Databricks",
    "athena": "Athena",
    "trino": "Trino",
    "clickhouse": "Clickhouse",
    "sqlserver": "Mssql",
    "mysql": "Mysql",
    "sqlite": "SQLite",
}
_TABLE_TYPES = {"view": "View", "materialized_view": "MaterializedView", "external": "External"}
_PARENTS = ("databaseSchema", "database", "service", "classification", "entityLink")
_RUN_KINDS = frozenset({"model", "seed", "snapshot"})


@dataclass(frozen=True)
class PlannedEntity:
    """An entity that a project asks for.

    Attributes
    ----------
    key : what it is called in the project; the same in every run
    request : what creates it, without owners
    owners : addresses and names of each of its owners, as the project gives them; any of them may find one here
    is_only_ensured : one that is there stays as it is
    table : what is known of it as a table
    """

    entity_type: str
    key: str
    request: Document
    owners: tuple[tuple[str, ...], ...] = ()
    is_only_ensured: bool = False
    table: PlannedTable | None = None

    @property
    def path(self) -> str:
        """Its FQN, as far as the project decides it: a test case is below the table or column that it tests."""
        parent = next((str(self.request[key]) for key in _PARENTS if key in self.request), None)
        name = fqn.quote(str(self.request["name"]))
        return f"{parent}.{name}" if parent else name

    def request_for(self, old: Document | None, *, is_brought: bool) -> Document:
        """Return what to put in the place of what is there; ``is_brought`` says whether dbt created that."""
        request = dict(self.request)
        if self.table is not None:
            request |= self.table.changes_to(old, is_brought=is_brought)
            if old is not None and not is_brought:  # what brought it knows better what it is
                request.pop("tableType")
        if old is not None and "tags" in request:
            request["tags"] = [*_labels_of_others(old), *request["tags"]]
        return request


@dataclass(frozen=True)
class PlannedTable:
    """What dbt knows of a relation; several nodes may be one, such as a seed that is read as a source."""

    nodes: tuple[Node, ...]
    types: tuple[CatalogColumn, ...] = ()

    def changes_to(self, old: Document | None, *, is_brought: bool) -> Document:
        """Return columns: of what dbt created as the database has them, of others those that are there, described."""
        old_columns: list[Document] = list((old or {}).get("columns") or ())
        if old is not None and not is_brought:
            return {"columns": [self._with_description(column) for column in old_columns]}
        if not self.types:
            known_names = {column["name"].lower() for column in old_columns}
            new_parts = (parts[-1] for name, parts in self._parts.items() if name not in known_names)
            new = [{"name": part.name, **column_type_of(part.data_type)} for part in new_parts]
            return {"columns": [self._with_description(column) for column in (*old_columns, *new)]}
        before = {column["name"]: column for column in old_columns}
        columns = []
        for catalog_column in self.types:
            old_column = before.get(catalog_column.name, {})
            column: Document = {key: old_column[key] for key in _KEPT_OF_COLUMNS if key in old_column}
            if catalog_column.comment and "description" not in column:
                column["description"] = catalog_column.comment
            column |= {"name": catalog_column.name, **column_type_of(catalog_column.type)}
            columns.append(self._with_description(column))
        return {"columns": columns}

    @cached_property
    def _parts(self) -> dict[str, list[ColumnPart]]:
        """What the nodes say of each column, by its name in lower case."""
        parts: dict[str, list[ColumnPart]] = {}
        for part in (part for node in self.nodes for part in node.columns.values()):
            parts.setdefault(part.name.lower(), []).append(part)
        return parts

    def _with_description(self, column: Document) -> Document:
        """Return a column with the description and tags that the project gives it."""
        described_column = dict(column)
        for part in self._parts.get(column["name"].lower(), ()):
            if part.description:
                described_column["description"] = part.description
            labels = [*_labels_of_others(described_column), *labels_of(part.tags)]
            if labels or described_column.get("tags"):
                described_column["tags"] = labels
        return described_column


@dataclass(frozen=True)
class ProjectPlaces:
    """Names that a project gets here; ``service`` is the database service of its tables, by name."""

    artifacts: Artifacts
    service: str

    def table_fqn(self, node: Node) -> str:
        """Return the FQN of the table of a node."""
        return fqn.join((self.service, *self._path(node), node.table_name))

    def table_key(self, node: Node) -> str:
        """Return the key of the table of a node: the same for all nodes of one relation."""
        return f"table {self.table_fqn(node).lower()}"

    def _path(self, node: Node) -> tuple[str, str]:
        return node.database or _DEFAULT_DATABASE, node.schema_name or _DEFAULT_DATABASE

    def entities(self) -> Iterator[PlannedEntity]:
        """Yield all entities but tests, parents first."""
        yield from self._labels()
        yield from self._containers()
        yield from self._tables()
        yield from self._pipeline()
        yield from self._exposures()
        yield from self._metrics()

    def _labels(self) -> Iterator[PlannedEntity]:
        artifacts = self.artifacts
        tags = set(chain.from_iterable(artifacts.tag_lists()))
        if tags:
            request = {"name": CLASSIFICATION, "description": "Tags of dbt projects."}
            yield PlannedEntity("classification", CLASSIFICATION, request, is_only_ensured=True)
        for tag in sorted(tags):
            request = {"name": tag, "classification": CLASSIFICATION, "description": "A tag of a dbt project."}
            yield PlannedEntity("tag", f"{CLASSIFICATION}.{tag}", request, is_only_ensured=True)

    def _containers(self) -> Iterator[PlannedEntity]:
        service_type = _SERVICE_TYPES.get(self.artifacts.adapter, "CustomDatabase")
        request = {"name": self.service, "serviceType": service_type}
        yield PlannedEntity("databaseService", "service", request, is_only_ensured=True)
        paths = sorted({self._path(node) for node in self.artifacts.tables()})
        for database in sorted({database for database, _ in paths}):
            request = {"name": database, "service": fqn.quote(self.service)}
            yield PlannedEntity("database", f"database {database}", request, is_only_ensured=True)
        for database, schema in paths:
            request = {"name": schema, "database": fqn.join((self.service, database))}
            yield PlannedEntity("databaseSchema", f"schema {database}.{schema}", request, is_only_ensured=True)

    def _tables(self) -> Iterator[PlannedEntity]:
        nodes_by_key: dict[str, list[Node]] = {}
        for node in self.artifacts.tables():
            nodes_by_key.setdefault(self.table_key(node), []).append(node)
        for key, nodes in nodes_by_key.items():
            yield self._table(key, nodes)

    def _table(self, key: str, nodes: list[Node]) -> PlannedEntity:
        first = nodes[0]
        request: Document = {"name": first.table_name, "databaseSchema": fqn.join((self.service, *self._path(first)))}
        request["tableType"] = _TABLE_TYPES.get(first.config.materialized or "", "Regular")
        if description := next((node.description for node in nodes if node.description), None):
            request["description"] = description
        if model := next((node for node in nodes if node.raw_code), None):
            request["dataModel"] = _model_of(model)
        request["tags"] = labels_of(chain.from_iterable(node.tags for node in nodes))
        types = next(
            (self.artifacts.types[node.unique_id] for node in nodes if node.unique_id in self.artifacts.types), []
        )
        owners = chain.from_iterable(self._owners_of(node) for node in nodes)
        planned_table = PlannedTable(tuple(nodes), tuple(types))
        return PlannedEntity("table", key, request, tuple(dict.fromkeys(owners)), table=planned_table)

    def _owners_of(self, node: Node) -> list[tuple[str, ...]]:
        """Return who owns a node: whom its ``meta`` names, else its group's owner."""
        owner_names = node.meta.get("owner")
        if isinstance(owner_names, str):
            owner_names = [owner_names]
        if isinstance(owner_names, list):
            return [(name,) for name in owner_names if isinstance(name, str)]
        owner = self.artifacts.owners_of_groups.get(node.group or "")
        return [tuple(owner.names())] if owner else []

    def _pipeline(self) -> Iterator[PlannedEntity]:
        request: Document = {"name": SERVICE, "serviceType": "DBTCloud"}
        yield PlannedEntity("pipelineService", "pipelines", request, is_only_ensured=True)
        tasks = [{"name": task} for task in list(self.task_names())[:MOST_TASKS]]
        request = {"name": self.artifacts.project, "service": SERVICE, "tasks": tasks}
        yield PlannedEntity("pipeline", "pipeline", request)

    def task_names(self) -> Iterator[str]:
        """Yield what the project runs: models, seeds and snapshots, by their ids without the project."""
        return (task_name(node.unique_id) for node in self.artifacts.tables() if node.resource_type in _RUN_KINDS)

    def _exposures(self) -> Iterator[PlannedEntity]:
        exposures = sorted(self.artifacts.exposures.values(), key=lambda exposure: exposure.unique_id)
        if exposures:
            request = {"name": SERVICE, "serviceType": "CustomDashboard"}
            yield PlannedEntity("dashboardService", "exposures", request, is_only_ensured=True)
        for exposure in exposures:
            owners = (tuple(exposure.owner.names()),)
            yield PlannedEntity("dashboard", exposure.unique_id, _dashboard_request(exposure), owners)

    def _metrics(self) -> Iterator[PlannedEntity]:
        for key, metric in sorted(self.artifacts.metrics.items()):
            request: Document = {"name": metric.name, "tags": labels_of(metric.tags)}
            request |= {"displayName": metric.label} if metric.label else {}
            request |= {"description": metric.description} if metric.description else {}
            yield PlannedEntity("metric", key, request)


def _dashboard_request(exposure: Exposure) -> Document:
    request: Document = {"name": exposure.name, "service": SERVICE, "tags": labels_of(exposure.tags)}
    request |= {"displayName": exposure.label} if exposure.label else {}
    request |= {"description": exposure.description} if exposure.description else {}
    if exposure.url and exposure.url.startswith(("http://", "https://")):
        request["sourceUrl"] = exposure.url
    return request


def task_name(unique_id: str) -> str:
    """Return what a node is called as a task: ``model.shop.orders`` is ``model.orders``."""
    kind, _, path = unique_id.partition(".")
    return f"{kind}.{path.partition('.')[2]}"


def labels_of(tags: Iterable[str]) -> list[Document]:
    """Return the labels of a project's tags."""
    names = sorted(set(tags))
    return [
        {
            "tagFQN": fqn.join((CLASSIFICATION, name)),
            "source": "Classification",
            "labelType": "Automated",
            "state": "Confirmed",
        }
        for name in names
    ]


def _labels_of_others(document: Document) -> list[Document]:
    """Return the labels that are no tags of a dbt project."""
    labels = document.get("tags") or ()
    return [label for label in labels if fqn.split(str(label.get("tagFQN")))[0] != CLASSIFICATION]


def statement_of(node: Node) -> str | None:
    """Return the statement that makes a table; None if there is none, or it is too long."""
    return node.compiled_code if node.compiled_code and len(node.compiled_code) <= LONGEST_STATEMENT else None


def _model_of(node: Node) -> Document:
    """Return how a table is made, as OpenMetadata keeps it."""
    model: Document = {"modelType": "DBT", "resourceType": node.resource_type}
    model |= {"path": node.original_file_path} if node.original_file_path else {}
    if node.raw_code and len(node.raw_code) <= LONGEST_STATEMENT:
        model["rawSql"] = node.raw_code
    if statement := statement_of(node):
        model["sql"] = statement
    return model
