"""``tocsin alerts``: alerts (event subscriptions) kept in files, and their status."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.alertfiles import exported, parse_alerts, text_of
from tocsin.cli.assets import find_alert
from tocsin.cli.backtest import backtest
from tocsin.cli.condition_errors import pointed
from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.client import Client, Entity
from tocsin.clock import to_datetime
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import hint

app = typer.Typer(help="Create, update and inspect alerts.", no_args_is_help=True)

app.command()(backtest)

_REMARKS = "remarks"

NameOfAlert = Annotated[str, typer.Argument(help="Name of the alert.")]


@app.command()
def apply(
    file: Annotated[str, typer.Argument(help="A JSON or TOML file; - reads standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Create or update the alerts of a file, by name.

    A JSON file contains one alert or a list; a TOML file one alert, or several in a list called alerts. Warns of
    conditions that are always true, never true, or evaluated for every event.
    """
    documents = parse_alerts(text_of(file), file)
    with Client() as client:
        rows = [_apply(client, document) for document in documents]
    if as_json:
        show_json(rows)
        return
    show_rows([{key: value for key, value in row.items() if key != _REMARKS} for row in rows], as_json=False)
    for row in rows:
        for one in row[_REMARKS]:
            typer.echo(f"warning: {row['name']}: {one['field']}: {one['message']}")


@app.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(help="Names of alerts; all alerts by default.")] = None,
) -> None:
    """Print alerts as a JSON file for tocsin alerts apply. Secrets are masked."""
    with Client() as client:
        known = {alert.name: alert.document for alert in client.list_subscriptions(fields="*")}
    for name in names or ():
        if name not in known:
            raise NotFound(f"alert {name} not found{hint(name, known)}")
    show_json([exported(known[name]) for name in names or known])


@app.command("list")
def list_alerts(*, as_json: AsJson = False) -> None:
    """List all alerts."""
    with Client() as client:
        rows = [_row(alert) for alert in client.list_subscriptions()]
    show_rows(rows, as_json=as_json)


@app.command()
def status(name: NameOfAlert, *, as_json: AsJson = False) -> None:
    """Show the status of each destination of an alert."""
    with Client() as client:
        answer = client.subscription_status(find_alert(client, name).id)
    if as_json:
        show_json(answer)
        return
    show_rows([_status_row(row) for row in answer["data"]], as_json=False)


@app.command()
def enable(name: NameOfAlert) -> None:
    """Enable an alert; it covers events from now on."""
    _switch(name, is_on=True)


@app.command()
def disable(name: NameOfAlert) -> None:
    """Disable an alert; it notifies nobody until it is enabled."""
    _switch(name, is_on=False)


@app.command()
def delete(name: NameOfAlert) -> None:
    """Delete an alert and its mutes permanently. Its notifications remain."""
    with Client() as client:
        client.delete_subscription(find_alert(client, name).id)
    typer.echo(f"Deleted alert {name}.")


def _switch(name: str, *, is_on: bool) -> None:
    with Client() as client:
        operation = {"op": "add", "path": "/enabled", "value": is_on}
        client.patch_subscription(find_alert(client, name).id, [operation])
    typer.echo(f"Alert {name} is {'enabled' if is_on else 'disabled'}.")


def _apply(client: Client, document: Document) -> Document:
    name = document["name"]
    before = _version(client, name)
    try:
        applied = client.apply_subscription(document)
    except InvalidInput as error:
        raise pointed(InvalidInput(f"{name}: {error.message}", field=error.field), document) from error
    after = applied.alert.document.get("version")
    outcomes = {None: "created", after: "unchanged"}
    outcome = outcomes.get(before, "updated")
    return {"name": name, "outcome": outcome, "id": applied.alert.id, _REMARKS: list(applied.remarks)}


def _version(client: Client, name: str) -> float | None:
    try:
        return float(client.get_subscription(name).document["version"])
    except NotFound:
        return None


def _row(alert: Entity) -> Document:
    document = alert.document
    return {
        "name": alert.name,
        "enabled": bool(document.get("enabled", True)),
        "type": document.get("alertType"),
        "resources": (document.get("filteringRules") or {}).get("resources", []),
        "destinations": [_destination(row) for row in document["destinations"]],
    }


def _status_row(row: Document) -> Document:
    details = row["statusDetails"]
    return {
        "destination": _destination(row),
        "status": details.get("status"),
        "last sent": _moment(details.get("lastSuccessfulAt")),
        "last failed": _moment(details.get("lastFailedAt")),
        "reason": details.get("lastFailedReason"),
    }


def _destination(row: Document) -> str:
    return f"{row['category']} by {row['type']}"


def _moment(at_ms: int | None) -> str:
    return "" if at_ms is None else f"{to_datetime(at_ms):%Y-%m-%d %H:%M:%S}"
