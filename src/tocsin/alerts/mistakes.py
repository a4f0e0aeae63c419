"""Mistakes of an alert request beside the first one: in conditions, names that nobody has, and those that it hides.

They are looked for only in a request that is refused, so that nobody has to mend them one by one. Malformed parts have
none. Next: ``server/routes/alerts/subscriptions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress

from tocsin.alerts.mending import hidden_mistakes
from tocsin.catalogue.naming.alert_names import placed_receivers, placed_rules
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.entity_names import EntityName, Types, entity_names
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.flow.match.remarks import Remark, of_words
from tocsin.model.entity import Document


def mistakes_beside(
    error: InvalidInput,
    request: Document,
    known_names: Collection[tuple[Types, str]],
    check: Callable[[Document], object],
) -> Iterator[InvalidInput]:
    """Yield the mistakes of a request that an error does not name.

    ``known_names`` are those of users and teams; ``check`` raised the error, and may refuse more.
    """
    fields: set[str | None] = set()
    plain_mistakes = (*condition_mistakes(request), *_unknown_people(request, known_names))
    for mistake in plain_mistakes:
        if not _is_told(mistake, error):
            fields.add(mistake.field)
            yield mistake
    for mistake in hidden_mistakes(error, request, check, plain_mistakes):
        if mistake.field not in fields and not _is_told(mistake, error):
            fields.add(mistake.field)
            yield mistake


def _is_told(mistake: InvalidInput, error: InvalidInput) -> bool:
    """Return whether an error names the field of a mistake, or says the same of what the field is a part of."""
    is_named = mistake.field == error.field or f"{mistake.field}: " in error.message
    return is_named or _is_within(mistake, error)


def _is_within(mistake: InvalidInput, error: InvalidInput) -> bool:
    """Return whether an error says the same of the field that a mistake's is a part of."""
    is_below = str(mistake.field).startswith((f"{error.field}.", f"{error.field}["))
    return is_below and mistake.message == error.message


def condition_mistakes(request: Document) -> Iterator[InvalidCondition]:
    """Yield what is wrong with each rule's condition; those of named filters are not written in an alert."""
    for place, rule in placed_rules(request):
        try:
            parse_and_check(rule["condition"])
        except InvalidCondition as error:
            yield error.of_rule(rule.get("name"), place)


def word_remarks(request: Document) -> Iterator[Remark]:
    """Yield the warnings about words in the conditions of a request; of malformed conditions none."""
    for place, rule in placed_rules(request):
        with suppress(InvalidCondition):
            yield from of_words(parse_and_check(rule["condition"]), place)


def _unknown_people(request: Document, known_names: Collection[tuple[Types, str]]) -> Iterator[InvalidInput]:
    """Yield the users and teams that a request would notify and that there are not."""

    def is_unknown(name: EntityName) -> bool:
        return (name.types, name.text) not in known_names

    for place, name in placed_receivers(request):
        if is_unknown(name):
            yield InvalidInput(f"unknown {' or '.join(name.types)} {name.text!r}", field=place)
    for place, rule in placed_rules(request):
        for name in entity_names(rule["condition"]):
            if name.is_recipient and is_unknown(name):
                yield InvalidInput(f"unknown team {name.text!r}", field=place)
