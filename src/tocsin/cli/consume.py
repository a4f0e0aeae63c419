"""``tocsin events consume``: change events in batches, each given to a command or printed as JSON lines."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from tocsin.cli.alertfiles import text_of
from tocsin.cli.assets import find_alert
from tocsin.client import ApiSource, Change, Client, EventBatch, KafkaSource, QueueSource
from tocsin.client.consume.api_source import parse_start
from tocsin.client.consume.loop import EventSource
from tocsin.errors import InvalidInput, Unavailable
from tocsin.model.entity import Document

_END_WITHIN_S = 10.0
_API, _QUEUE, _KAFKA = "From the server", "From the queue of an alert", "From Kafka"

Exec = Annotated[str | None, typer.Option("--exec", metavar="CMD", help="Run this with a JSON array on stdin.")]
BatchSize = Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of events of a batch.")]
GroupBy = Annotated[str | None, typer.Option(help="entityType: one entity type per batch.")]
Retries = Annotated[int | None, typer.Option(min=0, help="How often a batch is given again; without it, for ever.")]
Once = Annotated[bool, typer.Option("--once", help="Stop at the end instead of waiting.")]
Position = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where to store how far it is: a name or path.", rich_help_panel=_API)
]
Consumer = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Name of a registered consumer; the server stores it.", rich_help_panel=_API),
]
From = Annotated[
    str | None,
    typer.Option("--from", help="Where a new position begins: now, start or an offset.", rich_help_panel=_API),
]
EventTypes = Annotated[str | None, typer.Option(metavar="A,B", help="Only such events.", rich_help_panel=_API)]
EntityTypes = Annotated[str | None, typer.Option(metavar="A,B", help="Only about such entities.", rich_help_panel=_API)]
IncludeFields = Annotated[
    str | None, typer.Option(metavar="A,B", help="Of updates, only those of such fields.", rich_help_panel=_API)
]
Queue = Annotated[str | None, typer.Option(metavar="ALERT", help="Name of the alert.", rich_help_panel=_QUEUE)]
Seconds = Annotated[
    int | None, typer.Option(min=5, max=3600, help="How long a batch may take: 300.", rich_help_panel=_QUEUE)
]
Servers = Annotated[
    str | None, typer.Option(metavar="HOST:PORT,…", help="Addresses of the brokers.", rich_help_panel=_KAFKA)
]
Group = Annotated[str | None, typer.Option(metavar="NAME", help="The consumer group.", rich_help_panel=_KAFKA)]
Topics = Annotated[
    list[str] | None,
    typer.Option("--kafka-topic", metavar="NAME", help="A topic; may be repeated.", rich_help_panel=_KAFKA),
]
KafkaConfig = Annotated[
    str | None, typer.Option(metavar="FILE", help="More settings of librdkafka, key=value.", rich_help_panel=_KAFKA)
]


def consume(  # noqa: PLR0913  # each option of the command is a parameter
    *,
    command: Exec = None,
    batch_size: BatchSize = 100,
    group_by: GroupBy = None,
    retries: Retries = None,
    once: Once = False,
    position: Position = None,
    consumer: Consumer = None,
    start: From = None,
    event_types: EventTypes = None,
    entity_types: EntityTypes = None,
    include_fields: IncludeFields = None,
    queue: Queue = None,
    seconds: Seconds = None,
    kafka_servers: Servers = None,
    kafka_group: Group = None,
    kafka_topics: Topics = None,
    kafka_config: KafkaConfig = None,
) -> None:
    """Give each batch of change events to a command, or print them as JSON lines.

    A batch counts as handled when the command ends with exit code 0; otherwise it is given again after 1, 2, 4 … 60
    seconds. What was not handled comes again after a restart. The command runs without a shell.

    Examples
    tocsin events consume --position warehouse --from start --exec './load.py'
    tocsin events consume --consumer warehouse --exec './load.py'
    tocsin events consume --queue GovernanceQueue --group-by entityType --exec 'python handle.py'
    tocsin events consume --kafka-servers kafka:9092 --kafka-group warehouse
    """
    api = {
        "position": position,
        "consumer": consumer,
        "from": start,
        "event-types": event_types,
        "entity-types": entity_types,
        "include-fields": include_fields,
    }
    kafka = {"kafka-servers": kafka_servers, "kafka-group": kafka_group, "kafka-topic": kafka_topics}
    kafka["kafka-config"] = kafka_config
    _check_options(api, {"queue": queue, "seconds": seconds}, kafka)
    handle = _print_lines if command is None else _runner_of(command)
    with Client() as client, _ended_by_sigterm():
        source: EventSource
        if queue is not None:
            source = QueueSource(find_alert(client, queue).id, seconds or 300, stop_at_end=once)
        elif kafka_servers is not None:
            source = _kafka_source(kafka_servers, kafka_group, kafka_topics, kafka_config, stop_at_end=once)
        else:
            source = _api_source(api, stop_at_end=once)
        client.consume(
            handle, source, batch_size=batch_size, group_by=group_by, retries=retries, on_retry=_report_retry
        )


def _check_options(*sources: Mapping[str, object]) -> None:
    """Refuse options of more than one source, and those of a source whose first option is missing."""
    options = [[name for name, value in source.items() if value is not None] for source in sources]
    used = [names[0] for names in options if names]
    if len(used) > 1:
        raise InvalidInput(f"--{used[0]} and --{used[1]} are for different sources: choose one.")
    for source, names in zip(sources[1:], options[1:], strict=True):
        if names and names[0] != (first := next(iter(source))):
            raise InvalidInput(f"--{names[0]} needs --{first}.")


def _api_source(options: Mapping[str, str | None], *, stop_at_end: bool) -> ApiSource:
    position = options["position"]
    return ApiSource(
        position=Path(position) if position and os.sep in position else position,
        start=parse_start(options["from"] or "now"),
        event_types=_names_of(options["event-types"]),
        entity_types=_names_of(options["entity-types"]),
        consumer=options["consumer"],
        include_fields=_names_of(options["include-fields"]),
        stop_at_end=stop_at_end,
    )


def _names_of(text: str | None) -> list[str]:
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def _kafka_source(
    servers: str, group: str | None, topics: list[str] | None, config: str | None, *, stop_at_end: bool
) -> KafkaSource:
    if group is None:
        raise InvalidInput("--kafka-servers needs --kafka-group: the broker stores under this name how far it is.")
    lines = [line.strip() for line in (text_of(config) if config else "").splitlines()]
    settings = dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    source = KafkaSource(servers, group, settings=settings, stop_at_end=stop_at_end)
    source.topics = topics or source.topics
    return source


def _print_lines(batch: EventBatch) -> None:
    """Print the events, so that they are out when the batch counts as handled."""
    for change in batch.changes:
        typer.echo(json.dumps(_event_of(change)))  # in ASCII: a text may have half of a surrogate pair


def _runner_of(command: str) -> Callable[[EventBatch], None]:
    """Return what runs the command for a batch.

    Raises
    ------
    InvalidInput : there is no such program
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(f"--exec cannot be read: {error}.", field="exec") from error
    if not words or shutil.which(words[0]) is None:
        raise InvalidInput(f"--exec: there is no program {words[0] if words else ''!r}.", field="exec")
    return lambda batch: _run(words, batch)


def _run(words: list[str], batch: EventBatch) -> None:
    """Run the command with the events on its standard input; nothing of an event is among its words.

    Raises
    ------
    Unavailable : it ends with another exit code than 0, or does not run
    """
    payload = json.dumps([_event_of(change) for change in batch.changes]).encode()
    entity_type = batch.entity_type or ""
    environment = os.environ | {
        "BATCH_EVENT_COUNT": str(len(batch.changes)),
        "BATCH_ENTITY_TYPE": entity_type if entity_type.isalnum() else "",
    }
    try:
        process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)
    except OSError as error:
        raise Unavailable(f"{words[0]} does not run: {error.strerror or error}") from error
    try:
        process.communicate(payload)
    except BaseException:  # Ctrl-C: the command ends first
        _end(process)
        raise
    if process.returncode != 0:
        raise Unavailable(f"{words[0]} ended with exit code {process.returncode}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process: by SIGTERM, and kill it where that takes long, or where Ctrl-C comes again."""
    try:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_WITHIN_S)
    finally:
        process.kill()
        process.wait()


def _event_of(change: Change) -> Document:
    """Return an event with its idempotency key, whatever format it came in."""
    return {**change.event, "idempotencyKey": change.idempotency_key}


def _report_retry(error: Exception, wait_s: float) -> None:
    typer.echo(f"tocsin: {' '.join(str(error).split()).rstrip('.')}; again in {wait_s:.0f} s.", err=True)


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    earlier = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)
