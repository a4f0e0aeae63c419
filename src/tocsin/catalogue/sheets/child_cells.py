"""Conversion of databases, schemas, tables, procedures and teams to and from CSV cells.

Next: ``children.py``.
"""

from __future__ import annotations

from collections.abc import Iterable

from tocsin.catalogue.sheets.cells import (
    extension,
    extension_cell,
    join_parts,
    labels_cell,
    people,
    people_cell,
    split_parts,
    with_labels,
)
from tocsin.catalogue.sheets.import_row import Setter
from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Transaction
from tocsin.model import fqn
from tocsin.model.entity import Document

_TIER = "Tier."
_CODE = "storedProcedure."


def cells(document: Document) -> dict[str, str]:
    """Return the cells of an asset, by header."""
    labels = document.get("tags") or []
    certified = (document.get("certification") or {}).get("tagLabel") or {}
    return {
        "displayName": document.get("displayName") or "",
        "description": document.get("description") or "",
        "owner": people_cell(document.get("owners") or []),
        "tags": labels_cell((one for one in labels if not _is_tier(one)), "tag"),
        "glossaryTerms": labels_cell(labels, "glossaryTerm"),
        "tiers": labels_cell(filter(_is_tier, labels), "tag"),
        "certification": certified.get("tagFQN") or "",
        "retentionPeriod": document.get("retentionPeriod") or "",
        "sourceUrl": document.get("sourceUrl") or "",
        "domains": _named_cell(one for one in document.get("domains") or () if not one.get("inherited")),
        "extension": extension_cell(document.get("extension") or {}),
    }


def procedure_cells(procedure: Document) -> dict[str, str]:
    """Return the cells of a stored procedure, by header."""
    code = procedure.get("storedProcedureCode") or {}
    return cells(procedure) | {f"{_CODE}{key}": code.get(key) or "" for key in ("code", "language")}


def team_cells(team: Document) -> dict[str, str]:
    """Return the cells of a team, by header."""
    joinable = team.get("isJoinable")
    return {
        "displayName": team.get("displayName") or "",
        "description": team.get("description") or "",
        "teamType": team.get("teamType") or "Group",
        "parents": _named_cell(team.get("parents") or ()),
        "Owner": people_cell(team.get("owners") or []),
        "isJoinable": "" if joinable is None else str(joinable).lower(),
        "defaultRoles": _named_cell(team.get("defaultRoles") or ()),
        "policies": _named_cell(team.get("policies") or ()),
    }


def _is_tier(label: Document) -> bool:
    return str(label.get("tagFQN")).startswith(_TIER)


def _named_cell(references: Iterable[Document]) -> str:
    return join_parts(one.get("fullyQualifiedName") or one["name"] for one in references)


def _set_text(key: str) -> Setter:
    return lambda _transaction, document, text: document.update({key: text})


def _set_tags(*, tiers: bool) -> Setter:
    def put(transaction: Transaction, document: Document, text: str) -> None:
        labels = document.get("tags") or []
        other_labels = [one for one in labels if _is_tier(one) != tiers]
        if any(name.startswith(_TIER) != tiers for name in split_parts(text)):
            raise InvalidInput("a tier must have a tier as parent, other tags other tags")
        document["tags"] = [
            *other_labels,
            *with_labels(transaction, [o for o in labels if o not in other_labels], "tag", text),
        ]

    return put


def _set_terms(transaction: Transaction, document: Document, text: str) -> None:
    document["tags"] = with_labels(transaction, document.get("tags") or [], "glossaryTerm", text)


def _set_certification(_transaction: Transaction, document: Document, text: str) -> None:
    document.pop("certification", None)
    if text.strip():
        document["certification"] = {"tagLabel": {"tagFQN": text.strip()}}


def _set_named(key: str, entity_type: str) -> Setter:
    def put(_transaction: Transaction, document: Document, text: str) -> None:
        names = [name if entity_type == "domain" else fqn.join(fqn.split(name)) for name in split_parts(text)]
        document[key] = [{"type": entity_type, "fullyQualifiedName": name} for name in names]

    return put


def _set_code(key: str) -> Setter:
    def put(_transaction: Transaction, procedure: Document, text: str) -> None:
        other_parts = {
            name: value for name, value in (procedure.get("storedProcedureCode") or {}).items() if name != key
        }
        procedure["storedProcedureCode"] = other_parts | ({key: text} if text else {})

    return put


def _set_type(_transaction: Transaction, team: Document, text: str) -> None:
    team["teamType"] = text.strip() or "Group"


def _set_joinable(_transaction: Transaction, team: Document, text: str) -> None:
    if text.strip() not in ("", "true", "false"):
        raise InvalidInput(f"isJoinable must be true or false, not {text!r}")
    team.pop("isJoinable", None)
    if text.strip():
        team["isJoinable"] = text.strip() == "true"


def _set_parents(transaction: Transaction, team: Document, text: str) -> None:
    if split_parts(text) or "id" in team:  # a new team whose row names no parent becomes a child of the sheet's team
        _set_named("parents", "team")(transaction, team, text)


SETTERS: dict[str, Setter] = {
    **{key: _set_text(key) for key in ("displayName", "description", "retentionPeriod", "sourceUrl")},
    "owner": lambda _transaction, document, text: document.update(owners=people(text)),
    "tags": _set_tags(tiers=False),
    "glossaryTerms": _set_terms,
    "tiers": _set_tags(tiers=True),
    "certification": _set_certification,
    "domains": _set_named("domains", "domain"),
    "extension": lambda _transaction, document, text: document.update(extension=extension(text)),
}
"""How the text of a cell is put into an asset, by header."""

PROCEDURE_SETTERS: dict[str, Setter] = SETTERS | {f"{_CODE}{key}": _set_code(key) for key in ("code", "language")}
"""The same for stored procedures."""

TEAM_SETTERS: dict[str, Setter] = {
    **{key: _set_text(key) for key in ("displayName", "description")},
    "teamType": _set_type,
    "parents": _set_parents,
    "Owner": lambda _transaction, team, text: team.update(owners=people(text)),
    "isJoinable": _set_joinable,
    "defaultRoles": _set_named("defaultRoles", "role"),
    "policies": _set_named("policies", "policy"),
}
"""The same for teams."""
