"""Rules of an alert request: as given, or compiled from the named filters of its ``input``.

Rules and an input that differ are never both kept: one of them would be ignored. Next: ``alerts/request.py``.
"""

from __future__ import annotations

from tocsin.alerts.filters import rules_of
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.subscription import Effect, PrefixCondition

MOST_RULES = 100
_LISTS = (("rules", "filters"), ("actions", "actions"))
_KEYS = frozenset({"filteringRules", "input", "resources"})


def with_rules(request: Document, before: Document) -> Document:
    """Return ``request`` with the ``filteringRules`` that count, and with its ``input`` if they follow from it.

    A changed input is compiled anew; rules that are changed by hand, by a person who knows the input, take its place.

    Raises
    ------
    InvalidInput : the input names an unknown filter, or asks for something else than the rules
    """
    rules, alert_input, resources = request.get("filteringRules"), request.get("input"), request.get("resources")
    if alert_input is not None and not isinstance(alert_input, dict):
        raise InvalidInput("must be an object with filters and actions", field="input")
    if alert_input and not any(alert_input.values()):
        alert_input = None
    other_keys = {key: value for key, value in request.items() if key not in _KEYS}
    if rules is None:
        old_resources = (before.get("filteringRules") or {}).get("resources")
        compiled_rules = _rules_for(old_resources if resources is None else resources, alert_input or {})
        return {**other_keys, "filteringRules": compiled_rules, **({"input": alert_input} if alert_input else {})}
    if not isinstance(rules, dict):
        return {**other_keys, "filteringRules": rules}
    if resources is not None and resources != rules.get("resources"):
        raise InvalidInput("differs from filteringRules.resources; send one of them", field="resources")
    if not alert_input:
        return {**other_keys, "filteringRules": rules}
    return {**other_keys, **_rules_and_input(rules, alert_input, before)}


def _rules_for(resources: object, alert_input: Document) -> Document:
    """Return the filtering rules for the named filters and actions of an input."""
    rules: Document = {"resources": resources or []}
    for key, list_key in _LISTS:
        if choices := alert_input.get(list_key):
            if not isinstance(choices, list) or not all(isinstance(one, dict) for one in choices):
                raise InvalidInput("must be a list of objects", field=f"input.{list_key}")
            if len(choices) > MOST_RULES:
                raise too_many(choices, f"input.{list_key}")
            rules[key] = rules_of(choices, f"input.{list_key}")
    return rules


def too_many(rules: list[Document], place: str) -> InvalidInput:
    """Return the refusal of more rules than can be planned in a moment."""
    return InvalidInput(f"must have at most {MOST_RULES} entries, not {len(rules)}", field=place)


def _rules_and_input(rules: Document, alert_input: Document, before: Document) -> Document:
    """Return the rules and the input, or the rules alone, where both are given."""
    was_chosen, were_rules = before.get("input"), before.get("filteringRules")
    if alert_input == was_chosen and rules == were_rules:
        return {"filteringRules": rules, "input": alert_input}
    compiled = _rules_for(rules.get("resources"), alert_input)
    if rules == were_rules or not (rules.get("rules") or rules.get("actions")):
        return {"filteringRules": compiled, "input": alert_input}
    if all(_demands_of(rules.get(key)) == _demands_of(compiled.get(key)) for key, _ in _LISTS):
        return {"filteringRules": rules, "input": alert_input}
    if alert_input == was_chosen:
        return {"filteringRules": rules}
    raise InvalidInput("asks for something else than filteringRules; send one of them", field="input")


def _demands_of(rules: object) -> list[tuple[object, ...]]:
    """Return what rules ask for: condition, effect and how each joins the one before."""
    listed = rules if isinstance(rules, list) else []
    return [
        (
            str(rule.get("condition")).strip(),
            rule.get("effect") or Effect.INCLUDE,
            rule.get("prefixCondition") or PrefixCondition.AND,
        )
        for rule in listed
        if isinstance(rule, dict)
    ]
