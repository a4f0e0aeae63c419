"""Columns that a statement makes, and the columns of tables that they are made from.

What cannot be read is left out: a statement in a language that is not known, a column that comes through a function of
tables. Source: sqlglot's ``lineage``. Next: ``sources/dbt/run.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

_DIALECTS = {
    "athena": "athena",
    "bigquery": "bigquery",
    "clickhouse": "clickhouse",
    "databricks": "databricks",
    "duckdb": "duckdb",
    "mysql": "mysql",
    "postgres": "postgres",
    "redshift": "redshift",
    "snowflake": "snowflake",
    "spark": "spark",
    "sqlite": "sqlite",
    "sqlserver": "tsql",
    "trino": "trino",
}
"""What sqlglot calls the SQL of each adapter of dbt."""

_UNREADABLE = (SqlglotError, RecursionError, ValueError, TypeError, KeyError, AttributeError)
"""What sqlglot raises on statements that it does not understand."""

MOST_COLUMNS = 500
"""Columns of one statement that are traced."""

TablePath = tuple[str, ...]
"""The names of a table below its service, in lower case: database, schema, table."""


class ColumnOf(NamedTuple):
    """A column of a table, as a statement calls them."""

    table: TablePath
    name: str


@dataclass(frozen=True)
class StatementReader:
    """Reads statements of one database; ``columns`` are those of its tables, with their types."""

    adapter: str
    columns: Mapping[TablePath, Mapping[str, str]]

    def origins_of(self, statement: str) -> dict[str, frozenset[ColumnOf]]:
        """Return what each column that a query makes is made from, by its name; empty if it cannot be read."""
        dialect = _DIALECTS.get(self.adapter)
        if dialect is None:
            return {}
        try:
            return self._trace_columns(statement, dialect)
        except _UNREADABLE:
            return {}

    def outputs_of(self, statement: str) -> dict[str, str | None] | None:
        """Return the columns that a query makes, in their order, each with its type in SQL if that is known.

        None: the query cannot be read, or takes all columns of a table whose columns are not known.
        """
        dialect = _DIALECTS.get(self.adapter)
        if dialect is None:
            return None
        try:
            query, schema = self._qualified_query(statement, dialect)
            query = annotate_types(query, schema=schema, dialect=dialect)
            if not isinstance(query, exp.Query) or "*" in query.named_selects:
                return None
            return {select.alias_or_name: _type_of(select, dialect) for select in query.selects}
        except _UNREADABLE:
            return None

    def names_read_by(self, statement: str) -> frozenset[str] | None:
        """Return the names of all columns that a statement reads, in lower case; None if they cannot be known."""
        dialect = _DIALECTS.get(self.adapter)
        if dialect is None:
            return None
        try:
            query, _ = self._qualified_query(statement, dialect)
        except _UNREADABLE:
            return None
        if any(isinstance(star.parent, exp.Select | exp.Column) for star in query.find_all(exp.Star)):
            return None
        return frozenset(column.name.lower() for column in query.find_all(exp.Column))

    def _qualified_query(self, statement: str, dialect: str) -> tuple[exp.Expr, dict[str, object]]:
        """Return a query with the table of every column named and stars expanded, and the columns it may read."""
        expression = parse_one(statement, dialect=dialect)
        tables = {_path_of(table) for table in expression.find_all(exp.Table)}
        schema = _schema_of({path: self.columns[path] for path in tables if path in self.columns})
        query = qualify(expression, schema=schema, dialect=dialect, validate_qualify_columns=False, identify=False)
        return query, schema

    def _trace_columns(self, statement: str, dialect: str) -> dict[str, frozenset[ColumnOf]]:
        query, schema = self._qualified_query(statement, dialect)
        scope = build_scope(query)
        if scope is None or not isinstance(query, exp.Query):
            return {}
        origins: dict[str, frozenset[ColumnOf]] = {}
        for name in query.named_selects[:MOST_COLUMNS]:
            if name and name != "*":
                trace = lineage(name, query, scope=scope, schema=schema, dialect=dialect)
                origins[name] = frozenset(_leaves_of(trace))
        return {name: columns for name, columns in origins.items() if columns}


def _type_of(select: exp.Expr, dialect: str) -> str | None:
    """Return the type of what a query selects; None if it is not known."""
    data_type = select.type
    if data_type is None or data_type.this in (exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL):
        return None
    return data_type.sql(dialect=dialect)


def _leaves_of(trace: Node) -> set[ColumnOf]:
    """Return the columns of tables in which a trace ends."""
    leaves = set[ColumnOf]()
    for node in trace.walk():
        column_name = node.name.rpartition(".")[2].strip('"')
        if isinstance(node.expression, exp.Table) and column_name not in ("", "*"):
            leaves.add(ColumnOf(_path_of(node.expression), column_name))
    return leaves


def _path_of(table: exp.Table) -> TablePath:
    return tuple(part.lower() for part in (table.catalog, table.db, table.name) if part)


def _schema_of(columns: Mapping[TablePath, Mapping[str, str]]) -> dict[str, object]:
    """Return the columns of tables by database, schema and table, as sqlglot asks for them."""
    schema: dict[str, object] = {}
    for path, types in columns.items():
        level = schema
        for name in path[:-1]:
            level = level.setdefault(name, {})  # type: ignore[assignment]  # levels of dictionaries
        level[path[-1]] = dict(types)
    return schema
