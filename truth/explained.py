"""Explanations of every event of a replay, compared with what is stored for it.

Each is asked for over HTTP, several at a time. Next: ``truth/agreement.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from truth.alerts import HOOK, MAIL
from truth.calls import Caller, address_of
from truth.compare import Difference, Kind, about, texts
from truth.expected import Address, Notifications, Reason
from truth.facts import Event
from truth.history import Json
from truth.stored import Names

_AT_ONCE = 8
_PORTION = 64
_ALERTS_PER_PAGE = 12
"""Matching alerts come first; further pages are asked for while they last."""

_MOST_SHOWN = 50
"""So many recipients of an alert, and notifications of an event, does an explanation show (``docs/explain.md``)."""

Reasons = dict[Address, frozenset[Reason]]


@dataclass(frozen=True)
class Explanations:
    """What explanations are compared with.

    ``steady`` are the alerts that are today what they were at every event that they may have matched;
    ``deleted_people`` has names, addresses and ids of people whom explanations do not expect any more.
    """

    caller: Caller
    names: Names
    stored: Mapping[str, Notifications]
    steady: frozenset[str]
    deleted_people: frozenset[str] = frozenset()

    def differences(self, events: Sequence[tuple[int, Event]]) -> Iterator[tuple[Event, list[Difference]]]:
        """Yield, for each event and its number, where its explanation says something else than what is stored."""
        with ThreadPoolExecutor(_AT_ONCE) as asking:
            for start in range(0, len(events), _PORTION):  # so that little is waited for when this is interrupted
                part = events[start : start + _PORTION]
                yield from zip(
                    (event for _, event in part),
                    asking.map(self._differences_of, *zip(*part, strict=True)),
                    strict=True,
                )

    def _differences_of(self, number: int, event: Event) -> list[Difference]:
        pages = self._pages(event)
        stored = self.stored.get(event.id, {})
        mistakes = [*self._wrong_answers(pages[0]["notified"], event, stored), *self._disagreements(pages[0])]
        listed = {one["name"]: one for page in pages for one in page["alerts"] if one["matched"]}
        for name in sorted(self.steady):
            mistakes += self._wrong_reach(name, listed.get(name), event, stored)
        return [Difference(Kind.EXPLAIN, number, about(event), *one) for one in mistakes]

    def _pages(self, event: Event) -> list[Any]:
        """Return the explanation, page by page, as long as their alerts match."""
        pages: list[Any] = []
        params = {"limit": str(_ALERTS_PER_PAGE)}
        while not pages or (params.get("after") and pages[-1]["alerts"][-1]["matched"]):
            pages.append(self.caller.ask("GET", f"/events/{event.id}/explain", params=params))
            params = {**params, "after": pages[-1]["paging"].get("after")}
        return pages

    def _wrong_answers(self, notified: Json, event: Event, stored: Notifications) -> Iterator[tuple[str, ...]]:
        """Yield where the stored notifications are answered wrongly."""
        told_entries = [entry for entry in notified["data"] if (entry["preference"] or {}).get("from") != "mute"]
        told_count = notified["total"] - len(notified["data"]) + len(told_entries)
        if notified["total"] <= _MOST_SHOWN and told_count != len(stored):
            yield "", "total", f"{len(stored)} notifications", f"{told_count}"
        answered: Reasons = {}
        for entry in told_entries:
            reasons = frozenset(map(self.names.reason, entry["reasons"]))
            recipient = self.names.recipient(entry["channel"], entry["recipient"], reasons)
            answered[event.id, entry["channel"], recipient] = reasons
        yield from _unlike(stored, answered, is_whole=len(stored) <= _MOST_SHOWN)

    def _disagreements(self, answer: Json) -> Iterator[tuple[str, ...]]:
        for disagreement in answer["disagreements"]:
            if disagreement["alert"] in self.steady and disagreement["who"] not in self.deleted_people:
                yield "", disagreement["who"], "no disagreement", f"{disagreement['kind']}: {disagreement['says']}"

    def _wrong_reach(
        self, name: str, alert: Json | None, event: Event, stored: Notifications
    ) -> Iterator[tuple[str, ...]]:
        """Yield where an alert is said to reach others than it did, or for other reasons."""
        own_reasons = {
            at: frozenset(recipient for recipient in reasons if recipient.alert == name)
            for at, reasons in stored.items()
            if at[2] not in self.deleted_people
        }
        reach: Json = alert["reached"] if alert else {"total": 0, "data": []}
        said_reasons: dict[Address, set[Reason]] = defaultdict(set)
        for recipient in reach["data"]:
            ways = {self.names.reason(way["reason"]) for way in recipient["ways"] if way["stoppedBy"] is None}
            if recipient["isDue"]:
                said_reasons[event.id, recipient["channel"], _recipient(recipient, ways)] |= ways
        is_whole = reach["total"] <= _MOST_SHOWN or not all(recipient["isDue"] for recipient in reach["data"])
        answered_reasons = {at: frozenset(reasons) for at, reasons in said_reasons.items()}
        yield from _unlike({at: some for at, some in own_reasons.items() if some}, answered_reasons, is_whole=is_whole)


def _recipient(reached: Json, ways: set[Reason]) -> str:
    if reached["channel"] == HOOK:
        reason = min(ways)
        return f"{reason.alert}[{reason.at}]"
    if reached["id"] is None:
        return str(reached["name"]).lower()
    return address_of(reached["name"]) if reached["channel"] == MAIL else str(reached["name"])


def _unlike(stored: Notifications, answered: Reasons, *, is_whole: bool) -> Iterator[tuple[str, ...]]:
    """Yield channel, recipient, stored and answered reasons, where they differ; of all that is answered at least."""
    for at in sorted(answered.keys() | stored.keys() if is_whole else answered.keys()):
        stored_reasons, said_reasons = stored.get(at, frozenset()), answered.get(at, frozenset())
        if stored_reasons != said_reasons:
            yield (
                at[1],
                at[2],
                texts(stored_reasons - said_reasons) or "nothing else",
                texts(said_reasons - stored_reasons) or "nothing else",
            )
