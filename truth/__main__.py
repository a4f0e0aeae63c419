"""Command ``python -m truth``: replays real changes four ways and compares what was stored with what must be.

``docs/truth.md`` explains it. Next: ``truth/history.py``.
"""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from truth.agreement import Questions
from truth.clients import with_clients
from truth.compare import Difference, Kind
from truth.history import FOLDER, read_history
from truth.judgement import Judgement, judge
from truth.postgresql import running_cluster
from truth.processes import Failed
from truth.script import OTHER, Script, script_of
from truth.ways import WITH_CLIENTS, Place, Way

_SHOWN = 20
_INTERRUPTED = 143
_CONSOLE = Console(stderr=True)
_COUNTED = {one: "log" if one is Kind.EVENT else one.value for one in Kind}


def main(
    *,
    changes: Annotated[int, typer.Option(min=50, help="Real changes to replay.")] = 10_000,
    seed: Annotated[int, typer.Option(help="Which changes, and what is added to them.")] = 1,
    ways: Annotated[
        list[Way] | None, typer.Option(help="A way to run the pipeline; may be given several times.")
    ] = None,
    postgresql: Annotated[bool, typer.Option(help="Use PostgreSQL, started here from the machine's binaries.")] = False,
    store: Annotated[
        str | None, typer.Option(help="SQLAlchemy address of an empty database for one way.", metavar="URL")
    ] = None,
    clients: Annotated[
        bool, typer.Option("--clients", help="Let the workflows of OpenMetadata's client write beside the replay.")
    ] = False,
    explained: Annotated[int | None, typer.Option(min=0, help="Compare so many explanations only.")] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep stores and logs in; an interrupted run goes on from it.")
    ] = None,
) -> None:
    """Replay a real history over HTTP in several ways; compare for every person what was stored with what must be."""
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(_INTERRUPTED))
    chosen_ways = ways or (list(WITH_CLIENTS) if clients else list(Way))
    if clients and not WITH_CLIENTS.issuperset(chosen_ways):
        raise typer.BadParameter(f"--clients is for {' and '.join(sorted(WITH_CLIENTS))}: the workflows use the search")
    if store and (postgresql or len(chosen_ways) > 1):
        raise typer.BadParameter("--store is for one way, and without --postgresql")
    if not FOLDER.is_dir():
        _CONSOLE.print(f"The history is not there: {FOLDER.parent} ('shared' beside the repository).")
        raise typer.Exit(3)
    with _CONSOLE.status("reading the history"):
        script = script_of(read_history(changes, seed), seed)
        script = with_clients(script) if clients else script
    table, difference_count = _table(), 0
    for way in chosen_ways:
        started_s = time.perf_counter()
        try:
            with _place(way, keep, postgresql=postgresql, store=store) as place:
                judgement = _judge_way(script, way, replace(place, has_clients=clients), Questions(explained))
        except Failed as error:
            _CONSOLE.print(f"{way}: {error}", markup=False, highlight=False, soft_wrap=True)
            raise typer.Exit(1) from error
        difference_count += len(judgement.differences)
        table.add_row(way, *(f"{one:,}" for one in (*_numbers(judgement), round(time.perf_counter() - started_s))))
        if clients:
            other_count = sum(one.actor == OTHER for one in judgement.events)
            _CONSOLE.print(f"{way}: {other_count:,} events are of OpenMetadata's client", highlight=False)
        _show(way, judgement.differences)
    Console(width=None if sys.stdout.isatty() else 140).print(table)
    sys.exit(7 if difference_count else 0)


@contextmanager
def _place(way: Way, keep: Path | None, *, postgresql: bool, store: str | None) -> Iterator[Place]:
    """Yield where a way is replayed, with a database that runs until the block ends."""
    with tempfile.TemporaryDirectory(prefix="truth-") as temporary:
        Path(temporary).chmod(0o755)  # PostgreSQL's own account finds its folder
        root = (keep or Path(temporary)).absolute()
        folder = root / way
        folder.mkdir(parents=True, exist_ok=True)
        if not postgresql:
            yield Place(folder, store)
            return
        with running_cluster(root / f"{way}-postgresql") as url:
            yield Place(folder, url)


def _judge_way(script: Script, way: Way, place: Place, questions: Questions) -> Judgement:
    tasks: dict[str, TaskID] = {}
    with _bars() as bars:

        def progress(task: str, done_count: int, total: int) -> None:
            if task not in tasks:
                tasks[task] = bars.add_task(f"{way}: {task}", total=total)
            bars.update(tasks[task], completed=done_count, total=total)

        return judge(script, way, place, progress, questions=questions)


def _bars() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=_CONSOLE)


def _table() -> Table:
    table = Table(title="Notifications, and what differs")
    for name in ("way", "events", "expected", "stored", *_COUNTED.values(), "seconds"):
        table.add_column(name, justify="left" if name == "way" else "right")
    return table


def _numbers(judgement: Judgement) -> list[int]:
    counts = judgement.counts()
    sizes = [len(judgement.events), len(judgement.due.notifications), len(judgement.stored)]
    return sizes + [counts.get(kind, 0) for kind in _COUNTED]


def _show(way: Way, differences: Sequence[Difference]) -> None:
    for difference in differences[:_SHOWN]:
        _CONSOLE.print(f"{way}: {difference.text()}", markup=False, highlight=False, soft_wrap=True)
    if len(differences) > _SHOWN:
        _CONSOLE.print(f"{way}: and {len(differences) - _SHOWN:,} more", highlight=False)


if __name__ == "__main__":
    typer.run(main)
