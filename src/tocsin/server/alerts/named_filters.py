"""Rules of an alert request: as given, or compiled from the named filters of its ``input``.

Rules and an input that differ are never both kept: one of them would be ignored. Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.subscription import Effect, PrefixCondition
from tocsin.server.alerts.filters import check_withdrawn, rules_of

MOST_RULES = 100
_LISTS = (("rules", "filters"), ("actions", "actions"))
_KEYS = frozenset({"filteringRules", "input", "resources"})


def with_rules(request: Document, before: Document) -> Document:
    """Return ``request`` with the ``filteringRules`` that count, and with its ``input`` if they follow from it.

    A changed input is compiled anew; rules that are changed by hand, by whoever knows the input, take its place.

    Raises
    ------
    InvalidInput : the input names an unknown or withdrawn filter, or asks for something else than the rules
    """
    rules, chosen, resources = request.get("filteringRules"), _input(request), request.get("resources")
    for _, key in _LISTS:
        check_withdrawn((chosen or {}).get(key), (before.get("input") or {}).get(key), f"input.{key}")
    rest = {key: value for key, value in request.items() if key not in _KEYS}
    if rules is None:
        known = (before.get("filteringRules") or {}).get("resources")
        compiled = _compiled(known if resources is None else resources, chosen or {})
        return {**rest, "filteringRules": compiled, **({"input": chosen} if chosen else {})}
    if not isinstance(rules, dict):
        return {**rest, "filteringRules": rules}
    _check_resources(rules, resources)
    if not chosen:
        return {**rest, "filteringRules": rules}
    return {**rest, **_reconciled(rules, chosen, before)}


def _compiled(resources: object, chosen: Document) -> Document:
    """Return the filtering rules for the named filters and actions of an input."""
    rules: Document = {"resources": resources or []}
    for key, given in _LISTS:
        if named := chosen.get(given):
            if not isinstance(named, list) or not all(isinstance(one, dict) for one in named):
                raise InvalidInput("must be a list of objects", field=f"input.{given}")
            check_count(named, f"input.{given}")
            rules[key] = rules_of(named, f"input.{given}")
    return rules


def check_count(rules: list[Document], place: str) -> None:
    """Refuse more rules than can be planned in a moment.

    Raises
    ------
    InvalidInput : there are too many
    """
    if len(rules) > MOST_RULES:
        raise InvalidInput(f"must have at most {MOST_RULES} entries, not {len(rules)}", field=place)


def _input(request: Document) -> Document | None:
    """Return the input, if it names any filter or action."""
    chosen = request.get("input")
    if chosen is not None and not isinstance(chosen, dict):
        raise InvalidInput("must be an object with filters and actions", field="input")
    return chosen if chosen and any(chosen.values()) else None


def _check_resources(rules: Document, resources: object) -> None:
    if resources is not None and resources != rules.get("resources"):
        raise InvalidInput("differs from filteringRules.resources; send one of them", field="resources")


def _reconciled(rules: Document, chosen: Document, before: Document) -> Document:
    """Return the rules and the input, or the rules alone, where both are given."""
    was_chosen, were_rules = before.get("input"), before.get("filteringRules")
    if chosen == was_chosen and rules == were_rules:
        return {"filteringRules": rules, "input": chosen}
    compiled = _compiled(rules.get("resources"), chosen)
    if rules == were_rules or not (rules.get("rules") or rules.get("actions")):
        return {"filteringRules": compiled, "input": chosen}
    if all(_asked(rules.get(key)) == _asked(compiled.get(key)) for key, _ in _LISTS):
        return {"filteringRules": rules, "input": chosen}
    if chosen == was_chosen:
        return {"filteringRules": rules}
    raise InvalidInput("asks for something else than filteringRules; send one of them", field="input")


def _asked(rules: object) -> list[tuple[object, ...]]:
    """Return what rules ask for: condition, effect and how each joins the one before."""
    listed = rules if isinstance(rules, list) else []
    return [
        (
            str(one.get("condition")).strip(),
            one.get("effect") or Effect.INCLUDE,
            one.get("prefixCondition") or PrefixCondition.AND,
        )
        for one in listed
        if isinstance(one, dict)
    ]
