"""Quiet exit when standard output is closed early, as in ``tocsin impact … | head -1``.

Only standard output is checked, so a broken socket never ends a server.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast


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
