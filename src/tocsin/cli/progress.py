"""Progress display of long commands, on a terminal only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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
def waiting_for(title: str) -> Iterator[None]:
    """Show on stderr that ``title`` is being waited for, and how long already, where nothing says how far it is."""
    with _build_progress(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as sign:
        sign.add_task(title, total=None)
        yield


def _build_progress(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
