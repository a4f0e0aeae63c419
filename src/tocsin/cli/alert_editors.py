"""``tocsin alerts editors`` and ``take-over``: whose rights limit what an alert covers."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.assets import find_alert
from tocsin.cli.output import AsJson, show_rows, show_text
from tocsin.client import Client
from tocsin.clock import to_datetime
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

NameOfAlert = Annotated[str, typer.Argument(help="Name of the alert.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Confirm that its destinations may get all that you may view.")]


def editors(name: NameOfAlert, *, as_json: AsJson = False) -> None:
    """Show the editors of an alert, which covers only what all of them may view.

    Administrators also see how much each may view, and how many events were withheld because of them.

    Examples
    tocsin alerts editors PaymentsSchemaChanges
    """
    with Client() as client:
        answer = client.alert_editors(find_alert(client, name).id)
    show_rows([_row(one) for one in answer["data"]], answer=answer, as_json=as_json)


def take_over(name: NameOfAlert, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Become the only editor of an alert: it then covers what you may view.

    Its destinations get all of that, so check them first.

    Examples
    tocsin alerts take-over PaymentsSchemaChanges --yes
    """
    if not yes:
        raise InvalidInput("The destinations of the alert will get all that you may view: add --yes to confirm it.")
    with Client() as client:
        answer = client.take_over_alert(find_alert(client, name).id)
    show_text(f"You are the only editor of alert {name}.", answer=answer, as_json=as_json)


def _row(editor: Document) -> Document:
    since = to_datetime(editor["since"]).strftime("%Y-%m-%d %H:%M")
    row = {"editor": editor["name"] or editor["id"], "deleted": editor["deleted"], "since": since}
    if "mayView" in editor:
        row |= {"may view": editor["mayView"], "withheld": editor["withheld"]}
    return row
