"""Answer to an SQL query on the lake, as every process hands it on. Next: ``jobs/lake_queries.py``."""

from __future__ import annotations

from dataclasses import dataclass, field

from tocsin.model.entity import Document


@dataclass(frozen=True)
class QueryAnswer:
    """Rows that answer a query, in values that JSON has, and the ``name`` and ``type`` of each column.

    ``arrow`` has the same rows, with their types, as a stream of Arrow's IPC format, if that was asked for instead.
    """

    columns: list[Document]
    records: list[Document] = field(default_factory=list)
    arrow: bytes | None = None
