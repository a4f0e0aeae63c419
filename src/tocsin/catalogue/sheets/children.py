"""Sheets of an entity's direct children, one row each: databases, schemas, tables, or teams.

Source: OpenMetadata's ``databaseCsvDocumentation.json`` and ``teamCsvDocumentation.json``. Next: ``import_sheet.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from tocsin.catalogue.sheets.cells import people, split_parts
from tocsin.catalogue.sheets.child_cells import (
    PROCEDURE_SETTERS,
    SETTERS,
    TEAM_SETTERS,
    cells,
    procedure_cells,
    team_cells,
)
from tocsin.catalogue.sheets.import_row import Setters, fill, put, rewritten
from tocsin.catalogue.sheets.row_links import RowLinks, import_rows
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.upsert import create
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, Stored, soft_deleted

_PEOPLE = ("`user:jane;team:sales`",)
HEADERS = (
    Header("name", "Name, without the parent's.", ("`public`",), required=True),
    Header("displayName", "Display name.", ("`Shop`",)),
    Header("description", "Description, in Markdown.", ("All **sales** data.",)),
    Header("owner", "Owners, separated by `;`.", _PEOPLE),
    Header("tags", "Tags (FQNs), separated by `;`.", ("`PII.Sensitive`",)),
    Header("glossaryTerms", "Glossary terms (FQNs), separated by `;`.", ("`Shop.Client`",)),
    Header("tiers", "Tier (FQN).", ("`Tier.Tier1`",)),
    Header("certification", "Certification (FQN).", ("`Certification.Gold`",)),
    Header("retentionPeriod", "Retention period, as ISO 8601 duration.", ("`P23DT23H`",)),
    Header("sourceUrl", "URL in the source system.", ("`https://example.com/shop`",)),
    Header("domains", "Domains (FQNs), separated by `;`.", ("`Sales`",)),
    Header("extension", "Custom properties as `name:value`, separated by `;`.", ("`cost:12`",)),
)
"""The columns of a sheet of assets."""

_TEAM_HEADERS = (
    Header("name", "Name of the team.", ("`Sales`",), required=True),
    Header("displayName", "Display name.", ("`Sales team`",)),
    Header("description", "Description, in Markdown.", ("Sells.",)),
    Header("teamType", "Type; default: Group.", ("`Group`", "`Department`", "`Division`", "`BusinessUnit`")),
    Header("parents", "Names of the parent teams, separated by `;`; default: the exported team.", ("`Trade`",)),
    Header("Owner", "Owners, separated by `;`.", _PEOPLE),
    Header("isJoinable", "Whether any user may join.", ("`true`", "`false`")),
    Header("defaultRoles", "Default roles of the members, separated by `;`.", ("`DataSteward`",)),
    Header("policies", "Policies, separated by `;`.", ("`TeamOnlyPolicy`",)),
)


@dataclass(frozen=True)
class _Children:
    """How children of one type are written in a sheet, and made."""

    headers: tuple[Header, ...]
    cells: Callable[[Document], dict[str, str]]
    setters: Setters


_PLAIN = _Children(HEADERS, cells, SETTERS)
_PROCEDURES = _Children(HEADERS, procedure_cells, PROCEDURE_SETTERS)
_TEAMS = _Children(_TEAM_HEADERS, team_cells, TEAM_SETTERS)
CHILDREN: dict[str, str] = {
    "databaseService": "database",
    "database": "databaseSchema",
    "databaseSchema": "table",
    "team": "team",
}
"""Per type that has such sheets: the type of what their rows speak of."""


def _kind(parent_type: str) -> SheetKind:
    child = CHILDREN[parent_type]
    headers = tuple(one for one in _of(child).headers if one.name not in missing_headers(child))
    below = "all teams below a team" if child == "team" else f"every {child} of a {parent_type}"
    return SheetKind(f"Updates {below} and creates missing ones; entities without a row stay unchanged.", headers)


def _of(child_type: str) -> _Children:
    return {"team": _TEAMS, "storedProcedure": _PROCEDURES}.get(child_type, _PLAIN)


def missing_headers(child_type: str) -> frozenset[str]:
    """Return the headers of assets that say nothing of this type."""
    return frozenset({"retentionPeriod", "sourceUrl"}) - ENTITY_TYPES[child_type].keys


CHILD_SHEETS: dict[str, SheetKind] = {name: _kind(name) for name in CHILDREN}
"""What these sheets hold."""


def child_rows(parent_type: str, documents: Iterable[Document]) -> Iterator[list[str]]:
    """Yield a row for each of these children of something of this type."""
    child_kind = _of(CHILDREN[parent_type])
    for document in documents:
        written = child_kind.cells(document)
        yield [document["name"], *(written[one.name] for one in CHILD_SHEETS[parent_type].headers[1:])]


def import_children(record: Record, parent: Stored, sheet_rows: tuple[Row, ...]) -> list[Outcome]:
    """Change an entity's children to match the rows, each with its own event; rejected rows are skipped.

    A team is written after its parents and owners, whatever the order of the rows. Of new teams that own each other,
    one has two events.
    """
    links = RowLinks(_team_name, partial(_unknown_teams, record.transaction), frozenset({"Owner"}))
    reported: dict[str, Row] = {}
    return import_rows(record, sheet_rows, partial(_import_one, record, parent, reported), links)


def _team_name(row: Row) -> str | None:
    return fqn.quote(row.values["name"]) if "name" in row.values else None


def _unknown_teams(transaction: Transaction, row: Row) -> Iterator[str]:
    """Yield the FQNs of teams that a row names and that are not there."""
    try:
        owners = [one["fullyQualifiedName"] for one in people(row.values.get("Owner", "")) if one["type"] == "team"]
        names = [*owners, *(fqn.join(fqn.split(name)) for name in split_parts(row.values.get("parents", "")))]
    except InvalidInput:
        return
    yield from (name for name in names if transaction.reference("team", Key.by_name(name)) is None)


def _import_one(record: Record, parent: Stored, reported: dict[str, Row], row: Row) -> str:
    if row.problem is not None:
        raise InvalidInput(row.problem)
    child = CHILDREN[parent.entity_type]
    name = row.values["name"]
    full = fqn.quote(name) if child == "team" else fqn.child(parent.fqn, name)
    if reported.setdefault(full, row).cells is not row.cells:
        raise InvalidInput(f"{child} {full} appears twice")
    return bring_child(record, parent, (child, full), row)


def bring_child(record: Record, parent: Stored, place: tuple[str, str], row: Row) -> str:
    """Create or update the entity (type and FQN) of a row; return which of these was done.

    Raises
    ------
    InvalidInput : the entity is soft-deleted, or is not below the parent
    """
    child, full = place
    old = record.transaction.find(child, Key.by_name(full))
    if old is None:
        request = request_of(record.transaction, parent, child, row)
        create(record, child, request)
        return f"{child} created"
    if record.visible(old).is_deleted:
        raise soft_deleted(child, full)
    if child == "team" and not _stands_under(record.transaction, old, parent.id):
        raise InvalidInput(f"team {full} is not below {parent.fqn}")
    written = put(record, old, document_of(record, old, row))
    return f"{child} unchanged" if written.event is None else f"{child} updated"


def request_of(transaction: Transaction, parent: Stored, child: str, row: Row) -> Document:
    """Return what a row asks for that is not there yet."""
    if child == "team":
        request: Document = {"name": row.values["name"], "parents": [{"type": "team", "id": parent.id}]}
    else:
        key = ENTITY_TYPES[child].places[0].field
        request = {"name": row.values["name"], key: parent.fqn} | ({"columns": []} if child == "table" else {})
    fill(transaction, request, row, _of(child).setters)
    return request


def document_of(record: Record, old: Stored, row: Row) -> Document:
    """Return the document of something as its row wants it."""
    child_kind = _of(old.entity_type)
    return rewritten(record, old, row, child_kind.setters, child_kind.cells)


def _stands_under(transaction: Transaction, team: Stored, above_id: str) -> bool:
    """Return whether a team is a descendant of another one; every team is one of the Organization."""
    waiting, checked_ids = [team], set[str]()
    while waiting:
        ancestor = waiting.pop()
        if ancestor.id == above_id:
            return ancestor is not team
        if ancestor.id in checked_ids:
            continue
        checked_ids.add(ancestor.id)
        parents = (
            transaction.find("team", Key.by_id(parent["id"])) for parent in ancestor.document.get("parents") or ()
        )
        waiting += [parent for parent in parents if parent is not None]
    above = transaction.find("team", Key.by_id(above_id))
    return above is not None and above.document.get("teamType") == "Organization"
