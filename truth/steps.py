"""Steps of a replay: each is one call to the API that a script makes, by names and not by ids.

``truth/calls.py`` sends them, ``truth/world.py`` follows what they do to the catalogue. Next: ``truth/script.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from truth.history import Json, Key

ADMIN = "admin"
"""The administrator of the first start."""

Principal = tuple[str, str]
"""``user`` or ``team``, and a name."""


@dataclass(frozen=True)
class Make:
    """Create an entity from a request; ``key`` is what it will be."""

    actor: str
    key: Key
    document: Json


@dataclass(frozen=True)
class MakeMany:
    """Create several entities of one type in one bulk request."""

    actor: str
    makes: tuple[Make, ...]


@dataclass(frozen=True)
class Change:
    """Set keys of an entity's document, or remove those whose value is None."""

    actor: str
    key: Key
    values: Json


@dataclass(frozen=True)
class Remove:
    """Delete an entity with all below it, for good or softly."""

    actor: str
    key: Key
    is_hard: bool


@dataclass(frozen=True)
class Restore:
    """Restore a soft-deleted entity."""

    actor: str
    key: Key


@dataclass(frozen=True)
class Follow:
    """Let somebody follow an asset, or no longer."""

    actor: str
    user: str
    key: Key
    begins: bool


@dataclass(frozen=True)
class Edge:
    """Add a lineage edge, or remove it."""

    actor: str
    source: Key
    product: Key
    is_there: bool


@dataclass(frozen=True)
class Members:
    """Replace the members of a group."""

    actor: str
    team: str
    users: tuple[str, ...]


@dataclass(frozen=True)
class RenameTag:
    """Give a tag another name; it has the new one wherever it is."""

    actor: str
    tag: str
    name: str

    @property
    def renamed(self) -> str:
        """FQN that the tag has then."""
        return f"{self.tag.partition('.')[0]}.{self.name}"


@dataclass(frozen=True)
class MoveTeam:
    """Put a team under another one."""

    actor: str
    team: str
    above: str


@dataclass(frozen=True)
class MuteAsset:
    """Mute an asset for somebody, on one channel or, if that is empty, on all."""

    user: str
    key: Key
    channel: str


@dataclass(frozen=True)
class MuteAlert:
    """Mute an alert for somebody on all channels."""

    user: str
    alert: str


@dataclass(frozen=True)
class StartThread:
    """Start a thread about an asset; tasks have assignees, other threads mentions."""

    actor: str
    thread: str
    key: Key
    kind: str
    mentions: tuple[Principal, ...] = ()
    assignees: tuple[Principal, ...] = ()


@dataclass(frozen=True)
class Post:
    """Answer in a thread."""

    actor: str
    thread: str
    mentions: tuple[Principal, ...] = ()


@dataclass(frozen=True)
class EndTask:
    """Resolve a task with a description, or close it where there is none."""

    actor: str
    thread: str
    description: str | None


@dataclass(frozen=True)
class Report:
    """Report a result of a test case, of now."""

    actor: str
    key: Key
    status: str


@dataclass(frozen=True)
class SetAlert:
    """Create an alert, or replace its rules and destinations."""

    actor: str
    alert: str
    definition: Json


@dataclass(frozen=True)
class SwitchAlert:
    """Disable or enable an alert."""

    actor: str
    alert: str
    enabled: bool


@dataclass(frozen=True)
class DropAlert:
    """Delete an alert."""

    actor: str
    alert: str


Step = (
    Make
    | MakeMany
    | Change
    | Remove
    | Restore
    | Follow
    | Edge
    | Members
    | RenameTag
    | MoveTeam
    | MuteAsset
    | MuteAlert
    | StartThread
    | Post
    | EndTask
    | Report
    | SetAlert
    | SwitchAlert
    | DropAlert
)

NEEDS_PIPELINE = (SwitchAlert, DropAlert)
"""Steps that count from the moment when the pipeline sees them: it must have processed all events before."""
