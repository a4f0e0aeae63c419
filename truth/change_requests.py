"""Change requests as they should be: who is asked, who has answered, and what became of each.

Written from ``docs/change-requests.md``. Next: ``truth/expected_state.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass, field

from truth.history import Key
from truth.steps import Announce, Answer, Principal, Withdraw

ONLY_WHERE_NAMED = ("changeRequestAnswered", "changeRequestReminder")
"""Types of events that alerts match only if they name them."""

RequestStep = Announce | Answer | Withdraw

DATE_DAYS, REMIND_DAYS = 30, 7
"""Days from an announcement to the date, and between two reminders."""


@dataclass
class Request:
    """A request with its consumers, assets and people who follow, and by consumer who answered what last.

    Days are counted from the start of the replay; all requests are announced on its first.
    """

    about: Key
    author: str
    kind: str
    consumers: list[Key]
    answers: dict[Key, tuple[str, str]] = field(default_factory=dict)
    status: str = "announced"
    remind_day: int = REMIND_DAYS
    is_author_asked: bool = False

    @property
    def open_count(self) -> int:
        """Number of consumers without an answer."""
        return len(self.open_consumers)

    @property
    def open_consumers(self) -> list[Key]:
        """Consumers without an answer."""
        return [one for one in self.consumers if one not in self.answers]

    def status_on(self, day: int) -> str:
        """Return the status on a day: on its date, a deprecation is done, and others are due."""
        if self.is_deprecated_on(day):
            return "done"
        return "due" if self.status == "announced" and day >= DATE_DAYS else self.status

    def is_deprecated_on(self, day: int) -> bool:
        """Say whether it is a deprecation whose date has come by a day, which nothing else ends."""
        return self.kind == "deprecation" and self.status == "announced" and day >= DATE_DAYS

    def is_reminder_due(self, day: int) -> bool:
        """Say whether those that are open are to be reminded on a day."""
        return self.status_on(day) == "announced" and day >= self.remind_day and self.open_count > 0

    def is_question_due(self, day: int) -> bool:
        """Say whether the author is to be asked on a day what became of it."""
        return self.status_on(day) == "due" and not self.is_author_asked

    def outcome_on(self, day: int) -> str:
        """Return what the deletion of its asset on a day is."""
        if self.kind != "removal":
            return "otherwise"
        if day < DATE_DAYS:
            return "early"
        is_objected = any(self.answers[one][1] == "objects" for one in self.consumers if one in self.answers)
        return "objected" if is_objected else "asAnnounced"


class ChangeRequests:
    """All requests by their names; ``just_ended`` are name and outcome of those that the last deletion is about."""

    def __init__(self) -> None:
        self.by_name: dict[str, Request] = {}
        self.just_ended: dict[Key, tuple[str, str]] = {}

    def announce(self, step: Announce, downstream: Iterable[Key], followers: Collection[str]) -> None:
        """Take note of a request about an asset with this downstream and these followers."""
        people = [("user", one) for one in sorted(followers) if one != step.actor]
        self.by_name[step.request] = Request(step.key, step.actor, step.kind, [*downstream, *people])

    def answer(self, step: Answer, consumers: Iterable[Key]) -> None:
        """Take note of an answer for these consumers."""
        self.by_name[step.request].answers |= dict.fromkeys(consumers, (step.actor, step.verdict))

    def withdraw(self, step: Withdraw) -> None:
        """Take note that a request is withdrawn."""
        self.by_name[step.request].status = "withdrawn"

    def delete(self, keys: Collection[Key], *, is_hard: bool, day: int = 0) -> None:
        """Take note of assets deleted on a day: requests about them are done, no consumer that is gone is asked.

        A deprecation whose date has come stays as it is.
        """
        self.just_ended = {}
        for name, request in self.by_name.items():
            if request.status == "announced" and request.about in keys:
                self.just_ended[request.about] = (name, request.outcome_on(day))
                request.status = request.status if request.is_deprecated_on(day) else "done"
            if is_hard:
                request.consumers = [one for one in request.consumers if one not in keys]

    def requests_to_come(self) -> dict[str, Request]:
        """Return the requests whose change is still to come, by their names."""
        return {name: one for name, one in self.by_name.items() if one.status == "announced"}

    def pass_time(self, day: int, about: Container[Key]) -> None:
        """Take note that of requests about these assets all was told that is to be told by a day."""
        for request in self.requests_to_come().values():
            if request.about in about and request.is_reminder_due(day):
                request.remind_day = day + REMIND_DAYS
            elif request.about in about and request.is_question_due(day):
                request.is_author_asked = True

    def is_told(self, step: Answer, consumers: Iterable[Key]) -> bool:
        """Say whether the author hears of an answer for these consumers: it is new, and of somebody else."""
        request = self.by_name[step.request]
        return step.actor != request.author and any(
            request.answers.get(consumer) != (step.actor, step.verdict) for consumer in consumers
        )

    def principals_asked_by(
        self, step: RequestStep, owners: Callable[[Key], Sequence[Principal]]
    ) -> tuple[Principal, ...]:
        """Return whom the event of a step asks: the author about an answer, else who answers for a consumer."""
        request = self.by_name[step.request]
        if isinstance(step, Answer):
            return (("user", request.author),)
        return tuple(dict.fromkeys(one for consumer in request.consumers for one in owners(consumer)))
