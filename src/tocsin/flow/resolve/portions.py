"""Recipients of many events, a portion of the people at a time.

An event may have a million followers. Portions are ranges of user ids, and every lookup is restricted to one, so that
all reasons of a person meet in one portion; people who share an e-mail address have a portion of their own, the last.
Next: ``flow/schedule/messages.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from tocsin.flow.resolve.audience import audience_of, reach_of
from tocsin.flow.resolve.candidates import IndexedAudience
from tocsin.flow.resolve.directory import EVERYBODY, Directory, Portion
from tocsin.flow.resolve.merge import Recipient, merge_candidates
from tocsin.flow.resolve.recipient_rules import RecipientRule
from tocsin.model.notification import ReasonKind
from tocsin.model.notification_draft import EventHead

PEOPLE_AT_ONCE = 10_000

PrefetchPortions = Callable[[Iterator[IndexedAudience]], Iterator[IndexedAudience]]
"""Looks up a portion of the people while the one before it is used; ``iter`` does not."""


class MatchedEvent(NamedTuple):
    """An event and, by alert that it matches, the answers accepted to what that asks of people."""

    head: EventHead
    answers_by_alert: Mapping[str, int]


class ResolvedEvent(NamedTuple):
    """Recipients of one event, as far as they are in one portion."""

    head: EventHead
    recipients: Sequence[Recipient]


def resolve_events(
    events: Sequence[MatchedEvent],
    rules: Mapping[str, Sequence[RecipientRule]],
    directory: Directory,
    *,
    people_at_once: int = PEOPLE_AT_ONCE,
    ahead: PrefetchPortions = iter,
) -> Iterator[ResolvedEvent]:
    """Yield the recipients of each event, portion by portion: together, each once for its channel and key.

    ``rules`` holds the recipient rules of each alert; ``ahead`` may look up a portion while the one before is used.
    """
    return resolve_audiences(audiences_of(events, rules, directory, people_at_once), events, rules, ahead)


def resolve_audiences(
    audiences: Audiences,
    events: Sequence[MatchedEvent],
    rules: Mapping[str, Sequence[RecipientRule]],
    ahead: PrefetchPortions = iter,
) -> Iterator[ResolvedEvent]:
    """Yield the recipients of each event in these audiences, as ``resolve_events`` does."""
    for audience in audiences if len(audiences) == 1 else ahead(iter(audiences)):
        for head, accepted in events:
            event_rules = [rule for alert in accepted for rule in rules.get(alert, ())]
            yield ResolvedEvent(head, list(merge_candidates(audience.candidates(head, event_rules, accepted))))


class Audiences:
    """The audiences of some events, one for each portion of the people; each is looked up when it is taken."""

    def __init__(
        self,
        entity_ids: set[str],
        rules: Sequence[RecipientRule],
        directory: Directory,
        people: int | Sequence[Portion],
    ) -> None:
        """``people`` are portions of them, or how many are in each."""
        self._entity_ids, self._rules, self._directory = entity_ids, rules, directory
        self._reach = reach_of(entity_ids, rules, directory)
        node_ids = {step.node_id for step in self._reach}
        self.portions = portions(node_ids, rules, directory, people) if isinstance(people, int) else people

    def __len__(self) -> int:
        return len(self.portions)

    def __iter__(self) -> Iterator[IndexedAudience]:
        answering, directory = set[tuple[int, str]](), self._directory
        for number, portion in enumerate(self.portions, start=1):
            theirs = directory if portion is EVERYBODY else directory.of(portion)
            yield IndexedAudience(
                audience_of(self._entity_ids, self._rules, theirs, reach=self._reach),
                portion,
                is_addressed=portion.through is None and number == len(self.portions),
                answering=answering,
            )


def audiences_of(
    events: Sequence[MatchedEvent],
    rules: Mapping[str, Sequence[RecipientRule]],
    directory: Directory,
    people: int | Sequence[Portion],
    entities: Mapping[int, str] | None = None,
) -> Audiences:
    """Return the audiences of these events, as ``resolve_events`` takes them; ``people`` as there.

    ``entities`` has the entity of each event by its offset, where these events stand for more.
    """
    alerts = sorted({alert for event in events for alert in event.answers_by_alert})
    all_rules = [rule for alert in alerts for rule in rules.get(alert, ())]
    directory_then = directory.for_events(entities or {event.head.offset: event.head.entity_id for event in events})
    return Audiences({event.head.entity_id for event in events}, all_rules, directory_then, people)


def portions(
    node_ids: set[str], rules: Sequence[RecipientRule], directory: Directory, people_at_once: int
) -> list[Portion]:
    """Return the portions in which the people of these entities are worked out; everybody, where they are few."""
    asks_of_followers = any(rule.relation is ReasonKind.FOLLOWER for rule in rules)
    cuts = directory.cuts(node_ids, people_at_once) if asks_of_followers else ()
    if not cuts:
        return [EVERYBODY]
    shared_ids = frozenset[str]()
    if any(rule.by_address for rule in rules):
        shared_ids = frozenset(
            directory.people_sharing({rule.receiver for rule in rules if rule.relation is ReasonKind.EXTERNAL})
        )
    ranges = [Portion(after or "", through, shared_ids) for after, through in pairwise(["", *cuts, None])]
    return [*ranges, Portion(only=shared_ids)] if shared_ids else ranges
