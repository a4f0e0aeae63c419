"""What did pydantic find wrong? Its findings in our words, for whoever sent what it looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from tocsin.model.words import hint

Finding = Mapping[str, Any]  # Any: pydantic's own description of a problem

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'")

_WANTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "decimal": "a number",
    "string": "a text",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "model": "an object",
    "uuid": "a UUID",
    "url": "an address",
    "date": "a date",
    "datetime": "a time",
    "json": "JSON",
    "path": "a path",
}
"""By how the names of the findings begin: ``int_parsing``, ``int_type``."""

_LIMITS: dict[str, Callable[[Mapping[str, Any]], str]] = {  # Any: as above
    "greater_than": lambda limits: f"must be more than {limits['gt']}",
    "greater_than_equal": lambda limits: f"must be {limits['ge']} or more",
    "less_than": lambda limits: f"must be less than {limits['lt']}",
    "less_than_equal": lambda limits: f"must be at most {limits['le']}",
    "string_too_short": lambda limits: f"must have at least {limits['min_length']} characters",
    "string_too_long": lambda limits: f"must have at most {limits['max_length']} characters",
    "string_pattern_mismatch": lambda limits: f"does not fit {limits['pattern']}",
    "too_short": lambda limits: f"must have at least {limits['min_length']} members",
    "too_long": lambda limits: f"must have at most {limits['max_length']} members",
}


def said(finding: Finding) -> str:
    """Return what is wrong, to stand behind the name of the place where it is."""
    kind, limits = str(finding["type"]), finding.get("ctx") or {}
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "there is no such key; remove it"
    if kind in ("literal_error", "enum"):
        there_are = str(limits["expected"])
        return f"is none of {there_are}{hint(finding.get('input'), _QUOTED.findall(there_are))}"
    if kind in _LIMITS:
        return _LIMITS[kind](limits)
    wanted = _WANTED.get(kind.split("_")[0])
    if wanted is not None and kind != "value_error":
        return f"must be {wanted}"
    return str(finding["msg"]).removeprefix("Value error, ").replace("Input should be", "must be", 1)
