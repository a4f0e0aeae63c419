"""Judgement of one replay: what differs from what must be, in the log, the notifications and what is said of them.

Next: ``truth/__main__.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truth.agreement import Agreement, Answers, Questions
from truth.compare import Difference, Kind, differences
from truth.expected import Expectation, Notifications, expected
from truth.facts import Event
from truth.script import Script
from truth.stored import Names, names_of, read_notifications
from truth.ways import Place, Progress, Way, replayed


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
    with replayed(script, way, place, progress) as replay:
        names = names_of(replay.caller, script)
        due = expected(script, replay.log.steps, at_the_end=way is Way.AT_THE_END)
        stored, events = read_notifications(replay.engine, names), replay.log.everything()
        found = list(differences(due, stored, events))
        if questions is not None:
            answers = Answers(place.folder / "answers.jsonl")
            found += Agreement(replay, script, due, stored, names, questions, progress, answers).differences()
        return Judgement(events, due, stored, names, found)
