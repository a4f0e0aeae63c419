"""Names of entities in an alert: its receivers, conditions and the arguments of its named filters.

Next: ``catalogue/naming/follow.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tocsin.conditions.entity_names import (
    OF_ARGUMENT,
    PEOPLE,
    Comparing,
    EntityName,
    Rename,
    Types,
    entity_names,
    with_renamed,
)
from tocsin.conditions.syntax import Position
from tocsin.model.entity import Document
from tocsin.model.subscription import Category

_RULES = ("rules", "actions")
_INPUTS = ("filters", "actions")
_OF_CATEGORY: dict[object, Types] = {Category.USERS: ("user",), Category.TEAMS: ("team",)}
_NOWHERE = Position(1, 1)


def receiver_names(alert: Document) -> Iterator[EntityName]:
    """Yield the names of the users and teams that an alert notifies; malformed parts have none."""
    yield from (name for _, name in placed_receivers(alert))


def placed_receivers(alert: Document) -> Iterator[tuple[str, EntityName]]:
    """Yield the names of the users and teams that an alert notifies, each with its place."""
    destinations = alert.get("destinations")
    for index, destination in enumerate(destinations if isinstance(destinations, list) else ()):
        for place, name in _receivers(destination) if isinstance(destination, dict) else ():
            yield f"destinations[{index}].config.receivers[{place}]", name


def condition_names(alert: Document) -> Iterator[EntityName]:
    """Yield the names in the conditions of an alert; malformed parts have none."""
    for _, rule in placed_rules(alert):
        yield from entity_names(rule["condition"])


def placed_rules(alert: Document) -> Iterator[tuple[str, Document]]:
    """Yield the rules of an alert that have a condition, each with the place of that; others are malformed."""
    filtering = alert.get("filteringRules")
    lists = {key: filtering.get(key) for key in _RULES} if isinstance(filtering, dict) else {}
    for key, rules in lists.items():
        for index, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and isinstance(rule.get("condition"), str):
                yield f"filteringRules.{key}[{index}].condition", rule


def exact_names(alert: Document) -> dict[str, list[EntityName]]:
    """Return the names in an alert, not their beginnings or patterns of them, by the part of it that holds them."""
    names = [name for name in condition_names(alert) if name.comparing is Comparing.EXACT]
    return {"destinations": [*receiver_names(alert)], "filteringRules": names}


def with_names(alert: Document, rename: Rename) -> Document:
    """Return an alert with other names, in conditions and named filters alike."""
    changed = dict(alert)
    if isinstance(alert.get("destinations"), list):
        changed["destinations"] = [_with_receivers(one, rename) for one in alert["destinations"]]
    if isinstance(rules := alert.get("filteringRules"), dict):
        changed["filteringRules"] = _with_changed_members(rules, _RULES, lambda rule: _with_condition(rule, rename))
    if isinstance(alert_input := alert.get("input"), dict):
        changed["input"] = _with_changed_members(alert_input, _INPUTS, lambda chosen: _with_arguments(chosen, rename))
    return changed


def _receivers(destination: Document) -> Iterator[tuple[int, EntityName]]:
    """Yield the names of users and teams among the receivers of a destination, each with its place among these."""
    config = destination.get("config")
    receivers = config.get("receivers") if isinstance(config, dict) else None
    types = _OF_CATEGORY.get(destination.get("category"), PEOPLE)
    for index, receiver in enumerate(receivers if isinstance(receivers, list) else ()):
        if isinstance(receiver, str) and "@" not in receiver:
            yield index, EntityName(types, receiver, _NOWHERE, is_recipient=True)


def _with_changed_members(holder: Document, keys: tuple[str, ...], change: Callable[[Document], Document]) -> Document:
    lists = {key: holder[key] for key in keys if isinstance(holder.get(key), list)}
    return holder | {
        key: [change(one) if isinstance(one, dict) else one for one in many] for key, many in lists.items()
    }


def _with_receivers(destination: object, rename: Rename) -> object:
    if not isinstance(destination, dict):
        return destination
    new = {name.text: rename(name) for _, name in _receivers(destination)}
    if not any(new.values()):
        return destination
    receivers = [new.get(one) or one if isinstance(one, str) else one for one in destination["config"]["receivers"]]
    return destination | {"config": destination["config"] | {"receivers": receivers}}


def _with_condition(rule: Document, rename: Rename) -> Document:
    condition = rule.get("condition")
    return rule | {"condition": with_renamed(condition, rename)} if isinstance(condition, str) else rule


def _with_arguments(named_filter: Document, rename: Rename) -> Document:
    if not isinstance(named_filter.get("arguments"), list):
        return named_filter
    return named_filter | {"arguments": [_with_input(one, rename) for one in named_filter["arguments"]]}


def _with_input(argument: object, rename: Rename) -> object:
    types = OF_ARGUMENT.get(str(argument.get("name"))) if isinstance(argument, dict) else None
    if types is None or not isinstance(argument, dict) or not isinstance(argument.get("input"), list):
        return argument
    empty_name = EntityName(types, "", _NOWHERE)
    texts = [
        (rename(replace(empty_name, text=text)) or text) if isinstance(text, str) else text
        for text in argument["input"]
    ]
    return argument | {"input": texts}
