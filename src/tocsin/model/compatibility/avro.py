"""Compatibility of Avro schemas: whether a reader with one schema understands what a writer with another writes.

Source: Apache Avro 1.12 specification, section "Schema Resolution". Logical types are compared only as decimals, whose
scale and precision must match.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tocsin.model.compatibility.budget import ComparisonBudget, NotJudged, parse_json
from tocsin.model.compatibility.incompatibility import Incompatibility

_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_PROMOTED: Mapping[str, frozenset[str]] = {
    "int": frozenset({"long", "float", "double"}),
    "long": frozenset({"float", "double"}),
    "float": frozenset({"double"}),
    "string": frozenset({"bytes"}),
    "bytes": frozenset({"string"}),
}
"""What a reader may take each primitive type of a writer for."""

_NAMED = frozenset({"record", "error", "enum", "fixed"})
_NOT_WRITTEN = Incompatibility("no longer written, and read without a default", "required now, and has no default")
_Schema = Any  # Any: a schema as JSON, of whatever form


def problem_between(reader: str, writer: str) -> Incompatibility | None:
    """Return why what ``writer`` writes may not be readable by ``reader``, both schemas as JSON; None if it is.

    Raises
    ------
    NotJudged : a text is no schema
    """
    read, written = parse_json(reader), parse_json(writer)
    resolution = _Resolution(_named_types(read), _named_types(written))
    return resolution.problem(read, written, "", 0)


@dataclass
class _Resolution:
    """Resolution of a writer's schema by a reader's, with the named types of both."""

    read_types: Mapping[str, _Schema]
    written_types: Mapping[str, _Schema]
    budget: ComparisonBudget = field(default_factory=ComparisonBudget)
    visited: set[tuple[str, str]] = field(default_factory=set)

    def problem(self, reader: _Schema, writer: _Schema, path: str, depth: int) -> Incompatibility | None:
        """Return the first problem at or below a path; None if there is none."""
        self.budget.take(depth)
        reader, writer = _resolve(reader, self.read_types), _resolve(writer, self.written_types)
        if any(one == [] for one in (reader, writer)):
            raise NotJudged
        if isinstance(writer, list):
            problems = (self.problem(reader, branch, path, depth + 1) for branch in writer)
            return next(filter(None, problems), None)
        if isinstance(reader, list):
            if any(self.problem(branch, writer, path, depth + 1) is None for branch in reader):
                return None
            name = _name(writer)
            return Incompatibility(f"{name} is none of the types that were read", f"{name} is no longer accepted").at(
                path
            )
        return self._single_problem(reader, writer, path, depth)

    def _single_problem(self, reader: _Schema, writer: _Schema, path: str, depth: int) -> Incompatibility | None:
        read, writer_kind = _kind(reader), _kind(writer)
        if read != writer_kind:
            is_promoted = read in _PROMOTED.get(writer_kind, ())
            return None if is_promoted else _type_problem(_name(reader), _name(writer)).at(path)
        if read in _NAMED and not _is_name_of(reader, writer):
            names = reader.get("name"), writer.get("name")
            return Incompatibility(
                f"{read} {names[1]} is not {names[0]}", f"{read} is {names[0]} now, not {names[1]}"
            ).at(path)
        match read:
            case "array":
                return self.problem(reader["items"], writer["items"], f"{path}[]", depth + 1)
            case "map":
                return self.problem(reader["values"], writer["values"], f"{path}{{}}", depth + 1)
            case "enum":
                return _enum_problem(reader, writer, path)
            case "fixed":
                return _size_problem(reader.get("size"), writer.get("size"), path)
            case "record" | "error":
                return self._record_problem(reader, writer, path, depth)
        is_decimal = "decimal" in (_logical(reader), _logical(writer))
        return _decimal_problem(reader, writer, path) if is_decimal else None

    def _record_problem(self, reader: _Schema, writer: _Schema, path: str, depth: int) -> Incompatibility | None:
        pair = (str(reader.get("name")), str(writer.get("name")))
        if pair in self.visited:  # a type within itself
            return None
        self.visited.add(pair)
        problem = next(filter(None, self._field_problems(reader, writer, path, depth)), None)
        if problem is not None:
            self.visited.discard(pair)
        return problem

    def _field_problems(
        self, reader: _Schema, writer: _Schema, path: str, depth: int
    ) -> Iterator[Incompatibility | None]:
        written_fields = {one["name"]: one for one in _fields_of(writer)}
        for read_field in _fields_of(reader):
            names = (read_field["name"], *(read_field.get("aliases") or ()))
            written = next((written_fields[name] for name in names if name in written_fields), None)
            inner_path = f"{path}.{read_field['name']}" if path else str(read_field["name"])
            if written is not None:
                yield self.problem(read_field.get("type"), written.get("type"), inner_path, depth + 1)
            elif "default" not in read_field:
                yield _NOT_WRITTEN.at(inner_path)


def _is_name_of(reader: _Schema, writer: _Schema) -> bool:
    names = (reader.get("name"), *(reader.get("aliases") or ()))
    return _without_namespace(str(writer.get("name"))) in {_without_namespace(str(name)) for name in names}


def _type_problem(read: str, written: str) -> Incompatibility:
    return Incompatibility(
        f"{written} is not readable as {read}", f"must be {read} now, {written} is no longer accepted"
    )


def _size_problem(read: object, written: object, path: str) -> Incompatibility | None:
    if read == written:
        return None
    return Incompatibility(f"size {written} is not {read}", f"size is {read} now, not {written}").at(path)


def _enum_problem(reader: _Schema, writer: _Schema, path: str) -> Incompatibility | None:
    unknown = [one for one in writer.get("symbols") or () if one not in (reader.get("symbols") or ())]
    if not unknown or "default" in reader:
        return None
    symbol = f"symbol {unknown[0]}"
    return Incompatibility(f"{symbol} is new, and read without a default", f"{symbol} is no longer accepted").at(path)


def _decimal_problem(reader: _Schema, writer: _Schema, path: str) -> Incompatibility | None:
    read, written = _digits_of(reader), _digits_of(writer)
    if read == written:
        return None
    return Incompatibility(f"decimal {written} is not {read}", f"decimal is {read} now, not {written}").at(path)


def _digits_of(schema: _Schema) -> tuple[object, object] | None:
    """Return precision and scale of a decimal; None if it is none."""
    is_decimal = isinstance(schema, dict) and _logical(schema) == "decimal"
    return (schema.get("precision"), schema.get("scale") or 0) if is_decimal else None


def _named_types(schema: _Schema) -> dict[str, _Schema]:
    """Return the named types in a schema, by their names without namespaces."""
    types: dict[str, _Schema] = {}
    schemas = [schema]
    while schemas:
        part = schemas.pop()
        if isinstance(part, list):
            schemas += part
        elif isinstance(part, dict):
            kind, name = part.get("type"), part.get("name")
            if isinstance(kind, str) and kind in _NAMED and isinstance(name, str):
                types[_without_namespace(name)] = part
            schemas += [kind, part.get("items"), part.get("values")]
            schemas += part["fields"] if isinstance(part.get("fields"), list) else []
    return types


def _resolve(schema: _Schema, types: Mapping[str, _Schema]) -> _Schema:
    """Return a schema with a name in place of a named type replaced by that; raise NotJudged if there is none such."""
    for _ in range(len(types) + 2):
        if isinstance(schema, dict) and isinstance(schema.get("type"), list | dict):
            schema = schema["type"]
        elif isinstance(schema, str) and schema not in _PRIMITIVES:
            if _without_namespace(schema) not in types:
                raise NotJudged
            return types[_without_namespace(schema)]
        else:
            return schema
    raise NotJudged


def _kind(schema: _Schema) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else schema
    if not isinstance(kind, str):
        raise NotJudged
    return kind


def _logical(schema: _Schema) -> str | None:
    return schema.get("logicalType") if isinstance(schema, dict) else None


def _fields_of(record: _Schema) -> list[dict[str, Any]]:  # Any: a field as JSON
    fields = record.get("fields")
    if not isinstance(fields, list) or not all(isinstance(one, dict) and "name" in one for one in fields):
        raise NotJudged
    return fields


def _name(schema: _Schema) -> str:
    name = schema.get("name") or schema.get("type") if isinstance(schema, dict) else schema
    return str(name) if not isinstance(schema, list) else " or ".join(map(_name, schema))


def _without_namespace(name: str) -> str:
    return name.rpartition(".")[2]
