"""``tocsin changes``: changes announced before they happen: announce, list, show, answer, comment, move, withdraw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import islice
from typing import Annotated

import typer

from tocsin.cli.assets import OfType, find_asset
from tocsin.cli.change_files import (
    FileOutcome,
    announce_planned,
    changes_as_yaml,
    plan_changes,
    read_changes,
)
from tocsin.cli.output import AsJson, moment_text, names_of, show_facts, show_json, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.client import Client
from tocsin.clock import moment_of
from tocsin.delivery.lines import UTC
from tocsin.delivery.wording.timelines import request_sentence
from tocsin.errors import InvalidInput
from tocsin.model.announcement import ChangeOutcome, outcome_in_words
from tocsin.model.change_request import LONGEST_INTERVAL_DAYS, ChangeKind
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text, in_words

app = typer.Typer(help="Announce changes of assets, and answer announcements.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="REQUEST", help="Number, e.g. CR-12.")]
Comment = Annotated[str | None, typer.Option(help="Why; shown in the timeline.")]
_ON = typer.Option("--on", metavar="DATE", help="When, such as 2026-12-09T10:00; without a zone UTC.")
Files = Annotated[
    list[str] | None, typer.Option("--file", "-f", metavar="FILE", help="YAML file of changes; - reads standard input.")
]

RemindEvery = Annotated[
    int | None,
    typer.Option(
        min=0, max=LONGEST_INTERVAL_DAYS, help="Days between reminders of those that are open: 7 if omitted; 0: none."
    ),
]


class OutputForm(StrEnum):
    """What is printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Output = Annotated[
    OutputForm, typer.Option(help="yaml is a file for tocsin changes announce -f; json the same as --json.")
]


@app.command()
def announce(  # noqa: PLR0913  # each option of the command is a parameter
    asset: Annotated[str | None, typer.Argument(help="Fully qualified name of the asset.")] = None,
    *,
    on: Annotated[str | None, _ON] = None,
    why: Annotated[str | None, typer.Option(help="Why it changes.")] = None,
    kind: Annotated[str | None, typer.Option(help="removal (default), type, rename or deprecation.")] = None,
    column: Annotated[str | None, typer.Option(help="The column that changes; the asset if omitted.")] = None,
    to: Annotated[str | None, typer.Option(help="The new type or name.")] = None,
    instead: Annotated[str | None, typer.Option(help="What to use in its place.")] = None,
    remind_every: RemindEvery = None,
    entity_type: OfType = None,
    files: Files = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show who would be asked.")] = False,
    as_json: AsJson = False,
) -> None:
    """Announce a change of an asset or a column that you may edit, or all changes of YAML files.

    If one change of a file is refused, nothing is announced. Announcing the same file again announces nothing twice.

    Examples
    tocsin changes announce postgres_prod.ecommerce.public.orders --column email --on 2026-12-09 --why unused
    tocsin changes announce -f changes.yaml --dry-run
    """
    optional = {"column": column, "newValue": to, "replacement": instead, "remindEveryDays": remind_every}
    options = {**optional, "on": on, "why": why, "kind": kind, "type": entity_type, "asset": asset}
    if files:
        if any(value is not None for value in options.values()):
            raise InvalidInput("--file says what changes: give no asset, and only --dry-run and --json beside it.")
        _announce_files(files, dry_run=dry_run, as_json=as_json)
        return
    if asset is None or on is None or why is None:
        raise InvalidInput("Name an asset with --on and --why, or a --file.")
    with Client() as client:
        entity = find_asset(client, asset, entity_type)
        announcement: Document = {
            "entity": {"type": entity.entity_type, "id": entity.id},
            "kind": kind or ChangeKind.REMOVAL.value,
            "date": _ms_of(on, "on"),
            "why": why,
            **{key: value for key, value in optional.items() if value is not None},
        }
        request = client.announce_change(announcement, dry_run=dry_run)
    if not dry_run or "firstConsumers" not in request:  # it is announced, or was before
        show_text(_announced_text(request, dry_run=dry_run), answer=request, as_json=as_json)
        return
    show_rows([_consumer_row(one) for one in request["firstConsumers"]], answer=request, as_json=as_json)


@app.command("list")
def list_requests(
    *,
    status: Annotated[str, typer.Option(help="announced, due, done, withdrawn or all.")] = "announced",
    author: Annotated[str | None, typer.Option(help="Name of a user.")] = None,
    asset: Annotated[str | None, typer.Option(help="Fully qualified name of an asset, deleted or not.")] = None,
    of_type: OfType = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of requests.")] = 50,
    output: Output = OutputForm.TABLE,
    as_json: AsJson = False,
) -> None:
    """List change requests, newest first; by default those whose date is ahead.

    Example: tocsin changes list --asset postgres_prod.ecommerce.public.orders --status all
    """
    filters = {"status": None if status == "all" else status, "author": author, "asset": asset, "type": of_type}
    is_table = output is OutputForm.TABLE and not as_json
    with Client() as client:
        zone = own_zone(client, is_shown=is_table)
        requests = list(islice(client.list_change_requests(**filters), limit))
    if output is OutputForm.YAML:
        typer.echo(changes_as_yaml(requests), nl=False)
        return
    show_rows((_row(one, zone) for one in requests), answer=requests, as_json=not is_table)


@app.command()
def show(name: Name, *, output: Output = OutputForm.TABLE, as_json: AsJson = False) -> None:
    """Show a change request: what changes, who reads it, what they answer, and the discussion.

    Example: tocsin changes show CR-12
    """
    is_table = output is OutputForm.TABLE and not as_json
    with Client() as client:
        zone = own_zone(client, is_shown=is_table)
        request = client.get_change_request(name)
        if output is OutputForm.YAML:
            typer.echo(changes_as_yaml([request]), nl=False)
            return
        consumers, timeline = list(client.change_consumers(name)), list(client.change_timeline(name))
    if not is_table:
        show_json(request | {"consumerAnswers": consumers, "timeline": timeline})
        return
    outcome = _outcome(request, zone) if request.get("outcome") else {}
    facts = {"why": request["why"], "instead": request["replacement"], "by": names_of([request["author"]])}
    show_facts(_row(request, zone) | outcome | facts, as_json=False)
    if hidden_count := request["consumers"]["hidden"]:
        typer.echo(f"You may not see {hidden_count:,} of its consumers.")
    assets_first = sorted(consumers, key=lambda one: one["entity"].get("type") == "user")  # as a dry run lists them
    show_rows([_consumer_row(one, zone) for one in assets_first], as_json=False)
    show_rows([_moment(one, zone) for one in timeline], as_json=False)


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
def move_change(name: Name, *, on: Annotated[str, _ON], comment: Comment = None, as_json: AsJson = False) -> None:
    """Move a change to a later date; answers stay, and new consumers are asked."""
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        request = client.move_change(name, _ms_of(on, "on"), comment=comment)
    show_text(f"{request['name']} is moved to {moment_text(request['date'], zone)}.", answer=request, as_json=as_json)


@app.command("withdraw")
def withdraw_change(name: Name, *, comment: Comment = None, as_json: AsJson = False) -> None:
    """Withdraw a change request."""
    with Client() as client:
        request = client.withdraw_change(name, comment=comment)
    show_text(f"{request['name']} is withdrawn.", answer=request, as_json=as_json)


def _announce_files(files: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    filed = read_changes(files)
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        planned = plan_changes(client, filed)
        changes = planned if dry_run else announce_planned(client, planned)
    wire = [one.to_wire(is_done=not dry_run) for one in changes]
    show_rows((_filed_row(one, zone) for one in wire), answer=wire, as_json=as_json)
    if not as_json:
        counts = Counter(one.outcome for one in changes)
        words = {FileOutcome.ANNOUNCED: "to announce"} if dry_run else {}
        counts_text = ", ".join(f"{counts[one]} {words.get(one, one)}" for one in FileOutcome)
        typer.echo(f"{counts_text}.{' Nothing was written.' if dry_run else ''}")


def _announced_text(request: Document, *, dry_run: bool) -> str:
    total, status = request["answers"]["total"], request["status"]
    if dry_run or status != "announced":  # this did not announce it
        return f"{request['name']} announces this already: {status}, {count_text(total, 'consumer')}."
    return f"{request['name']} is announced; {total} consumers are asked."


def _filed_row(change: Document, zone: str) -> Document:
    return {"file": change["file"], "outcome": change["outcome"], **_row(change["request"], zone)}


def _ms_of(date: str, option: str) -> int:
    """Return a date or time as epoch milliseconds; without a zone it is UTC."""
    moment_ms = moment_of(date)
    if moment_ms is None:
        raise InvalidInput(f"--{option} must be a date such as 2026-12-09T10:00, not {date!r}.", field=option)
    return moment_ms


def _row(request: Document, zone: str) -> Document:
    new_value = f" to {request['newValue']}" if request["newValue"] else ""
    counts = request["answers"]
    return {
        "request": request["name"],
        "status": request["status"],
        "change": f"{request['kind']}{new_value}",
        "asset": request["entity"].get("fullyQualifiedName") or request["entity"]["id"],
        "column": request["column"],
        "date": moment_text(request["date"], zone),
        "answered": f"{counts['total'] - counts['open']} of {counts['total']}",
    }


def _outcome(request: Document, zone: str) -> Document:
    words = outcome_in_words(ChangeOutcome(request["outcome"]), request["name"])
    return {"changed": f"{moment_text(request['doneAt'], zone)}, {words}"}


def _consumer_row(consumer: Document, zone: str = UTC) -> Document:
    reply, entity = consumer["answer"] or {}, consumer["entity"]
    return {
        "consumer": _consumer_name(entity),
        "steps below": consumer["level"],
        "who answers": names_of(consumer["answeredBy"]) or "nobody",
        "answer": _answer_text(reply, zone) if reply else "open",
        "comment": reply.get("comment"),
    }


def _answer_text(reply: Document, zone: str) -> str:
    """Return an answer in words: ``needs time until 2026-12-16 00:00:00 UTC``."""
    until = f" until {moment_text(reply['until'], zone)}" if "until" in reply else ""
    return f"{in_words(reply['answer'])}{until}"


def _consumer_name(entity: Document) -> str:
    """Return the name of a person, or the full name of an asset; of what is hidden the id."""
    if entity.get("type") == "user":
        return names_of([entity]) if entity.get("name") else str(entity["id"])
    return str(entity.get("fullyQualifiedName") or entity["id"])


def _moment(step: Document, zone: str) -> Document:
    return {"when": moment_text(step["timestamp"], zone), "what": request_sentence(step, zone, _consumer_name)}
