"""Effective preferences of a person: for each kind of change and channel how often it comes, when, and why.

Next: ``server/inbox/effective_preferences.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from pydantic import Field

from tocsin.model.change_kinds import Frequency, KindGroup
from tocsin.model.entity import EntityReference, WireModel
from tocsin.model.preferences import HealthSchedule, QuietHours, TimeOfDay, Weekday, WorkingDays
from tocsin.model.roles import AssetRole
from tocsin.model.subscription import Channel


class ChoiceSource(StrEnum):
    """Where a cell comes from: one's own choice, a team's or the server's defaults, or what the product recommends."""

    OWN = "own"
    TEAM = "team"
    SERVER = "server"
    MANDATORY = "mandatory"
    RECOMMENDED = "recommended"
    NOBODY = "nobody"


class PreferenceCell(WireModel):
    """How often a kind of change comes over a channel.

    Attributes
    ----------
    frequency : None for a kind for which nobody has chosen anything, so that the other kinds of an event decide;
        JSON leaves it out
    at : when digests of it come, such as ``09:00`` or ``monday 09:00``; None where no digest is waited for
    source : whose choice it is
    by : the kind or category that was chosen; None for a choice for everything, and where there is none
    team : the team whose choice it is; None where no team's is, or the reader may not see the team
    """

    frequency: Frequency | None = None
    at: str | None = None
    source: ChoiceSource = Field(alias="from")
    by: str | None = None
    team: EntityReference | None = None

    @property
    def is_chosen(self) -> bool:
        """Return whether the person or a team has chosen that it comes, and not for everything."""
        is_own = self.source in (ChoiceSource.OWN, ChoiceSource.TEAM) and self.by is not None
        return is_own and self.frequency not in (None, Frequency.NEVER)


class PreferenceRow(WireModel):
    """One kind of change, and its cells by channel; ``is_mandatory``: it is never off.

    ``mandatory_roles`` are those in which it is never off, if not in all. ``roles`` has cells where something else is
    chosen for what one is told of in a role.
    """

    kind: str
    label: str
    group: KindGroup
    has_events: bool
    is_mandatory: bool
    mandatory_roles: tuple[AssetRole, ...] = ()
    channels: Mapping[Channel, PreferenceCell]
    roles: Mapping[AssetRole, Mapping[Channel, PreferenceCell]] = Field(default_factory=dict)


class EffectivePreferences(WireModel):
    """Everything that holds for a person; ``teams`` are those with defaults for them, without hidden ones.

    ``remarks`` are sentences about what keeps messages from coming as the cells say. ``unreached`` are the channels
    over which nothing comes to the person, whatever the cells say, each with what is missing: ``no verified address``.
    """

    timezone: str
    quiet_hours: QuietHours | None = None
    working_days: WorkingDays | None = None
    digest_at: TimeOfDay
    digest_day: Weekday
    most_per_hour: int | None = None
    inbox_days: int | None = None
    health_summary: HealthSchedule | None = None
    teams: tuple[EntityReference, ...] = ()
    kinds: tuple[PreferenceRow, ...]
    remarks: tuple[str, ...] = ()
    unreached: Mapping[Channel, str] = Field(default_factory=dict)

    @property
    def chosen_channels(self) -> frozenset[Channel]:
        """Return the channels over which something comes by a choice of the person or of a team."""
        tables = (table for row in self.kinds for table in (row.channels, *row.roles.values()))
        return frozenset(channel for table in tables for channel, cell in table.items() if cell.is_chosen)
