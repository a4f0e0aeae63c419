"""Causes: what one run, one person's edits of neighbours, or one failure did, gathered from events of the log.

Every rule is here, over plain facts: the same events give the same causes wherever they are gathered. Who gathers
passes only what the reader may see, so that a hidden event is never counted and never joins two that are not.
Next: ``server/access/inbox_causes.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, TypeVar

from tocsin.model import fqn
from tocsin.model.thread import THREAD

SESSION_GAP_MS = 3_600_000
"""Edits by one actor of neighbours are one cause as long as none comes later than this after those before it."""

RUN_GAP_MS = 6 * SESSION_GAP_MS
"""The same for what a bot says to be one run: a long step changes nothing for hours; tomorrow's run is another."""

MOST_TOKEN = 80
"""Characters of the text of a token at most."""

T = TypeVar("T")

_IN_SCHEMAS = frozenset({"databaseSchema", "table", "storedProcedure", "testCase", "testSuite"})
_SCHEMA_STEPS = 3
_TOKEN = re.compile(r"([0-9a-f]{16})\.(\d{1,18})\.(\d{1,18})", re.ASCII)


class CauseKind(StrEnum):
    """Kind of a cause."""

    RUN = "run"
    """What one actor did and says to be one run, deployment or piece of work (``X-Tocsin-Why``)."""
    SESSION = "session"
    """What one actor did to neighbours, without a longer pause."""
    FAILURE = "failure"
    """One failure with all that fails below it, and their recoveries."""
    SINGLE = "single"
    """Everything else: one event."""


class CauseFacts(NamedTuple):
    """What the rules ask of an event.

    ``actor`` is the name of who did it, as the server knows it, and ``reason`` what they say why.
    ``root`` is the id of the incident that began the failure which the event reports, or ends; None of other events.
    """

    offset: int
    entity_type: str
    entity_id: str
    full_name: str | None
    actor: str | None
    is_bot: bool
    reason: str | None
    timestamp_ms: int
    root: str | None = None


class CauseKey(NamedTuple):
    """What events of one cause have in common; ``place`` is the run, the neighbourhood, or the root."""

    kind: CauseKind
    actor: str
    place: str

    @property
    def digest(self) -> str:
        """Return it as 64 bits in hexadecimal: all that a token shows of it."""
        return sha256("\0".join(self).encode()).hexdigest()[:16]


class CauseToken(NamedTuple):
    """What names the events of a cause as a list shows it: their key, and from where to where in the log.

    What joins the cause later lies behind ``last``: a mark by the token leaves it alone.
    """

    digest: str
    first: int
    last: int

    def __str__(self) -> str:
        """Return it as a text."""
        return f"{self.digest}.{self.first}.{self.last}"

    def names(self, facts: CauseFacts) -> bool:
        """Return whether an event is one of those that it names."""
        return self.first <= facts.offset <= self.last and key_of(facts).digest == self.digest


class CauseGroup(NamedTuple):
    """The events of one cause, at least one, in the order of the log."""

    key: CauseKey
    events: tuple[CauseFacts, ...]

    @property
    def kind(self) -> CauseKind:
        """Return its kind; a session of one event is a single one."""
        is_alone = self.key.kind is CauseKind.SESSION and len(self.events) == 1
        return CauseKind.SINGLE if is_alone else self.key.kind

    @property
    def token(self) -> CauseToken:
        """Return what names its events."""
        return CauseToken(self.key.digest, self.events[0].offset, self.events[-1].offset)


def parse_token(text: str) -> CauseToken | None:
    """Return the token of a text, or None for what is none."""
    parts = _TOKEN.fullmatch(text)
    return CauseToken(parts[1], int(parts[2]), int(parts[3])) if parts else None


def key_of(facts: CauseFacts) -> CauseKey:
    """Return what an event has in common with others of its cause."""
    if facts.root is not None:
        return CauseKey(CauseKind.FAILURE, "", facts.root)
    if facts.actor is None or facts.entity_type == THREAD:
        return CauseKey(CauseKind.SINGLE, "", str(facts.offset))
    if facts.reason:
        return CauseKey(CauseKind.RUN, facts.actor, facts.reason)
    return CauseKey(CauseKind.SESSION, facts.actor, neighbourhood_of(facts))


def neighbourhood_of(facts: CauseFacts) -> str:
    """Return the full name of what an entity and its neighbours are in: of tables, columns and tests the schema.

    That of everything else is what contains it, the entity itself where nothing does.
    """
    return _container_of(facts.full_name or facts.entity_id, is_in_schema=facts.entity_type in _IN_SCHEMAS)


@lru_cache(maxsize=20_000)
def _container_of(full_name: str, *, is_in_schema: bool) -> str:
    steps = fqn.steps_of(full_name)
    return fqn.join(steps[:_SCHEMA_STEPS] if is_in_schema else steps[:-1] or steps)


def gather_causes(events: Iterable[CauseFacts]) -> list[CauseGroup]:
    """Return the causes of events, by the first event of each; each event is in one.

    Pauses are measured by the times of events in the order of the log, from the latest time so far: a clock that is set
    back begins no new cause. A failure has no pauses: its incident says when it ends.
    """
    in_log = sorted(events, key=lambda one: one.offset)
    groups = gather_by_key([(place_in_causes(facts), facts) for facts in in_log])
    return [CauseGroup(key, tuple(members)) for key, members in groups]


class PlaceInCauses(NamedTuple):
    """What decides to which cause an event belongs: its key, its time, and the longest pause before it."""

    key: CauseKey
    timestamp_ms: int
    gap_ms: float


def place_in_causes(facts: CauseFacts) -> PlaceInCauses:
    """Return what decides to which cause an event belongs; only a single one's key says where in the log it is."""
    key = key_of(facts)
    return PlaceInCauses(key, facts.timestamp_ms, _gap_ms(key, facts))


def gather_by_key(placed: Iterable[tuple[PlaceInCauses, T]]) -> Sequence[tuple[CauseKey, Sequence[T]]]:
    """Return causes as ``gather_causes`` does, of whatever stands for each event, in the order of the log."""
    gathered: list[tuple[CauseKey, list[T]]] = []
    current: dict[CauseKey, tuple[list[T], int]] = {}
    for (key, timestamp_ms, gap_ms), member in placed:
        members, latest_ms = current.get(key, (None, 0))
        if members is None or timestamp_ms - latest_ms > gap_ms:
            members, latest_ms = [], timestamp_ms
            gathered.append((key, members))
        members.append(member)
        current[key] = members, max(latest_ms, timestamp_ms)
    return gathered


def _gap_ms(key: CauseKey, facts: CauseFacts) -> float:
    if key.kind is CauseKind.FAILURE:
        return float("inf")
    return RUN_GAP_MS if key.kind is CauseKind.RUN and facts.is_bot else SESSION_GAP_MS
