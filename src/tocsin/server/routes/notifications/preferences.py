"""Routes of a person's notification preferences: quiet hours, and how often mails and direct messages come.

Only the person or an administrator may read or set them. Next: ``store/outbox/preferences.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from fastapi import Response

from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.errors import Forbidden, InvalidInput
from tocsin.flow.schedule.wall_clock import check_zone
from tocsin.model.change_kinds import BREAKING, CHANGE_KINDS, Frequency
from tocsin.model.entity import Document
from tocsin.model.phrases import hint
from tocsin.model.preferences import PREFERRED_CHANNELS, RECOMMENDED, DefaultPreferences, Preferences
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, DocumentBody, answer, list_answer
from tocsin.server.routes.notifications.inbox import Owner

_KINDS = (BREAKING, *KNOWN_CATEGORIES)
_NULLABLE = ("quietHours", "workingDays")
_PRESET, _RECOMMENDED = "preset", "recommended"

router = DeclaredRoutes(tags=["inbox"])


@router.get("/changeKinds", openapi_extra=answers("KindOfChangePage"))
def list_change_kinds(caller: Asked) -> Response:
    """Return the kinds of change, in order; `hasEvents` is false for a kind of which nothing writes events yet."""
    del caller
    return list_answer([kind.to_wire() for kind in CHANGE_KINDS.values()])


@router.get("/users/{user_id}/preferences", openapi_extra=answers("Preferences"))
def read_preferences(owner: Owner, caller: Asked) -> Response:
    """Return a user's notification preferences; the defaults if nothing is set, those of the server for times."""
    return _answer_of(owner, caller)


@router.put("/users/{user_id}/preferences", openapi_extra=answers("Preferences", reads="Preferences", never="409"))
def put_preferences(owner: Owner, body: DocumentBody, caller: Asked) -> Response:
    """Replace a user's notification preferences; omitted keys become the default."""
    store = caller.parts.alert_stores.preferences
    preferences = parse_as(Preferences, body)
    _check(preferences)
    _check_mandatory(preferences, store.of(owner), store.defaults().mandatory)
    store.put(owner, preferences, now_ms=caller.parts.clock.now_ms())
    return _answer_of(owner, caller)


@router.get("/system/preferences", openapi_extra=answers("DefaultPreferences"))
def read_default_preferences(caller: Asked) -> Response:
    """Return the preferences that hold where people have chosen nothing, and the kinds that nobody can switch off."""
    return answer(caller.parts.alert_stores.preferences.defaults().to_wire())


@router.put("/system/preferences", openapi_extra=answers("DefaultPreferences", reads="DefaultPreferences", never="409"))
def put_default_preferences(body: DocumentBody, caller: Asked) -> Response:
    """Replace the preferences that hold where people have chosen nothing; for administrators.

    They count from the next notification on. ``{"preset": "recommended"}`` sets what ``GET /changeKinds`` recommends.
    """
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may set default preferences.")
    defaults = _preset(body) if _PRESET in body else parse_as(DefaultPreferences, body)
    _check(defaults)
    for name in defaults.mandatory:
        _check_kind(name, "mandatory")
    caller.parts.alert_stores.preferences.put_defaults(defaults, now_ms=caller.parts.clock.now_ms())
    return answer(defaults.to_wire())


def _answer_of(owner: str, caller: Asked) -> Response:
    """Return what a user prefers; quiet hours and working days are null where they want none, and the server some."""
    store = caller.parts.alert_stores.preferences
    document, default_document = store.of(owner).to_wire(), store.defaults().to_wire()
    return answer(document | {key: None for key in _NULLABLE if key in default_document and key not in document})


def _preset(body: Document) -> DefaultPreferences:
    if body[_PRESET] != _RECOMMENDED:
        raise InvalidInput(f"{body[_PRESET]!r} is no preset; there is {_RECOMMENDED!r}", field=_PRESET)
    if len(body) > 1:
        raise InvalidInput("stands alone: it sets all other keys", field=_PRESET)
    return RECOMMENDED


def _check_mandatory(preferences: Preferences, before: Preferences, mandatory: Collection[str]) -> None:
    """Refuse to switch off a mandatory kind; what was switched off before it was mandatory stays, without effect."""
    for name, by_channel in preferences.kinds.items():
        unchanged = before.kinds.get(name, {})
        switched_off = [channel for channel, frequency in by_channel.items() if frequency is Frequency.NEVER]
        if name in mandatory and any(unchanged.get(channel) is not Frequency.NEVER for channel in switched_off):
            raise InvalidInput("is mandatory here, so it cannot be switched off", field=f"kinds.{name}")


def _check(preferences: Preferences) -> None:
    check_zone(preferences.timezone, field="timezone")
    for name in preferences.categories:
        if name not in _KINDS:
            message = f"{name!r} is not a category of changes ({', '.join(_KINDS)}){hint(name, _KINDS)}"
            raise InvalidInput(message, field=f"categories.{name}")
    for name, by_channel in preferences.kinds.items():
        _check_kind(name, f"kinds.{name}")
        for channel in by_channel:
            if channel not in PREFERRED_CHANNELS:
                message = f"{channel} takes no preference; it takes {', '.join(PREFERRED_CHANNELS)}"
                raise InvalidInput(message, field=f"kinds.{name}.{channel}")
    quiet = preferences.quiet_hours
    if quiet is not None and quiet.start == quiet.end:
        raise InvalidInput("must differ from start", field="quietHours.end")


def _check_kind(name: str, field: str) -> None:
    if name not in CHANGE_KINDS:
        message = f"{name!r} is not a kind of change ({', '.join(CHANGE_KINDS)}){hint(name, CHANGE_KINDS)}"
        raise InvalidInput(message, field=field)
