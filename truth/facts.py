"""Facts of one event that conditions ask for, taken from the API's answer and the script's catalogue.

Next: ``truth/alerts.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from truth.expected_state import ExpectedState, notice_of
from truth.history import Json, Key
from truth.job_events import REMINDER, JobEvent
from truth.steps import (
    Announce,
    Answer,
    EditPost,
    EndTask,
    Post,
    Principal,
    Reassign,
    Report,
    StartThread,
    Step,
    Wait,
    Withdraw,
)


@dataclass(frozen=True)
class Event:
    """A change event as the API returns it, without the entity's document.

    ``paths`` holds the names of added, updated and deleted fields; ``ends`` the ends of a lineage edge,
    ``status`` that of a test's result, ``dated_ms`` the time that a result or run is about.
    ``request`` is the change request that it tells of, with its status and number of open answers;
    ``announcements`` are the requests that a change was compared with, each with the outcome.
    ``reminder`` is the number of a reminder of an incident, and of how many alerts it is. ``columns`` are those of the
    asset that it is about; None for all of them.
    """

    id: str
    event_type: str
    key: Key
    entity_id: str
    actor: str
    timestamp_ms: int
    added: frozenset[str]
    updated: frozenset[str]
    deleted: frozenset[str]
    ends: tuple[Key, ...] = ()
    status: str = ""
    dated_ms: int | None = None
    request: tuple[str, str, int] | None = None
    announcements: frozenset[tuple[str, str]] = frozenset()
    reminder: tuple[int, int] | None = None
    columns: frozenset[str] | None = frozenset()

    @property
    def paths(self) -> frozenset[str]:
        """Every changed path."""
        return self.added | self.updated | self.deleted


@dataclass(frozen=True)
class Facts:
    """What is true of one event.

    ``earlier`` holds the results that the test case reported before, ``asset`` what a thread is about,
    ``asked_principals`` whom an event of a change request asks, ``reminding`` the alerts that remind of an incident,
    ``states`` what a check finds of the asset.
    """

    event: Event
    asset: Key
    is_bot: bool = False
    tags: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    test_status: str = ""
    earlier: tuple[str, ...] = ()
    thread: str = ""
    thread_type: str = ""
    mentions: tuple[Principal, ...] = ()
    asked_principals: tuple[Principal, ...] = ()
    reminding: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()

    @property
    def event_type(self) -> str:
        """Type of the event."""
        return self.event.event_type

    @property
    def entity_type(self) -> str:
        """Type of the changed entity."""
        return self.event.key[0]

    @property
    def fqn(self) -> str:
        """FQN of the asset."""
        return self.asset[1]

    @property
    def is_announced(self) -> bool:
        """Whether requests announced the change, early or despite an objection, and nothing else."""
        outcomes = {outcome for _, outcome in self.event.announcements}
        return bool(outcomes) and "otherwise" not in outcomes

    def has_changed(self, field_name: str) -> bool:
        """Say whether a field changed, or one below it."""
        return any(path == field_name or path.startswith(f"{field_name}.") for path in self.event.paths)

    def has_changed_only(self, *field_names: str) -> bool:
        """Say whether fields changed, each of them one of these or below one."""
        return bool(self.event.paths) and {path.partition(".")[0] for path in self.event.paths} <= set(field_names)


def event_of(answer: Json) -> Event:
    """Return the event that the API answers."""
    change = answer.get("changeDescription") or {}
    added_fields, updated_fields, deleted_fields = (
        change.get(f"fields{kind}") or [] for kind in ("Added", "Updated", "Deleted")
    )
    edges = [
        value
        for field in (*added_fields, *updated_fields, *deleted_fields)
        if field["name"] == "lineage"
        for value in _values(field)
    ]
    reports = [
        _new(field)
        for field in (*added_fields, *updated_fields)
        if field["name"] in ("testCaseResult", "pipelineStatus")
    ]
    reminders = [_new(one) for one in (*added_fields, *updated_fields) if one["name"] == REMINDER]
    requests = [_new(one) for one in (*added_fields, *updated_fields) if one["name"] == "changeRequest"]
    return Event(
        id=answer["id"],
        event_type=answer["eventType"],
        key=(answer["entityType"], answer["entityFullyQualifiedName"]),
        entity_id=answer["entityId"],
        actor=answer["userName"],
        timestamp_ms=answer["timestamp"],
        added=_names(added_fields),
        updated=_names(updated_fields),
        deleted=_names(deleted_fields),
        status=str(next((one["testCaseStatus"] for one in reports if "testCaseStatus" in one), "")),
        dated_ms=next((int(one["timestamp"]) for one in reports), None),
        request=next(((one["name"], one["status"], one["openAnswers"]) for one in requests), None),
        announcements=frozenset((one["request"], one["outcome"]) for one in answer.get("announcements") or ()),
        reminder=next(((one["number"], len(one["alerts"])) for one in reminders), None),
        ends=tuple((end["type"], end["fullyQualifiedName"]) for edge in edges for end in _ends(edge)),
        columns=_columns(answer["eventType"], [*added_fields, *updated_fields, *deleted_fields]),
    )


def facts_of(event: Event, step: Step | None, world: ExpectedState, bots: frozenset[str]) -> Facts:
    """Return the facts of an event that a step made; ``world`` is the catalogue at the event's place.

    Without a step it is the event of another writer, of which the world has taken note.
    """
    thread = ""
    if event.key[0] == "thread" and isinstance(step, StartThread | Post | EditPost | Reassign | EndTask):
        thread = step.thread
    if event.key[0] == "thread" and isinstance(step, Wait):
        thread = notice_of(event.key[1])
    by_job = world.job_events.get((event.event_type, event.key[1])) if isinstance(step, Wait) else None
    known_thread = world.threads.get(thread)
    asset = known_thread.about if known_thread else event.key
    is_report = (isinstance(step, Report) and event.key == step.key) or (step is None and event.status != "")
    reports = tuple(world.reports.get(event.key, ())) if is_report else ()
    return Facts(
        event=event,
        asset=asset,
        is_bot=event.actor in bots,
        tags=frozenset(world.tags(asset)),
        owners=frozenset(name for _, name in world.principals_of(asset, "owners")),
        domains=frozenset(name for _, name in world.principals_of(asset, "domains")),
        test_status=reports[-1] if reports else "",
        earlier=reports[:-1],
        thread=thread,
        thread_type=known_thread.kind if known_thread else "",
        mentions=known_thread.mentioned if known_thread else (),
        asked_principals=_principals_asked(step, world, by_job),
        reminding=by_job.reminding if by_job else frozenset(),
        states=by_job.states if by_job else frozenset(),
    )


def _principals_asked(step: Step | None, world: ExpectedState, by_job: JobEvent | None) -> tuple[Principal, ...]:
    if isinstance(step, Announce | Answer | Withdraw):
        return world.requests.principals_asked_by(step, world.owners_of)
    return by_job.asked_principals if by_job else ()


def _columns(event_type: str, fields: list[Json]) -> frozenset[str] | None:
    """Return the columns that an event changes; None for one of the life of the asset, which concerns all."""
    if event_type in ("entityDeleted", "entitySoftDeleted", "entityRestored"):
        return None
    names = {one["name"].split(".")[1] for one in fields if one["name"].startswith("columns.")}
    lists = [one.get(key) for one in fields if one["name"] == "columns" for key in ("oldValue", "newValue")]
    return frozenset(names | {column["name"] for some in lists for column in some or ()})


def _values(change: Json) -> list[Json]:
    return [value for key in ("oldValue", "newValue") if isinstance(value := change.get(key), dict)]


def _new(change: Json) -> Json:
    """Return the new value of a change that holds an object."""
    value: Json = change["newValue"]
    return value


def _ends(edge: Json) -> list[Json]:
    return [end for side in ("fromEntity", "toEntity") if isinstance(end := edge.get(side), dict)]


def _names(changes: list[Json]) -> frozenset[str]:
    return frozenset(one["name"] for one in changes)
