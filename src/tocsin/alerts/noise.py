"""Analysis of noisy alerts, with suggestions for stricter rules, from what each alert actually sent.

Every suggestion is evaluated on recorded events; none is guessed. ``store/outbox/firings.py`` counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tocsin.alerts.explanations.matching import match_trace
from tocsin.conditions.check import check
from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import values_of
from tocsin.conditions.nodes import Node
from tocsin.conditions.parse import parse
from tocsin.conditions.syntax import literal_text
from tocsin.delivery.wording.paths import words_of_path
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.match_result import Firing
from tocsin.model.phrases import in_words
from tocsin.model.subscription import EventSubscription, FilteringRules

MOST_SUGGESTIONS = 8
_LEAST_SHARE = 0.3
"""A value is worth a suggestion when it accounts for this share of the notifications."""

_ALWAYS = (
    ("without bots", "isBot() == false"),
    ("only Tier1", "matchAnyTier('Tier.Tier1')"),
    ("only Tier1 and Tier2", "matchAnyTier({'Tier.Tier1', 'Tier.Tier2'})"),
    ("only the first of several failures", "testStatus == null && pipelineStatus == null || firstFailure()"),
)

_EVENTS: Mapping[str, str] = {
    EventType.ENTITY_CREATED: "new assets",
    EventType.ENTITY_UPDATED: "changes of assets that exist",
    EventType.ENTITY_RESTORED: "restored assets",
    EventType.ENTITY_SOFT_DELETED: "deletions that can be undone",
    EventType.ENTITY_DELETED: "permanent deletions",
    EventType.TEST_CASE_FAILURE: "failed tests",
}


Fired = tuple[LoggedEvent, Firing]


@dataclass(frozen=True)
class RuleShare:
    """How often one rule held over what was examined, and how often it alone would have let the event through."""

    part: str
    number: int
    name: str | None
    condition: str
    held_count: int
    examined_count: int


@dataclass(frozen=True)
class Suggestion:
    """A condition to add to an alert, and its effect on recorded events.

    ``saved_count`` of ``notified_count`` notifications would not have been sent; ``opened_count`` of those were opened,
    so would have been missed.
    """

    says: str
    condition: str
    saved_count: int
    notified_count: int
    opened_count: int

    @property
    def worth(self) -> int:
        """Return what it is ordered by: saved, less twice what would have been missed."""
        return self.saved_count - 2 * self.opened_count


def rule_shares(subscription: EventSubscription, fired: Sequence[Fired]) -> list[RuleShare]:
    """Return for each rule how often it held for the events that ``subscription`` notified about."""
    held_counts: Counter[tuple[str, int]] = Counter()
    filtering = subscription.filtering_rules or FilteringRules(resources=())
    parts = {"rules": filtering.rules, "actions": filtering.actions}
    rules = {(part, number): rule for part, many in parts.items() for number, rule in enumerate(many)}
    for logged, _ in fired:
        for rule_trace in match_trace(subscription, logged).rules:
            held_counts[rule_trace.part, rule_trace.number] += rule_trace.holds is not False
    return [
        RuleShare(part, number, rule.name, rule.condition, held_counts[part, number], len(fired))
        for (part, number), rule in rules.items()
        if (part, number) in held_counts
    ]


def suggestions(fired: Sequence[Fired]) -> list[Suggestion]:
    """Return what could be added to an alert's rules, what saves most without losing what is opened first.

    A condition that would leave nothing, or save nothing, is none.
    """
    notified = sum(firing.notified_count for _, firing in fired)
    candidates = [_weigh(says, condition, fired, notified) for says, condition in _conditions(fired, notified)]
    useful = [one for one in candidates if 0 < one.saved_count < notified and one.worth > 0]
    unlike = {(one.saved_count, one.opened_count, one.condition): one for one in useful}
    return sorted(unlike.values(), key=lambda one: (-one.worth, one.condition))[:MOST_SUGGESTIONS]


def _conditions(fired: Sequence[Fired], notified: int) -> Iterator[tuple[str, str]]:
    yield from _ALWAYS
    candidates: tuple[tuple[str, Callable[[str], tuple[str, str]]], ...] = (
        ("entityFullyQualifiedName", lambda name: (f"without {name}", f"!matchAnyEntityFqn({literal_text(name)})")),
        ("userName", lambda name: (f"without changes by {name}", f"!matchUpdatedBy({literal_text(name)})")),
        ("eventType", lambda name: (f"without {_event_words(name)}", f"eventType != {literal_text(name)}")),
        ("service", lambda name: (f"without the service {name}", f"!matchAnyService({literal_text(name)})")),
    )
    for field, condition in candidates:
        for value, _, _ in _heavy(field, fired, notified):
            yield condition(value)
    for value, in_app, opened_count in _heavy("fieldChanged", fired, notified, least=0.05):
        if not opened_count and "." not in value:
            says = f"without changes of {words_of_path([value])}{', which nobody opens' if in_app else ''}"
            yield says, f"!matchAnyFieldChange({literal_text(value)})"


def _event_words(event_type: str) -> str:
    """Return what people call the events of a type: ``new assets``, ``events of kind test case failure``."""
    return _EVENTS.get(event_type) or f"events of kind {in_words(event_type)}"


def _heavy(
    field: str, fired: Sequence[Fired], notified: int, *, least: float = _LEAST_SHARE
) -> list[tuple[str, int, int]]:
    """Return the values of a field that account for many notifications, with the in-app and opened ones of each."""
    counted: Counter[str] = Counter()
    in_app: Counter[str] = Counter()
    opened: Counter[str] = Counter()
    for logged, firing in fired:
        for value in {str(one) for one in values_of(field, logged)}:
            counted[value] += firing.notified_count
            in_app[value] += firing.app_count
            opened[value] += firing.opened_count
    return [
        (value, in_app[value], opened[value]) for value, count in counted.most_common(10) if count >= least * notified
    ]


def _weigh(says: str, condition: str, fired: Sequence[Fired], notified: int) -> Suggestion:
    node: Node = check(parse(condition))
    excluded = [firing for logged, firing in fired if not holds(node, logged)]
    saved, opened = sum(one.notified_count for one in excluded), sum(one.opened_count for one in excluded)
    return Suggestion(says, condition, saved, notified, opened)
