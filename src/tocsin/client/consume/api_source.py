"""Log as a source of a consumer: the change events that the caller may view, filtered by the server.

Next: ``client/consume/positions.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tocsin.client import calls, event_calls
from tocsin.client.call import Filter
from tocsin.client.consume.loop import EventPortion
from tocsin.client.consume.steps import BlockingCall, Pause, Steps
from tocsin.errors import InvalidInput

if TYPE_CHECKING:
    from tocsin.client.consume.positions import PositionFile

Start = int | Literal["now", "start"]
_EVERY_S = 0.5


def parse_start(text: str) -> Start:
    """Return where to begin, from a text.

    Raises
    ------
    InvalidInput : it is none
    """
    match text:
        case "now" | "start":
            return text
        case _ if text.isdecimal():
            return int(text)
        case _:
            raise InvalidInput(f"--from must be now, start or an offset, not {text!r}.", field="from")


@dataclass
class ApiSource:
    """The log of the server.

    Parameters
    ----------
    position : name, or path of a file, in which the offset is stored after each portion; one consumer at a time
        has it. Without it, keep ``batch.end`` yourself and begin there.
    consumer : name of a registered consumer, whose position the server keeps instead; it has one already, so that
        ``start`` does not count
    start : where to begin without a stored position: ``now``, ``start``, or behind an offset
    event_types, entity_types, include_fields : only such events, as the parameters of ``GET /events``
    stop_at_end : end where the log ends, instead of waiting for more
    """

    position: str | Path | None = None
    start: Start = "now"
    event_types: Sequence[str] = ()
    entity_types: Sequence[str] = ()
    include_fields: Sequence[str] = ()
    consumer: str | None = None
    stop_at_end: bool = False
    _offset: int = field(default=0, init=False, repr=False)
    _stored: int | None = field(default=None, init=False, repr=False)
    _file: PositionFile | None = field(default=None, init=False, repr=False)
    _waits: bool = field(default=False, init=False, repr=False)

    def open(self, server: str) -> Steps[None]:
        """Take the position and find out where to begin.

        Raises
        ------
        Conflict : another consumer has the position, or ``start`` is beyond the end of the log
        InvalidInput : ``start`` or ``position`` is none, or both ``position`` and ``consumer`` are given
        NotFound : there is no such registered consumer of the caller
        """
        if self.start not in ("now", "start") and (not isinstance(self.start, int) or self.start < 0):
            raise InvalidInput(f"must be now, start or an offset, not {self.start!r}", field="start")
        if self.consumer is not None and self.position is not None:
            raise InvalidInput("the server keeps the position of a consumer; leave position out", field="position")
        self._waits = False
        if self.consumer is not None:
            self._offset = self._stored = int((yield event_calls.consumer(self.consumer))["offset"])
            return
        try:
            self._stored = yield BlockingCall(lambda: self._open_file(server))
            if self._stored is not None:
                self._offset = self._stored
            elif self.start == "now":
                self._offset = (yield calls.read_log("latest")).end
            elif isinstance(self.start, int):
                yield calls.read_log(self.start, limit=0)  # refused beyond the end of the log; that is not stored
                self._offset = self.start
            else:
                self._offset = 0
            yield from self._store()  # what comes before the first batch is done is not missed after a restart
        except BaseException:
            yield from self.close()
            raise

    def read(self, limit: int, _group_by: str | None) -> Steps[EventPortion]:
        """Return the next events; before asking again at the end of the log, wait."""
        if self._waits:
            yield Pause(_EVERY_S)
        piece = yield calls.read_log(self._offset, limit=limit, **self._filters())
        self._waits = is_last = not piece.changes and piece.end == self._offset
        return EventPortion(piece.changes, end=piece.end, is_last=is_last)

    def keep(self, _portion: EventPortion, _wait_s: float) -> Steps[bool]:
        """Return True: the log is for everybody."""
        yield from ()
        return True

    def commit(self, portion: EventPortion) -> Steps[None]:
        """Store the offset behind a portion."""
        self._offset = portion.end or self._offset
        yield from self._store()

    def give_back(self, _portion: EventPortion) -> Steps[None]:
        """Do nothing: the position has not changed."""
        yield from ()

    def close(self) -> Steps[None]:
        """Let other consumers have the position."""
        if self._file is not None:
            yield BlockingCall(self._file.close)

    def _filters(self) -> dict[str, Filter]:
        filters = {
            "event_types": self.event_types,
            "entity_types": self.entity_types,
            "include_fields": self.include_fields,
        }
        return {
            name: values if isinstance(values, str) else tuple(values) for name, values in filters.items() if values
        }

    def _store(self) -> Steps[None]:
        file, offset = self._file, self._offset
        if offset == self._stored:
            return
        if self.consumer is not None:
            yield event_calls.commit_position(self.consumer, offset, previous=self._stored or 0)
        elif file is not None:
            yield BlockingCall(lambda: file.write(offset))
        self._stored = offset

    def _open_file(self, server: str) -> int | None:
        if self.position is None:
            return None
        from tocsin.client.consume.positions import PositionFile, position_path  # needs POSIX, as the client does not

        self._file = PositionFile(position_path(self.position), server)
        return self._file.open()
