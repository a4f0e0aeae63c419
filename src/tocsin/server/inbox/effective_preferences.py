"""Effective preferences of a person, computed from the layers that hold for them.

By the same function that decides for notifications (``choose``), so that the matrix shows what happens. Next:
``model/preferences.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from tocsin.conditions.changes import KNOWN_CATEGORIES
from tocsin.conditions.event_kinds import kinds_in_category
from tocsin.flow.schedule.preferences import digest_moment
from tocsin.model.change_kinds import CHANGE_KINDS, EventKind, Frequency, KindOfChange
from tocsin.model.effective_preferences import (
    ChoiceSource,
    EffectivePreferences,
    PreferenceCell,
    PreferenceRow,
)
from tocsin.model.entity import Document, EntityReference
from tocsin.model.preferences import (
    PREFERRED_CHANNELS,
    RECOMMENDED,
    DefaultPreferences,
    FrequencyChoice,
    Layer,
    Layers,
    Preferences,
    TeamPreferences,
    choose,
    times_of,
)
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel


def team_ids_of(layers: Layers) -> list[str]:
    """Return the teams whose defaults are among these layers."""
    return [team.id for _, one in layers if isinstance(one, TeamPreferences) for team in one.teams]


def effective_preferences(
    layers: Layers,
    visible_teams: Iterable[Document],
    channels: Collection[Channel] = PREFERRED_CHANNELS,
) -> EffectivePreferences:
    """Return what these layers mean for a person over ``channels``; of teams only those that the reader may see."""
    times = times_of(layers)
    teams = {team["id"]: EntityReference.model_validate(team) for team in visible_teams}
    return EffectivePreferences(
        timezone=times.timezone,
        quiet_hours=times.quiet_hours,
        working_days=times.working_days,
        digest_at=times.digest_at,
        digest_day=times.digest_day,
        most_per_hour=times.most_per_hour,
        inbox_days=times.inbox_days,
        health_summary=times.health_summary,
        teams=tuple(teams.values()),
        kinds=tuple(_row(kind, layers, teams, channels) for kind in CHANGE_KINDS.values()),
    )


def _row(
    kind: KindOfChange, layers: Layers, teams: Mapping[str, EntityReference], channels: Collection[Channel]
) -> PreferenceRow:
    defaults = [one for _, one in layers if isinstance(one, DefaultPreferences)]
    is_mandatory = any(kind.name in one.mandatory for one in defaults)
    mandatory_roles = [role for role in AssetRole if any(kind.name in one.mandatory_in((role,)) for one in defaults)]
    cells_by_role = {
        role: {channel: cell for channel in channels if (cell := _role_cell(kind, channel, (layers, teams), role))}
        for role in AssetRole
    }
    return PreferenceRow(
        kind=kind.name,
        label=kind.label,
        group=kind.group,
        has_events=kind.has_events,
        is_mandatory=is_mandatory,
        mandatory_roles=() if is_mandatory else tuple(mandatory_roles),
        channels={channel: _cell(kind, channel, layers, teams) for channel in channels},
        roles={role: cells for role, cells in cells_by_role.items() if cells},
    )


def _role_cell(
    kind: KindOfChange, channel: Channel, choices: tuple[Layers, Mapping[str, EntityReference]], role: AssetRole
) -> PreferenceCell | None:
    """Return the cell of a role; None where nothing is chosen for it alone."""
    layers, teams = choices
    choice = choose(layers, _event_kinds(kind), channel, role)
    return _cell_of(choice, layers, teams) if choice.role else None


def _cell(kind: KindOfChange, channel: Channel, layers: Layers, teams: Mapping[str, EntityReference]) -> PreferenceCell:
    choice = choose(layers, _event_kinds(kind), channel)
    if kind.crosses and choice.kind != kind.name:
        return PreferenceCell(frequency=None, source=ChoiceSource.NOBODY)
    return _cell_of(choice, layers, teams)


def _event_kinds(kind: KindOfChange) -> list[EventKind]:
    return [EventKind(kind.name, category) for category in _CATEGORIES.get(kind.name, ("",))]


def _cell_of(choice: FrequencyChoice, layers: Layers, teams: Mapping[str, EntityReference]) -> PreferenceCell:
    times = times_of(layers)
    return PreferenceCell(
        frequency=choice.frequency,
        at=_moment(times, choice),
        source=_source(choice, layers),
        by=choice.kind or None,
        team=teams.get(choice.team_id),
    )


def _source(choice: FrequencyChoice, layers: Layers) -> ChoiceSource:
    is_recommended = choice.layer is Layer.SERVER and any(one.kinds == RECOMMENDED.kinds for _, one in layers[-1:])
    return ChoiceSource.RECOMMENDED if is_recommended else ChoiceSource(choice.layer.value)


def _moment(times: Preferences, choice: FrequencyChoice) -> str | None:
    day, time = digest_moment(times, choice)
    if choice.frequency is Frequency.WEEKLY:
        return f"{day} {time}"
    return time if choice.frequency is Frequency.DAILY else None


def _categories_of_kinds() -> dict[str, tuple[str, ...]]:
    categories: dict[str, list[str]] = defaultdict(list)
    for category in KNOWN_CATEGORIES:
        for kind in kinds_in_category(category):
            categories[kind].append(category)
    return {kind: tuple(names) for kind, names in categories.items()}


_CATEGORIES = _categories_of_kinds()
"""The categories by which events may have a kind."""
