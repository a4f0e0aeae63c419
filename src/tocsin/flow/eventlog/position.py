"""Position in the log: an offset, and the id of the last event up to it.

An offset does not identify a log: a store restored from a backup, or a standby that lost the last seconds, continues at
an earlier offset and assigns the same numbers to other events. So every reader that keeps its progress outside the
store (a checkpoint, a browser, a backup) keeps a position and compares it before it continues. The SQL is shared by
both readers of the log: ``store/eventlog/log.py`` and ``spark/sources.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LAST_EVENT = "SELECT id FROM change_event WHERE log_offset <= {mark} ORDER BY log_offset DESC LIMIT 1"
"""The id of the last event up to an offset; ``{mark}`` is the driver's parameter."""


@dataclass(frozen=True)
class LogPosition:
    """Progress of a reader: ``event_id`` is that of the last event up to ``offset``, None where it was not recorded."""

    offset: int
    event_id: str | None = None

    @classmethod
    def of_json(cls, noted: Mapping[str, Any]) -> LogPosition:  # Any: JSON values
        """Return the position that ``to_json`` noted; raises KeyError or ValueError for what is none."""
        event_id = noted.get("event")
        return cls(int(noted["offset"]), None if event_id is None else str(event_id))

    def to_json(self) -> dict[str, Any]:  # Any: JSON values
        """Return the position as it is noted: ``{"offset": n, "event": id}``."""
        event = {} if self.event_id is None else {"event": self.event_id}
        return {"offset": self.offset, **event}

    def is_in(self, end: int, last_event_id: str | None) -> bool:
        """Return whether it belongs to a log that ends at ``end`` and whose last event up to the offset has this id.

        A position without an event, such as the beginning, is compared with the log's length alone.
        """
        if self.event_id is None:
            return self.offset <= end
        return self.event_id == last_event_id

    def __str__(self) -> str:
        return f"offset {self.offset}" + (f" (event {self.event_id})" if self.event_id else "")


BEGINNING = LogPosition(0)
"""Before the first event of any log."""
