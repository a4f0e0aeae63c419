"""Error output: one line on stderr; the traceback goes to a file, or to stderr with ``--debug``.

A reader that closes the pipe ends the command without an error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, TextIO, cast

from tocsin.cli.exit_codes import exit_code
from tocsin.errors import InvalidInput, TocsinError


def report(error: TocsinError) -> int:
    """Write ``error`` as one line on stderr, its notes below, and return its exit code."""
    _line(_with_place(error))
    for note in getattr(error, "__notes__", ()):
        sys.stderr.write(f"{note}\n")
    return exit_code(error)


def report_surprise(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Write one line about an unexpected error with the path of its traceback; fits ``sys.excepthook``."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="tocsin-", suffix=".log", delete=False, encoding="utf-8") as log:
        traceback.print_exception(kind, error, trace, file=log)
    _line(f"Internal error ({kind.__name__}: {error}). See the log {log.name}, or use --debug.")


def _with_place(error: TocsinError) -> str:
    """Return the message, after the option or field that it says something about without naming it."""
    field = error.field if isinstance(error, InvalidInput) else None
    return f"{field}: {error.message}" if field and error.message.startswith(("must ", "is ")) else error.message


def _line(text: str) -> None:
    sys.stderr.write(f"tocsin: {' '.join(text.split())}\n")


class _Watched:
    """Standard output; the first write after its reader has gone ends the process with code 0."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, while there is a reader."""
        with _ending_well(self._stream):
            return self._stream.write(text)

    def flush(self) -> None:
        """Flush, while there is a reader."""
        with _ending_well(self._stream):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # Any: whatever else a text stream has
        return getattr(self._stream, name)


@contextmanager
def ending_unread() -> Iterator[None]:
    """While the block runs, end well when nobody reads standard output any more."""
    stream = sys.stdout
    watched = _Watched(stream)
    sys.stdout = cast("TextIO", watched)
    try:
        yield
    finally:
        try:
            watched.flush()
        finally:
            sys.stdout = stream


@contextmanager
def _ending_well(stream: TextIO) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        with open(os.devnull, "w") as nowhere:  # noqa: PTH123  so that what is still held back goes there at the end
            os.dup2(nowhere.fileno(), stream.fileno())
        raise SystemExit(0) from None
