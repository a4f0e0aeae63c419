"""Assets that the datasets of an event stand for: found by the mapping of their namespaces, and created if allowed.

The schema, description and owners that an event names are written only to tables that OpenLineage created: of others, a
connector knows the types exactly, and a producer only what its own engine calls them. What a person wrote stays.
Next: ``sources/openlineage/writing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.capture.ports import Collision, Hold
from tocsin.flow.capture.upsert import create, ensure, put
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored
from tocsin.sources.openlineage.columns import columns_of
from tocsin.sources.openlineage.events import EventDataset, Identifier
from tocsin.sources.openlineage.mapping import LineageMapping

BROUGHT = "openLineage"
"""As what it is attached to a table that OpenLineage created it, with its namespace and name."""

_TARGETS = ("databaseService", "database", "messagingService", "storageService")
"""Types of what a namespace may be mapped to."""

_DEFAULT_DATABASE = "default"
"""The database of services that have none between service and schema, as OpenMetadata's connectors call it."""

_TABLE_NAMES, _SCHEMA_NAMES = 3, 2


class UnresolvedPart(Exception):  # an outcome, not an error of the request
    """A dataset or job of an event that nothing here stands for, and why."""

    def __init__(self, identifier: Identifier, reason: str) -> None:
        super().__init__(reason)
        self.identifier, self.reason = identifier, reason


@dataclass(frozen=True)
class _AssetPlace:
    """Where the asset of a dataset is, if there is one: its type, and the names of its FQN."""

    entity_type: str
    names: tuple[str, ...]

    @property
    def fqn(self) -> str:
        return fqn.join(self.names)


@dataclass
class DatasetAssets:
    """The assets of the datasets of one event, inside its transaction."""

    record: Record
    mapping: LineageMapping
    _assets: dict[Identifier, Stored] = field(default_factory=dict)

    def asset_of(self, dataset: EventDataset) -> Stored:
        """Return the asset that a dataset stands for, created if that is allowed, with what the event says of it.

        Raises
        ------
        UnresolvedPart : there is none, or the actor may not view it
        """
        known_asset = self._assets.get(dataset.identifier)
        asset = known_asset or self._existing_asset(dataset) or self._created_table(dataset)
        if asset.entity_type == "table" and self._is_brought(asset):
            asset = self._with_facets(asset, dataset)
        self._assets[dataset.identifier] = asset
        return asset

    def known_asset(self, identifier: Identifier) -> Stored | None:
        """Return the asset of a dataset that the event named before; None if it named none of that name."""
        return self._assets.get(identifier)

    def _existing_asset(self, dataset: EventDataset) -> Stored | None:
        for place in self._places(dataset):
            for spelling in dict.fromkeys((place.fqn, place.fqn.lower())):
                asset = self.record.transaction.find(place.entity_type, Key.by_name(spelling), Hold.SHARED)
                if asset is None:
                    continue
                if asset.is_deleted:
                    raise UnresolvedPart(dataset.identifiers()[0], f"{asset.entity_type} {spelling} is deleted")
                if self.record.permit.may(Operation.VIEW_BASIC, asset.entity_type, asset.document):
                    return asset
        return None

    def _created_table(self, dataset: EventDataset) -> Stored:
        place = next((one for one in self._places(dataset) if one.entity_type == "table"), None)
        if place is None:
            raise UnresolvedPart(dataset.identifiers()[0], self._reason_without_place(dataset))
        if not self.mapping.creates:
            raise UnresolvedPart(dataset.identifiers()[0], f"there is no table {place.fqn}")
        service, database, schema, table = place.names
        schema_facet = dataset.description.fields_facet
        database_fqn, schema_fqn = fqn.join((service, database)), fqn.join((service, database, schema))
        request = {
            "name": table,
            "databaseSchema": schema_fqn,
            "columns": columns_of((schema_facet and schema_facet.fields) or ()),
        }
        try:
            ensure(self.record, "database", {"name": database, "service": service})
            ensure(self.record, "databaseSchema", {"name": schema, "database": database_fqn})
            write_result = create(self.record, "table", request)
        except Collision:
            raise
        except TocsinError as error:
            raise UnresolvedPart(dataset.identifiers()[0], error.message) from error
        mark = {"namespace": dataset.namespace, "name": dataset.name}
        self.record.transaction.attachments.put(write_result.document["id"], BROUGHT, mark)
        return self._find("table", write_result.document["id"])

    def _places(self, dataset: EventDataset) -> Iterator[_AssetPlace]:
        """Yield where the asset may be, by each name of the dataset whose namespace leads to a service."""
        for identifier in dataset.identifiers():
            target = self._target_of(identifier.namespace)
            if target is not None and (place := _place_in(target, identifier.name)) is not None:
                yield place

    def _target_of(self, namespace: str) -> Stored | None:
        name = self.mapping.target_of(namespace)
        with suppress(InvalidInput):
            names = fqn.join(fqn.split(name)) if namespace in self.mapping.targets else fqn.quote(name)
            for entity_type in _TARGETS:
                target = self.record.transaction.find(entity_type, Key.by_name(names), Hold.SHARED)
                if target is not None and not target.is_deleted:
                    return target
        return None

    def _reason_without_place(self, dataset: EventDataset) -> str:
        identifiers = dataset.identifiers()
        if all(self._target_of(one.namespace) is None for one in identifiers):
            return f"the namespace {identifiers[0].namespace} is mapped to no service"
        return f"{identifiers[0].name} is no name of an asset in the service of its namespace"

    def _is_brought(self, asset: Stored) -> bool:
        return self.record.transaction.attachments.get(asset.id, BROUGHT) is not None

    def _with_facets(self, table: Stored, dataset: EventDataset) -> Stored:
        """Return a table that OpenLineage created, with what the event says of it written."""
        facets = dataset.description
        request: Document = {"name": table.document["name"], "databaseSchema": fqn.parent(table.fqn)}
        if facets.fields_facet and facets.fields_facet.fields:
            request["columns"] = columns_of(facets.fields_facet.fields)
        else:
            request["columns"] = table.document.get("columns", [])
        if facets.documentation and facets.documentation.description:
            request["description"] = facets.documentation.description
        if facets.ownership and (owners := self._owners_of(dataset)):
            request["owners"] = owners
        put(self.record, "table", request)
        return self._find("table", table.id)

    def _owners_of(self, dataset: EventDataset) -> list[Document]:
        """Return the owners who are people or teams here; ``team:`` may stand before the name of one."""
        owners = dataset.description.ownership.owners if dataset.description.ownership else None
        references = (self._owner_called(owner.name) for owner in owners or ())
        return [reference for reference in references if reference is not None]

    def _owner_called(self, name: str) -> Document | None:
        prefix, _, bare_name = name.rpartition(":")
        for entity_type in (prefix,) if prefix in ("user", "team") else ("user", "team"):
            owner = self.record.transaction.find(entity_type, Key.by_name(fqn.quote(bare_name)), Hold.SHARED)
            if owner is None or owner.is_deleted:
                continue
            if self.record.permit.may(Operation.VIEW_BASIC, entity_type, owner.document):
                return {"type": entity_type, "id": owner.id}
        return None

    def _find(self, entity_type: str, entity_id: str) -> Stored:
        entity = self.record.transaction.find(entity_type, Key.by_id(entity_id), Hold.SHARED)
        assert entity is not None, "it was written in this transaction"  # noqa: S101
        return entity


def _place_in(target: Stored, name: str) -> _AssetPlace | None:
    """Return where a dataset of this name is in a service or database; None if it cannot be there."""
    service = target.fqn
    match target.entity_type:
        case "messagingService":
            return _AssetPlace("topic", (*fqn.split(service), name))
        case "storageService":
            return _AssetPlace("container", (*fqn.split(service), name.strip("/"))) if name.strip("/") else None
    parts = tuple(name.split("."))
    if not all(parts):
        return None
    if target.entity_type == "database":
        database = fqn.split(service)[-1]
        if len(parts) == _TABLE_NAMES and parts[0].lower() == database.lower():
            parts = parts[1:]
        return _AssetPlace("table", (*fqn.split(service), *parts)) if len(parts) == _SCHEMA_NAMES else None
    if len(parts) == _SCHEMA_NAMES:
        parts = (_DEFAULT_DATABASE, *parts)
    return _AssetPlace("table", (*fqn.split(service), *parts)) if len(parts) == _TABLE_NAMES else None
