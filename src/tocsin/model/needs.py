"""What notifications need of the person they are for, beside being read: something to repair, to answer, to do.

Whether it still needs that is judged when it is read. Next: ``store/outbox/open_needs.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

from tocsin.model.notification import ReasonKind


class Need(StrEnum):
    """What a notification needs of its person, the most urgent first."""

    FAILURE = "failure"
    """Something fails on or above what they own, or an incident is theirs: until it is resolved or well again."""
    BREAKING = "breaking"
    """A change breaks what they own, or what it is made from: until they mark it as done."""
    REQUEST = "request"
    """A change request asks them: until all that they answer for has an answer, or it is withdrawn or done."""
    TASK = "task"
    """A task is theirs: until it is closed."""
    MENTION = "mention"
    """A conversation mentions them: until they have written in it since, or it is resolved or closed."""


NEEDING = frozenset({ReasonKind.OWNER, ReasonKind.ASKED, ReasonKind.ASSIGNEE, ReasonKind.MENTION})
"""Reasons for which a notification may need its person."""

_FAILURES = frozenset({"testFailure", "runFailure", "freshness", "sla"})
_NEEDS: tuple[tuple[Need, ReasonKind, frozenset[str]], ...] = (
    (Need.FAILURE, ReasonKind.OWNER, _FAILURES),
    (Need.FAILURE, ReasonKind.ASSIGNEE, _FAILURES | {"incident"}),
    (Need.BREAKING, ReasonKind.OWNER, frozenset({"breaking"})),
    (Need.REQUEST, ReasonKind.ASKED, frozenset({"changeRequest"})),
    (Need.TASK, ReasonKind.ASSIGNEE, frozenset({"task"})),
    (Need.MENTION, ReasonKind.MENTION, frozenset({"mention"})),
)

NEEDING_KINDS = frozenset[str]().union(*(kinds for *_, kinds in _NEEDS))
"""Kinds of change for which a notification may need its person."""


def need_of(kinds: Collection[str], reasons: Collection[ReasonKind]) -> Need | None:
    """Return what an event of these kinds of change needs of a person who is told for these reasons; None for nothing.

    An owner is one of what changed or failed, or of what lies downstream of it.
    """
    return next((need for need, reason, needing in _NEEDS if reason in reasons and not needing.isdisjoint(kinds)), None)
