"""``tocsin history``, ``diff`` and ``rollback``: versions of an entity, their differences, and the return to one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence, Set
from difflib import unified_diff
from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import OfType, Why, find_entity
from tocsin.cli.output import AsJson, moment_text, printable, show_json, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client, Entity
from tocsin.delivery.wording.content import more_of
from tocsin.delivery.wording.values import value_text
from tocsin.model import fqn
from tocsin.model.breaking import BreakingKind
from tocsin.model.entity import Document

EntityFqn = Annotated[str, typer.Argument(help="Fully qualified name, e.g. postgres_prod.ecommerce.public.orders.")]
FromVersion = Annotated[str, typer.Argument(metavar="FROM", help="First version, e.g. 0.1.")]
ToVersion = Annotated[str, typer.Argument(metavar="TO", help="Second version, e.g. 0.4.")]
Full = Annotated[bool, typer.Option("--full", help="Show long texts in full; implied when the output is piped.")]
BackTo = Annotated[str, typer.Option("--to", metavar="VERSION", help="Version to return to, e.g. 0.3.")]

_LONGEST = 60
_MOST_CHANGES = 3
_LINK = "<#E::"
_HEADINGS = 3  # of a unified diff: two files and a place
_RENAMED = "fieldsRenamed"
_KINDS = {_RENAMED: "renamed", "fieldsAdded": "added", "fieldsUpdated": "changed", "fieldsDeleted": "removed"}


def history(entity: EntityFqn, *, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """List the versions of an entity, newest first, with their reasons and breaking changes.

    Example: tocsin history postgres_prod.ecommerce.public.orders
    """
    with Client() as client:
        record = find_entity(client, entity, entity_type)
        zone = own_zone(client, is_shown=not as_json)
        versions = client.versions(record.entity_type, record.id)
    has_why = any(version.reason for version in versions)
    show_rows(
        (_row(version, zone) | ({"why": version.reason or ""} if has_why else {}) for version in versions),
        answer=[_version_json(version) for version in versions],
        as_json=as_json,
    )


def diff(
    entity: EntityFqn,
    from_: FromVersion,
    to: ToVersion,
    *,
    full: Full = False,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Show the differences between two versions, field by field.

    Example: tocsin diff postgres_prod.ecommerce.public.orders 0.1 0.4
    """
    with Client() as client:
        entity_found = find_entity(client, entity, entity_type)
        change = client.diff(entity_found.entity_type, entity_found.id, from_, to)
    if as_json:
        show_json(change)
    else:
        _show(_with_renames(change), is_full=full or not sys.stdout.isatty())
        for line in _judgement_lines(change, entity):
            typer.echo(printable(line))
        for version in change["reasons"]:
            typer.echo(printable(f"Why {version['version']}: {version['reason']}"))


def rollback(
    entity: EntityFqn,
    to: BackTo,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")] = False,
    full: Full = False,
    why: Why = None,
    entity_type: OfType = None,
    as_json: AsJson = False,
) -> None:
    """Return an entity to an earlier version. This creates a new version; history is never rewritten.

    Example: tocsin rollback postgres_prod.ecommerce.public.orders --to 0.3 --dry-run
    """
    with Client(why=why) as client:
        record = find_entity(client, entity, entity_type)
        answer = client.rollback(record.entity_type, record.id, to, dry_run=dry_run)
    if as_json:
        show_json(answer)
        return
    is_full = full or not sys.stdout.isatty()
    _show(answer["changeDescription"], is_full=is_full)
    for field in answer["leftOut"]:
        value = _words(field["value"])
        shown_value = value if is_full else _short(value)
        typer.echo(printable(f"Not restored: {field['field']} {shown_value}: {field['reason']}."))
    version = answer["entity"]["version"]
    typer.echo(f"{'Would create' if dry_run else 'Created'} version {version} of {entity}.")


def _judgement_lines(change: Document, entity: str) -> Iterator[str]:
    """Yield why a difference breaks readers and what was announced of it, each part of it once."""
    announcements = {one.get("field"): one["text"] for one in change.get("announcements") or ()}
    for reason in change["breakingReasons"]:
        announcement = announcements.get(reason.get("field"))
        is_said = announcement is None or reason["kind"] == BreakingKind.UNLIKE_ANNOUNCED
        yield f"Breaking{'' if is_said else f', {announcement}'}: {reason['text']}."
    told_fields = {reason.get("field") for reason in change["breakingReasons"]}
    for field, text in announcements.items():
        if field not in told_fields:
            yield f"{field or entity}: {text}."


def _version_json(version: Entity) -> Document:
    """Return a version, and where there are such why it breaks readers and why it was written."""
    facts = {"breakingReasons": list(version.breaking_reasons), "reason": version.reason}
    return version.document | {key: value for key, value in facts.items() if value}


def _row(version: Entity, zone: str) -> Document:
    document = version.document
    left_count = len(version.changes) - _MOST_CHANGES
    counted = filter(None, (more_of(max(0, left_count)),))
    return {
        "version": document["version"],
        "when": moment_text(int(document["updatedAt"]), zone),
        "who": version.author or document.get("updatedBy", ""),
        "what": "; ".join((*version.changes[:_MOST_CHANGES], *counted)),
    }


def _show(change: Document, *, is_full: bool) -> None:
    """Print a line per field; below them what is too long for that: as a diff, or how it is shown."""
    fields = list(_fields(change))
    show_rows([row | {"before": _short(row["before"]), "after": _short(row["after"])} for row in fields], as_json=False)
    long = [row for row in fields if max(len(row["before"]), len(row["after"])) > _LONGEST]
    if long and not is_full:
        typer.echo("Long texts are shortened; use --full to see them in full.")
    for row in long if is_full else ():
        typer.echo(printable(f"\n{row['field']} {row['']}:"))
        before, after = row["before"].splitlines(), row["after"].splitlines()
        line_count = max(len(before), len(after))
        for line in islice(unified_diff(before, after, n=line_count, lineterm=""), _HEADINGS, None):
            typer.echo(printable(line))


def _with_renames(change: Document) -> Document:
    """Return a difference with each column that was renamed as announced as such, not as one that went and one new."""
    renames, old_members, new_members = list[Document](), set[tuple[str, str]](), set[tuple[str, str]]()
    for rename in change.get("renames") or ():
        *steps, old_name = fqn.steps_of(rename["field"])
        place = fqn.join(steps)
        old_members.add((place, old_name))
        new_members.add((place, rename["to"]))
        renames.append({"name": rename["field"], "oldValue": old_name, "newValue": rename["to"]})
    return change | {
        _RENAMED: renames,
        "fieldsAdded": _leave_out(change["fieldsAdded"], "newValue", new_members),
        "fieldsDeleted": _leave_out(change["fieldsDeleted"], "oldValue", old_members),
    }


def _leave_out(fields: Sequence[Document], key: str, members: Set[tuple[str, str]]) -> list[Document]:
    """Return field changes without these members of their lists, each by the path of the list and its name."""
    other_fields = list[Document]()
    for field in fields:
        names = {name for place, name in members if place == field["name"]}
        other_members = [one for one in field.get(key) or () if _name_of(one) not in names]
        if other_members or not names:
            other_fields.append(field | ({key: other_members} if names else {}))
    return other_fields


def _name_of(member: object) -> str | None:
    return member.get("name") if isinstance(member, dict) else None


def _fields(change: Document) -> Iterator[dict[str, str]]:
    for key, kind in _KINDS.items():
        for field in change.get(key) or ():
            key = field["name"].rpartition(".")[2]
            before, after = _words(field.get("oldValue"), key), _words(field.get("newValue"), key)
            yield {"field": field["name"], "": kind, "before": before, "after": after}


def _words(value: object, key: str = "") -> str:
    """Return a value in the words of messages, but a text as it is: long ones are compared line by line."""
    if isinstance(value, list):
        return ", ".join(_words(member) for member in value)
    if isinstance(value, str) and not value.startswith(_LINK):
        return value
    return value_text(value, key=key) or ""


def _short(text: str) -> str:
    """Return a text as a cell shows it."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
