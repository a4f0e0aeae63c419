"""``tocsin alerts``: alerts (event subscriptions) kept in files, their status, history and editors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.alert_plan import (
    PlannedAlert,
    PlanStep,
    error_with_place,
    plan_alerts,
    plan_lines,
    summary,
    warning_lines,
)
from tocsin.cli.alertfiles import FILED_FIELDS, Variables, exported_alert, read_alerts, with_escapes
from tocsin.cli.assets import AssetFqn, OfType, Why, find_alert, find_asset
from tocsin.cli.backtest import backtest
from tocsin.cli.exit_codes import CHANGES
from tocsin.cli.noise import noise
from tocsin.cli.output import AsJson, console, moment_text, show_json, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.cli.yaml_documents import to_yaml
from tocsin.client import Client, Entity
from tocsin.clock import LATEST_MS, SystemClock, to_datetime
from tocsin.errors import InvalidInput, NotFound
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, list_text, name_hint

app = typer.Typer(help="Create, update and inspect alerts.", no_args_is_help=True)

app.command()(backtest)

_MOST_THROUGH = 3
"""Tests of a table that a row names through which an alert watches it."""

_RELATIONS = {
    "external": "external",
    "asked": "people asked in change requests",
    "mention": "people mentioned",
    "creator": "creators of threads",
    "assignee": "assignees of tasks",
}
"""Relations whose words say nothing of people, or not of what they are."""
_WORST_FIRST = ("failed", "retryLimitReached", "awaitingRetry", "active", "disabled")

Files = Annotated[
    list[str], typer.Argument(help="YAML, JSON or TOML files, or folders of them; - reads standard input.")
]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete all alerts that no file contains, but for those of the system.")
]
AreOwnerless = Annotated[bool, typer.Option("--ownerless", help="List only those whose owners are gone.")]
NameOfAlert = Annotated[str, typer.Argument(help="Name of the alert.")]


@app.command()
def plan(
    files: Files,
    *,
    prune: Prune = False,
    env: Variables = None,
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="Exit with 8 if there is something to change.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what tocsin alerts apply would change, field by field, without changing it.

    The server checks every alert as it would on saving. Secrets are masked; those that would change are named.
    """
    filed = read_alerts(files, env or ())
    with Client() as client:
        planned = plan_alerts(client, filed, prune=prune)
    if as_json:
        show_json([one.to_wire(is_done=False) for one in planned])
    else:
        _show(planned)
    if detailed_exitcode and _is_pending(planned):
        raise typer.Exit(CHANGES)


@app.command()
def apply(
    files: Files,
    *,
    prune: Prune = False,
    env: Variables = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask before writing; needed to delete without a terminal.")
    ] = False,
    why: Why = None,
    as_json: AsJson = False,
) -> None:
    """Create or update the alerts of files, by name, after showing what changes.

    If one alert is refused, nothing is written. Applying the same files again changes nothing. Warns of conditions that
    are always true, never true, or evaluated for every event.
    """
    filed_alerts = read_alerts(files, env or ())
    with Client(why=why) as client:
        plan = plan_alerts(client, filed_alerts, prune=prune)
        if not as_json:
            _show(plan)
            if _is_pending(plan) and not yes and sys.stdin.isatty() and not typer.confirm("Apply this?"):
                typer.echo("Nothing was written.")
                return
        _check_deletions(plan, is_confirmed=yes or (sys.stdin.isatty() and not as_json))
        results = [_apply(client, one) for one in plan]
    if as_json:
        show_json([one.to_wire(is_done=True) for one in results])
    elif _is_pending(results):
        typer.echo(f"Applied: {summary(results, is_done=True)}")


@app.command()
def export(
    names: Annotated[list[str] | None, typer.Argument(help="Names of alerts; all alerts by default.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Print alerts as a YAML file for tocsin alerts apply. Secrets are masked."""
    with Client() as client:
        documents_by_name = {alert.name: alert.document for alert in client.list_subscriptions(fields=FILED_FIELDS)}
    for name in names or ():
        if name not in documents_by_name:
            raise NotFound(f"alert {name} not found{name_hint(name, documents_by_name)}")
    alerts = [with_escapes(exported_alert(documents_by_name[name])) for name in names or documents_by_name]
    if as_json:
        show_json(alerts)
    else:
        typer.echo(to_yaml({"alerts": alerts}), nl=False)


@app.command("list")
def list_alerts(*, ownerless: AreOwnerless = False, as_json: AsJson = False) -> None:
    """List all alerts, with the worst status of their destinations and the last time that one was sent to."""
    with Client() as client:
        zone = None if as_json else own_zone(client, is_shown=True)
        listed_alerts = client.list_subscriptions(fields="destinations", ownerless=ownerless or None)
        alerts = [_row(alert, zone) for alert in listed_alerts]
    show_rows(alerts, as_json=as_json)


@app.command("watching")
def list_watching_alerts(asset: AssetFqn, *, entity_type: OfType = None, as_json: AsJson = False) -> None:
    """List the enabled alerts that may notify of an asset, and the people whom each of them notifies.

    An alert is listed if some later event about the asset, as it is now, may match it, or of a table one about its
    tests or their suites: "through" names these. Alerts, people and addresses that you may not see are not named.

    Examples
    tocsin alerts watching postgres_prod.ecommerce.public.orders
    """
    with Client() as client:
        alerts = client.watching_alerts(find_asset(client, asset, entity_type))["data"]
    show_rows(map(_watching_row, alerts), answer=alerts, as_json=as_json)


@app.command()
def status(name: NameOfAlert, *, as_json: AsJson = False) -> None:
    """Show the status of each destination of an alert."""
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        answer = client.subscription_status(find_alert(client, name).id)
    show_rows((_status_row(one, zone) for one in answer["data"]), answer=answer, as_json=as_json)


@app.command()
def resume(
    name: NameOfAlert,
    *,
    destination: Annotated[
        str | None, typer.Option(help="Name or id of a destination (tocsin alerts status). Default: all of the alert.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Resume the destinations of an alert that are paused or stopped, so that their waiting messages are sent.

    Examples
    tocsin alerts resume PaymentsSchemaChanges
    """
    with Client() as client:
        alert_id = find_alert(client, name).id
        destinations = client.subscription_status(alert_id)["data"]
        targets = [one for one in destinations if destination in (None, one["id"], one.get("name"))]
        if destination is not None and not targets:
            hint = name_hint(destination, [one["name"] for one in destinations if one.get("name")])
            raise NotFound(f"alert {name} has no destination {destination!r}{hint}")
        resumed = [one for one in targets if one["breaker"]["state"] != "closed"]
        answer = [client.resume_destination(alert_id, one["id"]) for one in resumed]
    names = ", ".join(map(_destination, resumed))
    text = f"Resumed {names} of alert {name}." if resumed else f"No destination of alert {name} is paused or stopped."
    show_text(text, answer=answer, as_json=as_json)


@app.command()
def enable(name: NameOfAlert, *, why: Why = None) -> None:
    """Enable an alert; it covers events from now on."""
    _switch(name, is_on=True, why=why)


@app.command()
def disable(name: NameOfAlert, *, why: Why = None) -> None:
    """Disable an alert; it notifies nobody until it is enabled."""
    _switch(name, is_on=False, why=why)


@app.command()
def extend(
    name: NameOfAlert,
    until: Annotated[str, typer.Argument(help="Date or time, such as 2026-12-31 or 2026-12-31T18:00; UTC.")],
    *,
    why: Why = None,
    as_json: AsJson = False,
) -> None:
    """Let an alert expire later; one that has expired is enabled again.

    Examples
    tocsin alerts extend PaymentsSchemaChanges 2027-06-30
    """
    with Client(why=why) as client:
        alert_id = find_alert(client, name).id
        before = client.get_subscription(name, fields=("expires",)).document
        has_expired = not before["enabled"] and before.get("expires", LATEST_MS) <= SystemClock().now_ms()
        operations: list[Document] = [{"op": "add", "path": "/expires", "value": until}]
        operations += [{"op": "add", "path": "/enabled", "value": True}] if has_expired else []
        zone = own_zone(client, is_shown=not as_json)
        after = client.patch_subscription(alert_id, operations).document
    text = f"Alert {name} expires {moment_text(after['expires'], zone)}{', and is enabled' if has_expired else ''}."
    show_text(text, answer=after, as_json=as_json)


@app.command()
def delete(name: NameOfAlert, *, why: Why = None) -> None:
    """Delete an alert and its mutes permanently. Its notifications remain."""
    with Client(why=why) as client:
        client.delete_subscription(find_alert(client, name).id)
    typer.echo(f"Deleted alert {name}.")


app.command()(noise)


@app.command()
def history(
    name: NameOfAlert,
    *,
    kind: Annotated[str | None, typer.Option(help="Only one kind: firing, edit or report.")] = None,
    since: Annotated[
        str | None, typer.Option(help="How far back: a duration (7d) or a date. Default: everything.")
    ] = None,
    until: Annotated[str | None, typer.Option(help="End of the range, in the same form. Default: now.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of entries.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List the edits of an alert and the events that it matched, newest first, and why they were made.

    Example: tocsin alerts history PaymentsSchemaChanges --kind firing --since 7d
    """
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        all_entries = client.subscription_history(find_alert(client, name).id, kind=kind, since=since, until=until)
        entries = list(islice(all_entries, limit))
    is_why_known = any("reason" in one for one in entries)
    lines = [_history_row(one, zone) | ({"why": one.get("reason")} if is_why_known else {}) for one in entries]
    show_rows(lines, answer=entries, as_json=as_json)


@app.command()
def editors(name: NameOfAlert, *, as_json: AsJson = False) -> None:
    """Show the editors of an alert, which covers only what all of them may view.

    Administrators also see how much each may view, and how many events were withheld because of them.

    Examples
    tocsin alerts editors PaymentsSchemaChanges
    """
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        answer = client.alert_editors(find_alert(client, name).id)
    show_rows((_editor_row(one, zone) for one in answer["data"]), answer=answer, as_json=as_json)


@app.command()
def take_over(
    name: NameOfAlert,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Confirm that its destinations may get all that you may view.")
    ] = False,
    why: Why = None,
    as_json: AsJson = False,
) -> None:
    """Become the only editor of an alert, and the owner if it told only who is gone: it covers what you may view.

    Its destinations get all of that, so check them first.

    Examples
    tocsin alerts take-over PaymentsSchemaChanges --yes
    """
    if not yes:
        raise InvalidInput("The destinations of the alert will get all that you may view: add --yes to confirm it.")
    with Client(why=why) as client:
        answer = client.take_over_alert(find_alert(client, name).id)
    show_text(f"You are the only editor of alert {name}.", answer=answer, as_json=as_json)


def _switch(name: str, *, is_on: bool, why: str | None) -> None:
    with Client(why=why) as client:
        operation = {"op": "add", "path": "/enabled", "value": is_on}
        client.patch_subscription(find_alert(client, name).id, [operation])
    typer.echo(f"Alert {name} is {'enabled' if is_on else 'disabled'}.")


def _show(planned: Sequence[PlannedAlert]) -> None:
    screen = console()
    for line in (line for alert in planned for line in plan_lines(alert)):
        screen.print(line, soft_wrap=True)
    for warning in (line for alert in planned for line in warning_lines(alert)):
        typer.echo(warning)
    typer.echo(summary(planned, is_done=False))


def _check_deletions(planned: Sequence[PlannedAlert], *, is_confirmed: bool) -> None:
    """Refuse to delete alerts unless a person has said so.

    Raises
    ------
    InvalidInput : nobody has
    """
    count = sum(one.step is PlanStep.DELETE for one in planned)
    if count and not is_confirmed:
        raise InvalidInput(f"This deletes {count_text(count, 'alert')}: add --yes to confirm it. Nothing was written.")


def _is_pending(planned: Sequence[PlannedAlert]) -> bool:
    return any(one.step is not PlanStep.UNCHANGED for one in planned)


def _apply(client: Client, planned: PlannedAlert) -> PlannedAlert:
    """Do what is planned for an alert; the id of a new one is known afterwards."""
    if planned.step is PlanStep.DELETE:
        client.delete_subscription(planned.id)
    elif planned.filed is not None and planned.step is not PlanStep.UNCHANGED:
        try:
            applied = client.apply_subscription(planned.filed.document)
        except (InvalidInput, NotFound) as error:
            raise error_with_place(error, planned.filed) from error
        return replace(planned, id=applied.alert.id)
    return planned


def _row(alert: Entity, zone: str | None) -> Document:
    document = alert.document
    destinations = document["destinations"]
    statuses = {one["statusDetails"]["status"] for one in destinations}
    sent_at_ms = [one["statusDetails"].get("lastSuccessfulAt", 0) for one in destinations]
    return {
        "name": alert.name,
        "enabled": bool(document.get("enabled", True)),
        "type": document.get("alertType"),
        "resources": (document.get("filteringRules") or {}).get("resources", []),
        "destinations": [_destination(row) for row in destinations],
        "status": next((one for one in _WORST_FIRST if one in statuses), None),
        "last sent": _moment(max(sent_at_ms, default=0) or None, zone),
    }


def _watching_row(alert: Document) -> Document:
    through = list_text([str(one["name"]) for one in alert.get("through", ())], limit=_MOST_THROUGH)
    return {"alert": alert["name"], "through": through, "tells": "; ".join(map(_told_text, alert["tells"]))}


def _told_text(telling: Document) -> str:
    """Return whom a destination tells: ``owners (dana.whitlock, DataEngineering) by Email``."""
    names = [*(str(one.get("name")) for one in telling["people"]), *telling["addresses"]]
    if unnamed_count := telling["total"] - len(telling["people"]):
        names.append(f"{unnamed_count} more")
    whom = _RELATIONS.get(telling["relation"], f"{telling['relation']}s")
    listed = f" ({', '.join(names)})" if names else ""
    destination_name = f" ({telling['name']})" if telling.get("name") else ""
    return f"{whom}{listed} by {telling['type']}{destination_name}"


def _status_row(row: Document, zone: str) -> Document:
    details = row["statusDetails"]
    return {
        "destination": _destination(row),
        "status": details.get("status"),
        "last sent": _moment(details.get("lastSuccessfulAt"), zone),
        "last failed": _moment(details.get("lastFailedAt"), zone),
        "reason": row["breaker"].get("message") or details.get("lastFailedReason"),
    }


def _destination(row: Document) -> str:
    way = f"{row['category']} by {row['type']}"
    return f"{row['name']} ({way})" if row.get("name") else way


def _moment(at_ms: int | None, zone: str | None) -> str:
    """Return a time in a zone; without one as programs get it, in UTC."""
    if at_ms is None:
        return ""
    return f"{to_datetime(at_ms):%Y-%m-%d %H:%M:%S}" if zone is None else moment_text(at_ms, zone)


def _history_row(entry: Document, zone: str) -> Document:
    return {
        "when": moment_text(entry["timestamp"], zone),
        "kind": entry["kind"],
        "what": entry["title"],
        "by": entry["userName"],
        "notified": _firing_text(entry),
        "event": entry["eventId"],
    }


def _firing_text(entry: Document) -> str | None:
    """Return how many notifications a firing gave, and how many of them were not sent; None for other entries."""
    if "notified" not in entry:
        return None
    return f"{count_text(entry['notified'], 'notification')}" + (
        f", {entry['suppressed']} suppressed" if entry["suppressed"] else ""
    )


def _editor_row(editor: Document, zone: str) -> Document:
    since = moment_text(editor["since"], zone)
    row = {"editor": editor["name"] or editor["id"], "deleted": editor["deleted"], "since": since}
    if "mayView" in editor:
        row |= {"may view": editor["mayView"], "withheld": editor["withheld"]}
    return row
