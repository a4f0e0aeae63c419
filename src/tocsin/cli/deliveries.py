"""``tocsin deliveries``: dead letters, and replays that send them again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer
from rich.text import Text

from tocsin.chunks import chunks_of
from tocsin.cli.exit_codes import FAULT
from tocsin.cli.output import AsJson, moment_text, names_of, show_lines, show_rows, show_text
from tocsin.cli.own_zone import own_zone
from tocsin.cli.progress import progress_bar
from tocsin.client import Client
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.phrases import count_text
from tocsin.model.replay import MOST_FORGOTTEN

app = typer.Typer(
    help="Dead letters: messages whose retries are used up or that failed for good.\n\n"
    "List them, read one with its request and answers, and send them again.",
    no_args_is_help=True,
)

_LOOK_EVERY_S = 0.5
_OPEN = ("collecting", "sending", "cancelling")

MessageId = Annotated[str, typer.Argument(help="Id of the message, as tocsin deliveries list shows it.")]
Alert = Annotated[str | None, typer.Option(help="Name or id of an alert. Default: all that you may edit.")]
Destination = Annotated[str | None, typer.Option(help="Name or id of a destination (tocsin alerts status).")]
Reason = Annotated[str | None, typer.Option(help="Why it was given up: serverError, timeout, badUrl, muted, …")]
Since = Annotated[str | None, typer.Option(help="Given up since: 7d, 2026-01-31, or epoch milliseconds.")]
Until = Annotated[str | None, typer.Option(help="Given up until, in the same form.")]


@app.command("list")
def list_letters(
    *,
    alert: Alert = None,
    destination: Destination = None,
    reason: Reason = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of messages.")] = 50,
    as_json: AsJson = False,
) -> None:
    """List dead letters, newest first.

    What was not sent on purpose (disabled, muted, handled, mayNotView, recipientGone) is listed only for that --reason.

    Examples
    tocsin deliveries list --since 1d
    tocsin deliveries list --alert PaymentsSchemaChanges --reason serverError
    """
    filters = {"alert": alert, "destination": destination, "reason": reason, "since": since, "until": until}
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        letters = list(islice(client.dead_letters(**filters), limit))
    show_rows((_row(one, zone) for one in letters), answer=letters, as_json=as_json)


@app.command()
def show(message: MessageId, *, as_json: AsJson = False) -> None:
    """Show a message: its events, all attempts, and the request that a replay would send.

    Secrets are masked. Only administrators see what the receiver answered.

    Examples
    tocsin deliveries show 68c0dd82-2638-5189-aa4f-9e2d38289c83
    """
    with Client() as client:
        zone = own_zone(client, is_shown=not as_json)
        delivery = client.delivery(message)
    show_lines(_lines(delivery, zone), answer=delivery, as_json=as_json)


@app.command()
def forget(
    messages: Annotated[list[str], typer.Argument(help="Ids of the messages, as tocsin deliveries list shows them.")],
    *,
    reason: Annotated[str, typer.Option(help="Why nobody needs them; their histories show it.")],
    as_json: AsJson = False,
) -> None:
    """Let dead letters be none any more: they are listed only for --reason forgotten, and can still be replayed.

    Examples
    tocsin deliveries forget 68c0dd82-2638-5189-aa4f-9e2d38289c83 --reason "the old hook is gone"
    """
    with Client() as client:
        answers = [client.forget_dead_letters(some, reason) for some in chunks_of(messages, MOST_FORGOTTEN)]
    result = {"forgotten": sum(answer["forgotten"] for answer in answers)}
    show_text(f"{count_text(result['forgotten'], 'message')} forgotten.", answer=result, as_json=as_json)


@app.command()
def replay(
    message: Annotated[
        str | None, typer.Argument(help="Id of one message. Default: those that the options say.")
    ] = None,
    *,
    alert: Alert = None,
    destination: Destination = None,
    reason: Reason = None,
    since: Since = None,
    delivered: Annotated[bool, typer.Option("--delivered", help="Also a MESSAGE that was delivered.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until all are sent.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send dead letters again, with the same ids: one message, or those of an alert, a destination, a reason or a time.

    They wait behind what is due, and rights and mutes are checked again. Ctrl-C cancels the replay: what was not sent
    stays a dead letter. Exit code 1: a message failed again, or was not sent.

    Examples
    tocsin deliveries replay 68c0dd82-2638-5189-aa4f-9e2d38289c83
    tocsin deliveries replay --alert PaymentsSchemaChanges --since 6h
    tocsin deliveries replay --reason serverError --since 2026-01-31
    """
    options = {"alert": alert, "destination": destination, "reason": reason, "since": since}
    filters = {key: value for key, value in options.items() if value is not None}
    if message is None and not filters:
        raise InvalidInput("Say what to replay: a message, or --alert, --destination, --reason or --since.")
    if message is not None and filters:
        raise InvalidInput(f"A message cannot be combined with --{next(iter(filters))}.")
    selection = {"message": message, **({"delivered": True} if delivered else {})} if message else filters
    with Client() as client:
        new_replay = client.start_replay(**selection)
        latest = new_replay if no_wait else _follow_replay(client, new_replay)
        cause = _cause(client, message) if latest["progress"]["failed"] and not as_json else ""
    show_text(f"{_summary(latest)}{cause}", answer=latest, as_json=as_json)
    if latest["progress"]["failed"] or latest["progress"]["takenBack"]:
        raise typer.Exit(FAULT)


def _follow_replay(client: Client, replay: Document) -> Document:
    """Wait until a replay is over and show how far it is; Ctrl-C cancels it."""
    try:
        with progress_bar("Replay") as report:
            while replay["state"] in _OPEN:
                progress = replay["progress"]
                report(progress["total"] - progress["waiting"], progress["total"])
                time.sleep(_LOOK_EVERY_S)
                replay = client.get_replay(replay["id"])
    except KeyboardInterrupt:
        typer.echo(_summary(client.cancel_replay(replay["id"])), err=True)
        raise
    return replay


def _summary(replay: Document) -> str:
    progress = replay["progress"]
    if replay["state"] == "done" and not progress["total"]:
        return "Nothing to replay."
    parts = [f"{progress['delivered']:,} delivered", f"{progress['failed']:,} failed"]
    parts += [f"{progress['waiting']:,} waiting"] if progress["waiting"] else []
    parts += [f"{progress['takenBack']:,} not sent"] if progress["takenBack"] else []
    return f"Replay {replay['id']} ({replay['state']}): {count_text(progress['total'], 'message')}: {', '.join(parts)}."


def _cause(client: Client, message: str | None) -> str:
    """Return why a message failed again, or where that is said of several."""
    if message is None:
        return " tocsin deliveries list says why."
    return f" It failed because of {_reason(client.delivery(message))}."


def _row(letter: Document, zone: str) -> Document:
    first = letter["events"][0] if letter["events"] else None
    further_count = letter["notificationCount"] - 1
    about = (first["title"] if first else "") + (f" (+{further_count})" if further_count > 0 else "")
    return {
        "message": letter["id"],
        "given up": moment_text(letter["updatedAt"], zone),
        "alert": _alert(letter),
        "by": _way(letter),
        "to": letter["recipient"],
        "reason": _reason(letter),
        "attempts": letter["attemptCount"],
        "about": about,
    }


def _lines(message: Document, zone: str) -> Iterator[Text]:
    yield Text(f"{message['id']}  {message['status']}", style="bold")
    yield Text(f"alert {_alert(message)}, by {_way(message)}")
    yield Text(f"to {message['recipient']}")
    for event in message["events"]:
        yield Text(f"event {event['id']}  {event['title']}")
    if (unlisted_count := message["notificationCount"] - len(message["events"])) > 0:
        yield Text(f"and {count_text(unlisted_count, 'more notification')}")
    for attempt in message["attempts"]:
        when = moment_text(attempt["startedAt"], zone)
        yield Text(f"\nattempt {attempt['number']}  {when}  {_reason(attempt)}", style="bold")
        if attempt.get("detail"):
            yield Text(f"answer: {attempt['detail']}")
    for request in message["requests"]:
        yield Text(f"\n{request['method']} {request['address']}", style="bold")
        for name, value in request["headers"].items():
            yield Text(f"{name}: {value}")
        yield Text(f"\n{request['body']}")
    if note := message.get("requestsNote"):
        yield Text(f"\nrequest: {note}")


def _alert(letter: Document) -> str:
    """Return what the alert is called, or was."""
    alert = letter["alert"]
    return names_of([alert | {"name": alert["name"] or alert["id"]}])


def _way(letter: Document) -> str:
    """Return the channel, and what the destination is called: ``Slack (#data-alerts)``."""
    destination = letter["destination"]
    return f"{destination['type']} ({destination['name']})" if destination.get("name") else str(destination["type"])


def _reason(letter: Document) -> str:
    code = f" {letter['statusCode']}" if letter.get("statusCode") else ""
    return f"{letter.get('reason') or ''}{code}"
