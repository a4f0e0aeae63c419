"""Alert requests with what was refused of them put right, so that later checks say what else is wrong.

Nothing of such a request is kept. Next: ``alerts/mistakes.py``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy

from tocsin.alerts.offers import RESOURCES, RESOURCES_OF
from tocsin.errors import InvalidInput, TocsinError
from tocsin.model.entity import Document
from tocsin.model.subscription import AlertType, Category, Channel, Effect
from tocsin.model.validation_errors import place_of, placed_mistakes

_MOST_CHECKS = 20
"""Checks of one request: each may plan all of its conditions."""

_STEP = re.compile(r"[^.\[\]]+")
_RESOURCE = r"(filteringRules\.)?resources\[\d+\]"
_RULE = r"filteringRules\.(rules|actions)\[\d+\]"
_RIGHT_VALUES = tuple(
    (re.compile(place), value)
    for place, value in (
        ("name", "mended"),
        ("alertType", AlertType.NOTIFICATION.value),
        (r"trigger\.cronExpression", "0 0 * * *"),
        (_RULE, {"effect": Effect.INCLUDE.value, "condition": "true"}),
        (rf"{_RULE}\.condition", "true"),
        (r"destinations\[\d+\]", {"category": Category.OWNERS.value, "type": Channel.ACTIVITY_FEED.value}),
    )
)
"""What is right whatever the rest of a request is. All else is left out; members of lists stay, for others' places."""

_REQUIRED = ("name", "alertType")

_COMPARED = tuple(
    (re.compile(field), re.compile(compared_fields))
    for field, compared_fields in (
        (r"destinations\[\d+\]\.type", "alertType"),
        (r"destinations\[\d+\]\.config\.receivers", rf"{_RULE}.*|filteringRules|input.*"),
        (r"trigger\.(triggerType|groupBy|repeatInterval)", rf"alertType|{_RULE}.*|filteringRules|input.*"),
        (rf"{_RULE}\.condition", rf"alertType|{_RESOURCE}"),
        ("input", rf"{_RULE}.*"),
    )
)
"""Fields that are compared with others: once one of those is put right, nothing is known of these."""


def hidden_mistakes(
    error: InvalidInput, request: Document, check: Callable[[Document], object], beside: Iterable[InvalidInput] = ()
) -> Iterator[InvalidInput]:
    """Yield what ``check`` refuses of a request, ``error`` first, each mistake with its field; not those ``beside``."""
    request, places = deepcopy(request), list[str]()
    for field in [one.field for one in beside if one.field is not None]:
        _put_right(request, field, places)
    for _ in range(_MOST_CHECKS):
        mistakes = placed_mistakes(error)
        yield from (InvalidInput(message, field=field) for field, message in mistakes if not _follows(field, places))
        mended_fields = [field for field, _ in mistakes if _put_right(request, field, places)]
        if not mended_fields:
            return
        try:
            check(request)
        except InvalidInput as next_error:
            error = next_error
        except TocsinError:  # of another kind: it comes once the request is right
            return
        else:
            return


def _follows(field: str, places: Sequence[str]) -> bool:
    """Return whether what is said of a field may be so because these places were put right."""
    compared = [fields for pattern, fields in _COMPARED if pattern.fullmatch(field)]
    return any(
        _is_within(field, place) or _is_within(place, field) or any(fields.fullmatch(place) for fields in compared)
        for place in places
    )


def _is_within(place: str, holder: str) -> bool:
    return place == holder or place.startswith((f"{holder}.", f"{holder}["))


def _put_right(request: Document, field: str, places: list[str]) -> bool:
    """Put a field right, or what holds it if that is done or cannot be; return whether anything could be."""
    steps = [int(step) if step.isdecimal() else step for step in _STEP.findall(field)]
    while steps:
        place = place_of(steps)
        if place not in places:
            places.append(place)
            if _set_right(request, steps, place):
                return True
        steps.pop()
    return False


def _set_right(request: Document, steps: Sequence[str | int], place: str) -> bool:
    """Give a place a right value, or leave it out; return whether there is such a place."""
    if re.fullmatch(_RESOURCE, place) and "filteringRules" not in request:
        steps = steps[-2:]  # the create form has them by themselves
    holder: object = request
    for step in steps[:-1]:
        holder = _member(holder, step)
    key, value = steps[-1], _right_value(request, place)
    if isinstance(holder, dict) and (key in holder or place in _REQUIRED):
        holder.pop(key, None)
        holder |= {} if value is None else {key: deepcopy(value)}
        return True
    is_member = value is not None and _member(holder, key) is not None
    if is_member and isinstance(holder, list) and isinstance(key, int):
        holder[key] = deepcopy(value)
    return is_member


def _right_value(request: Document, place: str) -> object:
    if re.fullmatch(_RESOURCE, place):
        kind = str(request.get("alertType"))
        return next(iter(RESOURCES_OF.get(AlertType(kind), RESOURCES) if kind in tuple(AlertType) else RESOURCES))
    return next((value for pattern, value in _RIGHT_VALUES if pattern.fullmatch(place)), None)


def _member(holder: object, key: str | int) -> object:
    """Return what an object or list holds under a key; None if nothing."""
    if isinstance(holder, dict):
        return holder.get(key)
    return holder[key] if isinstance(holder, list) and isinstance(key, int) and key < len(holder) else None
