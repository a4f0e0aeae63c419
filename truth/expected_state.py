"""Catalogue as a script makes it: entities, people, lineage and threads after each step.

Written from ``docs/`` and the seeds alone; it shares no code with Tocsin. Next: ``truth/expected.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatchmethod

from truth.change_requests import ChangeRequests
from truth.following import Following
from truth.history import Json, Key
from truth.job_events import JobEvent
from truth.steps import (
    BULK,
    PUT,
    Acknowledge,
    Announce,
    Answer,
    Choose,
    DropAlert,
    Edge,
    EditPost,
    EndTask,
    Follow,
    Make,
    MakeMany,
    Members,
    MoveTeam,
    MuteAlert,
    MuteAsset,
    MuteBroadly,
    Post,
    Prefer,
    Principal,
    Reassign,
    Remove,
    RemoveUser,
    RenameTag,
    RenameTeam,
    Report,
    Restore,
    SetAlert,
    StartThread,
    Step,
    SwitchAlert,
    TeamFollow,
    Wait,
    Withdraw,
)
from truth.steps import Change as ChangeStep
from truth.suite_runs import SuiteRuns
from truth.values import differs, is_bot

ABOVE = {
    "database": "databaseService",
    "databaseSchema": "database",
    "table": "databaseSchema",
    "storedProcedure": "databaseSchema",
    "pipeline": "pipelineService",
    "testCase": "table",
    "testSuite": "table",
}
"""Type of the container of each type that has one."""

ASSETS = frozenset({*ABOVE, *ABOVE.values()})
"""Types of assets: what their owners and tags are followed for."""


@dataclass
class Entity:
    """What is known of an entity: its document by keys, who follows it, whether it is soft-deleted.

    ``of_people`` are the keys that a person wrote last.
    """

    document: Json
    followers: set[str] = field(default_factory=set)
    is_deleted: bool = False
    of_people: set[str] = field(default_factory=set)

    def write(self, actor: str, values: Json) -> None:
        """Set values; None removes a key."""
        for key in [key for key, value in values.items() if differs(key, self.document.get(key), value)]:
            self.of_people.discard(key) if is_bot(actor) else self.of_people.add(key)
        self.document.update(values)
        for key in [key for key, value in self.document.items() if value is None]:
            del self.document[key]


@dataclass
class Thread:
    """A thread and whoever has to do with it; ``earlier`` took part before its last event."""

    about: Key
    kind: str
    author: str
    assignees: tuple[Principal, ...]
    participants: set[Principal] = field(default_factory=set)
    earlier: frozenset[Principal] = frozenset()
    mentioned: tuple[Principal, ...] = ()
    posts: dict[str, set[Principal]] = field(default_factory=dict)
    is_over: bool = False


class ExpectedState:
    """Everything that decides who is notified, as of the last step."""

    def __init__(self) -> None:
        self.entities: dict[Key, Entity] = {}
        self.downstream: dict[Key, set[Key]] = defaultdict(set)
        self.upstream: dict[Key, set[Key]] = defaultdict(set)
        self.threads: dict[str, Thread] = {}
        self.teams_below: dict[str, list[str]] = defaultdict(list)
        self.reports: dict[Key, list[str]] = defaultdict(list)
        self.day = 0
        """Days since the replay began."""
        self.since_days: dict[Key, int] = {}
        """The day of the last success of each test, or of its first report if it has had none."""
        self.job_events: dict[Key, JobEvent] = {}
        """What jobs must have made in the wait that goes on, by type of event and FQN."""
        self.acknowledged: set[Key] = set()
        """Tests whose incident somebody has acknowledged, until their next success."""
        self.suite_runs = SuiteRuns()
        self.requests = ChangeRequests()
        self.gone: set[str] = set()
        """People who were deleted, softly or for good."""
        self.removed_people: set[str] = set()
        """Those who were by now; a pipeline that starts at the end finds all of them ``gone``."""
        self.left: dict[Key, list[Key]] = {}
        """The domains, tags and owners that an entity had before the event that is judged."""
        self.renamed: dict[str, str] = {}
        """The names that teams have now, by those that they had."""
        self.mutes: set[tuple[str, Key | str, str]] = set()
        """Who mutes which asset (key) or alert (name), on which channel."""
        self.broad_mutes: list[MuteBroadly] = []
        self.following = Following()

    def __contains__(self, key: Key) -> bool:
        return key in self.entities

    def live(self, entity_type: str) -> list[Key]:
        """Return all entities of a type that are not deleted, in the order of their making."""
        return [key for key, one in self.entities.items() if key[0] == entity_type and not one.is_deleted]

    def all_live(self) -> set[Key]:
        """Return all entities that are not deleted."""
        return {key for key, one in self.entities.items() if not one.is_deleted}

    def document(self, key: Key) -> Json:
        """Return an entity's document, empty if it is not there."""
        return self.entities[key].document if key in self.entities else {}

    def containers(self, key: Key) -> Iterator[Key]:
        """Yield what an entity lies in, the nearest first."""
        entity_type, fqn = key
        if entity_type == "testCase":
            yield from ((table := self.table_of(key)), *self.containers(table))
            return
        while entity_type in ABOVE:
            entity_type, fqn = ABOVE[entity_type], fqn.rpartition(".")[0]
            yield entity_type, fqn

    def followable_around(self, key: Key) -> list[Key]:
        """Return what an entity lies in, its domains, tags and owners; people only if somebody has followed them.

        A table is left out, whose tests its followers hear of anyway.
        """
        governance = [*self.governance_of(key), *self.left.get(key, ())]
        around = [*(one for one in self.containers(key) if one[0] != "table"), *dict.fromkeys(governance)]
        return [one for one in around if one in self.entities]

    def governance_of(self, key: Key) -> list[Key]:
        """Return the domains, tags and owners of an entity; of a test none but what its table has."""
        if key[0] not in ASSETS:
            return []
        labels = [("tag", one) for one in sorted(self.tags(key))]
        return [*self.principals_of(key, "domains"), *labels, *self.principals_of(key, "owners")]

    def table_of(self, test: Key) -> Key:
        """Return the table of a test case; another writer tests columns as well."""
        place = test[1].rpartition(".")[0]
        around = ("table", place.rpartition(".")[0])
        return around if around in self.entities else ("table", place)

    def suite_of(self, test: Key) -> Key:
        """Return the suite of a test's table."""
        return "testSuite", f"{self.table_of(test)[1]}.testSuite"

    def tests_beside(self, test: Key) -> list[Key]:
        """Return the tests of a test's table that are not deleted."""
        return [one for one in self.live("testCase") if self.table_of(one) == self.table_of(test)]

    def principals_of(self, key: Key, field_name: str) -> list[Principal]:
        """Return an entity's owners or domains: its own, else those of the nearest container with some."""
        for holder in (key, *self.containers(key)):
            if references := self.document(holder).get(field_name):
                return [(reference["type"], reference["name"]) for reference in references]
        return []

    def below(self, key: Key) -> list[Key]:
        """Return all entities inside of one."""
        return [one for one in self.entities if key in self.containers(one)]

    def tags(self, key: Key) -> set[str]:
        """Return the tags of an entity and its columns."""
        document = self.document(key)
        labels = [
            *document.get("tags", ()),
            *(one for column in document.get("columns", ()) for one in _labels(column)),
        ]
        return {one["tagFQN"] for one in labels}

    def reach(self, key: Key, depth: int) -> dict[Key, int]:
        """Return what lies downstream of an entity within so many hops, itself included, with its least distance."""
        hops_by_key, frontier = {key: 0}, [key]
        for hops in range(1, depth + 1):
            frontier = [
                key_below
                for node in frontier
                for key_below in sorted(self.downstream.get(node, ()))
                if key_below not in hops_by_key
            ]
            if not frontier:
                break
            hops_by_key |= dict.fromkeys(frontier, hops)
        return hops_by_key

    def people(self, team: str, visited: frozenset[str] = frozenset()) -> set[str]:
        """Return the people of a team and of all teams below it."""
        document = self.document(("team", team))
        names = {one["name"] for one in document.get("users", ())}
        for below in self.teams_below[team]:
            if below not in visited:
                names |= self.people(below, visited | {team})
        return names

    def note(self, event_type: str, key: Key, *, ends: tuple[Key, ...] = (), is_gone: bool = False) -> None:
        """Take note of what another writer made: an entity, or the ends of an edge that is there or is gone."""
        if event_type == "entityCreated":
            self.entities.setdefault(key, Entity({}))
        for source, product in zip(ends[::2], ends[1::2], strict=True):
            for relation, from_key, to_key in ((self.downstream, source, product), (self.upstream, product, source)):
                relation[from_key].discard(to_key) if is_gone else relation[from_key].add(to_key)

    def values_written_by(self, step: ChangeStep) -> Json:
        """Return the values that a step sets: a bot's PUT, alone or in bulk, leaves those that a person wrote last."""
        entity = self.entities.get(step.key)
        if entity is None or step.by not in (PUT, BULK) or not is_bot(step.actor):
            return step.values
        kept_fields = {key for key in entity.of_people if entity.document.get(key)}
        return {key: value for key, value in step.values.items() if key not in kept_fields}

    @singledispatchmethod
    def apply(self, step: Step) -> None:
        """Do what a step does to the catalogue; what alerts say is in ``truth/alert_list.py``."""
        raise TypeError(step)

    @apply.register
    def _make(self, step: Make) -> None:
        self.entities[step.key] = entity = Entity({})
        entity.write(step.actor, step.document)
        if step.key[0] == "team":
            for above in step.document.get("parents", ()):
                self.teams_below[above["name"]].append(step.key[1])
        if step.key[0] == "testCase":
            suite = ("testSuite", f"{step.key[1].rpartition('.')[0]}.testSuite")
            self.entities.setdefault(suite, Entity({}))

    @apply.register
    def _make_many(self, step: MakeMany) -> None:
        for make in step.makes:
            self._make(make)

    @apply.register
    def _change(self, step: ChangeStep) -> None:
        self.entities[step.key].write(step.actor, self.values_written_by(step))

    def end_column_follows(self, key: Key) -> None:
        """End the follows of columns that a table has no more: the event by which they go is the last that is told."""
        names = {one["name"] for one in self.document(key).get("columns", ())}
        self.following.keep_columns(key, names)

    @apply.register
    def _remove(self, step: Remove) -> None:
        removed = {step.key, *self.below(step.key)}
        self.requests.delete(removed, is_hard=step.is_hard, day=self.day)
        for key in removed:
            self.entities[key].is_deleted = True
            if step.is_hard:
                self._forget(key)
        if step.is_hard:
            self.threads = {name: one for name, one in self.threads.items() if one.about not in removed}

    def _forget(self, key: Key) -> None:
        del self.entities[key]
        for source in self.upstream.pop(key, set()):
            self.downstream[source].discard(key)
        for product in self.downstream.pop(key, set()):
            self.upstream[product].discard(key)
        self.reports.pop(key, None)
        self.since_days.pop(key, None)
        self.acknowledged.discard(key)
        self.suite_runs.forget(key)
        self.mutes = {one for one in self.mutes if one[1] != key}
        self.following.forget(key)

    @apply.register
    def _restore(self, step: Restore) -> None:
        for key in (step.key, *self.below(step.key)):
            self.entities[key].is_deleted = False

    @apply.register
    def _follow(self, step: Follow) -> None:
        followers = self.entities.setdefault(step.key, Entity({})).followers
        is_by_team = step.begins and not step.column and bool(self.following.teams.get(step.key))
        if self.following.has_choices(step) and not is_by_team:
            self.following.end_choices(step)
        if step.column:
            self.following.follow_column(step)
            return
        followers.add(step.user) if step.begins else followers.discard(step.user)
        if not step.begins and step.user in self.default_followers(step.key):
            self.following.refuse(step.key, step.user)

    def default_followers(self, key: Key) -> dict[str, str]:
        """Return who follows an asset as a member of a team and has not refused it, with that team."""
        teams = {person: team for team in sorted(self.following.teams.get(key, ())) for person in self.people(team)}
        return {person: team for person, team in teams.items() if (key, person) not in self.following.refusals}

    @apply.register
    def _choose(self, step: Choose) -> None:
        self.following.choose(step)

    @apply.register
    def _team_follow(self, step: TeamFollow) -> None:
        self.following.follow_by_team(step)

    @apply.register
    def _edge(self, step: Edge) -> None:
        for relation, from_key, to_key in (
            (self.downstream, step.source, step.product),
            (self.upstream, step.product, step.source),
        ):
            relation[from_key].add(to_key) if step.is_there else relation[from_key].discard(to_key)

    @apply.register
    def _members(self, step: Members) -> None:
        users = [{"type": "user", "name": one} for one in step.users]
        self.entities["team", step.team].document["users"] = users

    @apply.register
    def _rename_tag(self, step: RenameTag) -> None:
        self.entities["tag", step.new_fqn] = self.entities.pop(("tag", step.tag))
        for key in self.entities_with(step.tag):
            labels = self.entities[key].document["tags"]
            names = [step.new_fqn if one["tagFQN"] == step.tag else one["tagFQN"] for one in labels]
            self.entities[key].document["tags"] = [{"tagFQN": one} for one in names]

    def entities_with(self, tag: str) -> list[Key]:
        """Return the entities that carry a tag themselves."""
        return [
            key
            for key, entity in self.entities.items()
            if any(label["tagFQN"] == tag for label in entity.document.get("tags", ()))
        ]

    @apply.register
    def _move_team(self, step: MoveTeam) -> None:
        document = self.entities["team", step.team].document
        for above in document["parents"]:
            self.teams_below[above["name"]].remove(step.team)
        document["parents"] = [{"type": "team", "name": step.above}]
        self.teams_below[step.above].append(step.team)

    @apply.register
    def _rename_team(self, step: RenameTeam) -> None:
        old, new = ("team", step.team), ("team", step.name)
        self.renamed[step.team] = step.name
        self.entities[new] = self.entities.pop(old)
        self.teams_below[step.name] = self.teams_below.pop(step.team, [])
        for below in self.teams_below.values():
            below[:] = [step.name if one == step.team else one for one in below]
        for entity in self.entities.values():
            for name in ("owners", "parents"):
                if name in entity.document:
                    entity.document[name] = [
                        _rename_reference(reference, old, new) for reference in entity.document[name]
                    ]
        for thread in self.threads.values():
            thread.assignees = tuple(new if one == old else one for one in thread.assignees)
            thread.mentioned = tuple(new if one == old else one for one in thread.mentioned)
            thread.participants = {new if one == old else one for one in thread.participants}

    @apply.register
    def _remove_user(self, step: RemoveUser) -> None:
        self.gone.add(step.user)
        self.removed_people.add(step.user)
        if not step.is_hard:
            return
        for key in self.keys_naming(step.user):
            entity = self.entities[key]
            entity.followers.discard(step.user)
            for name in ("owners", "users"):
                remaining = [reference for reference in entity.document.get(name, ()) if reference["name"] != step.user]
                entity.write(step.actor, {name: remaining or None})
        self.mutes = {one for one in self.mutes if one[0] != step.user}
        self.following.forget_person(step.user)

    def keys_naming(self, user: str) -> list[Key]:
        """Return the entities that somebody owns, follows or belongs to."""
        return [
            key
            for key, entity in self.entities.items()
            if user in entity.followers
            or any(
                reference["name"] == user and reference["type"] == "user"
                for name in ("owners", "users")
                for reference in entity.document.get(name, ())
            )
        ]

    @apply.register
    def _prefer(self, _step: Prefer) -> None:
        """Do nothing: preferences decide when, not whether (``truth/frequencies.py``)."""

    @apply.register
    def _mute_asset(self, step: MuteAsset) -> None:
        self.mutes.add((step.user, step.key, step.channel))

    @apply.register
    def _mute_alert(self, step: MuteAlert) -> None:
        self.mutes.add((step.user, step.alert, ""))

    @apply.register
    def _mute_broadly(self, step: MuteBroadly) -> None:
        self.broad_mutes.append(step)

    def begin_notice(self, user: str) -> None:
        """Begin the thread of the product that mentions a person."""
        mentioned: Principal = ("user", user)
        self.threads[notice_of(user)] = Thread(mentioned, "Conversation", "system", (), mentioned=(mentioned,))

    @apply.register
    def _start_thread(self, step: StartThread) -> None:
        people = {("user", step.actor), *step.mentions}
        self.threads[step.thread] = Thread(
            step.key, step.kind, step.actor, step.assignees, participants=people, mentioned=step.mentions
        )

    @apply.register
    def _post(self, step: Post) -> None:
        thread = self.threads[step.thread]
        thread.earlier = frozenset(thread.participants)
        thread.participants |= {("user", step.actor), *step.mentions}
        thread.mentioned = step.mentions
        thread.posts[step.actor] = set(step.mentions)

    @apply.register
    def _edit_post(self, step: EditPost) -> None:
        thread = self.threads[step.thread]
        thread.earlier = frozenset(thread.participants)
        thread.mentioned = tuple(one for one in step.mentions if one not in thread.posts[step.actor])
        thread.participants |= set(step.mentions)
        thread.posts[step.actor] |= set(step.mentions)

    @apply.register
    def _reassign(self, step: Reassign) -> None:
        thread = self.threads[step.thread]
        thread.earlier = frozenset(thread.participants)
        thread.mentioned, thread.assignees = (), step.assignees

    @apply.register
    def _end_task(self, step: EndTask) -> None:
        thread = self.threads[step.thread]
        thread.earlier = frozenset(thread.participants)
        thread.participants.add(("user", step.actor))
        thread.mentioned, thread.is_over = (), True
        if step.description is not None:
            self.entities[thread.about].document["description"] = step.description

    @apply.register
    def _report(self, step: Report) -> None:
        self.note_report(step.key, step.status)
        self.suite_runs.report(self.suite_of(step.key), self.tests_beside(step.key), step.key)

    def note_report(self, test: Key, status: str) -> None:
        """Take note of a result of a test."""
        self.reports[test].append(status)
        if status == "Success":
            self.since_days[test] = self.day
            self.acknowledged.discard(test)
        self.since_days.setdefault(test, self.day)

    @apply.register
    def _acknowledge(self, step: Acknowledge) -> None:
        self.acknowledged.add(step.key)

    @apply.register
    def _wait(self, step: Wait) -> None:
        self.day = step.days
        self.requests.pass_time(step.days, self.all_live())

    @apply.register
    def _announce(self, step: Announce) -> None:
        downstream = [key for key, hops in self.reach(step.key, len(self.entities)).items() if hops]
        followers = {one for one in self.entities[step.key].followers if not is_bot(one)}
        self.requests.announce(step, downstream, followers - self.removed_people)

    @apply.register
    def _answer(self, step: Answer) -> None:
        self.requests.answer(step, self.consumers_of(step.request, step.actor))

    def consumers_of(self, request: str, user: str) -> list[Key]:
        """Return the consumers of a change request that somebody answers for."""
        consumers = self.requests.by_name[request].consumers
        return [one for one in consumers if any(user in self.people_of(owner) for owner in self.owners_of(one))]

    def owners_of(self, consumer: Key) -> list[Principal]:
        """Return who answers for a consumer: the owners of an asset, a person for themselves."""
        return [consumer] if consumer[0] == "user" else self.principals_of(consumer, "owners")

    def people_of(self, principal: Principal) -> set[str]:
        """Return a person, or the people of a team."""
        return {principal[1]} if principal[0] == "user" else self.people(principal[1])

    @apply.register
    def _withdraw(self, step: Withdraw) -> None:
        self.requests.withdraw(step)

    @apply.register
    def _set_alert(self, step: SetAlert) -> None:
        self.entities["eventsubscription", step.alert] = Entity(dict(step.definition))

    @apply.register
    def _switch_alert(self, step: SwitchAlert) -> None:
        self.entities["eventsubscription", step.alert].document["enabled"] = step.enabled

    @apply.register
    def _drop_alert(self, step: DropAlert) -> None:
        del self.entities["eventsubscription", step.alert]


def notice_of(user: str) -> str:
    """Return the name of the thread that tells a person of their mutes."""
    return f"mutes of {user}"


def _labels(column: Json) -> Iterator[Json]:
    yield from column.get("tags", ())
    for child in column.get("children", ()):
        yield from _labels(child)


def _rename_reference(reference: Json, old: Key, new: Key) -> Json:
    return {**reference, "name": new[1]} if (reference["type"], reference["name"]) == old else reference
