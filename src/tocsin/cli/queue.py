"""``tocsin queue``: the events of an alert's queue: take, acknowledge, release, extend."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from tocsin.cli.alertfiles import text_of
from tocsin.cli.assets import find_alert
from tocsin.cli.output import AsJson, moment_text, show_json, show_rows
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.errors import Conflict, InvalidInput
from tocsin.model.entity import Document

app = typer.Typer(
    help="Events in the queue of an alert, a destination of type GovernanceWorkflowChangeEvent.\n\n"
    "Take some, handle them, and acknowledge them before their lease ends; otherwise they return to the queue. You"
    " need to be an editor of the alert.",
    no_args_is_help=True,
)

_Call = Callable[[Client, str, list[Document]], Document]
_DONE = {"acknowledge": "acknowledged", "release": "released", "extend": "extended"}

AlertName = Annotated[str, typer.Argument(metavar="ALERT", help="Name of the alert.")]
Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Ids of taken events, all of one --lease.")]
Lease = Annotated[str | None, typer.Option(help="The lease under which they were taken, as take shows it.")]
Claims = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="What take --json has printed, instead of ids; - reads it from stdin."),
]
Seconds = Annotated[int, typer.Option(min=5, max=3600, help="How long nobody else can take them.")]


@app.command()
def take(
    alert: AlertName,
    *,
    limit: Annotated[int, typer.Option(min=1, max=100, help="Maximum number of events.")] = 10,
    seconds: Seconds = 60,
    group_by: Annotated[str | None, typer.Option(help="entityType: take events of one entity type only.")] = None,
    as_json: AsJson = False,
) -> None:
    """Take the oldest free events, in log order: for some time nobody else gets them.

    Examples
    tocsin queue take GovernanceQueue
    tocsin queue take GovernanceQueue --limit 100 --seconds 600 --json > taken.json
    """
    with Client() as client:
        alert_id = find_alert(client, alert).id
        zone = own_zone(client, is_shown=not as_json)
        claims = client.claim_events(alert_id, limit=limit, lease_seconds=seconds, group_by=group_by)
    if as_json:
        show_json(claims)
        return
    items = claims["data"]
    if not items:
        typer.echo("Take again: there may be more." if claims["hasMore"] else "The queue has no free events.")
        return
    show_rows([_row(one, zone) for one in items], as_json=False)
    first = items[0]
    typer.echo(
        f"\nYours until {moment_text(first['leaseExpiresAt'], zone)}. When done:\n"
        f"tocsin queue acknowledge {alert} --lease {first['lease']} ID…"
    )


@app.command()
def acknowledge(
    alert: AlertName, ids: Ids = None, *, lease: Lease = None, claims: Claims = None, as_json: AsJson = False
) -> None:
    """Acknowledge taken events: they are done. Repeating it changes nothing.

    Examples
    tocsin queue acknowledge GovernanceQueue --lease LEASE ID
    tocsin queue acknowledge GovernanceQueue --claims taken.json
    """
    _handle(alert, _claims_of(ids, lease, claims), "acknowledge", Client.acknowledge_events, as_json=as_json)


@app.command()
def release(
    alert: AlertName, ids: Ids = None, *, lease: Lease = None, claims: Claims = None, as_json: AsJson = False
) -> None:
    """Give taken events back: they can be taken again at once.

    Examples
    tocsin queue release GovernanceQueue --claims taken.json
    """
    _handle(alert, _claims_of(ids, lease, claims), "release", Client.release_events, as_json=as_json)


@app.command()
def extend(
    alert: AlertName,
    ids: Ids = None,
    *,
    lease: Lease = None,
    claims: Claims = None,
    seconds: Seconds = 60,
    as_json: AsJson = False,
) -> None:
    """Keep taken events for some time from now.

    Examples
    tocsin queue extend GovernanceQueue --claims taken.json --seconds 600
    """
    extend_events = partial(Client.extend_events, lease_seconds=seconds)
    _handle(alert, _claims_of(ids, lease, claims), "extend", extend_events, as_json=as_json)


def _handle(alert: str, events: list[Document], action: str, call: _Call, *, as_json: bool) -> None:
    """Show what became of each event; if some were no longer held, end with an error."""
    with Client() as client:
        zone = own_zone(client, is_shown=action == "extend" and not as_json)
        answer = call(client, find_alert(client, alert).id, events)
    show_rows((_outcome(one, action, zone) for one in answer["data"]), answer=answer, as_json=as_json)
    states = Counter(one["state"] for one in answer["data"])
    if lost_count := states.total() - states[_DONE[action]]:
        raise Conflict(
            f"{lost_count} of {states.total()} events were not {_DONE[action]}: another reader has taken them since,"
            " or they have ended."
        )


def _claims_of(ids: list[str] | None, lease: str | None, claims: str | None) -> list[Document]:
    """Return the events that are meant, by id and lease."""
    if claims is not None:
        if ids or lease:
            raise InvalidInput("--claims cannot be combined with ids or --lease.")
        return _parse_claims(text_of(claims), claims)
    if not ids or lease is None:
        raise InvalidInput("Say which events: ids and --lease as tocsin queue take shows them, or --claims FILE.")
    return [{"id": one, "lease": lease} for one in ids]


def _parse_claims(text: str, file: str) -> list[Document]:
    try:
        items = json.loads(text)["data"]
        claims = [{"id": one["id"], "lease": one["lease"]} for one in items]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{file} is not what tocsin queue take --json prints.") from error
    if not claims:
        raise InvalidInput(f"{file} contains no events.")
    return claims


def _row(queued: Document, zone: str) -> Document:
    event = queued["event"].get("data", queued["event"])  # CloudEvents have it one level below
    return {
        "id": queued["id"],
        "when": moment_text(event["timestamp"], zone),
        "event": event["eventType"],
        "asset": event.get("entityFullyQualifiedName") or event.get("entityId"),
        "by": event.get("userName"),
    }


def _outcome(event: Document, action: str, zone: str) -> Document:
    ends = event.get("leaseExpiresAt")
    until = {"until": None if ends is None else moment_text(ends, zone)} if action == "extend" else {}
    return {"id": event["id"], "state": event["state"], **until}
