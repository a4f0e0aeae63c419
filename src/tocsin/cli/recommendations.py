"""Command ``tocsin recommendations``: assets that a person may like to follow, and why; dismissals and their undo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import typer

from tocsin.cli.assets import AsUser, find_asset, find_user
from tocsin.cli.output import AsJson, printable, show_rows, show_text
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_REASONS_SHOWN = 2

OfAsset = Annotated[str | None, typer.Option(metavar="ASSET", help="Recommend this asset no more.")]
UndoneAsset = Annotated[str | None, typer.Option(metavar="ASSET", help="Recommend a dismissed asset again.")]
AreDismissed = Annotated[bool, typer.Option("--dismissed", help="List what you have dismissed instead.")]


def recommendations(
    *,
    dismiss: OfAsset = None,
    undo: UndoneAsset = None,
    dismissed: AreDismissed = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=30, help="Maximum number of assets.")] = 10,
    user: AsUser = None,
    as_json: AsJson = False,
) -> None:
    """List assets that you may like to follow, the best first, and why.

    Examples: tocsin recommendations · tocsin recommendations --dismiss postgres_prod.ecommerce.public.orders
    """
    if sum((dismiss is not None, undo is not None, dismissed)) > 1:
        raise InvalidInput("Give one of --dismiss, --undo and --dismissed.", field="dismiss")
    with Client() as client:
        person = find_user(client, user)
        if dismiss is not None or undo is not None:
            asset = find_asset(client, str(dismiss or undo), None)
            answer = client.dismiss_recommendation(person.id, asset.id, undo=undo is not None)
            outcome = "may be recommended again" if undo is not None else "will not be recommended any more"
            text = f"{asset.entity_type} {asset.fully_qualified_name} {outcome}."
            show_text(printable(text), answer=answer, as_json=as_json)
            return
        if dismissed:
            entries = client.dismissed_recommendations(person.id)
        else:
            entries = client.recommendations(person.id, limit=limit)
    show_rows(_rows_of(entries), answer=list(entries), as_json=as_json)
    if not entries and not dismissed and not as_json:
        typer.echo("None yet: every hour they are worked out from what you follow.", err=True)


def _rows_of(entries: Iterable[Document]) -> Iterator[Document]:
    for entry in entries:
        reasons = [reason["text"] for reason in entry["reasons"]]
        asset = entry["asset"]
        yield {
            "type": asset["type"],
            "asset": asset["fullyQualifiedName"],
            "why": "; ".join(reasons[:_REASONS_SHOWN]) or "dismissed",
        }
