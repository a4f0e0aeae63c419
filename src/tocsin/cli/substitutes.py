"""Command ``substitute``: whom you name for your absences, and for whom you stand in."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, find_user
from tocsin.cli.output import AsJson, show_rows
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

Named = Annotated[str | None, typer.Argument(metavar="NAME", help="Whom to ask.")]
Withdraw = Annotated[bool, typer.Option("--none", help="You have no substitute any more.")]
Accept = Annotated[str | None, typer.Option("--accept", metavar="NAME", help="Agree to stand in for this person.")]
Decline = Annotated[
    str | None, typer.Option("--decline", metavar="NAME", help="Decline to stand in for this person, or end it.")
]


def substitute(
    name: Named = None,
    *,
    withdraw: Withdraw = False,
    accept: Accept = None,
    decline: Decline = None,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """Show or name who takes the incidents that are assigned to you while you are away.

    Who is named has to agree. You are away when `tocsin preferences --away-until` says so.

    Examples: tocsin substitute ben · tocsin substitute --accept dana · tocsin substitute --none
    """
    if sum(one is not None for one in (name, accept, decline, withdraw or None)) > 1:
        raise InvalidInput("Give one of: a name, --accept, --decline, --none.", field="name")
    with Client() as client:
        who = find_user(client, user).id
        if name is not None:
            answer = client.name_substitute(who, find_user(client, name).id)
        elif accept is not None:
            answer = client.stand_in_for(who, find_user(client, accept).id)
        elif decline is not None:
            answer = client.decline_to_stand_in(who, find_user(client, decline).id)
        else:
            answer = client.withdraw_substitute(who) if withdraw else client.substitute(who)
    own_rows = [_row("your substitute", answer["substitute"])] if answer["substitute"] else []
    other_rows = [_row("you stand in for", one) for one in answer["standsInFor"]]
    show_rows([*own_rows, *other_rows], answer=answer, as_json=as_json)


def _row(label: str, substitution: Document) -> Document:
    person = substitution["user"]
    state = "agreed" if substitution["accepted"] else "asked, has not agreed yet"
    return {"what": label, "who": person.get("displayName") or person.get("name") or person["id"], "state": state}
