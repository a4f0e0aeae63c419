"""Commands that load a store: ``tocsin replay`` a recorded history of states, ``tocsin sample`` the sample company.

A history is written through the catalogue's normal write path. Next: ``sample/load.py``.
"""

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


app = typer.Typer(help="Load the sample company.", no_args_is_help=True)


@app.callback()
def sample() -> None:
    """Load the sample company, for trying Tocsin."""


@app.command()
def load(*, as_json: AsJson = False) -> None:
    """Load the sample company into the store: 300 assets, people, lineage, tests and a year of changes.

    Prints a log-in. Loading it again only sets a new password.
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.sample.load import load as load_sample
    with opened_store(settings) as engine, progress_bar("Loading the sample company") as report:
        login = load_sample(engine, settings, now_ms=SystemClock().now_ms(), progress=report)
    show_facts({"name": login.name, "email": login.email, "password": login.password}, as_json=as_json)
