"""Wire model of entities: a JSON document with OpenMetadata's keys.

Differences between types are rows of ``model/entity_types.py``. Next: ``model/change.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

Document = dict[str, Any]  # Any: an entity's JSON document, open by design of the table-driven catalogue

FIRST_VERSION = Decimal("0.1")


class WireModel(BaseModel):
    """Base of all wire models: camelCase outside, snake_case inside, unknown keys refused, immutable."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    def to_wire(self) -> Document:
        """Return the JSON document of this model, without keys that were left unset."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class EntityReference(WireModel):
    """A pointer to an entity. Source: schemas/type/entityReference.json."""

    id: str
    type: str
    name: str | None = None
    fully_qualified_name: str | None = None
    description: str | None = None
    display_name: str | None = None
    deleted: bool | None = None
    inherited: bool | None = None
    href: str | None = None


def version_from_tenths(tenths: int) -> Decimal:
    """Return the version that ``tenths`` counts: 12 is 1.2."""
    return Decimal(tenths).scaleb(-1)


def version_to_tenths(version: Decimal) -> int:
    """Return how many tenths ``version`` holds: 1.2 is 12."""
    return int(version.scaleb(1))


@lru_cache(maxsize=1_000)
def version_to_wire(version: Decimal) -> float:
    """Return ``version`` as the JSON number upstream writes: one decimal place, no drift."""
    return float(round(version, 1))


def map_objects(value: Any, change: Callable[[Document], Any]) -> Any:  # Any: a JSON value
    """Return a JSON value with every object in it as ``change`` makes it, the inner ones first."""
    if isinstance(value, list):
        return [map_objects(one, change) for one in value]
    if not isinstance(value, dict):
        return value
    return change({key: map_objects(inner, change) for key, inner in value.items()})
