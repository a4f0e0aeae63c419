"""Judgement of one replay: what differs from what must be, in the log, the notifications and what is said of them.

Next: ``truth/__main__.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from truth.agreement import Agreement, Answers, Questions
from truth.alert_list import OWN_ALERTS
from truth.compare import Difference, Kind, differences, unlike_incidents
from truth.expected import Expectation, Notifications, expectation_of
from truth.facts import Event
from truth.failures import incidents_of
from truth.history import Json
from truth.schedule import Schedule
from truth.script import Script
from truth.stored import Names, names_of, read_incidents, read_notifications, read_planned
from truth.ways import Place, Progress, Replayed, Way, replay_script


@dataclass(frozen=True)
class Judgement:
    """What a replay made and must have made, and what differs."""

    events: Sequence[Event]
    due: Expectation
    stored: Notifications
    names: Names
    differences: Sequence[Difference]

    def counts(self) -> Mapping[Kind, int]:
        """Return how many differences there are of each kind."""
        return Counter(one.kind for one in self.differences)


def judge(
    script: Script,
    way: Way,
    place: Place,
    progress: Progress = lambda _what, _done, _total: None,
    *,
    questions: Questions | None,
) -> Judgement:
    """Replay a script one way and compare; without ``questions``, only the log and the notifications."""
    with replay_script(script, way, place, progress) as replay:
        names = names_of(replay.caller, script)
        due = _due_after(script, way, replay)
        stored, events = read_notifications(replay.engine, names), replay.log.everything()
        differences_found = [*differences(due, stored, events), *_planned_otherwise(script, replay, due, names)]
        if questions is not None:
            answers = Answers(place.folder / "answers.jsonl")
            differences_found += Agreement(
                replay, script, due, stored, names, questions, progress, answers
            ).differences()
        return Judgement(events, due, stored, names, differences_found)


def _due_after(script: Script, way: Way, replay: Replayed) -> Expectation:
    """Return what must be stored after a replay."""
    is_at_the_end, ids = way is Way.AT_THE_END, replay.caller.ids
    log = replay.log.steps
    return expectation_of(script, log, at_the_end=is_at_the_end, started_ms=replay.started_ms, ids=ids)


def _planned_otherwise(script: Script, replay: Replayed, due: Expectation, names: Names) -> Iterator[Difference]:
    """Yield where times, messages or incidents are others than those of the second models."""
    alerts = {one.name: one for one in OWN_ALERTS} | {name: versions[-1] for name, versions in script.alerts.items()}
    preferences: dict[str, Json] = {one: {} for one in script.people} | script.preferences
    schedule = Schedule(alerts, preferences, replay.started_ms, due.frequencies)
    yield from schedule.differences(read_planned(replay.engine, names))
    opening = [name for name, one in alerts.items() if one.opens_incidents]
    expected_ones = incidents_of(replay.log.everything(), due.firings, opening)
    yield from unlike_incidents(expected_ones, read_incidents(replay.engine, names))
