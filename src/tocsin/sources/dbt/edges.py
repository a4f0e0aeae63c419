"""Lineage edges of a dbt project, with the columns that its statements carry over.

Next: ``sources/dbt/writing.py``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import orjson

from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.lineage import LineageSource
from tocsin.sources.dbt.artifacts import Artifacts, NodeDependencies
from tocsin.sources.dbt.requests import ProjectPlaces, statement_of
from tocsin.sources.dbt.statements import ColumnOf, StatementReader, TablePath
from tocsin.sources.dbt.writing import BroughtEntity

_RULES = 1
"""Raised when the same statement gives other columns: then each edge is written once more."""


@dataclass(frozen=True)
class PlannedEdge:
    """An edge of the project: keys of both ends, and the statement that makes its target; None for other targets."""

    from_key: str
    to_key: str
    statement: str | None = None


def planned_edges(artifacts: Artifacts, places: ProjectPlaces) -> list[PlannedEdge]:
    """Return the edges of a project, each once; what lies behind ephemeral models is an end."""
    nodes = [node for node in artifacts.tables() if node.depends_on.nodes]
    targets: list[tuple[str, NodeDependencies, str | None]]
    targets = [(places.table_key(node), node.depends_on, statement_of(node)) for node in nodes]
    targets += [(key, exposure.depends_on, None) for key, exposure in artifacts.exposures.items()]
    targets += [(key, metric.depends_on, None) for key, metric in artifacts.metrics.items()]
    edges: dict[tuple[str, str], PlannedEdge] = {}
    for to_key, dependencies, statement in targets:
        for from_id in artifacts.tables_behind(dependencies):
            from_key = places.table_key(artifacts.nodes[from_id])
            if from_key != to_key:
                edges[from_key, to_key] = PlannedEdge(from_key, to_key, statement)
    return list(edges.values())


@dataclass
class EdgeDetails:
    """Details of edges between the entities that a run brought, by their keys; a statement is read once."""

    adapter: str
    brought: Mapping[str, BroughtEntity]
    _origins: dict[str, dict[str, frozenset[ColumnOf]]] = field(default_factory=dict)

    def digest_of(self, edge: PlannedEdge) -> str:
        """Return a digest of everything that decides the details of an edge."""
        columns = [self._columns_of(key) for key in (edge.from_key, edge.to_key)]
        content = orjson.dumps([_RULES, self.adapter, edge.statement, columns])
        return hashlib.sha256(content).hexdigest()

    def details_of(self, edge: PlannedEdge) -> Document:
        """Return the details of an edge: its statement, and the columns that this carries over."""
        details: Document = {"source": LineageSource.DBT.value}
        if edge.statement is not None:
            details["sqlQuery"] = edge.statement
            if columns := list(self._column_entries(edge, edge.statement)):
                details["columnsLineage"] = columns
        return details

    def _column_entries(self, edge: PlannedEdge, statement: str) -> Iterator[Document]:
        from_path, from_columns = _path_of(self.brought[edge.from_key]), self._columns_of(edge.from_key)
        to_columns = self._columns_of(edge.to_key)
        for name, origins in self._origins_of(statement).items():
            names = {origin.name.lower() for origin in origins if _is_at(from_path, origin.table)}
            from_fqns = [column_fqn for column, column_fqn in from_columns.items() if column.lower() in names]
            to_fqn = next(
                (column_fqn for column, column_fqn in to_columns.items() if column.lower() == name.lower()), None
            )
            if to_fqn is not None and from_fqns:
                yield {"fromColumns": sorted(from_fqns), "toColumn": to_fqn}

    def _origins_of(self, statement: str) -> dict[str, frozenset[ColumnOf]]:
        if statement not in self._origins:
            self._origins[statement] = self._reader.origins_of(statement)
        return self._origins[statement]

    def _columns_of(self, key: str) -> dict[str, str]:
        """Return the FQNs of an entity's columns, by their names."""
        document = self.brought[key].document
        entity_fqn = str(document.get("fullyQualifiedName", ""))
        return {column["name"]: fqn.child(entity_fqn, column["name"]) for column in document.get("columns") or ()}

    @cached_property
    def _reader(self) -> StatementReader:
        tables = [entity for entity in self.brought.values() if entity.entity_type == "table"]
        columns = {
            _path_of(table): {column["name"]: str(column["dataType"]) for column in table.document.get("columns") or ()}
            for table in tables
        }
        return StatementReader(self.adapter, columns)


def _path_of(table: BroughtEntity) -> TablePath:
    names = fqn.split(str(table.document.get("fullyQualifiedName", "")))
    return tuple(name.lower() for name in names[1:])


def _is_at(path: TablePath, written: TablePath) -> bool:
    """Return whether a statement that writes these names means the table at a path: it may leave out the first."""
    return bool(written) and path[-len(written) :] == written
