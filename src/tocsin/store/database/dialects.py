"""Expressions that SQLite and PostgreSQL write differently; each is compiled to that of the store that runs it."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, ColumnElement, cast, func
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Expression = ColumnElement[Any]  # Any: a value of any type


class _PerStore(FunctionElement[Any]):  # Any: as above
    inherit_cache = True


@compiles(_PerStore, "sqlite")
def _compile_sqlite(element: _PerStore, compiler: SQLCompiler, **options: Any) -> str:  # Any: the compiler's own
    return compiler.process(element.clauses.clauses[0], **options)


@compiles(_PerStore, "postgresql")
def _compile_postgresql(element: _PerStore, compiler: SQLCompiler, **options: Any) -> str:  # Any: as above
    return compiler.process(element.clauses.clauses[1], **options)


def per_store(*, sqlite: Expression, postgresql: Expression) -> Any:  # Any: compared with values and conditions alike
    """Return an expression that is the one on SQLite and the other on PostgreSQL."""
    return _PerStore(sqlite, postgresql)


def json_text(document: Expression, *keys: str) -> Any:  # Any: as above
    """Return the value under a key of a document, or under keys of what is in it; a list as its text.

    A boolean is 0 or 1 on SQLite, ``false`` or ``true`` on PostgreSQL.
    """
    path = "$." + ".".join(keys)
    text = func.json_extract_path_text(cast(document, JSON), *keys)
    return per_store(sqlite=func.json_extract(document, path), postgresql=text)
