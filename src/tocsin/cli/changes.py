"""``tocsin changes``: changes announced before they happen: announce, list, show, answer, comment, move, withdraw."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import AssetFqn, OfType, find_asset
from tocsin.cli.output import AsJson, moment_text, names_of, show_facts, show_json, show_rows, show_text
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.announcement import ChangeOutcome, outcome_in_words
from tocsin.model.change_request import LONGEST_INTERVAL_DAYS
from tocsin.model.entity import Document

app = typer.Typer(help="Announce changes of assets, and answer announcements.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="REQUEST", help="Number, e.g. CR-12.")]
Comment = Annotated[str | None, typer.Option(help="Why; shown in the timeline.")]
On = Annotated[str, typer.Option("--on", metavar="DATE", help="When, such as 2026-12-09T10:00; without a zone UTC.")]

RemindEvery = Annotated[
    int, typer.Option(min=0, max=LONGEST_INTERVAL_DAYS, help="Days between reminders of those that are open; 0: none.")
]


@app.command()
def announce(  # noqa: PLR0913  # each option of the command is a parameter
    asset: AssetFqn,
    *,
    on: On,
    why: Annotated[str, typer.Option(help="Why it changes.")],
    kind: Annotated[str, typer.Option(help="removal, type, rename or deprecation.")] = "removal",
    column: Annotated[str | None, typer.Option(help="The column that changes; the asset if omitted.")] = None,
    to: Annotated[str | None, typer.Option(help="The new type or name.")] = None,
    instead: Annotated[str | None, typer.Option(help="What to use in its place.")] = None,
    remind_every: RemindEvery = 7,
    entity_type: OfType = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show who would be asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Announce a change of an asset or a column that you may edit.

    Example: tocsin changes announce postgres_prod.ecommerce.public.orders --column email --on 2026-12-09 --why unused
    """
    optional = {"column": column, "newValue": to, "replacement": instead}
    with Client() as client:
        entity = find_asset(client, asset, entity_type)
        announcement: Document = {
            "entity": {"type": entity.entity_type, "id": entity.id},
            "kind": kind,
            "date": _ms_of(on, "on"),
            "why": why,
            "remindEveryDays": remind_every,
            **{key: value for key, value in optional.items() if value is not None},
        }
        request = client.announce_change(announcement, dry_run=dry_run)
    if not dry_run:
        text = f"{request['name']} is announced; {request['answers']['total']} consumers are asked."
        show_text(text, answer=request, as_json=as_json)
        return
    show_rows([_consumer_row(one) for one in request["firstConsumers"]], answer=request, as_json=as_json)


@app.command("list")
def list_requests(
    *,
    status: Annotated[str, typer.Option(help="announced, due, done, withdrawn or all.")] = "announced",
    author: Annotated[str | None, typer.Option(help="Name of a user.")] = None,
    asset: Annotated[str | None, typer.Option(help="Fully qualified name of an asset.")] = None,
    of_type: OfType = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of requests.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List change requests, newest first; by default those whose date is ahead.

    Example: tocsin changes list --asset postgres_prod.ecommerce.public.orders --status all
    """
    filters = {"status": None if status == "all" else status, "author": author}
    with Client() as client:
        if asset is not None:
            entity = find_asset(client, asset, of_type)
            filters |= {"asset": entity.id, "type": entity.entity_type}
        requests = list(islice(client.list_change_requests(**filters), limit))
    show_rows(map(_row, requests), answer=requests, as_json=as_json)


@app.command()
def show(name: Name, *, as_json: AsJson = False) -> None:
    """Show a change request: what changes, who reads it, what they answer, and the discussion.

    Example: tocsin changes show CR-12
    """
    with Client() as client:
        request = client.get_change_request(name)
        consumers, timeline = list(client.change_consumers(name)), list(client.change_timeline(name))
    if as_json:
        show_json(request | {"consumerAnswers": consumers, "timeline": timeline})
        return
    outcome = _outcome(request) if request.get("outcome") else {}
    facts = {"why": request["why"], "instead": request["replacement"], "by": request["author"]["name"]}
    show_facts(_row(request) | outcome | facts, as_json=False)
    if hidden_count := request["consumers"]["hidden"]:
        typer.echo(f"{hidden_count} of its consumers you may not see.")
    show_rows([_consumer_row(one) for one in consumers], as_json=False)
    show_rows([_moment(one) for one in timeline], as_json=False)


@app.command()
def answer(
    name: Name,
    verdict: Annotated[str, typer.Argument(metavar="ANSWER", help="ready, notAffected, needsTime or objects.")],
    *,
    consumer: Annotated[list[str] | None, typer.Option(help="Id of a consumer; all of yours if omitted.")] = None,
    until: Annotated[str | None, typer.Option(help="Until when you need time, such as 2026-12-16.")] = None,
    comment: Comment = None,
    as_json: AsJson = False,
) -> None:
    """Answer for the consumers that you own, directly or by a team; it can be changed until the date.

    Example: tocsin changes answer CR-12 needsTime --until 2026-12-16
    """
    until_ms = None if until is None else _ms_of(until, "until")
    with Client() as client:
        request = client.answer_change(name, verdict, consumers=consumer, until=until_ms, comment=comment)
    counts = request["answers"]
    text = f"{counts['total'] - counts['open']} of {counts['total']} consumers of {request['name']} have answered."
    show_text(text, answer=request, as_json=as_json)


@app.command("comment")
def add_comment(
    name: Name, text: Annotated[str, typer.Argument(help="What you have to say.")], *, as_json: AsJson = False
) -> None:
    """Add to the discussion of a change request."""
    with Client() as client:
        request = client.comment_on_change(name, text)
    show_text(f"Added to {request['name']}.", answer=request, as_json=as_json)


@app.command("move")
def move_change(name: Name, *, on: On, comment: Comment = None, as_json: AsJson = False) -> None:
    """Move a change to a later date; answers stay, and new consumers are asked."""
    with Client() as client:
        request = client.move_change(name, _ms_of(on, "on"), comment=comment)
    show_text(f"{request['name']} is moved to {moment_text(request['date'])} UTC.", answer=request, as_json=as_json)


@app.command("withdraw")
def withdraw_change(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Withdraw a change request."""
    with Client() as client:
        request = client.withdraw_change(name, comment=comment)
    show_text(f"{request['name']} is withdrawn.", answer=request, as_json=as_json)


def _ms_of(date: str, option: str) -> int:
    """Return a date or time as epoch milliseconds; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(date)
    except ValueError as error:
        raise InvalidInput(
            f"--{option} must be a date such as 2026-12-09T10:00, not {date!r}.", field=option
        ) from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1_000)


def _row(request: Document) -> Document:
    new_value = f" to {request['newValue']}" if request["newValue"] else ""
    counts = request["answers"]
    return {
        "request": request["name"],
        "status": request["status"],
        "change": f"{request['kind']}{new_value}",
        "asset": request["entity"].get("fullyQualifiedName") or request["entity"]["id"],
        "column": request["column"],
        "date": moment_text(request["date"]),
        "answered": f"{counts['total'] - counts['open']} of {counts['total']}",
    }


def _outcome(request: Document) -> Document:
    words = outcome_in_words(ChangeOutcome(request["outcome"]), request["name"])
    return {"changed": f"{moment_text(request['doneAt'])}, {words}"}


def _consumer_row(consumer: Document) -> Document:
    reply, entity = consumer["answer"] or {}, consumer["entity"]
    until = f" until {moment_text(reply['until'])}" if "until" in reply else ""
    return {
        "consumer": entity.get("fullyQualifiedName") or entity["id"],
        "steps below": consumer["level"],
        "who answers": names_of(consumer["answeredBy"]) or "nobody",
        "answer": f"{reply['answer']}{until}" if reply else "open",
        "comment": reply.get("comment"),
    }


def _moment(step: Document) -> Document:
    user, entity = step.get("user") or {}, step.get("entity") or {}
    way = f"by {step['way']}" if "way" in step else None
    parts = (step["kind"], way, step.get("answer"), entity.get("fullyQualifiedName"))
    step_text = " ".join(str(one) for one in parts if one)
    return {
        "when": moment_text(step["timestamp"]),
        "who": user.get("name"),
        "what": step_text,
        "comment": step.get("comment"),
    }
