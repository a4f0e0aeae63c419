"""Words for messages of several notifications, common to all channels for people.

Next: ``flow/send/channels``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.flow.send.wording import name_of
from tocsin.model.message import Entry

_NAMES_LIMIT = 3


def digest_headline(entries: Sequence[Entry]) -> str:
    """Return how many changes there are, and of what: ``12 changes: orders, revenue, sales and 4 more``."""
    names = list(dict.fromkeys(name_of(one.event) for one in entries))
    more = f" and {len(names) - _NAMES_LIMIT:,} more" if len(names) > _NAMES_LIMIT else ""
    return f"{len(entries):,} changes: {', '.join(names[:_NAMES_LIMIT])}{more}"
