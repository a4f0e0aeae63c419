"""Error output: one line on stderr; the traceback goes to a file, or to stderr with ``--debug``."""

from __future__ import annotations

import sys
import tempfile
import traceback
from types import TracebackType

from tocsin.cli.exit_codes import exit_code
from tocsin.errors import TocsinError
from tocsin.store.faults import named


def report(error: TocsinError) -> int:
    """Write ``error`` as one line on stderr, its notes below, and return its exit code."""
    _line(error.message)
    for note in getattr(error, "__notes__", ()):
        sys.stderr.write(f"{note}\n")
    return exit_code(error)


def known(error: Exception) -> TocsinError | None:
    """Return what a fault of the store or the disk is in a command, with the driver's words; else None."""
    failure = named(error)
    if failure is not None:
        told = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
        failure.message = f"{failure.message} ({told[0]})"
    return failure


def report_surprise(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write one line about an unexpected error with the path of its traceback; fits ``sys.excepthook``."""
    with tempfile.NamedTemporaryFile("w", prefix="tocsin-", suffix=".log", delete=False, encoding="utf-8") as log:
        traceback.print_exception(kind, error, trace, file=log)
    _line(f"Internal error ({kind.__name__}: {error}). See the log {log.name}, or use --debug.")


def _line(text: str) -> None:
    sys.stderr.write(f"tocsin: {' '.join(text.split())}\n")
