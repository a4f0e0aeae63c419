"""Changes that are proposed and not yet made, as a check of a pull request sends them.

``catalogue/proposals.py`` rehearses them.
"""

from __future__ import annotations

from pydantic import Field, field_validator, model_validator

from tocsin.model.entity import Document, WireModel

MOST_PROPOSED = 200
"""Proposed changes of one request."""

MOST_CONDITIONS = 50
"""Conditions that one request asks about."""

_LONGEST_NAME = 3_072
_MOST_COLUMNS = 2_000
_LONGEST_SCHEMA = 1_048_576
_COLUMN_KEYS = frozenset(
    (
        "name",
        "dataType",
        "dataLength",
        "precision",
        "scale",
        "arrayDataType",
        "dataTypeDisplay",
        "constraint",
        "children",
    )
)
"""What can be proposed of a column: names of tags, people and glossary terms cannot, which may be hidden."""


class ProposedSchema(WireModel):
    """A new schema of messages."""

    schema_text: str = Field(max_length=_LONGEST_SCHEMA)
    schema_type: str | None = Field(default=None, max_length=40)


class ProposedChange(WireModel):
    """A change of one asset: it is deleted, or loses, gains or changes columns, or its messages get another schema.

    Attributes
    ----------
    removed_columns : names or paths of columns, as the asset or the proposal spells them
    columns : columns that are new, or what is new of columns that are there: ``name``, type, ``constraint``
    message_schema : the new schema of a topic
    adapted : FQNs of assets that are made from this one and that the same pull request makes without what goes
    """

    entity_type: str = Field(min_length=1, max_length=40)
    fully_qualified_name: str = Field(min_length=1, max_length=_LONGEST_NAME)
    deleted: bool = False
    removed_columns: tuple[str, ...] = Field(default=(), max_length=_MOST_COLUMNS)
    columns: tuple[Document, ...] = Field(default=(), max_length=_MOST_COLUMNS)
    message_schema: ProposedSchema | None = None
    adapted: tuple[str, ...] = Field(default=(), max_length=_MOST_COLUMNS)

    @field_validator("columns")
    @classmethod
    def _check_columns(cls, columns: tuple[Document, ...]) -> tuple[Document, ...]:
        for number, column in enumerate(columns):
            _check_column(column, f"[{number}]")
        return columns

    @model_validator(mode="after")
    def _check_change(self) -> ProposedChange:
        changes = (self.removed_columns, self.columns, self.message_schema)
        if self.deleted and any(changes):
            raise ValueError("is deleted: nothing else of it can change")
        if not self.deleted and not any(changes):
            raise ValueError("changes nothing: give deleted, removedColumns, columns or messageSchema")
        return self


def _check_column(column: object, place: str) -> None:
    """Refuse what is no column, or says more of it than its type."""
    if not isinstance(column, dict) or not isinstance(column.get("name"), str) or not column["name"]:
        raise ValueError(f"{place}: must be a column with its name")
    if unknown_keys := sorted(column.keys() - _COLUMN_KEYS):
        raise ValueError(f"{place}: {unknown_keys[0]} cannot be proposed; what can: {', '.join(sorted(_COLUMN_KEYS))}")
    children = column.get("children")
    if children is not None and not isinstance(children, list):
        raise ValueError(f"{place}.children: must be a list of columns")
    for number, child in enumerate(children or ()):
        _check_column(child, f"{place}.children[{number}]")


class ChangeCheck(WireModel):
    """A request to check proposed changes; ``conditions`` are asked of each, ``people`` names whom it would notify."""

    changes: tuple[ProposedChange, ...] = Field(min_length=1, max_length=MOST_PROPOSED)
    conditions: tuple[str, ...] = Field(default=(), max_length=MOST_CONDITIONS)
    people: bool = False
