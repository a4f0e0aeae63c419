"""``tocsin history``, ``diff`` and ``rollback``: what an entity was, what changed, and how it becomes that again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from tocsin.cli.assets import OfType, find_entity
from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.client import Change, Client, Entity
from tocsin.clock import to_datetime
from tocsin.model.entity import Document

EntityFqn = Annotated[str, typer.Argument(help="Fully qualified name, e.g. postgres_prod.ecommerce.public.orders.")]
FromVersion = Annotated[str, typer.Argument(metavar="FROM", help="Version to compare, e.g. 0.1.")]
ToVersion = Annotated[str, typer.Argument(metavar="TO", help="Version to compare it with, e.g. 0.4.")]
BackTo = Annotated[str, typer.Option("--to", metavar="VERSION", help="Version to bring back, e.g. 0.3.")]

_KINDS = {"fieldsAdded": "added", "fieldsUpdated": "updated", "fieldsDeleted": "deleted"}


def history(entity: EntityFqn, *, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """List every version of an entity, newest first: when it was made, by whom, and what changed.

    Example: tocsin history postgres_prod.ecommerce.public.orders
    """
    with Client() as client:
        found = find_entity(client, entity, entity_type)
        versions = client.versions(found.entity_type, found.id)
    if as_json:
        show_json([version.document for version in versions])
    else:
        show_rows([_row(version) for version in versions], as_json=False)


def diff(
    entity: EntityFqn, from_: FromVersion, to: ToVersion, *, entity_type: OfType = None, as_json: AsJson = False
) -> None:
    """Show what changed between two versions, field by field, in either direction.

    Example: tocsin diff postgres_prod.ecommerce.public.orders 0.1 0.4
    """
    with Client() as client:
        found = find_entity(client, entity, entity_type)
        change = client.diff(found.entity_type, found.id, from_, to)
    if as_json:
        show_json(change)
    else:
        show_rows(list(_fields(change)), as_json=False)


def rollback(
    entity: EntityFqn,
    to: BackTo,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Bring an entity back to an earlier version, as a new version: history is never rewritten.

    Example: tocsin rollback postgres_prod.ecommerce.public.orders --to 0.3 --dry-run
    """
    with Client() as client:
        found = find_entity(client, entity, entity_type)
        said = client.rollback(found.entity_type, found.id, to, dry_run=dry_run)
    if as_json:
        show_json(said)
        return
    show_rows(list(_fields(said["changeDescription"])), as_json=False)
    for one in said["leftOut"]:
        typer.echo(f"Does not come back: {one['field']} {_short(one['value'])}: {one['reason']}.")
    version = said["entity"]["version"]
    typer.echo(f"{'This would make' if dry_run else 'This made'} version {version} of {entity}.")


def _row(version: Entity) -> Document:
    document = version.document
    event_type = "entityUpdated" if document.get("changeDescription") else "entityCreated"
    change = Change({"eventType": event_type, "changeDescription": document.get("changeDescription")})
    made = to_datetime(int(document["updatedAt"]))
    return {
        "version": document["version"],
        "when": f"{made:%Y-%m-%d %H:%M:%S}",
        "who": document.get("updatedBy", ""),
        "what": change.change_type,
    }


def _fields(change: Document) -> Iterator[Document]:
    for key, kind in _KINDS.items():
        for field in change.get(key) or ():
            yield {
                "field": field["name"],
                "": kind,
                "before": _short(field.get("oldValue")),
                "after": _short(field.get("newValue")),
            }


def _short(value: object) -> str:
    """Return a value as a cell shows it: members by their names, long texts cut."""
    if isinstance(value, list):
        return ", ".join(_short(member) for member in value)
    if isinstance(value, dict):
        named_by = next((value[key] for key in ("name", "tagFQN", "fullyQualifiedName") if key in value), None)
        return str(named_by if named_by is not None else value)
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 60
