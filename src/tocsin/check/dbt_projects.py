"""Changes between two states of a dbt project: tables that go, columns that go, come, or get another type.

The columns of a model are those of ``catalog.json``; without it those that its compiled statement makes, or that its
contract lists. Sources are no part: a project reads them, and does not make them. Next: ``check/proposals.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import PurePosixPath

from tocsin.check.proposals import FiledProposal, Progress, Remark
from tocsin.model.entity import Document
from tocsin.sources.column_types import column_type_of
from tocsin.sources.dbt.artifacts import Artifacts, Node
from tocsin.sources.dbt.requests import ProjectPlaces, statement_of
from tocsin.sources.dbt.statements import StatementReader, TablePath

_MADE = frozenset({"model", "seed", "snapshot"})
_MANIFEST = "manifest.json"

TypesByColumn = Mapping[str, str | None]
"""The type of each column as the database or SQL writes it; None if it is not known."""


@dataclass(frozen=True)
class ModelColumns:
    """Columns of a model, and how they are known: types are compared only if both states know them in one way."""

    types: TypesByColumn
    way: str


@dataclass
class ProjectColumns:
    """The columns of what a project makes, by unique id, found when they are asked for."""

    artifacts: Artifacts
    _columns: dict[str, ModelColumns | None] = field(default_factory=dict)

    def of(self, unique_id: str) -> ModelColumns | None:
        """Return the columns of a table; None if they are not known."""
        for needed_id in self._in_order(unique_id):
            if needed_id not in self._columns:
                self._columns[needed_id] = self._find(self.artifacts.nodes[needed_id])
        return self._columns[unique_id]

    def names_read_by(self, unique_id: str) -> frozenset[str] | None:
        """Return the names of all columns that a model reads, in lower case; None if they cannot be known."""
        node = self.artifacts.nodes[unique_id]
        statement = statement_of(node)
        return None if statement is None else self._reader_of(node).names_read_by(statement)

    def _in_order(self, unique_id: str) -> Iterator[str]:
        """Yield what must be known before a table is, and the table, sources of its columns first."""
        graph: dict[str, list[str]] = {}
        waiting_ids = [unique_id]
        while waiting_ids:
            waiting_id = waiting_ids.pop()
            if waiting_id in graph or waiting_id in self._columns:
                continue
            graph[waiting_id] = self._upstream_ids(waiting_id)
            waiting_ids += graph[waiting_id]
        try:
            yield from (key for key in TopologicalSorter(graph).static_order() if key in graph)
        except CycleError:  # no project of dbt has one
            yield from reversed(graph)

    def _upstream_ids(self, unique_id: str) -> list[str]:
        """Return the tables whose columns decide those of another; none where these are known anyway."""
        node = self.artifacts.nodes[unique_id]
        if unique_id in self.artifacts.types or statement_of(node) is None:
            return []
        return self.artifacts.tables_behind(node.depends_on)

    def _find(self, node: Node) -> ModelColumns | None:
        if types := self.artifacts.types.get(node.unique_id):
            return ModelColumns({column.name: column.type for column in types}, "catalog")
        statement = statement_of(node)
        if statement is not None and (outputs := self._reader_of(node).outputs_of(statement)) is not None:
            return ModelColumns(outputs, "statement")
        if node.columns and (node.config.contract.enforced or node.resource_type == "source"):
            return ModelColumns({part.name: part.data_type for part in node.columns.values()}, "contract")
        return None

    def _reader_of(self, node: Node) -> StatementReader:
        columns: dict[TablePath, Mapping[str, str]] = {}
        for upstream_id in self.artifacts.tables_behind(node.depends_on):
            known_columns = self._columns.get(upstream_id)
            if known_columns is not None:
                types = {name: type_text or "unknown" for name, type_text in known_columns.types.items()}
                columns[_path_of(self.artifacts.nodes[upstream_id])] = types
        return StatementReader(self.artifacts.adapter, columns)


@dataclass
class ProjectComparison:
    """Two states of a project: ``base`` as it is in use, ``head`` as the pull request leaves it.

    ``service`` is the database service of its tables, ``folder`` where the project is in the repository; ``remark``
    takes what could not be compared.
    """

    base: Artifacts
    head: Artifacts
    service: str
    remark: Remark
    folder: str = ""
    progress: Progress = lambda done, total: None

    def __post_init__(self) -> None:
        self._base_columns, self._head_columns = ProjectColumns(self.base), ProjectColumns(self.head)
        self._head_ids = {
            ProjectPlaces(self.head, self.service).table_key(node): node.unique_id for node in self.head.tables()
        }

    def proposals(self) -> Iterator[FiledProposal]:
        """Yield what changes, in the order of the unique ids of the base."""
        nodes = [node for node in self.base.tables() if node.resource_type in _MADE]
        for number, node in enumerate(nodes, start=1):
            if (proposal := self._proposal_of(node)) is not None:
                yield proposal
            self.progress(number, len(nodes))

    def _proposal_of(self, node: Node) -> FiledProposal | None:
        places = ProjectPlaces(self.base, self.service)
        document: Document = {"entityType": "table", "fullyQualifiedName": places.table_fqn(node)}
        head_id = self._head_ids.get(places.table_key(node))
        if head_id is None:
            return FiledProposal(document | {"deleted": True}, self._file_of(node))
        change = self._column_changes(node, head_id) if self._may_differ(node, self.head.nodes[head_id]) else {}
        if not change:
            return None
        changed_names = [column["name"] for column in change.get("columns", ())]
        removed_names = change.get("removedColumns", ())
        adapted_fqns = self._find_adapted(head_id, [*removed_names, *changed_names]) if removed_names else []
        change |= {"adapted": adapted_fqns} if adapted_fqns else {}
        return FiledProposal(document | change, self._file_of(self.head.nodes[head_id]))

    def _may_differ(self, node: Node, head_node: Node) -> bool:
        """Return whether the columns of a model may differ: it, or something that it is made from, has changed."""
        if node.unique_id in self.base.types or head_node.unique_id in self.head.types:
            return True
        return head_node.unique_id in self._changed_ids

    @cached_property
    def _changed_ids(self) -> frozenset[str]:
        """Return the ids in the head of what has another statement, and of all that is made from that."""
        readers: dict[str, list[str]] = {}
        for node in self.head.nodes.values():
            for upstream_id in node.depends_on.nodes:
                readers.setdefault(upstream_id, []).append(node.unique_id)
        waiting_ids = [node.unique_id for node in self.head.nodes.values() if self._is_rewritten(node)]
        changed_ids = set[str]()
        while waiting_ids:
            changed_id = waiting_ids.pop()
            if changed_id not in changed_ids:
                changed_ids.add(changed_id)
                waiting_ids += readers.get(changed_id, ())
        return frozenset(changed_ids)

    def _is_rewritten(self, head_node: Node) -> bool:
        node = self.base.nodes.get(head_node.unique_id)
        if node is None:
            return False
        return (node.raw_code, node.columns) != (head_node.raw_code, head_node.columns)

    def _column_changes(self, node: Node, head_id: str) -> Document:
        before, after = self._base_columns.of(node.unique_id), self._head_columns.of(head_id)
        if before is None or after is None:
            self.remark(
                f"{node.unique_id}: its columns are not known, so it was not compared: run `dbt compile`, or"
                " `dbt docs generate`, in both states"
            )
            return {}
        old_names = {name.lower(): name for name in before.types}
        new_types = {name.lower(): type_text for name, type_text in after.types.items()}
        removed_names = [name for key, name in old_names.items() if key not in new_types]
        columns = [
            {"name": name, **column_type_of(type_text)}
            for name, type_text in after.types.items()
            if name.lower() not in old_names
        ]
        if before.way == after.way:
            columns += [
                {"name": name, **column_type_of(new_types[name.lower()])}
                for name, type_text in before.types.items()
                if name.lower() in new_types and _is_other_type(type_text, new_types[name.lower()])
            ]
        change: Document = {"removedColumns": removed_names} if removed_names else {}
        return change | ({"columns": columns} if columns else {})

    def _find_adapted(self, head_id: str, columns: Sequence[str]) -> list[str]:
        """Return the tables of the project that read a model directly, and none of these columns."""
        touched_names = {name.lower() for name in columns}
        places, adapted_fqns = ProjectPlaces(self.head, self.service), set[str]()
        for reader in self.head.tables() if touched_names else ():
            if reader.unique_id not in self._changed_ids or head_id not in self.head.tables_behind(reader.depends_on):
                continue
            self._head_columns.of(reader.unique_id)
            names = self._head_columns.names_read_by(reader.unique_id)
            if names is not None and names.isdisjoint(touched_names):
                adapted_fqns.add(places.table_fqn(reader))
        return sorted(adapted_fqns)

    def _file_of(self, node: Node) -> str:
        path = (node.original_file_path or _MANIFEST).replace("\\", "/")
        return str(PurePosixPath(self.folder, path))


def _is_other_type(before: str | None, after: str | None) -> bool:
    """Return whether two types are known, and not the same by other names."""
    if before is None or after is None:
        return False
    old, new = column_type_of(before), column_type_of(after)
    if old["dataType"] == new["dataType"] == "UNKNOWN":
        return before.strip().lower() != after.strip().lower()
    return {key: value for key, value in old.items() if key != "dataTypeDisplay"} != {
        key: value for key, value in new.items() if key != "dataTypeDisplay"
    }


def _path_of(node: Node) -> TablePath:
    return tuple(part.lower() for part in (node.database, node.schema_name, node.table_name) if part)
