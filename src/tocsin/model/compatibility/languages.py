"""Compatibility of two schemas as texts, by the rules of the language they are written in.

A change breaks those who keep the old schema: as readers of what is written from now on or, of the requests of an
API, as their writers. Cases that a rule leaves open, texts that are no schema and comparisons of extreme size have no
result.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.model.compatibility import avro, json_schema, protobuf
from tocsin.model.compatibility.budget import NotJudged
from tocsin.model.compatibility.incompatibility import Incompatibility

_LANGUAGES: dict[str, Callable[[str, str], Incompatibility | None]] = {
    "Avro": avro.problem_between,
    "Protobuf": protobuf.problem_between,
    "JSON": json_schema.problem_between,
    "JSONSchema": json_schema.problem_between,
}
"""The check of each ``schemaType`` that has rules: the texts of reader and writer, to the first problem."""


def incompatibility(language: str, *, reader: str, writer: str, tells_writer: bool = False) -> str | None:
    """Return why what is written by the schema ``writer`` may not be readable by ``reader``; None if it is.

    ``tells_writer``: ``writer`` is the old schema, and the reason is in the words of the clients that keep it.
    """
    check = _LANGUAGES.get(language)
    if check is None:
        return None
    try:
        problem = check(reader, writer)
    except (NotJudged, RecursionError, LookupError, TypeError, AttributeError):  # whatever form the texts have
        return None
    if problem is None:
        return None
    return problem.to_writer if tells_writer else problem.to_reader
