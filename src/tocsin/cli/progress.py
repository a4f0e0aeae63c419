"""Progress display of long commands, on a terminal only, but for what one has to wait minutes for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

ReportProgress = Callable[[int, int], None]
"""Called with the number of finished steps and of all steps."""


@contextmanager
def progress_bar(title: str) -> Iterator[ReportProgress]:
    """Yield a function that moves a bar named ``title`` on stderr."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with _build_progress(*columns) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def megabytes_so_far(title: str, total_mb: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows how many bytes are there: as a bar, or in a line for every ten megabytes.

    Lines are for a process whose output another one shows, such as ``tocsin up``. A megabyte has 10^6 bytes.
    """
    with progress_bar(title) as bar:
        shown_tens = -1

        def report(byte_count: int) -> None:
            nonlocal shown_tens
            count_mb = min(byte_count // 10**6, total_mb)
            bar(count_mb, total_mb)
            if count_mb // 10 > shown_tens and not Console(stderr=True).is_terminal:
                shown_tens = count_mb // 10
                typer.echo(f"{title}: {count_mb} of {total_mb} MB")

        yield report


@contextmanager
def waiting_for(title: str) -> Iterator[None]:
    """Show on stderr that ``title`` is being waited for, and how long already, where nothing says how far it is."""
    with _build_progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as sign:
        sign.add_task(title, total=None)
        yield


def _build_progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
