"""Sheets of an entity's direct children, one row each: databases, schemas, tables, or teams.

Source: OpenMetadata's ``databaseCsvDocumentation.json`` and ``teamCsvDocumentation.json``. Next: ``import_sheet.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tocsin.catalogue.sheets.cells import (
    EXTENSION,
    SheetField,
    SheetFields,
    join_parts,
    labels_cell,
    labels_field,
    people,
    people_field,
    split_parts,
    text_field,
    with_labels,
)
from tocsin.catalogue.sheets.import_rows import RowLinks, fill, import_rows, put, rewritten
from tocsin.catalogue.sheets.rows import Header, Outcome, Row, SheetKind
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.flow.capture.upsert import create
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key, Stored, soft_deleted

_TIER = "Tier."
_CODE = "storedProcedure."
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


def _is_tier(label: Document) -> bool:
    return str(label.get("tagFQN")).startswith(_TIER)


def _tags_field(*, tiers: bool) -> SheetField:
    def text(document: Document) -> str:
        return labels_cell((one for one in document.get("tags") or () if _is_tier(one) == tiers), "tag")

    def put(transaction: Transaction, document: Document, text: str) -> None:
        labels = document.get("tags") or []
        other_labels = [one for one in labels if _is_tier(one) != tiers]
        if any(name.startswith(_TIER) != tiers for name in split_parts(text)):
            raise InvalidInput("a tier must have a tier as parent, other tags other tags")
        document["tags"] = [
            *other_labels,
            *with_labels(transaction, [o for o in labels if o not in other_labels], "tag", text),
        ]

    return SheetField(text, put)


def _certification(document: Document) -> str:
    return str(((document.get("certification") or {}).get("tagLabel") or {}).get("tagFQN") or "")


def _set_certification(_transaction: Transaction, document: Document, text: str) -> None:
    document.pop("certification", None)
    if text.strip():
        document["certification"] = {"tagLabel": {"tagFQN": text.strip()}}


def _named_field(key: str, entity_type: str) -> SheetField:
    def text(document: Document) -> str:
        references = (one for one in document.get(key) or () if not one.get("inherited"))
        return join_parts(one.get("fullyQualifiedName") or one["name"] for one in references)

    def put(_transaction: Transaction, document: Document, text: str) -> None:
        names = [name if entity_type == "domain" else fqn.join(fqn.split(name)) for name in split_parts(text)]
        document[key] = [{"type": entity_type, "fullyQualifiedName": name} for name in names]

    return SheetField(text, put)


def _code_field(key: str) -> SheetField:
    def text(procedure: Document) -> str:
        return (procedure.get("storedProcedureCode") or {}).get(key) or ""

    def put(_transaction: Transaction, procedure: Document, text: str) -> None:
        code = procedure.get("storedProcedureCode") or {}
        other_parts = {name: value for name, value in code.items() if name != key}
        procedure["storedProcedureCode"] = other_parts | ({key: text} if text else {})

    return SheetField(text, put)


def _set_type(_transaction: Transaction, team: Document, text: str) -> None:
    team["teamType"] = text.strip() or "Group"


def _joinable(team: Document) -> str:
    joinable = team.get("isJoinable")
    return "" if joinable is None else str(joinable).lower()


def _set_joinable(_transaction: Transaction, team: Document, text: str) -> None:
    if text.strip() not in ("", "true", "false"):
        raise InvalidInput(f"isJoinable must be true or false, not {text!r}")
    team.pop("isJoinable", None)
    if text.strip():
        team["isJoinable"] = text.strip() == "true"


def _set_parents(transaction: Transaction, team: Document, text: str) -> None:
    if split_parts(text) or "id" in team:  # a new team whose row names no parent becomes a child of the sheet's team
        _PARENTS.put(transaction, team, text)


FIELDS: SheetFields = {
    **{key: text_field(key) for key in ("displayName", "description", "retentionPeriod", "sourceUrl")},
    "owner": people_field("owners"),
    "tags": _tags_field(tiers=False),
    "glossaryTerms": labels_field("glossaryTerm"),
    "tiers": _tags_field(tiers=True),
    "certification": SheetField(_certification, _set_certification),
    "domains": _named_field("domains", "domain"),
    "extension": EXTENSION,
}
"""The fields of an asset."""

PROCEDURE_FIELDS: SheetFields = {**FIELDS, **{f"{_CODE}{key}": _code_field(key) for key in ("code", "language")}}
"""The fields of a stored procedure."""

_PARENTS = _named_field("parents", "team")
_TEAM_FIELDS: SheetFields = {
    **{key: text_field(key) for key in ("displayName", "description")},
    "teamType": SheetField(lambda team: team.get("teamType") or "Group", _set_type),
    "parents": SheetField(_PARENTS.text, _set_parents),
    "Owner": people_field("owners"),
    "isJoinable": SheetField(_joinable, _set_joinable),
    "defaultRoles": _named_field("defaultRoles", "role"),
    "policies": _named_field("policies", "policy"),
}
_FIELDS = {"team": _TEAM_FIELDS, "storedProcedure": PROCEDURE_FIELDS}
"""By type that has others than an asset."""

CHILDREN: dict[str, str] = {
    "databaseService": "database",
    "database": "databaseSchema",
    "databaseSchema": "table",
    "team": "team",
}
"""Per type that has such sheets: the type of what their rows speak of."""


def _kind(parent_type: str) -> SheetKind:
    child = CHILDREN[parent_type]
    all_headers = _TEAM_HEADERS if child == "team" else HEADERS
    headers = tuple(one for one in all_headers if one.name not in missing_headers(child))
    below = "all teams below a team" if child == "team" else f"every {child} of a {parent_type}"
    return SheetKind(f"Updates {below} and creates missing ones; entities without a row stay unchanged.", headers)


def missing_headers(child_type: str) -> frozenset[str]:
    """Return the headers of assets that say nothing of this type."""
    return frozenset({"retentionPeriod", "sourceUrl"}) - ENTITY_TYPES[child_type].keys


CHILD_SHEETS: dict[str, SheetKind] = {name: _kind(name) for name in CHILDREN}
"""What these sheets hold."""


def child_rows(parent_type: str, documents: Iterable[Document]) -> Iterator[list[str]]:
    """Yield a row for each of these children of something of this type."""
    fields = _FIELDS.get(CHILDREN[parent_type], FIELDS)
    for document in documents:
        yield [document["name"], *(fields[one.name].text(document) for one in CHILD_SHEETS[parent_type].headers[1:])]


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
    child, full_name = place
    old = record.transaction.find(child, Key.by_name(full_name))
    if old is None:
        request = request_of(record.transaction, parent, child, row)
        create(record, child, request)
        return f"{child} created"
    if record.visible(old).is_deleted:
        raise soft_deleted(child, full_name)
    if child == "team" and not _stands_under(record.transaction, old, parent.id):
        raise InvalidInput(f"team {full_name} is not below {parent.fqn}")
    write_result = put(record, old, document_of(record, old, row))
    return f"{child} unchanged" if write_result.event is None else f"{child} updated"


def request_of(transaction: Transaction, parent: Stored, child: str, row: Row) -> Document:
    """Return what a row asks for that is not there yet."""
    if child == "team":
        request: Document = {"name": row.values["name"], "parents": [{"type": "team", "id": parent.id}]}
    else:
        key = ENTITY_TYPES[child].places[0].field
        request = {"name": row.values["name"], key: parent.fqn} | ({"columns": []} if child == "table" else {})
    fill(transaction, request, row, _FIELDS.get(child, FIELDS))
    return request


def document_of(record: Record, old: Stored, row: Row) -> Document:
    """Return the document of something as its row wants it."""
    return rewritten(record, old, row, _FIELDS.get(old.entity_type, FIELDS))


def _stands_under(transaction: Transaction, team: Stored, above_id: str) -> bool:
    """Return whether a team is a descendant of another one; every team is one of the Organization."""
    teams_to_visit, checked_ids = [team], set[str]()
    while teams_to_visit:
        ancestor = teams_to_visit.pop()
        if ancestor.id == above_id:
            return ancestor is not team
        if ancestor.id in checked_ids:
            continue
        checked_ids.add(ancestor.id)
        parents = (
            transaction.find("team", Key.by_id(parent["id"])) for parent in ancestor.document.get("parents") or ()
        )
        teams_to_visit += [parent for parent in parents if parent is not None]
    ancestor_by_id = transaction.find("team", Key.by_id(above_id))
    return ancestor_by_id is not None and ancestor_by_id.document.get("teamType") == "Organization"
