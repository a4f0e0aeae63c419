"""Command ``python -m truth``: replays real changes four ways and compares what was stored with what must be.

``docs/truth.md`` explains it. Next: ``truth/history.py``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from truth.compare import Difference
from truth.history import FOLDER, read_history
from truth.judgement import Judgement, judge
from truth.postgresql import fresh_database
from truth.script import Script, script_of
from truth.ways import Way

_SHOWN = 20
_CONSOLE = Console(stderr=True)


def main(
    *,
    changes: Annotated[int, typer.Option(min=50, help="Real changes to replay.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Which changes, and what is added to them.")] = 1,
    ways: Annotated[
        list[Way] | None, typer.Option(help="A way to run the pipeline; may be given several times.")
    ] = None,
    postgresql: Annotated[bool, typer.Option(help="Use PostgreSQL, started here from the machine's binaries.")] = False,
    explained: Annotated[int, typer.Option(min=0, help="Events whose explanation is compared.")] = 200,
    keep: Annotated[Path | None, typer.Option(help="Folder to keep the stores and logs in.")] = None,
) -> None:
    """Replay a real history over HTTP in several ways; compare for every person what was stored with what must be."""
    if not FOLDER.is_dir():
        _CONSOLE.print(f"The history is not there: {FOLDER.parent} ('shared' beside the repository).")
        raise typer.Exit(3)
    script = script_of(read_history(changes, seed), seed)
    table, found = Table("way", "events", "notifications", "differences", "seconds"), 0
    for way in ways or list(Way):
        started_s = time.perf_counter()
        done = _run(script, way, postgresql=postgresql, explained=explained, keep=keep)
        counts = (done.event_count, done.notification_count, len(done.differences))
        found += len(done.differences)
        table.add_row(way, *(f"{one:,}" for one in (*counts, round(time.perf_counter() - started_s))))
        _show(way, done.differences)
    Console().print(table)
    sys.exit(7 if found else 0)


def _run(script: Script, way: Way, *, postgresql: bool, explained: int, keep: Path | None) -> Judgement:
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary, _bar() as bar, fresh_database(postgresql) as url:
        folder = keep / way if keep else Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        task = bar.add_task(way, total=len(script.steps))

        def progress(done: int, _total: int) -> None:
            bar.update(task, completed=done)

        return judge(script, way, folder, progress, explained=explained, database_url=url)


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=_CONSOLE
    )


def _show(way: Way, found: Sequence[Difference]) -> None:
    for one in found[:_SHOWN]:
        _CONSOLE.print(f"{way}: {one.text()}", markup=False, highlight=False, soft_wrap=True)
    if len(found) > _SHOWN:
        _CONSOLE.print(f"{way}: and {len(found) - _SHOWN:,} more", highlight=False)


if __name__ == "__main__":
    typer.run(main)
