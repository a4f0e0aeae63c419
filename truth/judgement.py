"""Judgement of one replay: what differs from what must be, in the log, the notifications and what is said of them.

Next: ``truth/__main__.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from truth.agreement import disagreements
from truth.compare import Difference, differences
from truth.expected import expected
from truth.script import Script
from truth.stored import read_notifications
from truth.ways import Progress, Way, replayed


@dataclass(frozen=True)
class Judgement:
    """How much a replay made, and what differs."""

    event_count: int
    notification_count: int
    differences: Sequence[Difference]


def judge(
    script: Script,
    way: Way,
    folder: Path,
    progress: Progress = lambda _done, _total: None,
    *,
    explained: int | None = 0,
    database_url: str | None = None,
    environment: dict[str, str] | None = None,
) -> Judgement:
    """Replay a script one way in an empty folder and compare.

    ``explained`` is how many events are explained; None: neither that, nor audits, backtests and noise.
    ``environment`` is added to that of the pipeline.
    """
    with replayed(script, way, folder, progress, database_url=database_url, environment=environment) as replay:
        due = expected(script, replay.log.steps, at_the_end=way is Way.AT_THE_END)
        stored = read_notifications(replay.caller, replay.engine, script)
        events = replay.log.everything()
        found = list(differences(due, stored, events))
        if explained is not None:
            found += disagreements(replay, script, due, stored, explained)
        return Judgement(len(events), len(stored), found)
