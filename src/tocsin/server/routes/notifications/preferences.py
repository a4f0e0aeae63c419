"""Routes of notification preferences of people, of the defaults of teams and of the server, and of all together.

Only the person or an administrator may read or set a person's; a team's are set by its owners and administrators.
Next: ``store/outbox/preferences.py``, ``server/inbox/effective_preferences.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from fastapi import Response

from tocsin.access.subject import ORGANIZATION
from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.delivery.channels.table import phrase_of
from tocsin.errors import Forbidden, InvalidInput, PreconditionFailed
from tocsin.flow.capture import etag
from tocsin.flow.schedule.wall_clock import check_zone
from tocsin.model.access import Operation
from tocsin.model.change_kinds import BREAKING, CHANGE_KINDS, Frequency
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.phrases import hint
from tocsin.model.preferences import PREFERRED_CHANNELS, RECOMMENDED, DefaultPreferences, Layer, Layers, Preferences
from tocsin.model.roles import AssetRole
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.server.access.permissions import require, visible_document, visible_references
from tocsin.server.alerts.health_preview import health_preview
from tocsin.server.alerts.next_digest import next_digests
from tocsin.server.http.errors import parse_as
from tocsin.server.http.remarks import remarks_header
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.inbox.effective_preferences import effective_preferences, team_ids_of
from tocsin.server.inbox.message_remarks import remarks_on_table, unreached_channels
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, IfMatch, PathId, answer, list_answer
from tocsin.server.routes.notifications.inbox import Owner
from tocsin.store.outbox.preferences import own_preferences

_KINDS = (BREAKING, *KNOWN_CATEGORIES)
_NULLABLE = ("quietHours", "workingDays", "mostPerHour")
_TEAM = ENTITY_TYPES["team"]
_KindTable = Mapping[str, Mapping[Channel, str]]
_CHANGED_MEANWHILE = "The preferences have changed since they were read; read them again and repeat the change."
_PRESET, _RECOMMENDED = "preset", "recommended"

router = DeclaredRoutes(tags=["inbox"])


@router.get("/changeKinds", openapi_extra=answers("KindOfChangePage"))
def list_change_kinds(caller: Asked) -> Response:
    """Return the kinds of change, in order; `hasEvents` is false for a kind of which nothing writes events yet."""
    del caller
    return list_answer([kind.to_wire() for kind in CHANGE_KINDS.values()])


@router.get("/users/{user_id}/preferences", openapi_extra=answers("Preferences"))
def read_preferences(owner: Owner, caller: Asked) -> Response:
    """Return a user's notification preferences; the defaults if nothing is set, those of the server for times.

    `X-Tocsin-Remarks` says over which channels nothing comes, and why; `ETag` is for `If-Match` of a change.
    """
    return _answer_of(owner, caller.parts.alert_stores.preferences.layers_of(owner), caller)


@router.put("/users/{user_id}/preferences", openapi_extra=answers("Preferences", reads="Preferences", never="409"))
def put_preferences(owner: Owner, body: DocumentBody, caller: Asked, *, if_match: IfMatch = None) -> Response:
    """Replace a user's notification preferences; omitted keys become the default.

    ``If-Match`` guards against changes that were made since they were read, in another tab, say.
    """
    store = caller.parts.alert_stores.preferences
    preferences = parse_as(Preferences, body)
    _check(preferences)
    if preferences.inbox_days != store.of(owner).inbox_days:
        _check_inbox_days(preferences, caller)
    _check_mandatory(preferences, store.of(owner), store.defaults())
    check = None if if_match is None else partial(_check_unchanged, if_match)
    written_layers = store.put(owner, preferences, now_ms=caller.parts.clock.now_ms(), check=check)
    return _answer_of(owner, written_layers, caller)


@router.get("/users/{user_id}/preferences/effective", openapi_extra=answers("EffectivePreferences"))
def read_effective_preferences(owner: Owner, caller: Asked) -> Response:
    """Return how often each kind of change comes to a user over each channel, when, and whose choice that is."""
    layers = caller.parts.alert_stores.preferences.layers_of(owner)
    teams = caller.parts.catalogue.references(team_ids_of(layers))
    visible_teams = visible_references(caller, teams.values())
    effective = effective_preferences(layers, visible_teams, _offered_channels(caller))
    remarks = remarks_on_table(
        effective,
        verified_channels_of(owner, caller),
        caller.parts.catalogue,
        has_mail_server=caller.parts.settings.smtp_host is not None,
    )
    additions = {"remarks": tuple(remarks), "unreached": _unreached_channels_of(owner, caller)}
    return answer(effective.model_copy(update=additions).to_wire())


@router.get("/users/{user_id}/preferences/month", openapi_extra=answers("PreferredMonth"))
def read_preferred_month(owner: Owner, caller: Asked) -> Response:
    """Return how a user's notifications of the last 30 days would have come by the preferences of now, by channel.

    Those about what the caller may not see are not counted.
    """
    months = caller.parts.alert_stores.preferred_months
    return answer(months.of(owner, caller.parts.clock.now_ms(), caller.visibility.sees).to_wire())


@router.get("/teams/{team_id}/preferences", openapi_extra=answers("Preferences"))
def read_team_preferences(team_id: PathId, caller: Asked) -> Response:
    """Return the defaults that a team has for its members: only what is set."""
    visible_document(_TEAM, Key.by_id(str(team_id)), caller)
    return answer(caller.parts.alert_stores.team_preferences.of(str(team_id)).to_stored())


@router.put("/teams/{team_id}/preferences", openapi_extra=answers("Preferences", reads="Preferences", never="409"))
def put_team_preferences(team_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Replace the defaults that a team has for its members and those of the teams below it; for its owners.

    They count from the next notification on, where a member has chosen nothing.
    """
    team = visible_document(_TEAM, Key.by_id(str(team_id)), caller)
    require(caller, Operation.EDIT_USERS, _TEAM, team)
    if team["name"] == ORGANIZATION:
        raise InvalidInput("is everybody, whose defaults are those of the server", field="team_id")
    if caller.actor.is_bot and not caller.actor.is_admin:
        raise Forbidden("Only people may set the defaults of a team: its owners and administrators.")
    store, defaults = caller.parts.alert_stores.team_preferences, parse_as(Preferences, body)
    _check_of_many(defaults)
    _check_mandatory(defaults, store.of(str(team_id)), caller.parts.alert_stores.preferences.defaults())
    store.put(str(team_id), defaults, now_ms=caller.parts.clock.now_ms())
    return answer(defaults.to_stored())


@router.get("/users/{user_id}/digest", openapi_extra=answers("NextDigestPage"))
def read_next_digest(owner: Owner, caller: Asked) -> Response:
    """Return a user's next digests by mail and chat, the first due first, as they would be sent now.

    Rights, mutes and preferences are those of now, and nothing changes. Links that act for their reader are left out.
    """
    return list_answer([digest.to_wire() for digest in next_digests(owner, caller)])


@router.get("/users/{user_id}/healthSummary", openapi_extra=answers("HealthPreview"))
def read_health_summary(owner: Owner, caller: Asked) -> Response:
    """Return a user's health summary of the seven days until now, as it would be mailed, and when the next one is due.

    Rights are those of now, and nothing changes.
    """
    return answer(health_preview(owner, caller).to_wire())


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
    _check_of_many(defaults)
    for name in defaults.mandatory:
        _check_kind(name, "mandatory")
    for role, names in defaults.mandatory_roles.items():
        for name in names:
            _check_kind(name, f"mandatoryRoles.{role}")
    caller.parts.alert_stores.preferences.put_defaults(defaults, now_ms=caller.parts.clock.now_ms())
    return answer(defaults.to_wire())


def verified_channels_of(user_id: str, caller: Caller) -> set[Channel]:
    """Return the channels for which a person has an address of their own that is verified."""
    states = caller.parts.alert_stores.address_codes.states(user_id, now_ms=caller.parts.clock.now_ms())
    return {one.channel for one in states if one.verified_at_ms is not None}


def _offered_channels(caller: Caller) -> list[Channel]:
    """Return the channels over which this server sends anything."""
    is_on = caller.parts.settings.web_push
    return [one for one in PREFERRED_CHANNELS if is_on or one is not Channel.PUSH]


def _unreached_channels_of(owner: str, caller: Caller) -> dict[Channel, str]:
    """Return over which channels nothing comes to a person, and what is missing."""
    parts = caller.parts
    reached_channels = verified_channels_of(owner, caller)
    if parts.alert_stores.push_browsers.holders([owner], parts.clock.now_ms()):
        reached_channels.add(Channel.PUSH)
    has_mail_server = parts.settings.smtp_host is not None
    return unreached_channels(_offered_channels(caller), reached_channels, has_mail_server=has_mail_server)


def _document_of(layers: Layers) -> Document:
    """Return what a user prefers; quiet hours and working days are null where they want none, and the server some."""
    document = own_preferences(layers).to_wire()
    beneath = [preferences.to_wire() for layer, preferences in layers if layer is not Layer.OWN]
    missing_keys = {key for key in _NULLABLE if key not in document and any(key in one for one in beneath)}
    return document | dict.fromkeys(missing_keys)


def _answer_of(owner: str, layers: Layers, caller: Asked) -> Response:
    """Return what these layers say that a user prefers, with its tag, and over which channels nothing comes."""
    sentences = {
        channel: f"There is {missing}: nothing comes {phrase_of(channel)}."
        for channel, missing in _unreached_channels_of(owner, caller).items()
    }
    remarks = [{"kind": "notReached", "message": text, "field": channel} for channel, text in sentences.items()]
    document = _document_of(layers)
    return answer(document, headers={**remarks_header(remarks), "ETag": etag.content_tag(document)})


def _preset(body: Document) -> DefaultPreferences:
    if body[_PRESET] != _RECOMMENDED:
        raise InvalidInput(f"{body[_PRESET]!r} is no preset; there is {_RECOMMENDED!r}", field=_PRESET)
    if len(body) > 1:
        raise InvalidInput("stands alone: it sets all other keys", field=_PRESET)
    return RECOMMENDED


def _check_unchanged(if_match: str, layers: Layers) -> None:
    if not etag.names_tag(if_match, etag.content_tag(_document_of(layers))):
        raise PreconditionFailed(_CHANGED_MEANWHILE)


def _check_mandatory(preferences: Preferences, before: Preferences, defaults: DefaultPreferences) -> None:
    """Refuse to switch off a mandatory kind; what was switched off before it was mandatory stays, without effect.

    A kind that is mandatory in a role may be switched off for all roles: it then still comes in that one.
    """
    by_role: dict[AssetRole | None, tuple[_KindTable, _KindTable]] = {None: (preferences.kinds, before.kinds)}
    by_role |= {role: (kinds, before.roles.get(role, {})) for role, kinds in preferences.roles.items()}
    for role, (kinds, kinds_before) in by_role.items():
        mandatory, table = defaults.mandatory_in((role,)), "kinds" if role is None else f"roles.{role}"
        for name, by_channel in kinds.items():
            unchanged = kinds_before.get(name, {})
            switched_off = [channel for channel, frequency in by_channel.items() if frequency == Frequency.NEVER]
            if name in mandatory and any(unchanged.get(channel) != Frequency.NEVER for channel in switched_off):
                raise InvalidInput("is mandatory here, so it cannot be switched off", field=f"{table}.{name}")


def _check_inbox_days(preferences: Preferences, caller: Asked) -> None:
    """Refuse more days than the server keeps notifications."""
    most_days = caller.parts.alert_stores.retention.settings().notification_days
    if preferences.inbox_days is not None and most_days is not None and preferences.inbox_days > most_days:
        message = f"must be at most {most_days}: the server removes notifications {most_days} days after they came"
        raise InvalidInput(message, field="inboxDays")


def _check(preferences: Preferences) -> None:
    check_zone(preferences.timezone, field="timezone")
    for name in preferences.categories:
        if name not in _KINDS:
            message = f"{name!r} is not a category of changes ({', '.join(_KINDS)}){hint(name, _KINDS)}"
            raise InvalidInput(message, field=f"categories.{name}")
    check_table(preferences.kinds, "kinds")
    for role, kinds in preferences.roles.items():
        check_table(kinds, f"roles.{role}")
    away = preferences.away
    if away is not None and away.until <= away.start:
        raise InvalidInput("must be later than away.start", field="away.until")
    quiet = preferences.quiet_hours
    if quiet is not None and quiet.start == quiet.end:
        raise InvalidInput("must differ from start", field="quietHours.end")


def check_table(kinds: Mapping[str, Collection[Channel]], field: str) -> None:
    """Refuse kinds of change and channels that there are not, in a table of frequencies."""
    for name, channels in kinds.items():
        _check_kind(name, f"{field}.{name}")
        check_channels(channels, f"{field}.{name}")


def check_channels(channels: Collection[Channel], field: str) -> None:
    """Refuse channels for which a person chooses nothing."""
    for channel in channels:
        if channel not in PREFERRED_CHANNELS:
            message = f"{channel} takes no preference; it takes {', '.join(PREFERRED_CHANNELS)}"
            raise InvalidInput(message, field=f"{field}.{channel}")


def _check_of_many(defaults: Preferences) -> None:
    _check(defaults)
    if defaults.away is not None:
        raise InvalidInput("is for a person: teams and servers are never away", field="away")
    if defaults.health_summary is not None:
        raise InvalidInput("is for a person, who chooses to get one", field="healthSummary")
    if defaults.inbox_days is not None:
        message = "is for a person; how long notifications are kept at most, PUT /system/retention sets"
        raise InvalidInput(message, field="inboxDays")


def _check_kind(name: str, field: str) -> None:
    if name not in CHANGE_KINDS:
        message = f"{name!r} is not a kind of change ({', '.join(CHANGE_KINDS)}){hint(name, CHANGE_KINDS)}"
        raise InvalidInput(message, field=field)
