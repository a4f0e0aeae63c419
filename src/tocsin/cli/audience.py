"""``tocsin audience``: who was told of a change, and who has read it."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, moment_text, show_rows
from tocsin.cli.own_zone import own_zone, zone_of
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.inbox import Tab
from tocsin.model.own_address import named_target
from tocsin.model.phrases import count_text

EventId = Annotated[str | None, typer.Argument(metavar="EVENT", help="Id of a change event.")]
_INCOMPLETE = "Others may have been told, of whom you may not know."
OfTab = Annotated[Tab, typer.Option("--tab", help="With --cause: the tab of your inbox in which it is.")]
OfCause = Annotated[
    str | None, typer.Option("--cause", metavar="ID", help="Of all that a cause did (tocsin inbox --by-cause).")
]


def audience(
    event: EventId = None, *, cause: OfCause = None, tab: OfTab = Tab.ALL, user: AsUser = None, as_json: AsJson = False
) -> None:
    """List who was told of a change, by what channel, and who has read it, as far as you may know.

    With --cause it is of all that a run, a person's edits of neighbours or a failure did, as your inbox has it: of how
    many events each was told, and how many they have read. Administrators know of everybody, editors of whom their
    alert told, others of themselves.

    Examples: tocsin audience 0195564e-6f0c-7a41-9c3e-2b1f7d90a5c4
    · tocsin audience --cause 8b7e0f2a4c6d9e10.4711.4730
    """
    if (event is None) == (cause is None):
        raise InvalidInput("Give the id of a change event, or --cause for all that a cause did.", field="event")
    if cause is not None:
        _show_of_cause(cause, tab, user, as_json=as_json)
        return
    with Client() as client:
        answer, told_people = _read_whole(client, str(event))
        zone = own_zone(client, is_shown=not as_json)
    show_rows((_row(one, zone) for one in told_people), as_json=as_json, answer=answer | {"data": told_people})
    if not as_json:
        typer.echo(_summary(answer))


def _show_of_cause(cause: str, tab: Tab, user: str | None, *, as_json: bool) -> None:
    with Client() as client:
        who = find_user(client, user).id
        zone = zone_of(client, who, is_shown=not as_json)
        answer = client.cause_audience(who, cause, tab=tab.value)
        told_people = list(answer["data"])
        while "after" in answer["paging"]:
            answer = client.cause_audience(who, cause, tab=tab.value, after=answer["paging"]["after"])
            told_people += answer["data"]
    show_rows((_reader_row(one, zone) for one in told_people), as_json=as_json, answer=answer | {"data": told_people})
    if not as_json and not answer["isComplete"]:
        typer.echo(_INCOMPLETE)


def _reader_row(told_person: Document, zone: str) -> Document:
    return {
        "who": told_person.get("displayName") or told_person["name"],
        "by": ", ".join(told_person["channels"]),
        "told": told_person["told"],
        "has read": told_person["read"],
        "last": moment_text(told_person["readAt"], zone) if "readAt" in told_person else "",
    }


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
        sentences.append(_INCOMPLETE)
    return " ".join(sentences)


def _acknowledgement_text(answer: Document) -> str:
    name = answer.get("acknowledgedByDisplayName") or answer.get("acknowledgedBy")
    return f"acknowledged by {name}" if name else "not acknowledged"
