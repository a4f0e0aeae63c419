"""``tocsin lake``: the whole history as Parquet, and SQL queries on it. Next: ``jobs/lake.py``."""

from __future__ import annotations

import base64
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_facts
from tocsin.cli.progress import progress_bar, waiting_for
from tocsin.cli.query_output import OutputFormat, check_target, show_answer
from tocsin.client import Client
from tocsin.clock import SystemClock, to_datetime
from tocsin.errors import InvalidInput, TocsinError, Unavailable
from tocsin.flow.eventlog.lake import UNCUT, Cut
from tocsin.model.entity import Document
from tocsin.model.query_answer import QueryAnswer
from tocsin.server.alerts.time_arguments import history_cut

if TYPE_CHECKING:  # Spark is an extra
    from tocsin.jobs.lake import LakeParts

_WAIT_S = 10

app = typer.Typer(help="Keep the event history as Parquet files and query it with SQL.", no_args_is_help=True)


@app.command()
def append(*, as_json: AsJson = False) -> None:
    """Append new events to the lake and merge small files. The pipeline also does this regularly.

    Requires Java 17 or newer.
    """
    with _lake() as parts, progress_bar("Appending to the lake") as report:
        from tocsin.jobs.lake import grow

        grown = grow(parts, report)
    facts = {"added": grown.added, "merged": grown.merged, "segments": grown.segments, "through": grown.end}
    show_facts(facts, as_json=as_json)


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the contents of the lake and how far it is behind the log."""
    settings = settings_of()
    with existing_store(settings) as engine:
        from tocsin.store.eventlog.lake import Lake
        from tocsin.store.eventlog.log import EventLog

        segments, end = Lake(engine).segments(), EventLog(engine).readable_end()
    through = segments[-1].through if segments else 0
    filled_segments = [segment for segment in segments if segment.event_count]
    facts = {
        "folder": settings.lake_root(),
        "segments": len(segments),
        "events": sum(segment.event_count for segment in segments),
        "first": f"{to_datetime(min(one.first_ms for one in filled_segments)):%Y-%m-%d}" if filled_segments else None,
        "last": f"{to_datetime(max(one.last_ms for one in filled_segments)):%Y-%m-%d}" if filled_segments else None,
        "through": through,
        "behind": end - through,
    }
    show_facts(facts, as_json=as_json)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="A Spark SQL query; - reads standard input.")],
    *,
    at: Annotated[
        str | None,
        typer.Option(
            help="Query the history as of a date or time (2026-01-31, 90d ago) or an offset of the log (2052)."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write to this file (.csv, .json or .parquet).")
    ] = None,
    output_format: Annotated[
        OutputFormat | None, typer.Option("--format", help="Format of the output. Default: that of the file's suffix.")
    ] = None,
    by_server: Annotated[
        bool, typer.Option("--server", help="Ask the server, which answers with what you may view.")
    ] = False,
    since: Annotated[
        str | None, typer.Option(help="With --server: read no events from before a date or time (2026-01-31, 90d ago).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Query the view change_events (lake and log together) with SQL.

    Reads the store directly, so it shows all events. A pipeline that runs on this machine answers in a second or two;
    otherwise, and for expensive queries, Spark is started, which requires Java 17 or newer. With --server, the server
    answers, and Ctrl-C cancels the query.
    """
    target_format = check_target(output, output_format, as_json=as_json)
    if by_server:
        if target_format is OutputFormat.PARQUET:
            raise InvalidInput("The server answers in JSON; choose --format csv or json.")
        show_answer(_answer_of_server(sys.stdin.read() if sql == "-" else sql, at, since), target_format, output)
        return
    if since is not None:
        raise InvalidInput("--since is for --server; compare timestamp in the query instead.")
    cut = UNCUT if at is None else history_cut(at, "--at", SystemClock().now_ms())
    text, as_arrow = sys.stdin.read() if sql == "-" else sql, target_format is OutputFormat.PARQUET
    with waiting_for("Asking the pipeline"):
        answer = answer_of_pipeline(text, cut, as_arrow=as_arrow)
    if answer is None:
        with _lake() as parts, waiting_for("Asking"):
            from tocsin.jobs.lake_queries import LakeQueries

            answer = LakeQueries(parts).answer(text, cut=cut, as_arrow=as_arrow)
    show_answer(answer, target_format, output)


def _answer_of_server(sql: str, at: str | None, since: str | None) -> QueryAnswer:
    with Client() as client, waiting_for("Asking the server"):
        query = client.start_lake_query(sql, at=at, since=since, wait=_WAIT_S)
        try:
            query = _ended_query(client, query)
        except (KeyboardInterrupt, TocsinError):
            with suppress(TocsinError):  # report the original error
                client.cancel_lake_query(query["id"])
            raise
    if query["state"] != "done":
        raise Unavailable(query.get("reason") or query.get("message"))
    return QueryAnswer(query["columns"], query["rows"])


def _ended_query(client: Client, query: Document) -> Document:
    """Return a query once it is over."""
    while query["state"] in ("waiting", "running"):
        if query.get("message"):
            typer.echo(query["message"], err=True)
        query = client.get_lake_query(query["id"], wait=_WAIT_S)
    return query


def answer_of_pipeline(sql: str, cut: Cut = UNCUT, *, as_arrow: bool = False) -> QueryAnswer | None:
    """Return what a running pipeline answers; None if none runs here, or it leaves the question to others.

    Raises
    ------
    InvalidInput : the question is malformed
    """
    question = {"sql": sql, "through": cut.through, "untilMs": cut.until_ms, "arrow": as_arrow}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as pipeline:
            pipeline.connect(str(settings_of().lake_socket()))
            pipeline.sendall(json.dumps(question).encode() + b"\n")
            with pipeline.makefile("rb") as lines:
                answer = json.loads(lines.readline())
    except (OSError, json.JSONDecodeError):
        return None
    if "error" in answer:
        raise InvalidInput(answer["error"], field=answer.get("field"))
    if "columns" not in answer:
        return None
    arrow = base64.b64decode(answer["arrow"]) if "arrow" in answer else None
    return QueryAnswer(answer["columns"], answer["rows"], arrow)


@contextmanager
def _lake() -> Iterator[LakeParts]:
    """Yield the lake of this machine's settings, on a Spark of its own."""
    check_java()
    settings = settings_of()
    with needing("spark"):
        from tocsin.jobs.lake import open_lake
    with existing_store(settings) as engine, ExitStack() as spark:
        with waiting_for("Starting Spark"):
            parts = spark.enter_context(open_lake(settings, engine))
        yield parts
