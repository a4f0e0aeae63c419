"""Names of OpenMetadata's search indexes and index groups, mapped to entity types.

Source: OpenMetadata's ``indexMapping.json`` and what its client sends. Next: ``search/parse.py``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tocsin.errors import InvalidInput
from tocsin.model.entity_types import ENTITY_TYPES

NOT_SEARCHED = frozenset(
    {"eventsubscription", "notificationTemplate", "type", "policy", "role", "bot", "testDefinition", "webhook"}
)
"""Types that are how Tocsin is set up, not what people look for; they are not in the index."""

SEARCHED = tuple(name for name in ENTITY_TYPES if name not in NOT_SEARCHED)
"""Types of which every entity has an entry in the index."""

_SUFFIX = "_search_index"
_IRREGULAR = {"searchIndex": "search_entity_search_index", "mlmodelService": "mlmodel_service_search_index"}
_ON_THEIR_OWN = frozenset({"user", "team", "metadataService"})
"""Types that ``all`` does not mean, upstream and here."""

_NO_DATA_ASSETS = frozenset({"query", "testCase", "testSuite", "domain", "glossary", "classification"})
_ALSO = {"glossary_search_index": ("glossaryTerm",)}
"""Names that mean more than their own type: the client asks so for glossary terms."""


def index_of(entity_type: str) -> str:
    """Return the name of the index in which a type is found."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", entity_type).lower()
    return _IRREGULAR.get(entity_type, f"{snake}{_SUFFIX}")


def entity_types_of(index: str) -> tuple[str, ...] | None:
    """Return the types that a list of names, separated by commas, means; None for every type there is.

    Raises
    ------
    InvalidInput : one of them is the name of no index.
    """
    types: dict[str, None] = {}
    for name in (one.strip() for one in index.split(",")):
        if name in ("", "all_types"):
            return None
        types |= dict.fromkeys(_types_of(name))
    return tuple(types)


def _types_of(name: str) -> Sequence[str]:
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name.endswith("_index") or name in NOT_SEARCHED:
        return ()
    raise InvalidInput(f"unknown index {name[:100]!r}; valid indexes: {', '.join(sorted(_BY_NAME))}", field="index")


def _build_names() -> dict[str, tuple[str, ...]]:
    """Return every name of an index: of one type, of all its descendants, and of groups."""
    services = tuple(name for name in SEARCHED if name.endswith("Service"))
    everything = tuple(name for name in SEARCHED if name not in _ON_THEIR_OWN)
    assets = tuple(name for name in everything if name not in services and name not in _NO_DATA_ASSETS)
    types_by_name = {"all": everything, "dataAsset": assets, "service": services}
    for name in SEARCHED:
        types_by_name[index_of(name)] = (name, *_ALSO.get(index_of(name), ()))
        types_by_name.setdefault(name, (name,))
    return types_by_name


_BY_NAME = _build_names()
