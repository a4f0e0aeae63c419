"""Types of columns as sources call them, in the words of the catalogue.

Next: ``sources/openlineage/columns.py``, ``sources/dbt/requests.py``.
"""

from __future__ import annotations

import re
from functools import cache

from tocsin.model import shapes
from tocsin.model.entity import Document

_SYNONYMS = {
    "INTEGER": "INT",
    "INT2": "SMALLINT",
    "INT4": "INT",
    "INT8": "BIGINT",
    "BYTE": "TINYINT",
    "SHORT": "SMALLINT",
    "LONG": "BIGINT",
    "REAL": "FLOAT",
    "FLOAT4": "FLOAT",
    "FLOAT8": "DOUBLE",
    "FLOAT64": "DOUBLE",
    "INT64": "BIGINT",
    "DOUBLE PRECISION": "DOUBLE",
    "BOOL": "BOOLEAN",
    "CHARACTER VARYING": "VARCHAR",
    "CHARACTER": "CHAR",
    "TIMESTAMP_NTZ": "TIMESTAMP",
    "TIMESTAMP_LTZ": "TIMESTAMPZ",
    "TIMESTAMPTZ": "TIMESTAMPZ",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMPZ",
    "TIMESTAMP WITHOUT TIME ZONE": "TIMESTAMP",
}
_LENGTH_NEEDED = frozenset({"VARCHAR", "CHAR", "BINARY", "VARBINARY"})
_WITHOUT_LENGTH = {"VARCHAR": "STRING", "VARBINARY": "BYTES"}
"""Types that need a length here, and what they are in databases that know them without one."""

UNKNOWN = "UNKNOWN"
LONGEST_TYPE = 1_000
"""Characters of a type that are kept as its display text."""

_BRACKET = re.compile(r"[(<>,]")
_LONGEST_WORD, _LONGEST_SIZES, _LONGEST_NUMBER = 100, 40, 10


def column_type_of(type_text: str | None, *, has_fields: bool = False) -> Document:
    """Return the type of a column: by its name as far as that is known, and as the source wrote it."""
    type_text = (type_text or "").strip()
    data_type = _named_type(type_text, otherwise="STRUCT" if has_fields else UNKNOWN)
    sizes = _sizes_in(type_text)
    column_type: Document = {"dataType": data_type}
    if type_text:
        column_type["dataTypeDisplay"] = type_text[:LONGEST_TYPE]
    if data_type in {"DECIMAL", "NUMERIC"} and sizes:
        column_type |= dict(zip(("precision", "scale"), sizes, strict=False))
    elif not sizes and data_type in _WITHOUT_LENGTH:
        column_type["dataType"] = _WITHOUT_LENGTH[data_type]
    elif data_type in _LENGTH_NEEDED:
        column_type["dataLength"] = sizes[0] if sizes else 1
    elif data_type == "ARRAY":
        column_type["arrayDataType"] = _named_type(type_text.partition("<")[2], otherwise=UNKNOWN)
    return column_type


def _sizes_in(type_text: str) -> list[int]:
    """Return the numbers in the brackets of a type, such as those of ``decimal(10,2)``."""
    numbers = type_text.partition("(")[2].partition(")")[0][:_LONGEST_SIZES].split(",")
    return [int(number) for number in map(str.strip, numbers) if number.isdecimal() and len(number) < _LONGEST_NUMBER]


def _named_type(type_text: str, *, otherwise: str) -> str:
    """Return the type whose name stands before brackets; ``otherwise`` if there is none of that name."""
    name = _BRACKET.split(type_text[:_LONGEST_WORD], maxsplit=1)[0]
    word = " ".join(name.split()).upper()
    data_type = _SYNONYMS.get(word, word)
    return data_type if data_type in _known_types() else otherwise


@cache
def _known_types() -> frozenset[str]:
    return frozenset(shapes.named_shape("dataType")["enum"])
