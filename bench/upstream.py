"""Baseline of the matching benchmark: each alert polls the log and evaluates its whole condition per event.

That is OpenMetadata's way (a Quartz job per subscription, ten rows at a time), implemented as well as possible: the log
is in memory and already parsed, there is no wait between two polls, resources are compared before the condition, and
evaluation short-circuits. Its cost is alerts times events.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tocsin.flow.match import local
from tocsin.flow.match.plan import Plan
from tocsin.model.change import LoggedEvent
from tocsin.model.subscription import ALL_RESOURCES

_ROWS_PER_POLL = 10


def poll_all(log: Sequence[LoggedEvent], alerts: Sequence[Plan]) -> float:
    """Return how long (seconds) all ``alerts`` take to work off ``log``, one after the other."""
    started_s = time.perf_counter()
    for alert in alerts:
        for start in range(0, len(log), _ROWS_PER_POLL):
            _matching_offsets(alert, log[start : start + _ROWS_PER_POLL])
    return time.perf_counter() - started_s


def _matching_offsets(alert: Plan, events: Sequence[LoggedEvent]) -> list[int]:
    kinds = set(alert.resources)
    about = events if ALL_RESOURCES in kinds else [one for one in events if one.event.entity_type in kinds]
    return [one.offset for one in about if local.matches(alert, one)]
