"""``tocsin replay``: a recorded history of states, written through the catalogue's normal write path."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import opened_store
from tocsin.cli.output import AsJson, show_facts
from tocsin.cli.progress import progress_bar
from tocsin.clock import SystemClock
from tocsin.errors import NotFound


def replay(
    file: Annotated[Path, typer.Argument(help="JSON Lines file of entity states: .jsonl or .jsonl.gz.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Load recorded entity states, each with its original timestamp.

    Example: tocsin replay states.jsonl.gz
    """
    if not file.is_file():
        raise NotFound(f"file {file} not found")
    with needing("server"):
        from tocsin.catalogue.replay import GroupCommits
        from tocsin.catalogue.replay import replay as steps_of
        from tocsin.catalogue.writes import Writes
        from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
    with opened_store(settings_of()) as engine, progress_bar(f"Replaying {file.name}") as report:
        line_count = event_count = 0
        with GroupCommits(SqlCatalogue(engine)) as catalogue:
            for step in steps_of(Writes(catalogue, SystemClock()), file):
                report(step.read_bytes, step.total_bytes)
                line_count += 1
                event_count += step.written is not None and step.written.event is not None
    show_facts({"file": str(file), "lines": line_count, "events": event_count}, as_json=as_json)
