"""Steps of a replay: each is one call to the API that a script makes, by names and not by ids.

``truth/calls.py`` sends them, ``truth/expected_state.py`` follows what they do to the catalogue.
Next: ``truth/script.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from truth.history import Json, Key

ADMIN = "admin"
"""The administrator of the first start."""

PATCH, PUT, BULK, SHEET = "patch", "put", "bulk", "sheet"
"""Ways to write the same change."""

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

    @property
    def told_as_one(self) -> list[Key]:
        """The schemas of which it makes at least ten tables: each has an event that is told in place of theirs."""
        schemas = Counter(("databaseSchema", make.key[1].rpartition(".")[0]) for make in self.makes)
        return [schema for schema, count in schemas.items() if count >= 10]


@dataclass(frozen=True)
class Change:
    """Set keys of an entity's document, or remove those whose value is None.

    ``by`` is how: a PATCH, a PUT of the whole, a row of a bulk request or of a CSV sheet; only a PATCH removes keys.
    ``columns`` are those of a table, which a PUT repeats.
    """

    actor: str
    key: Key
    values: Json
    by: str = PATCH
    columns: tuple[Json, ...] = ()


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
    """Let somebody follow an asset, or one column of it, or no longer.

    ``settles``: something is chosen for this follow that ends with it, so the pipeline must have seen what was before.
    """

    actor: str
    user: str
    key: Key
    begins: bool
    column: str = ""
    settles: bool = False


@dataclass(frozen=True)
class Choose:
    """Choose what one follow of somebody tells of (``docs/follows.md``)."""

    user: str
    key: Key
    column: str
    choices: Json


@dataclass(frozen=True)
class TeamFollow:
    """Let the members of a team follow an asset by default, or no longer."""

    actor: str
    team: str
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
    def new_fqn(self) -> str:
        """FQN that the tag has then."""
        return f"{self.tag.partition('.')[0]}.{self.name}"


@dataclass(frozen=True)
class MoveTeam:
    """Put a team under another one."""

    actor: str
    team: str
    above: str


@dataclass(frozen=True)
class RenameTeam:
    """Give a team another name; whatever refers to it shows the new one."""

    actor: str
    team: str
    name: str


@dataclass(frozen=True)
class RemoveUser:
    """Delete a person, softly or for good."""

    actor: str
    user: str
    is_hard: bool


@dataclass(frozen=True)
class Prefer:
    """Set the notification preferences of somebody (``docs/schedules.md``)."""

    user: str
    preferences: Json


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
class MuteBroadly:
    """Mute what a person changes for somebody, or everything if that is empty, for so many days from the start."""

    user: str
    author: str
    days: int


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
class EditPost:
    """Mention others in one's latest post of a thread, too."""

    actor: str
    thread: str
    mentions: tuple[Principal, ...]


@dataclass(frozen=True)
class Reassign:
    """Give a task other assignees."""

    actor: str
    thread: str
    assignees: tuple[Principal, ...]


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
class Announce:
    """Announce that an asset will be removed or deprecated, long after the replay; ``request`` is ``CR-<number>``."""

    actor: str
    request: str
    key: Key
    kind: str


@dataclass(frozen=True)
class Answer:
    """Answer a change request for every consumer that one answers for."""

    actor: str
    request: str
    verdict: str


@dataclass(frozen=True)
class Withdraw:
    """Withdraw a change request."""

    actor: str
    request: str


@dataclass(frozen=True)
class Acknowledge:
    """Acknowledge the incident of a test case."""

    actor: str
    key: Key


@dataclass(frozen=True)
class Wait:
    """Let time pass until so many days after the replay began, and jobs do what they do then."""

    days: int


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
    | Choose
    | TeamFollow
    | Edge
    | Members
    | RenameTag
    | MoveTeam
    | RenameTeam
    | RemoveUser
    | Prefer
    | MuteAsset
    | MuteAlert
    | MuteBroadly
    | StartThread
    | Post
    | EditPost
    | Reassign
    | EndTask
    | Report
    | Announce
    | Answer
    | Withdraw
    | Acknowledge
    | Wait
    | SetAlert
    | SwitchAlert
    | DropAlert
)

NEEDS_INCIDENTS = (Acknowledge, Wait)
"""Steps that build on what the pipeline has made of all events before, in every way of running it."""

_NEEDS_PIPELINE = (SwitchAlert, DropAlert, RemoveUser, Choose, *NEEDS_INCIDENTS)


def needs_pipeline(step: Step) -> bool:
    """Say whether a step counts from the moment when the pipeline sees it, which must have processed all before."""
    return isinstance(step, _NEEDS_PIPELINE) or (isinstance(step, Follow) and step.settles)
