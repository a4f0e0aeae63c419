"""Columns of the table of entity types; the rows are in ``model/types``.

Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from tocsin.model.entity import Document

Path = tuple[str, ...]


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


COMMON = words(
    "id name fullyQualifiedName displayName description version updatedAt updatedBy impersonatedBy owners href "
    "changeDescription incrementalChangeDescription deleted domains"
)
"""Keys that nearly every type has."""

DATA = words(
    "followers tags dataProducts votes entityStatus dataContract extension certification lifeCycle sourceHash service "
    "serviceType sourceUrl"
)
"""Keys that nearly every type under a service has."""

FOLLOWERS: Mapping[str, object] = {"followers": {"list": {"use": "entityReference"}}}
"""Followers of a type whose published schema has none, for ``added``."""

CHANGE_REQUESTS = "changeRequests"
"""The key of what is announced of an asset, which every type of asset has."""

OWNING = ("user", "team")
"""Types that own assets: who follows one follows what it owns."""


@dataclass(frozen=True)
class Parentage:
    """A possible parent of an entity: the key that names it, and the types it may have."""

    field: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class EntityType:
    """One row of the catalogue's table of types.

    Attributes
    ----------
    name : the type in references and change events, e.g. ``table``
    collection : the path under ``/api/v1/``, e.g. ``tables`` or ``services/databaseServices``
    keys : every key a document of this type may hold: those of its schema and of ``added``, and no others
    required : keys a create request must hold
    places : the possible parents; the first that a document gives is its parent
    ancestors : keys of further ancestors, taken over from the parent's document
    may_stand_alone : whether it needs no parent
    infix : a name between the parent's FQN and its own
    members : paths of its lists of named members (``columns``, ``messageSchema.schemaFields``)
    breaking : what consumers rely on: lists of ``members``, which break them when one is dropped, retyped or made
        smaller, and other keys, which do so when their value changes
    defaults : what a create request that leaves a key out gets
    separate_keys : keys of data stored outside the document: shown on request, never written with it
    is_renamable : a PATCH may give it another name
    is_movable : a PATCH may put it under another parent
    fixed : further keys that determine its place, which no PATCH changes
    ignored : further keys of its create request, which are not stored
    is_service : it is a service, from which all its descendants take their ``serviceType``
    added : further keys that its published schema lacks, with their shapes (``model/shapes.py``)
    shapes : for a type that OpenMetadata does not publish: the shapes (``model/shapes.py``) of the keys that a table
        does not have, those of its ancestors excepted
    """

    name: str
    collection: str
    keys: frozenset[str]
    required: tuple[str, ...] = ("name",)
    places: tuple[Parentage, ...] = ()
    ancestors: tuple[str, ...] = ()
    may_stand_alone: bool = False
    infix: str | None = None
    members: tuple[str, ...] = ()
    breaking: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    separate_keys: frozenset[str] = frozenset()
    is_renamable: bool = False
    is_movable: bool = False
    fixed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    is_service: bool = False
    added: Mapping[str, object] = field(default_factory=dict)
    shapes: Mapping[str, object] = field(default_factory=dict)

    @property
    def is_asset(self) -> bool:
        """Whether it is an asset, which says who follows it: anything but people and what administers."""
        return "followers" in self.keys

    @property
    def is_followable(self) -> bool:
        """Whether people can follow it: an asset, or who owns assets."""
        return self.is_asset or self.name in OWNING

    @cached_property
    def upward(self) -> tuple[str, ...]:
        """Keys of the references to its ancestors, its parent's first."""
        return tuple(dict.fromkeys((*(place.field for place in self.places), *self.ancestors)))

    def with_change_requests(self) -> Self:
        """Return the row, of an asset with the key of what is announced of it."""
        if not self.is_asset:
            return self
        added = {**self.added, CHANGE_REQUESTS: {"list": "object"}}
        separate_keys = self.separate_keys | {CHANGE_REQUESTS}
        return replace(self, keys=self.keys | {CHANGE_REQUESTS}, added=added, separate_keys=separate_keys)

    def parent_field(self, document: Document) -> str | None:
        """Return the key under which ``document`` names its parent."""
        return next((place.field for place in self.places if document.get(place.field)), None)

    @cached_property
    def member_paths(self) -> tuple[Path, ...]:
        """The paths of its lists of members, taken apart."""
        return tuple(tuple(path.split(".")) for path in self.members)

    def member_lists(self, document: Document) -> Iterator[list[Document]]:
        """Yield every list of members that ``document`` holds."""
        for path in self.member_paths:
            members = value_at(document, path)
            if isinstance(members, list):
                yield members


def value_at(document: Document, path: Path) -> object:
    """Return the value at ``path``, None where there is nothing."""
    value: object = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value
