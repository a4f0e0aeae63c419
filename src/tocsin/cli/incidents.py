"""``tocsin incidents``: incidents of what fails: list, show, acknowledge, assign, resolve, comment, merge, dismiss."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.output import AsJson, moment_text, names_of, show_facts, show_json, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.model.alert_incident import REASONS
from tocsin.model.entity import Document
from tocsin.model.severity import Severity

app = typer.Typer(help="List, assign and resolve incidents.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="INCIDENT", help="Number, e.g. INC-7.")]
Comment = Annotated[str | None, typer.Option(help="Why; shown in the timeline.")]


@app.command("list")
def list_incidents(
    *,
    status: Annotated[str, typer.Option(help="open, acknowledged, resolved, unresolved or all.")] = "unresolved",
    alert: Annotated[str | None, typer.Option(help="Name of an alert that watches them.")] = None,
    asset: Annotated[str | None, typer.Option(help="Fully qualified name of a test case or pipeline.")] = None,
    assignee: Annotated[str | None, typer.Option(help="Name of a user or team.")] = None,
    severity: Annotated[str | None, typer.Option(help=f"How bad they are: {', '.join(Severity)}.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of incidents.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List incidents, newest first; by default those that are not resolved."""
    filters = {"alert": alert, "asset": asset, "assignee": assignee, "severity": severity}
    with Client() as client:
        status_filter = None if status == "all" else status
        zone = own_zone(client, is_shown=not as_json)
        incidents = list(islice(client.list_incidents(status=status_filter, **filters), limit))
    show_rows((_row(one, zone) for one in incidents), answer=incidents, as_json=as_json)


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show an incident with its timeline.

    Example: tocsin incidents show INC-7
    """
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        incident = client.get_incident(name)
    if as_json:
        show_json(incident)
        return
    facts = {key: value for key, value in _row(incident, zone).items() if key != "opened"}
    lead = {"merged into": incident["mergedInto"]["name"]} if incident["mergedInto"] else {}
    parts = {"parts": names_of(incident["parts"])} if incident["parts"] else {}
    record = {"state id": incident["stateId"]} if incident["stateId"] else {}
    causes = {"probably caused by": ", ".join(map(_cause_text, incident["probableCauses"])) or None}
    causes["not caused by"] = names_of(incident["dismissedCauses"]) or None
    show_facts(facts | record | lead | parts | {key: text for key, text in causes.items() if text}, as_json=False)
    show_rows([_moment(one, zone) for one in incident["timeline"]], as_json=False)
    if not incident["isWhole"]:
        show_text("Not all messages are shown.", answer=incident, as_json=False)


@app.command()
def ack(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Acknowledge an incident."""
    with Client() as client:
        incident = client.acknowledge_incident(name, comment=comment)
    is_over = incident["status"] == "resolved"
    outcome = "is resolved already: nothing was recorded" if is_over else "is acknowledged"
    _say(incident, outcome, as_json=as_json)


@app.command()
def assign(
    name: Name,
    to: Annotated[str, typer.Argument(metavar="NAME", help="Name of a user, or of a team with --team.")],
    *,
    team: Annotated[bool, typer.Option("--team", help="The name is that of a team.")] = False,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Assign an incident to a user or team.

    Example: tocsin incidents assign INC-7 dana.whitlock
    """
    with Client() as client:
        assignee = {"type": "team" if team else "user", "name": to}
        incident = client.assign_incident(name, assignee, comment=comment)
        zone = own_zone(client, is_shown=not as_json and _is_for_absent(incident))
    _say(incident, _assignment_text(incident, to, zone), as_json=as_json)


def _is_for_absent(incident: Document) -> bool:
    """Return whether an incident was assigned for a person who is away."""
    return any("awayUntil" in one for one in incident.get("timeline", ()))


def _assignment_text(incident: Document, to: str, zone: str) -> str:
    """Return to whom an incident is assigned, and that the person it is meant for is away, if they are."""
    assignments = [one for one in incident.get("timeline", ()) if one.get("kind") == "assigned"]
    last = assignments[-1] if assignments else {}
    if "awayUntil" not in last:
        return f"is assigned to {to}"
    away = f"who is away until {moment_text(last['awayUntil'], zone)}"
    assignee = last.get("assignee") or {}
    if assignee.get("id") == last["for"]["id"]:
        return f"is assigned to {to}, {away} and has no substitute who could take it"
    return f"is assigned to {assignee.get('name') or assignee.get('id')} for {to}, {away}"


@app.command()
def resolve(
    name: Name,
    *,
    reason: Annotated[str | None, typer.Option(help=f"Why it failed: {', '.join(REASONS)}.")] = None,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Resolve an incident by hand; the next failure opens a new one.

    Example: tocsin incidents resolve INC-7 --reason FalsePositive
    """
    with Client() as client:
        incident = client.resolve_incident(name, comment=comment, reason=reason)
    _say(incident, "is resolved", as_json=as_json)


@app.command()
def comment(
    name: Name,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What is to be said.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Say something about an incident, without acknowledging it.

    Example: tocsin incidents comment INC-7 "the feed is late again"
    """
    with Client() as client:
        incident = client.comment_on_incident(name, text)
    _say(incident, "has the comment", as_json=as_json)


@app.command()
def merge(
    name: Name,
    into: Annotated[str, typer.Argument(metavar="INTO", help="Number of the incident that stands for both.")],
    *,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Make an incident part of another one: changes of INTO then apply to INCIDENT as well.

    Example: tocsin incidents merge INC-8 INC-7
    """
    with Client() as client:
        incident = client.merge_incident(name, into, comment=comment)
    _say(incident, f"is part of {(incident['mergedInto'] or {}).get('name', into)}", as_json=as_json)


@app.command()
def split(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Undo the merge of an incident.

    Example: tocsin incidents split INC-8
    """
    with Client() as client:
        incident = client.split_incident(name, comment=comment)
    _say(incident, "stands for itself", as_json=as_json)


@app.command("dismiss-cause")
def dismiss_cause(
    name: Name,
    cause: Annotated[str, typer.Argument(metavar="CAUSE", help="Number of the incident that did not cause it.")],
    *,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Say that another incident did not cause this one: neither it nor messages name CAUSE any longer.

    restore-cause undoes it.

    Example: tocsin incidents dismiss-cause INC-8 INC-3 --comment "the feed was late before"
    """
    with Client() as client:
        incident = client.dismiss_incident_cause(name, cause, comment=comment)
    _say(incident, f"was not caused by {cause}", as_json=as_json)


@app.command("restore-cause")
def restore_cause(
    name: Name,
    cause: Annotated[str, typer.Argument(metavar="CAUSE", help="Number of the incident that was dismissed.")],
    *,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Undo dismiss-cause: CAUSE is named as a probable cause again.

    Example: tocsin incidents restore-cause INC-8 INC-3
    """
    with Client() as client:
        incident = client.restore_incident_cause(name, cause, comment=comment)
    _say(incident, f"may be caused by {cause} after all", as_json=as_json)


def _say(incident: Document, outcome: str, *, as_json: bool) -> None:
    show_text(f"{incident['name']} {outcome}.", answer=incident, as_json=as_json)


def _row(incident: Document, zone: str) -> Document:
    return {
        "incident": incident["name"],
        "status": incident["status"],
        "severity": incident["severity"],
        "asset": incident["entity"].get("fullyQualifiedName") or incident["entity"]["id"],
        "assignee": names_of([incident["assignee"]]) if incident["assignee"] else None,
        "watchers": names_of(incident["watchers"]),
        "opened": moment_text(incident["openedAt"], zone),
    }


def _moment(step: Document, zone: str) -> Document:
    return {"when": moment_text(step["timestamp"], zone), "what": step["says"]}


def _cause_text(cause: Document) -> str:
    return f"{cause['name']} on {cause['asset'].get('fullyQualifiedName') or cause['asset']['id']}"
