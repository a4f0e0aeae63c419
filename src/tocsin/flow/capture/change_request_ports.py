"""Port of change requests, as a write transaction offers it. Next: ``store/catalogue/changes/requests.py``."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from tocsin.model.change_request import AnnouncedChange, ChangeConsumer, ConsumerAnswer, RequestStep, StandingRequest


class ChangeRequests(Protocol):
    """Reads and writes change requests."""

    def hold(self, request_id: str) -> AnnouncedChange | None:
        """Return a request and hold it; None if there is none."""

    def find(self, request_id: str) -> AnnouncedChange | None:
        """Return a request, without holding it; None if there is none."""

    def standing(self, entity_ids: Collection[str]) -> dict[str, list[StandingRequest]]:
        """Return, by asset, the requests that are neither withdrawn nor done, and deprecations done by themselves."""

    def is_asked(self, request_id: str, since_ms: int) -> bool:
        """Return whether the author of a request was asked, at a time or later, or was not as its column is missing."""

    def reminded_at_ms(self, request_id: str, consumer_id: str) -> int | None:
        """Return when one consumer of a request alone was last reminded; None: never."""

    def open_count(self, request_id: str) -> int:
        """Return how many consumers of a request have not answered."""

    def announced_count(self, author_id: str, at_ms: int) -> int:
        """Return how many requests of a person are announced at a time."""

    def announce(self, request: AnnouncedChange, consumers: Sequence[ChangeConsumer]) -> AnnouncedChange:
        """Add a request with its consumers, and return it with its number."""

    def add_consumers(self, request_id: str, consumers: Sequence[ChangeConsumer], at_ms: int) -> None:
        """Add those of these consumers that a request has not; the others keep their answers."""

    def put(self, after: AnnouncedChange) -> None:
        """Replace the state of a request."""

    def add_steps(self, steps: Sequence[RequestStep]) -> None:
        """Add what a person did; an answer becomes the present one of its consumer."""

    def attach_event(self, step_id: str, event_id: str | None) -> None:
        """Note which event tells of a step."""

    def answers(self, request_id: str) -> list[ConsumerAnswer]:
        """Return the consumers of a request with their answers."""
