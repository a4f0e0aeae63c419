"""Record of what live streams have sent, so that one that is resumed repeats little of what its reader has.

Rows of a slower query may still come before the last one that a reader has seen (``server/inbox/arrivals.py``). So what
lies in that range is sent again when a stream is resumed, but for what the same token was sent before.
Next: ``server/inbox/streams.py``.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
from typing import NamedTuple

from tocsin.store.outbox.inbox import InboxEntry

MOST_PER_READER = 1_000
"""Entries remembered of one token and inbox; what is forgotten is sent again."""


class _Sending(NamedTuple):
    """When an entry was sent, and its place in the log."""

    number: int
    offset: int


class SentEntries:
    """What the streams of a process have sent of the range in which rows may still come late; not thread-safe."""

    def __init__(self) -> None:
        self._numbers = count()
        self._sendings: dict[tuple[str, str], dict[str, _Sending]] = defaultdict(dict)

    def note(self, token_id: str, user_id: str, places: dict[str, int]) -> None:
        """Record that a stream of this token sends these entries, by id with their offsets, as one event."""
        sendings, number = self._sendings[token_id, user_id], next(self._numbers)
        for entry_id, offset in places.items():
            sendings.setdefault(entry_id, _Sending(number, offset))  # another stream of the token may follow later
        for entry_id in list(sendings)[: max(0, len(sendings) - MOST_PER_READER)]:
            del sendings[entry_id]

    def ids_before(self, token_id: str, last_seen: InboxEntry) -> set[str]:
        """Return the entries that a stream of this token has sent before or with the one that was seen last."""
        sendings = self._sendings.get((token_id, last_seen.recipient_id), {})
        last = sendings.get(last_seen.id)
        return {entry_id for entry_id, one in sendings.items() if last is not None and one.number <= last.number}

    def forget(self, through: int) -> None:
        """Forget what lies in the log up to an offset: nothing comes late there."""
        for reader, sendings in list(self._sendings.items()):
            for entry_id in [entry_id for entry_id, one in sendings.items() if one.offset <= through]:
                del sendings[entry_id]
            if not sendings:
                del self._sendings[reader]
