"""Conversion of a history's lines to API requests, with the entities they depend on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tocsin.model import fqn
from tocsin.model.entity_types import ENTITY_TYPES

Line = dict[str, Any]  # Any: JSON

_UPSTREAM = {
    **{"INTEGER": "INT", "INT64": "BIGINT", "FLOAT64": "DOUBLE", "BOOL": "BOOLEAN", "BIGNUMERIC": "NUMERIC"},
    "REPEATED": "ARRAY",
}
_DATES = frozenset({"startDate", "endDate"})


@dataclass
class Puts:
    """Requests that may be sent together: puts of one type."""

    entity_type: str
    requests: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class Deletion:
    """An entity that goes for good."""

    entity_type: str
    fqn: str


def first_requests(lines: Iterable[Line]) -> list[Puts]:
    """Return what must be there before: services, databases, schemas, people and teams, in that order."""
    requests_by_type: dict[str, dict[str, Line]] = {}
    for line in lines:
        for names in _tags(line.get("entity", {})):
            requests_by_type.setdefault("classification", {})[names[0]] = {"name": names[0], "description": "x"}
            for depth in range(2, len(names) + 1):
                _tag(requests_by_type, names[:depth])
        for owner in line.get("entity", {}).get("owners", ()):
            person = {"email": f"{owner['name']}@history.invalid"} if owner["type"] == "user" else {}
            requests_by_type.setdefault(owner["type"], {})[owner["name"]] = {"name": owner["name"], **person}
        for domain in line.get("entity", {}).get("domains", ()):
            domain_request = {"name": domain["name"], "domainType": "Aggregate", "description": "x"}
            requests_by_type.setdefault("domain", {})[domain["name"]] = domain_request
        names = fqn.split(line["fullyQualifiedName"])[:-1]
        for depth in range(1, len(names) + 1):
            _above(requests_by_type, line["entityType"], names[:depth])
    return [
        Puts(entity_type, list(requests_by_name.values()))
        for entity_type, requests_by_name in sorted(requests_by_type.items(), key=_order)
    ]


def requests(lines: Iterable[Line]) -> Iterator[Puts | Deletion]:
    """Yield what a history asks for: puts of one commit and type together, deletions one by one."""
    for _, commit in groupby(lines, key=lambda line: (line["commit"], line["entityType"], line["op"])):
        changes = list(commit)
        if changes[0]["entityType"] == "databaseSchema" and changes[0]["op"] == "delete":
            continue  # a history deletes only itself; its descendants stay
        if changes[0]["op"] == "delete":
            yield from (Deletion(row["entityType"], row["fullyQualifiedName"]) for row in changes)
        else:
            yield Puts(changes[0]["entityType"], [_put(row) for row in changes])


def custom_properties(lines: Iterable[Line]) -> set[tuple[str, str]]:
    """Return the types that must have custom properties, each with the name of one."""
    return {(line["entityType"], name) for line in lines for name in line.get("entity", {}).get("extension") or ()}


def _put(line: Line) -> Line:
    kind = ENTITY_TYPES[line["entityType"]]
    parent = fqn.parent(line["fullyQualifiedName"])
    fields = {key: value for key, value in line["entity"].items() if key in kind.keys}
    code = {"storedProcedureCode": {"code": "x"}} if kind.name == "storedProcedure" else {}
    for key in _DATES & fields.keys():
        fields[key] = f"{fields[key][:10]}T00:00:00Z"
    if "extension" in fields:  # among upstream's custom properties there is no kind for a boolean: all are texts here
        fields["extension"] = {name: json.dumps(value) for name, value in fields["extension"].items()}
    if "columns" in fields:
        fields["columns"] = [_column(column) for column in fields["columns"]]
    return code | fields | {"name": fqn.split(line["fullyQualifiedName"])[-1], kind.places[-1].field: parent}


def _tags(entity: Line) -> Iterator[list[str]]:
    for label in entity.get("tags", ()):
        yield fqn.split(label["tagFQN"])
    for key in ("columns", "children", "tasks"):
        for member in entity.get(key, ()):
            yield from _tags(member)


def _tag(requests_by_type: dict[str, dict[str, Line]], names: list[str]) -> None:
    request = {"name": names[-1], "description": "x", "classification": fqn.quote(names[0])}
    parent = {"parent": fqn.join(names[:-1])} if len(names) > 2 else {}
    requests_by_type.setdefault("tag", {}).setdefault(fqn.join(names), request | parent)


def _column(column: Line) -> Line:
    """Return a column with its data type as upstream calls it; arrays whose items have no type get an unknown one."""
    children = {"children": [_column(child) for child in column["children"]]} if column.get("children") else {}
    types = {key: _UPSTREAM.get(column[key], column[key]) for key in ("dataType", "arrayDataType") if key in column}
    if types.get("dataType") == "ARRAY":
        types.setdefault("arrayDataType", "UNKNOWN")
    return column | children | types


def _above(requests_by_type: dict[str, dict[str, Line]], entity_type: str, names: list[str]) -> None:
    is_pipeline = entity_type == "pipeline"
    if len(names) == 1:
        service, service_type = ("pipelineService", "Airflow") if is_pipeline else ("databaseService", "BigQuery")
        requests_by_type.setdefault(service, {})[fqn.join(names)] = {"name": names[0], "serviceType": service_type}
    else:
        kind = ENTITY_TYPES["database" if len(names) == 2 else "databaseSchema"]
        request = {"name": names[-1], kind.places[-1].field: fqn.join(names[:-1])}
        requests_by_type.setdefault(kind.name, {})[fqn.join(names)] = request


def _order(entry: tuple[str, object]) -> int:
    return list(_FIRST_TYPES).index(entry[0])


_FIRST_TYPES = (
    *("user", "team", "domain", "classification", "tag"),
    *("databaseService", "pipelineService", "database", "databaseSchema"),
)
