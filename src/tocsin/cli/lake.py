"""``tocsin lake``: the whole history as Parquet, and SQL queries on it. Next: ``jobs/lake.py``."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_facts, show_rows
from tocsin.cli.progress import progress_bar, waiting_for
from tocsin.clock import to_datetime
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

if TYPE_CHECKING:  # Spark is an extra
    from tocsin.jobs.lake import LakeParts

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
    counted = [segment for segment in segments if segment.event_count]
    facts = {
        "folder": str(settings.lake_folder()),
        "segments": len(segments),
        "events": sum(segment.event_count for segment in segments),
        "first": f"{to_datetime(min(one.first_ms for one in counted)):%Y-%m-%d}" if counted else None,
        "last": f"{to_datetime(max(one.last_ms for one in counted)):%Y-%m-%d}" if counted else None,
        "through": through,
        "behind": end - through,
    }
    show_facts(facts, as_json=as_json)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(help="A Spark SQL query; - reads standard input.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Query the view change_events (lake and log together) with SQL.

    Reads the store directly, so it shows all events. A pipeline that runs on this machine answers in a second or two;
    otherwise, and for expensive queries, Spark is started, which requires Java 17 or newer.
    """
    text = sys.stdin.read() if sql == "-" else sql
    with waiting_for("Asking the pipeline"):
        answers = answered_by_the_pipeline(text)
    if answers is None:
        with _lake() as parts, waiting_for("Asking"):
            from tocsin.jobs.lake_queries import LakeQueries

            answers = LakeQueries(parts).answers(text)
    show_rows(answers, as_json=as_json)


def answered_by_the_pipeline(sql: str) -> list[Document] | None:
    """Return the rows that a running pipeline answers; None if none runs here, or it leaves the question to others.

    Raises
    ------
    InvalidInput : the question is malformed
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as pipeline:
            pipeline.connect(str(settings_of().lake_socket()))
            pipeline.sendall(json.dumps({"sql": sql}).encode() + b"\n")
            with pipeline.makefile("rb") as lines:
                answer: Document = json.loads(lines.readline())
    except (OSError, json.JSONDecodeError):
        return None
    if "error" in answer:
        raise InvalidInput(answer["error"])
    return answer.get("rows")


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
