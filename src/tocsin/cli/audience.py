"""``tocsin audience``: who was told of a change, and who has read it."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.model.entity import Document
from tocsin.model.own_address import named_target
from tocsin.model.phrases import count_text

EventId = Annotated[str, typer.Argument(metavar="EVENT", help="Id of a change event.")]


def audience(event: EventId, *, as_json: AsJson = False) -> None:
    """List who was told of a change, by what channel, and who has read it, as far as you may know.

    Administrators know of everybody, editors of whom their alert told, others of themselves.

    Example: tocsin audience 0195564e-6f0c-7a41-9c3e-2b1f7d90a5c4
    """
    with Client() as client:
        answer, told_people = _read_whole(client, event)
        zone = own_zone(client, is_shown=not as_json)
    show_rows((_row(one, zone) for one in told_people), as_json=as_json, answer=answer | {"data": told_people})
    if not as_json:
        typer.echo(_summary(answer))


def _read_whole(client: Client, event: str) -> tuple[Document, list[Document]]:
    """Return the last page, and the people and addresses of all pages."""
    answer = client.event_audience(event)
    told_people = list(answer["data"])
    while "after" in answer["paging"]:
        answer = client.event_audience(event, after=answer["paging"]["after"])
        told_people += answer["data"]
    return answer, told_people


def _row(told_person: Document, zone: str) -> Document:
    return {
        "who": named_target(
            told_person.get("displayName") or told_person["name"], told_person.get("destinations") or ()
        ),
        "by": "; ".join(f"{one['type']}: {one['status']}" for one in told_person["channels"]),
        "read": moment_text(told_person["readAt"], zone) if "readAt" in told_person else "",
    }


def _summary(answer: Document) -> str:
    """Return who handles it, what nobody owns, and whether there is more to know."""
    sentences = []
    if "incident" in answer:
        sentences.append(f"{answer['incident']} is {_acknowledgement_text(answer)}.")
    if unowned := answer["unowned"]["total"]:
        names = ", ".join(str(one["fullyQualifiedName"]) for one in answer["unowned"]["data"][:3])
        sentences.append(
            f"{count_text(unowned, 'asset')} downstream nobody owns: {names}{' …' if unowned > 3 else ''}."
        )
    if not answer["isComplete"]:
        sentences.append("Others may have been told, of whom you may not know.")
    return " ".join(sentences)


def _acknowledgement_text(answer: Document) -> str:
    name = answer.get("acknowledgedByDisplayName") or answer.get("acknowledgedBy")
    return f"acknowledged by {name}" if name else "not acknowledged"
