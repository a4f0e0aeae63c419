"""``tocsin alerts``: keep alerts (event subscriptions) in files, and see how they fare."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.client import Client, Entity
from tocsin.clock import to_datetime
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document

app = typer.Typer(help="Create, update and inspect alerts.", no_args_is_help=True)

_LIST_KEY = "alerts"


@app.command()
def apply(
    file: Annotated[str, typer.Argument(help="A JSON or TOML file, or - for standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Create the alerts of a file, or bring those of the same names to what it says.

    A JSON file holds one alert or a list; a TOML file one alert, or several as [[alerts]].
    """
    documents = parse_alerts(_text(file), file)
    with Client() as client:
        rows = [_apply(client, document) for document in documents]
    show_rows(rows, as_json=as_json)


@app.command("list")
def list_alerts(*, as_json: AsJson = False) -> None:
    """List all alerts."""
    with Client() as client:
        rows = [_row(alert) for alert in client.list_subscriptions()]
    show_rows(rows, as_json=as_json)


@app.command()
def status(name: Annotated[str, typer.Argument(help="Name of the alert.")], *, as_json: AsJson = False) -> None:
    """Show how each destination of an alert fares."""
    with Client() as client:
        answer = client.subscription_status(client.get_subscription(name).id)
    if as_json:
        show_json(answer)
        return
    show_rows([_status_row(row) for row in answer["data"]], as_json=False)


def parse_alerts(text: str, source: str) -> list[Document]:
    """Return the alerts that ``text`` holds; ``source`` names it, and its suffix tells TOML from JSON.

    Raises
    ------
    InvalidInput : neither JSON nor TOML, or something in it is not an alert with a name
    """
    parsed = _parse(text, source)
    alerts = parsed.get(_LIST_KEY, [parsed]) if isinstance(parsed, dict) else parsed
    if not isinstance(alerts, list) or not alerts:
        raise InvalidInput(f"{source} holds no alerts.")
    for number, alert in enumerate(alerts, start=1):
        if not isinstance(alert, dict) or not isinstance(alert.get("name"), str):
            raise InvalidInput(f"{source}: alert {number} has no name.", field="name")
    return alerts


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {file}.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}.") from error


def _parse(text: str, source: str) -> Any:  # Any: what a file may hold; parse_alerts checks it
    is_toml = source.endswith(".toml") or (source == "-" and text.lstrip()[:1] not in ("{", "["))
    # A TOML list of tables also begins with a bracket, but with two of them.
    if source == "-" and text.lstrip().startswith("[["):
        is_toml = True
    try:
        return tomllib.loads(text) if is_toml else json.loads(text)
    except (tomllib.TOMLDecodeError, json.JSONDecodeError) as error:
        kind = "TOML" if is_toml else "JSON"
        raise InvalidInput(f"{source} is not valid {kind}: {error}.") from error


def _apply(client: Client, document: Document) -> Document:
    name = document["name"]
    before = _version(client, name)
    alert = client.create_or_update("eventsubscription", document)
    after = alert.document.get("version")
    outcomes = {None: "created", after: "unchanged"}
    return {"name": name, "outcome": outcomes.get(before, "updated"), "id": alert.id}


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
