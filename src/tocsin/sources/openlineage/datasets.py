"""Assets that the datasets of an event stand for: found by the mapping of their namespaces, and created if allowed.

The schema, description and owners that an event names are written only to tables that OpenLineage created: of others, a
connector knows the types exactly, and a producer only what its own engine calls them. What a person wrote stays.
Next: ``sources/openlineage/writing.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.upsert import create, put
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.stored import Key, Stored
from tocsin.sources.openlineage.columns import columns_of
from tocsin.sources.openlineage.events import EventDataset, Identifier
from tocsin.sources.openlineage.mapping import LineageMapping

BROUGHT = "openLineage"
"""As what it is attached to a table or pipeline that OpenLineage created it, with the time of what was written last."""

_TARGETS = ("databaseService", "database", "messagingService", "storageService")
"""Types of what a namespace may be mapped to."""

_DEFAULT_DATABASE = "default"
"""The database of services that have none between service and schema, as OpenMetadata's connectors call it."""

_TABLE_NAMES, _SCHEMA_NAMES = 3, 2
_TYPE_KEYS = ("name", "dataType", "dataLength", "precision", "scale", "arrayDataType")


class UnresolvedPart(Exception):  # an outcome, not an error of the request
    """A dataset or job of an event that nothing here stands for, and why."""

    def __init__(self, identifier: Identifier, reason: str) -> None:
        super().__init__(reason)
        self.identifier, self.reason = identifier, reason


@dataclass(frozen=True)
class _AssetPlace:
    """Where the asset of a dataset is, if there is one: its type, the service or database, and the names below it."""

    entity_type: str
    target: Stored
    names: tuple[str, ...]
    is_mapped: bool

    def fqns(self) -> Iterator[str]:
        """Yield the FQNs that it may have: as it is spelt, and in lower and upper case below its service."""
        above = fqn.split(self.target.fqn)
        spellings = (self.names, [name.lower() for name in self.names], [name.upper() for name in self.names])
        yield from dict.fromkeys(fqn.join((*above, *names)) for names in spellings)


@dataclass
class DatasetAssets:
    """The assets of the datasets of one event, inside its transaction."""

    record: Record
    mapping: LineageMapping
    at_ms: int
    _assets: dict[Identifier, Stored] = field(default_factory=dict)
    _targets: dict[str, Stored | None] = field(default_factory=dict)
    _columns: dict[str, dict[str, str]] = field(default_factory=dict)

    def asset_of(self, dataset: EventDataset) -> Stored:
        """Return the asset that a dataset stands for, created if that is allowed.

        Raises
        ------
        UnresolvedPart : there is none, or the actor may not view it
        """
        asset = self._assets.get(dataset.identifier) or self._existing_asset(dataset) or self._created_table(dataset)
        for identifier in (dataset.identifier, *dataset.identifiers()):
            self._assets.setdefault(identifier, asset)
        return asset

    def resolved_names(self) -> set[Identifier]:
        """Return the names of the datasets that were found or created."""
        return set(self._assets)

    def with_facets(self, dataset: EventDataset, asset: Stored) -> Stored:
        """Return an asset that a job writes, with what the event says of it, if OpenLineage created it.

        What is older than what was written last is left out, and so is what the actor may not edit.
        """
        if asset.entity_type != "table":
            return asset
        mark = self.record.transaction.attachments.get(asset.id, BROUGHT)
        if (
            mark is None
            or self.at_ms < mark["at"]
            or not self.record.permit.may(Operation.EDIT_ALL, "table", asset.document)
        ):
            return asset
        request = self._facets_of(dataset, asset)
        if not request:
            return asset
        names = {"name": asset.document["name"], "databaseSchema": fqn.parent(asset.fqn)}
        columns = asset.document.get("columns", [])
        if put(self.record, "table", names | {"columns": columns} | request).event is not None:
            self.record.transaction.attachments.put(asset.id, BROUGHT, mark | {"at": self.at_ms})
        table = self._find("table", asset.id)
        self._assets |= {identifier: table for identifier, known in self._assets.items() if known.id == table.id}
        self._columns.pop(table.id, None)
        return table

    def asset_called(self, identifier: Identifier) -> Stored | None:
        """Return the asset of a dataset that the event named before; None if it named none of that name."""
        return self._assets.get(identifier)

    def column_of(self, asset: Stored, name: str) -> str | None:
        """Return the FQN of a column by its name, whatever its case; None if the asset has none of that name."""
        if asset.id not in self._columns:
            fqns = sorted(column_fqns(asset.entity_type, asset.fqn, asset.document))
            self._columns[asset.id] = {one.lower(): one for one in reversed(fqns)} | {one: one for one in fqns}
        by_spelling = self._columns[asset.id]
        spellings = (fqn.child(asset.fqn, name), f"{asset.fqn}.{name}")
        columns = (by_spelling.get(one) or by_spelling.get(one.lower()) for one in spellings)
        return next((column for column in columns if column), None)

    def _existing_asset(self, dataset: EventDataset) -> Stored | None:
        for place in self._places(dataset):
            for spelling in place.fqns():
                asset = self.record.transaction.find(place.entity_type, Key.by_name(spelling), Hold.SHARED)
                if asset is None:
                    continue
                if asset.is_deleted:
                    raise UnresolvedPart(dataset.identifiers()[0], f"{asset.entity_type} {spelling} is deleted")
                if self.record.permit.may(Operation.VIEW_BASIC, asset.entity_type, asset.document):
                    return asset
        return None

    def _created_table(self, dataset: EventDataset) -> Stored:
        identifier = dataset.identifiers()[0]
        place = next((one for one in self._places(dataset) if one.entity_type == "table" and one.is_mapped), None)
        if place is None:
            raise UnresolvedPart(identifier, self._reason_without_place(dataset))
        table_fqn = next(place.fqns())
        if not self.mapping.creates:
            raise UnresolvedPart(identifier, f"there is no table {table_fqn}")
        service, database, schema, table = fqn.split(table_fqn)
        database_fqn, schema_fqn = fqn.join((service, database)), fqn.join((service, database, schema))
        facet = dataset.description.fields_facet
        columns = columns_of((facet and facet.fields) or ())
        requests = (
            ("database", database_fqn, {"name": database, "service": fqn.quote(service)}),
            ("databaseSchema", schema_fqn, {"name": schema, "database": database_fqn}),
            ("table", table_fqn, {"name": table, "databaseSchema": schema_fqn, "columns": columns}),
        )
        missing = [one for one in requests if self._lacks(one[0], one[1], identifier)]
        if not all(self.record.permit.may(Operation.CREATE, entity_type, {}) for entity_type, _, _ in missing):
            raise UnresolvedPart(identifier, f"the sender may not create table {table_fqn}")
        for entity_type, _, request in missing:
            created_id = create(self.record, entity_type, request).document["id"]
        self.record.transaction.attachments.put(created_id, BROUGHT, {"at": self.at_ms})
        return self._find("table", created_id)

    def _lacks(self, entity_type: str, entity_fqn: str, identifier: Identifier) -> bool:
        """Return whether there is no such entity; a table, or one that is deleted, makes a part unresolved."""
        entity = self.record.transaction.find(entity_type, Key.by_name(entity_fqn), Hold.SHARED)
        if entity is not None and (entity.is_deleted or entity_type == "table"):
            state = "is deleted" if entity.is_deleted else "is not for the sender to view"
            raise UnresolvedPart(identifier, f"{entity_type} {entity_fqn} {state}")
        return entity is None

    def _places(self, dataset: EventDataset) -> Iterator[_AssetPlace]:
        """Yield where the asset may be, by each name of the dataset whose namespace leads to a service."""
        for identifier in dataset.identifiers():
            target = self._target_of(identifier.namespace)
            is_mapped = identifier.namespace in self.mapping.targets
            if target is not None and (place := _place_in(target, identifier.name, is_mapped=is_mapped)) is not None:
                yield place

    def _target_of(self, namespace: str) -> Stored | None:
        if namespace not in self._targets:
            self._targets[namespace] = self._find_target(namespace)
        return self._targets[namespace]

    def _find_target(self, namespace: str) -> Stored | None:
        target_fqn = self.mapping.targets.get(namespace) or fqn.quote(namespace)
        for entity_type in _TARGETS:
            target = self.record.transaction.find(entity_type, Key.by_name(target_fqn), Hold.SHARED)
            if target is not None and not target.is_deleted:
                return target
        return None

    def _reason_without_place(self, dataset: EventDataset) -> str:
        identifiers = dataset.identifiers()
        if all(one.namespace not in self.mapping.targets for one in identifiers):
            return f"the namespace {identifiers[0].namespace} is mapped to no service"
        return f"{identifiers[0].name} is no name of an asset in the service of its namespace"

    def _facets_of(self, dataset: EventDataset, table: Stored) -> Document:
        """Return what of the event's facets differs from the table."""
        facets, request = dataset.description, dict[str, object]()
        columns = columns_of((facets.fields_facet and facets.fields_facet.fields) or ())
        if columns and _types_of(columns) != _types_of(table.document.get("columns", [])):
            request["columns"] = columns
        text = facets.documentation.description if facets.documentation else None
        if text and text != table.document.get("description"):
            request["description"] = text
        owners, old_owners = self._owners_of(dataset), table.document.get("owners") or ()
        if owners and {one["id"] for one in owners} != {one["id"] for one in old_owners}:
            request["owners"] = owners
        return request

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


def _types_of(columns: Sequence[Document]) -> list[object]:
    """Return what a producer knows of columns: names and types."""
    return [(*(column.get(key) for key in _TYPE_KEYS), _types_of(column.get("children") or ())) for column in columns]


def _place_in(target: Stored, name: str, *, is_mapped: bool) -> _AssetPlace | None:
    """Return where a dataset of this name is in a service or database; None if it cannot be there."""
    match target.entity_type:
        case "messagingService":
            return _AssetPlace("topic", target, (name,), is_mapped)
        case "storageService":
            path = name.strip("/")
            return _AssetPlace("container", target, (path,), is_mapped) if path else None
    parts = tuple(name.split("."))
    if not all(parts):
        return None
    if target.entity_type == "database":
        database = fqn.split(target.fqn)[-1]
        if len(parts) == _TABLE_NAMES and parts[0].lower() == database.lower():
            parts = parts[1:]
        return _AssetPlace("table", target, parts, is_mapped) if len(parts) == _SCHEMA_NAMES else None
    if len(parts) == _SCHEMA_NAMES:
        parts = (_DEFAULT_DATABASE, *parts)
    return _AssetPlace("table", target, parts, is_mapped) if len(parts) == _TABLE_NAMES else None
