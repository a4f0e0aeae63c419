"""Conditions of saved searches: an alert with a ``search`` matches changes of what the search finds, then or before.

A search becomes one condition, so that the pipeline decides at the event's place: what comes to the search counts from
that event on, and the event by which an asset leaves it is the last. Next: ``alerts/named_filters.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from tocsin.conditions.check import parse_and_check
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.logic import And, Constant, Formula, Not, Or
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.saved_search import SavedSearch
from tocsin.model.validation_errors import describe_validation
from tocsin.search.fields import FIELDS, has_wildcard, unescape
from tocsin.search.indexes import SEARCHED, entity_types_of
from tocsin.search.parse import Term, parse_terms
from tocsin.search.tokens import words_of

SEARCH = "search"
"""The key of an alert that holds its search."""


def with_search_rules(request: Document, before: Document) -> Document:
    """Return the request of an alert of a search with its rules; rules changed by hand take its place.

    Raises
    ------
    InvalidInput : the search asks for what an event does not say
    """
    search, rules = request.get(SEARCH), request.get("filteringRules")
    if search is None:
        return request
    is_same = search == before.get(SEARCH)
    if is_same and rules == before.get("filteringRules"):
        return request  # names in the rules follow renames, the text of the search does not
    if rules is not None and rules != before.get("filteringRules"):
        return {key: value for key, value in request.items() if key != SEARCH}
    return {**request, "filteringRules": rules_of_search(search), "input": None, "resources": None}


def rules_of_search(search: object) -> Document:
    """Return the rules of an alert about what a search finds.

    Raises
    ------
    InvalidInput : it is no search, or asks for what an event does not say; names the part
    """
    try:
        saved_search = SavedSearch.model_validate(search)
    except ValidationError as error:
        raise InvalidInput(describe_validation(error.errors(), SavedSearch), field=SEARCH) from error
    indexed_types = entity_types_of(saved_search.index)
    types = [one for one in (SEARCHED if indexed_types is None else indexed_types) if ENTITY_TYPES[one].is_asset]
    if not types:
        raise InvalidInput("names no type that can be followed", field="index")
    try:
        formula = parse_terms(saved_search.query)
    except InvalidInput as error:
        raise InvalidInput(error.message, field="query") from error
    now, before = _condition_of(formula, _condition_after), _condition_of(formula, _condition_before)
    condition = before if _has_answered_before(formula) else f"({now}) || ({before})"
    if isinstance(formula, Constant) and formula.holds:
        return {"resources": sorted(types), "rules": []}
    try:
        parse_and_check(condition)
    except InvalidCondition as error:  # too long, or of too many patterns
        way_out = "leave some out, or look for them by fqn:*word*"
        raise InvalidInput(f"has too many words to be followed; {way_out}", field="query") from error
    return {"resources": sorted(types), "rules": [{"condition": condition, "effect": "include"}]}


def _condition_of(formula: Formula[Term], render: Callable[[Term], str]) -> str:
    """Return a formula of terms as a condition."""
    match formula:
        case Constant(holds=holds):
            return "true == true" if holds else "true == false"
        case Not(operand=operand):
            return f"!({_condition_of(operand, render)})"
        case And(operands=operands):
            return " && ".join(f"({_condition_of(one, render)})" for one in operands)
        case Or(operands=operands):
            return " || ".join(f"({_condition_of(one, render)})" for one in operands)
        case Term():
            return render(formula)
    raise AssertionError(formula)


def _condition_after(term: Term) -> str:
    """Return the condition that holds for an asset that a term finds after the event."""
    field = _field_of(term)
    if field in _SETS:
        return f"{_SETS[field]}.contains({_literal(_whole_value(term))})"
    if field in _VALUES:
        return f"{_VALUES[field]} == {_literal(_whole_value(term))}"
    if field == "fullyQualifiedName":
        return f"entityFullyQualifiedName.toLowerCase().matches({_literal(_wildcards(term.text))})"
    patterns = _word_patterns(term)
    paths = _NAME_PATHS[field]
    parts = [f"{path}.matches({patterns})" for path in paths]
    parts += [f"{path}.toLowerCase().contains({_literal(_part(term))})" for path in _TEXT_PATHS[field]]
    return " || ".join(parts)


def _condition_before(term: Term) -> str:
    """Return the condition that holds for an asset that a term found before the event."""
    field, now = _field_of(term), _condition_after(term)
    if field in _SETS:
        value, category = _literal(_whole_value(term)), _CATEGORIES.get(field, "*")
        arrival, leaving = (
            f"matchAnyChange('{category}', '{operation}', '*', {value})" for operation in ("add", "remove")
        )
        former = f" || oldValue('tags').tagFQN == {value}" if field == "tags.tagFQN" else ""
        return f"({now} && !{arrival}) || {leaving}{former}"
    if field == "tier.tagFQN":
        value = _literal(_whole_value(term))
        is_new = f"matchAnyChange('tier', {{'add', 'modify'}}, '*', {value})"
        return f"({now} && !{is_new}) || oldValue('tags').tagFQN == {value}"
    if field in _OLD_PATHS:
        part = _literal(_part(term))
        return f"({now}) || " + " || ".join(
            f"oldValue('{path}').toLowerCase().contains({part})" for path in _OLD_PATHS[field]
        )
    return now


def _has_answered_before(formula: Formula[Term]) -> bool:
    """Return whether what a formula finds after an event it found before as well, as far as conditions say so."""
    match formula:
        case Not(operand=operand):
            return _condition_of(operand, _condition_after) == _condition_of(operand, _condition_before)
        case And(operands=operands) | Or(operands=operands):
            return all(map(_has_answered_before, operands))
        case Term():
            return _field_of(formula) not in _FIELDS_OF_ARRIVALS
    return True


_SETS = {"tags.tagFQN": "tags", "owners.name": "owners", "domains.fullyQualifiedName": "domains"}
_VALUES = {"tier.tagFQN": "tier", "service.name": "service", "entityType": "entityType"}
_CATEGORIES = {"owners.name": "owner", "domains.fullyQualifiedName": "domain"}
_FIELDS_OF_ARRIVALS = frozenset({*_SETS, "tier.tagFQN"})
"""Fields of which an event says what has come: before it, that was not there."""
_ANYWHERE = ""
"""The field of a word that is looked for everywhere."""
_NAME_PATHS: Mapping[str, tuple[str, ...]] = {
    _ANYWHERE: ("entityFullyQualifiedName", "entity.displayName"),
    "name": ("entity.name",),
    "displayName": ("entity.displayName",),
    "description": (),
    "columns.name": (),
    "columns.description": (),
}
"""Where a word of a field is looked for as a word."""
_TEXT_PATHS: Mapping[str, tuple[str, ...]] = {
    _ANYWHERE: ("entity.description", "entity.columns.name", "entity.columns.description"),
    "name": (),
    "displayName": (),
    "description": ("entity.description",),
    "columns.name": ("entity.columns.name",),
    "columns.description": ("entity.columns.description",),
}
"""Where it is looked for as a part of a text, which costs nothing."""
_OLD_PATHS: Mapping[str, tuple[str, ...]] = {
    _ANYWHERE: ("description", "displayName"),
    "displayName": ("displayName",),
    "description": ("description",),
}
"""The fields whose former values the event holds."""


def _field_of(term: Term) -> str:
    """Return the field of a term as ``search/fields.py`` calls it."""
    name = (term.field or "").removesuffix(".keyword")
    field = FIELDS[name].name if name in FIELDS else name
    if field not in _SETS and field not in _VALUES and field not in _NAME_PATHS and field != "fullyQualifiedName":
        valid_fields = ", ".join(("tag", "tier", "owner", "domain", "service", "type", "fqn", *list(_NAME_PATHS)[1:]))
        raise InvalidInput(f"a search by {term.field} cannot be followed; {valid_fields} can", field="query")
    return field


def _whole_value(term: Term) -> str:
    if not term.is_phrase and has_wildcard(term.text):
        raise InvalidInput(f"a search by a part of {term.field} cannot be followed", field="query")
    return unescape(term.text)


def _wildcards(text: str) -> str:
    """Return a pattern with ``*`` and ``?`` as a regular expression of lower case."""
    signs = {"*": ".*", "?": "."}
    pieces = re.findall(r"\\.|.", text, re.DOTALL)
    return "".join(
        signs.get(piece) or re.escape(piece[-1].lower() if piece.startswith("\\") else piece.lower())
        for piece in pieces
    )


def _word_patterns(term: Term) -> str:
    """Return the regular expressions of names with the words of a term: apart from others by a sign or a capital."""
    words, is_prefix = _words(term), term.text.endswith("*") and not term.is_phrase
    lower = "[^A-Za-z0-9]*".join(words)
    capital = "[^A-Za-z0-9]*".join(one.capitalize() for one in words)
    upper = "[^A-Za-z0-9]*".join(one.upper() for one in words)
    ends = ("", "", "") if is_prefix else ("[^a-z]", "[^a-z]", "[^A-Za-z0-9]")
    patterns = (
        f"(.*[^A-Za-z0-9])?{lower}{_tail(ends[0])}",
        f"(.*[^A-Z])?{capital}{_tail(ends[1])}",
        f"(.*[^A-Za-z0-9])?{upper}{_tail(ends[2])}",
    )
    return f"{{{', '.join(_literal(one) for one in patterns)}}}"


def _tail(end: str) -> str:
    return f"({end}.*)?" if end else ".*"


def _part(term: Term) -> str:
    return " ".join(_words(term))


def _words(term: Term) -> tuple[str, ...]:
    words = words_of(unescape(term.text.strip("*")))
    if not words or not all(re.fullmatch(r"\w+", one) for one in words):
        raise InvalidInput(f"{term.text[:100]!r} contains no word", field="query")
    return words


def _literal(text: str) -> str:
    """Return a text as a condition writes it: what a person typed never becomes part of the condition."""
    return "'" + text.replace("'", "''") + "'"
