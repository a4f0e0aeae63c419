"""Column types, derived from Fernhill's names: ``_at`` is a timestamp, ``_cents`` money, ``is_`` a boolean.

Next: ``sample/assets.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document

_BY_ENDING: tuple[tuple[str, Document], ...] = (
    ("_key", {"dataType": "BIGINT"}),
    ("_id", {"dataType": "BIGINT"}),
    ("_at", {"dataType": "TIMESTAMP"}),
    ("_on", {"dataType": "DATE"}),
    ("_cents", {"dataType": "BIGINT"}),
    ("_count", {"dataType": "INT"}),
    ("_grams", {"dataType": "INT"}),
    ("_mm", {"dataType": "INT"}),
    ("_px", {"dataType": "INT"}),
    ("_s", {"dataType": "INT"}),
    ("quantity", {"dataType": "INT"}),
    ("position", {"dataType": "INT"}),
    ("_rate", {"dataType": "NUMERIC", "precision": 9, "scale": 4}),
    ("rate", {"dataType": "NUMERIC", "precision": 18, "scale": 8}),
    ("_high", {"dataType": "NUMERIC", "precision": 5, "scale": 1}),
    ("_low", {"dataType": "NUMERIC", "precision": 5, "scale": 1}),
    ("_text", {"dataType": "TEXT"}),
    ("_code", {"dataType": "VARCHAR", "dataLength": 20}),
)
_FLAG: Document = {"dataType": "BOOLEAN"}
_WORDS: Document = {"dataType": "VARCHAR", "dataLength": 255}

PERSONAL = "PII.Sensitive"


def column(written: str) -> Document:
    """Return the column for ``written``: its name, followed by ``!`` when it is personal data."""
    name = written.removesuffix("!")
    tags = [tag_label(PERSONAL)] if written.endswith("!") else []
    return {"name": name, **type_of(name), **({"tags": tags} if tags else {})}


def type_of(name: str) -> Document:
    """Return the type of a column of that name."""
    if name.startswith(("is_", "has_")):
        return dict(_FLAG)
    return dict(next((kind for ending, kind in _BY_ENDING if name.endswith(ending)), _WORDS))


def wider(column: Document) -> Document | None:
    """Return the type one would change this column to when it gets too small, None if it cannot."""
    match column:
        case {"dataType": "INT"}:
            return {"dataType": "BIGINT"}
        case {"dataType": "VARCHAR", "dataLength": int(length)} if length < 1000:
            return {"dataType": "VARCHAR", "dataLength": length * 2}
        case {"dataType": "VARCHAR"}:
            return {"dataType": "TEXT"}
        case {"dataType": "DATE"}:
            return {"dataType": "TIMESTAMP"}
        case _:
            return None


def tag_label(tag_fqn: str) -> Document:
    """Return the label for a tag on an entity."""
    return {"tagFQN": tag_fqn, "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
