"""``tocsin retention``: what is removed and when, legal holds, and runs. Next: ``jobs/retention.py``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, moment_text, show_facts, show_json, show_rows, show_text
from tocsin.cli.progress import waiting_for
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_NOTHING: Document = {"removed": "nothing: retention is off, or another run is under way"}

_RULE = ("eventType", "entityType", "logDays", "auditDays")
_UNLIMITED = dict.fromkeys(("logDays", "auditDays"), "indefinite")

app = typer.Typer(help="Show and set what is removed and when; legal holds.", no_args_is_help=True)


@app.command()
def show(*, as_json: AsJson = False) -> None:
    """Show the settings of retention, what they take away, the readers of the log and the last run."""
    with Client() as client:
        answer = client.retention()
    _show(answer, as_json=as_json)


@app.command("set")
def set_settings(
    settings: Annotated[
        str,
        typer.Argument(metavar="PRESET|FILE", help="off, standard, or a JSON file with rules; - is standard input."),
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Replace the settings of retention. What is left out is kept indefinitely.

    Example: tocsin retention set standard
    """
    with Client() as client:
        answer = client.set_retention(_settings_in(settings))
    _show(answer, as_json=as_json)


@app.command()
def run(
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove expired events and notifications from log and lake now. The pipeline also does this regularly.

    Opens the store directly. Requires Java 17 or newer.
    """
    check_java()
    settings = settings_of()
    with needing("spark"):
        from tocsin.jobs import retention as job
        from tocsin.jobs.lake import open_lake
        from tocsin.logs import set_up_logs
    set_up_logs(settings)  # to standard error: standard output is the result's
    with waiting_for("Applying retention"), existing_store(settings) as engine, open_lake(settings, engine) as lake:
        parts = job.build(settings, lake, engine)
        outcome = None if dry_run else job.apply(parts)
        result = job.preview(parts) if dry_run else _NOTHING if outcome is None else outcome.to_wire()
    if as_json:
        show_json(result)
        return
    show_facts({key: _text(value) for key, value in result.items() if key != "takesAway"}, as_json=False)
    if effects := result.get("takesAway"):
        show_rows(effects, as_json=False)


@app.command()
def hold(
    reason: Annotated[str, typer.Argument(help="Why; shown in the list of holds.")],
    *,
    entity: Annotated[str | None, typer.Option(help="Id of an entity.")] = None,
    user: Annotated[str | None, typer.Option(help="Name of a person who made changes.")] = None,
    since: Annotated[int | None, typer.Option(help="First moment, epoch milliseconds.")] = None,
    until: Annotated[int | None, typer.Option(help="Last moment, epoch milliseconds.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set a legal hold: nothing that it covers is removed until it is lifted.

    Example: tocsin retention hold "Case 2026-17" --user dana.whitlock
    """
    covered = {"entityId": entity, "userName": user, "since": since, "until": until}
    with Client() as client:
        answer = client.set_legal_hold(reason, **{key: value for key, value in covered.items() if value is not None})
    show_text(f"Legal hold {answer['id']} is set.", answer=answer, as_json=as_json)


@app.command()
def release(
    hold_id: Annotated[str, typer.Argument(metavar="ID", help="Id of the hold.")], *, as_json: AsJson = False
) -> None:
    """Lift a legal hold."""
    with Client() as client:
        answer = client.lift_legal_hold(hold_id)
    show_text(f"Legal hold {answer['id']} is lifted.", answer=answer, as_json=as_json)


@app.command()
def holds(*, as_json: AsJson = False) -> None:
    """List legal holds, the newest first."""
    with Client() as client:
        answer = client.legal_holds()
    show_rows([_row(one) for one in answer["data"]], answer=answer["data"], as_json=as_json)


def _settings_in(text: str) -> Document:
    """Return the settings that a preset's name or a file of JSON means."""
    if text != "-" and not text.endswith(".json"):
        return {"preset": text}
    try:
        settings = json.loads(sys.stdin.read() if text == "-" else Path(text).read_text())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{text}: {error}") from error
    if not isinstance(settings, dict):
        raise InvalidInput(f"{text}: must be a JSON object with rules")
    return settings


def _show(answer: Document, *, as_json: bool) -> None:
    if as_json:
        show_json(answer)
        return
    settings = answer["settings"]
    rules = [{key: rule.get(key, _UNLIMITED.get(key, "")) for key in _RULE} for rule in settings["rules"]]
    if rules:
        show_rows(rules, as_json=False)
    else:
        typer.echo("No rules: all events are kept.")
    limits = {key: value for key, value in settings.items() if key != "rules"}
    run_text = _text(answer["lastRun"]) if answer["lastRun"] else "none"
    show_facts({**limits, "removed": _text(answer["removed"]), "last run": run_text}, as_json=False)
    if effects := answer["takesAway"]:
        show_rows(effects, as_json=False)
    if readers := answer["readers"]:
        show_rows([_reader_row(reader) for reader in readers], as_json=False)


def _reader_row(reader: Document) -> Document:
    moments = {key: moment_text(reader[key]) for key in ("waitsSince", "toldAt") if reader.get(key) is not None}
    return {**reader, **moments}


def _row(legal_hold: Document) -> Document:
    covered = ("entityId", "userName", "since", "until")
    return {
        "id": legal_hold["id"],
        "reason": legal_hold["reason"],
        "covers": _text({key: legal_hold[key] for key in covered if key in legal_hold}),
        "set": f"{moment_text(legal_hold['setAt'])} by {legal_hold['setBy']}",
        "lifted": f"{moment_text(legal_hold['liftedAt'])} by {legal_hold['liftedBy']}"
        if "liftedAt" in legal_hold
        else "",
    }


def _text(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{key} {inner}" for key, inner in value.items()) or "none"
    return value
