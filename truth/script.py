"""Script of a replay: the history's commits and, between them, what no public history has, by a seed.

Added are followers of assets and of what contains them, who come and go, people who change teams, owners who change a
second later, containers with owners, hidden assets, deletions, threads, tests, mutes, and alerts that come and go.
Where the ways of running the pipeline may differ by design, the script keeps apart what would differ
(``docs/truth.md``). Next: ``truth/ways.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from truth.alert_list import alerts, midway
from truth.alerts import CRITICAL, Alert, AlertPeople
from truth.epilogue import epilogue
from truth.expected_state import ExpectedState
from truth.history import Commit, EdgeChange, History, Json, Key, State
from truth.kinds import random_choices, random_preferences
from truth.steps import (
    ADMIN,
    BULK,
    PUT,
    SHEET,
    Announce,
    Answer,
    Change,
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
    Withdraw,
)
from truth.values import is_bot

READERS = tuple(f"reader_{number}" for number in range(1, 7))
"""People who may not see everything and change nothing."""

BOT = "bot_901"
"""A bot that reports results and is never notified; bots cannot follow."""

OTHER = "bot_client"
"""The bot that other writers than the script write as (``truth/clients.py``)."""

CAMPAIGN = "Campaign.Spring"
"""Tag that is renamed midway."""

HIDDEN, VAULT = "Hidden.Yes", "Hidden.Vault"
"""Tags of tables that readers may not see: none of them, and none but the owners."""

LEAVERS = ("leaver_1", "leaver_2")
"""People who own and follow assets until they are deleted: the first for good, the second softly."""

GUILD, CIRCLE = "guild", "circle"
"""A team that alerts name, before and after it is renamed."""

NAMES_NOW = {GUILD: CIRCLE}

DIVISION, DEPARTMENT, GROUP, VAULT_GROUP = "Data", "Platform", "core", "vault"
_UNFOLLOWED = frozenset({CAMPAIGN, "Campaign.Summer", GUILD, CIRCLE, *LEAVERS})
"""Tags, teams and people whose name changes, or who go: what a reason calls them then depends on when it is read."""
_CHOOSING = (30, 80)
"""After so many hundredths of the history, people choose what their follows tell of."""
_FOLLOWED = ("table", "pipeline", "databaseSchema", "storedProcedure")


@dataclass(frozen=True)
class Script:
    """A history with everything that is added to it, ready to be sent."""

    history: History
    people: tuple[str, ...]
    writers: tuple[str, ...]
    cast: AlertPeople
    setup: tuple[Step, ...]
    alerts: dict[str, list[Alert]]
    steps: tuple[Step, ...]

    @property
    def preferences(self) -> dict[str, Json]:
        """What people prefer, from before the first event that an alert matches."""
        return {step.user: step.preferences for step in self.setup if isinstance(step, Prefer)}


def script_of(history: History, seed: int) -> Script:
    """Return the script of a history, the same for the same seed."""
    return _Writer(history, Random(seed)).script()


def preferences(cast: AlertPeople) -> dict[str, Json]:
    """Return what some people prefer: digests in quiet hours past midnight, a day of quiet hours, nothing at all."""
    night = {"start": "20:00", "end": "08:00"}
    return {
        cast.first: {"timezone": "Europe/Berlin", "quietHours": night, "digestAt": "21:00", "frequency": "daily"},
        cast.second: {"timezone": "America/New_York", "quietHours": night, "digestAt": "03:30", "frequency": "weekly"},
        cast.reader: {"timezone": "Asia/Kolkata", "quietHours": {"start": "00:01", "end": "00:00"}},
        cast.other_reader: {"frequency": "never"},
        READERS[0]: {"digestAt": "12:00", "frequency": "daily"},
        READERS[1]: {"timezone": "Europe/Berlin", "quietHours": night},
    }


class _Writer:
    """Writes a script while following in a world of its own what the steps so far have done."""

    def __init__(self, history: History, random: Random) -> None:
        self.history, self.random, self.world = history, random, ExpectedState()
        authors = Counter(one.user for one in history.commits if not is_bot(one.user))
        self.writers = tuple(sorted({one.user for one in history.commits}))
        self.people: tuple[str, ...] = (*history.users, *READERS, BOT, *LEAVERS)
        self.teams = (GROUP, GUILD, *history.teams)
        self.cast = self._cast([name for name, _ in authors.most_common(2)])
        self.edges: set[tuple[Key, Key]] = set()
        self.tests: list[Key] = []
        self.thread_count = 0
        self.campaign = CAMPAIGN

    def script(self) -> Script:
        choices = {**dict(random_preferences(self._people_who_choose(), self.random)), **preferences(self.cast)}
        setup = (
            *self._note_steps(self._setup()),
            *self._note_steps(Prefer(*one) for one in choices.items()),
            *self._note_steps(self._chosen_follows(sorted(choices))),
        )
        definitions = {one.name: [one] for one in alerts(self.cast)}
        definitions |= {first.name: [first, second] for first, second in midway(self.cast)}
        steps: list[Step] = [SetAlert(one.maker, one.name, one.definition()) for one in alerts(self.cast)]
        steps += self._note_steps(self._all_steps())
        steps += self._note_steps(epilogue(self.world, self.cast, self._containers))
        people = (*self.history.users, *READERS, BOT, *LEAVERS)
        return Script(self.history, people, (*self.writers, BOT), self.cast, setup, definitions, tuple(steps))

    def _people_who_choose(self) -> Iterator[str]:
        """Yield half of the people."""
        yield from sorted(one for one in self.history.users if not is_bot(one))[::2]

    def _note_steps(self, steps: Iterator[Step]) -> Iterator[Step]:
        for step in steps:
            settles = isinstance(step, Follow) and self.world.following.has_choices(step)
            self.world.apply(step)
            yield replace(step, settles=True) if isinstance(step, Follow) and settles else step

    def _cast(self, authors: list[str]) -> AlertPeople:
        first, second = [*authors, READERS[0], READERS[1]][:2]
        tables = [one.key[1] for commit in self.history.commits for one in commit.states if one.key[0] == "table"]
        datasets = Counter(fqn.rpartition(".")[0] for fqn in tables)
        domain = next(iter(self.history.domains), "none")
        dataset = datasets.most_common(1)[0][0]
        return AlertPeople(first, second, READERS[2], READERS[3], GROUP, DIVISION, domain, dataset, GUILD)

    def _setup(self) -> Iterator[Step]:
        """Yield the steps that make teams, labels and services."""
        yield Make(ADMIN, ("team", "Company"), {"teamType": "BusinessUnit"})
        for name, kind, above in (
            (DIVISION, "Division", "Company"),
            (DEPARTMENT, "Department", DIVISION),
            *((one, "Group", self.random.choice((DIVISION, DEPARTMENT))) for one in self.teams),
        ):
            users = self.random.sample(self.people, self.random.randrange(2, 6)) if kind != "Division" else []
            yield self._team(name, kind, above, users)
        yield self._team(VAULT_GROUP, "Group", "Company", [READERS[1], self.cast.second])
        for name in sorted({self.cast.domain, *self.history.domains}):
            yield Make(ADMIN, ("domain", name), {})
        tags = sorted({HIDDEN, VAULT, CAMPAIGN, CRITICAL, *self.history.tags, "impact.tier_1"})
        for name in sorted({tag.partition(".")[0] for tag in tags} - {"Tier", "PII", "Certification", "PersonalData"}):
            yield Make(ADMIN, ("classification", name), {})
        for tag in tags:
            yield Make(ADMIN, ("tag", tag), {})
        owner = {"owners": [{"type": "team", "name": DEPARTMENT}]}
        yield Make(ADMIN, ("databaseService", "bigquery"), {"serviceType": "BigQuery", **owner})
        yield Make(ADMIN, ("pipelineService", "airflow"), {"serviceType": "Airflow"})

    def _team(self, name: str, kind: str, above: str, users: list[str]) -> Make:
        document: Json = {"teamType": kind, "parents": [{"type": "team", "name": above}]}
        if users:
            document["users"] = [{"type": "user", "name": one} for one in sorted(users)]
        return Make(ADMIN, ("team", name), document)

    def _chosen_follows(self, people: list[str]) -> Iterator[Step]:
        """Yield what some people follow from the start that holds or labels or owns assets, and choose for it."""
        types = ("databaseService", "pipelineService", "domain", "tag", "team")
        places = [key for key in self.world.entities if key[0] in types and key[1] not in (*_UNFOLLOWED, HIDDEN, VAULT)]
        places += [("user", one) for one in self.writers if not is_bot(one)]
        for person in (one for one in people if one not in READERS):
            for key in self.random.sample(sorted(places), self.random.randrange(0, 5)):
                if key != ("user", person):
                    yield Follow(ADMIN, person, key, begins=True)
                    yield Choose(person, key, "", random_choices(self.random))

    def _choose_for_follows(self, part: int) -> Iterator[Step]:
        """Yield what half of those choose for their follows who prefer nothing: of nobody does a message wait then."""
        choosing = {*self._people_who_choose(), self.cast.first, self.cast.second}
        people = sorted(one for one in self.history.users if not is_bot(one) and one not in choosing)
        for person in people[_CHOOSING.index(part) :: len(_CHOOSING)]:
            follows = [(key, "") for key in sorted(self.world.all_live()) if self._is_followed_by(person, key)]
            columns = self.world.following.columns
            follows += [(key, name) for key in sorted(columns) for who, name in sorted(columns[key]) if who == person]
            live_follows = [one for one in follows if self._are_there(one[0])]
            for key, column in self.random.sample(live_follows, min(len(live_follows), self.random.randrange(1, 13))):
                yield Choose(person, key, column, random_choices(self.random))

    def _is_followed_by(self, person: str, key: Key) -> bool:
        return person in self.world.entities[key].followers or person in self.world.default_followers(key)

    def _all_steps(self) -> Iterator[Step]:
        """Yield the steps of all commits, and others between them."""
        commits = self.history.commits
        fixed = {max(1, len(commits) * part // 100): part for part in range(15, 90, 5)}
        for number, commit in enumerate(commits):
            yield from self._commit(commit)
            yield from self._pause(commit.user)
            if number in fixed:
                is_of_choices = fixed[number] in _CHOOSING
                yield from (self._choose_for_follows if is_of_choices else self._milestone)(fixed[number])

    def _commit(self, commit: Commit) -> Iterator[Step]:
        new = [one for one in commit.states if one.document is not None and one.key not in self.world]
        bulk = [one for one in new if one.key[0] == "table"]
        if len(bulk) >= 3 and self._happens(0.5):
            for new_state in bulk:
                yield from self._containers(new_state.key)
            yield MakeMany(commit.user, tuple(self._make(commit.user, one) for one in bulk))
        for state in commit.states:
            yield from self._state(commit.user, state)
        for change in commit.edges:
            yield from self._edge(commit.user, change)

    def _state(self, user: str, state: State) -> Iterator[Step]:
        if state.document is None:
            yield from self._remove_asset(user, state.key)
            return
        if state.key not in self.world:
            yield from self._containers(state.key)
            yield self._make(user, state)
        elif self.world.entities[state.key].is_deleted:
            yield Restore(user, state.key)
        if values := self._differences(state):
            yield from self._change_steps(user, state.key, values)
        yield from self._join_edges(user, state.key)
        yield from self._reactions(user, state.key)

    def _make(self, user: str, state: State) -> Make:
        return Make(user, state.key, self._document_of(state))

    def _document_of(self, state: State) -> Json:
        """Return a state's document, with the tags and owners that hide it from some."""
        document = dict(state.document or {})
        if state.key[0] != "table":
            return document
        number = sum(state.key[1].encode()) % 40
        if number in (4, 5):
            document["tags"] = [*document.get("tags", ()), {"tagFQN": self.campaign}]
        if number < 3:
            document["tags"] = [*document.get("tags", ()), {"tagFQN": HIDDEN}]
        if number == 3:
            document["tags"] = [*document.get("tags", ()), {"tagFQN": VAULT}]
            document["owners"] = [{"type": "user", "name": READERS[0]}, {"type": "team", "name": VAULT_GROUP}]
        return document

    def _differences(self, state: State) -> Json:
        target, current = self._document_of(state), self.world.document(state.key)
        removed = {key: None for key in current if key not in target}
        return removed | {key: value for key, value in target.items() if current.get(key) != value}

    def _change_steps(self, user: str, key: Key, values: Json) -> Iterator[Step]:
        """Yield the same changes, some of them by other ways than a PATCH."""
        whole_values = {
            name: value for name, value in values.items() if name in ("description", "owners", "domains") and value
        }
        ways = [PUT, BULK] if whole_values else []
        text = str(whole_values.get("description", ""))
        ways += [SHEET, SHEET] if key[0] == "table" and text[:1].isalpha() and text.isprintable() else []
        if not ways or self._happens(0.4):
            yield Change(user, key, values)
            return
        by = self.random.choice(ways)
        columns = tuple(self.world.document(key).get("columns", ())) if key[0] == "table" else ()
        sheet_values = {"description": text} if by == SHEET else whole_values
        yield Change(user, key, sheet_values, by, columns)
        if remaining := {name: value for name, value in values.items() if name not in sheet_values}:
            yield Change(user, key, remaining)

    def _containers(self, key: Key) -> Iterator[Step]:
        """Yield the steps that make what an asset lies in."""
        for container in reversed([above for above in self.world.containers(key) if above not in self.world]):
            owners = {"owners": self._principals()} if container[0] == "databaseSchema" and self._happens(0.3) else {}
            yield Make(ADMIN, container, owners)

    def _join_edges(self, user: str, key: Key) -> Iterator[Step]:
        """Yield the edges that waited for an asset."""
        for source, product in sorted(edge for edge in self.edges if key in edge):
            if self._are_there(source, product) and product not in self.world.downstream[source]:
                yield Edge(user, source, product, is_there=True)

    def _are_there(self, *keys: Key) -> bool:
        return all(key in self.world and not self.world.entities[key].is_deleted for key in keys)

    def _remove_asset(self, user: str, key: Key) -> Iterator[Step]:
        if not self._are_there(key):
            return
        below = len(self.world.below(key))
        if key[0] == "databaseSchema":
            if below <= 60 and self._happens(0.6):
                yield Remove(ADMIN, key, is_hard=True)
            return
        softly = not self.world.upstream.get(key) and self._happens(0.4)
        yield Remove(user, key, is_hard=not softly)

    def _edge(self, user: str, change: EdgeChange) -> Iterator[Step]:
        edge = (change.source, change.product)
        if change.is_there:
            self.edges.add(edge)
        else:
            self.edges.discard(edge)
        if self._are_there(*edge) and (change.product in self.world.downstream[change.source]) != change.is_there:
            yield Edge(user, *edge, is_there=change.is_there)

    def _reactions(self, user: str, key: Key) -> Iterator[Step]:
        """Yield what people do after an asset has changed."""
        followers = self.world.entities[key].followers
        if not is_bot(user) and user not in followers and self._happens(0.5):
            yield Follow(user, user, key, begins=True)
        if self._happens(0.1):
            reader = self.random.choice(READERS)
            if not self._is_hidden(key) and reader not in followers:
                yield Follow(ADMIN, reader, key, begins=True)
        if followers and self._happens(0.08):
            yield Follow(ADMIN, self.random.choice(sorted(followers)), key, begins=False)
        if self._happens(0.08) and VAULT not in self.world.tags(key):
            yield from self._change_steps(self.random.choice((user, ADMIN)), key, {"owners": self._principals()})
        if key[0] == "table" and self._happens(0.05):
            yield from self._add_test(user, key)
        if not is_bot(user):
            yield from self._follow_around(user, key)

    def _follow_around(self, user: str, key: Key) -> Iterator[Step]:
        """Yield what an author follows, or no longer: what an asset belongs to, or a column of it."""
        if (around := self.world.followable_around(key)) and self._happens(0.04):
            yield self._follow_or_not(user, self.random.choice(around))
        if self._happens(0.1):
            governance = [one for one in self.world.governance_of(key) if one[1] not in _UNFOLLOWED]
            if governance:
                yield self._follow_or_not(user, self.random.choice(governance))
        if key[0] == "table" and self._happens(0.1):
            yield from self._follow_column(user, key)

    def _follow_column(self, user: str, table: Key) -> Iterator[Step]:
        """Yield that a person follows a column of a table, or no longer if they do."""
        names = [one["name"] for one in self.world.document(table).get("columns", ())]
        if plain_names := [name for name in names if name.isidentifier()]:
            name = self.random.choice(plain_names)
            is_followed = (user, name) in self.world.following.columns[table]
            yield Follow(user, user, table, begins=not is_followed, column=name)

    def _follow_by_team(self) -> Iterator[Step]:
        """Yield that a team lets its members follow an asset, or no longer, or that one of them does not want to."""
        followed_keys = [key for key, teams in self.world.following.teams.items() if teams and self._are_there(key)]
        members = [(key, one) for key in followed_keys for one in sorted(self.world.default_followers(key))]
        if members and self._happens(0.3):
            key, person = self.random.choice(members)
            yield Follow(ADMIN, person, key, begins=False)
        elif followed_keys and self._happens(0.2):
            key = self.random.choice(followed_keys)
            yield TeamFollow(ADMIN, min(self.world.following.teams[key]), key, begins=False)
        else:
            assets = [one for entity_type in _FOLLOWED for one in self.world.live(entity_type)]
            free_assets = [one for one in assets if one not in followed_keys and not self._is_hidden(one)]
            if free_assets:
                team = self.random.choice((GROUP, DEPARTMENT))
                yield TeamFollow(ADMIN, team, self.random.choice(free_assets), begins=True)

    def _follow_or_not(self, user: str, key: Key) -> Follow:
        """Return that a person follows something, or no longer if they do."""
        is_followed = key in self.world and user in self.world.entities[key].followers
        return Follow(user, user, key, begins=not is_followed)

    def _is_hidden(self, key: Key) -> bool:
        return bool({HIDDEN, VAULT} & self.world.tags(key))

    def _add_test(self, user: str, table: Key) -> Iterator[Step]:
        test = ("testCase", f"{table[1]}.rows_{len(self.world.below(table))}")
        if test in self.world:
            return
        self.tests.append(test)
        yield Make(user, test, {})
        people = [one for one in self.history.users if not is_bot(one)]
        yield Follow(ADMIN, self.random.choice(people), test, begins=True)

    def _pause(self, user: str) -> Iterator[Step]:
        """Yield what happens between two commits."""
        self.tests = [one for one in self.tests if self._are_there(one)]
        if self.tests and self._happens(0.3):
            status = self.random.choice(("Failed", "Failed", "Success"))
            actor = self.random.choice((user, BOT))
            yield Report(actor, self.random.choice(self.tests), status)
        if self._happens(0.05):
            team = self.random.choice(self.teams)
            yield Members(ADMIN, team, tuple(sorted(self.random.sample(self.people, self.random.randrange(1, 6)))))
        if self._happens(0.03):
            yield from self._mute_something()
        if self._happens(0.06):
            yield from self._follow_by_team()
        if self._happens(0.1):
            yield from self._talk()
        if not is_bot(user) and self._happens(0.1):
            yield from self._request_changes(user)
        deleted_keys = [key for key, one in self.world.entities.items() if key[0] == "table" and one.is_deleted]
        if self._happens(0.1) and deleted_keys:
            yield Restore(ADMIN, self.random.choice(deleted_keys))
        if self._happens(0.03) and (schemas := self.world.live("databaseSchema")):
            yield from self._change_steps(ADMIN, self.random.choice(schemas), {"owners": self._principals()})

    def _mute_something(self) -> Iterator[Step]:
        who = self.random.choice(self.history.users)
        if who not in (self.cast.first, self.cast.second) and self._happens(0.3):
            author = self.random.choice(("", *self.writers))
            yield MuteBroadly(who, author, self.random.choice((1, 3, 90)))
            return
        tables = [one for one in self.world.live("table") if not self._is_hidden(one)]
        if tables and self._happens(0.7):
            yield MuteAsset(who, self.random.choice(tables), self.random.choice(("", "Email", "ActivityFeed")))
        else:
            yield MuteAlert(who, self.random.choice(("ActivityFeedAlert", "DownstreamNear", "Edges", "WhoFollows")))

    def _request_changes(self, user: str) -> Iterator[Step]:
        """Yield an announcement, what is said to an earlier one, or what becomes of it."""
        announced = self.world.requests.requests_to_come()
        if announced and self._happens(0.7):
            yield from self._answer_request(self.random.choice(list(announced)))
            return
        awaited = {one.about for one in announced.values()}
        tables = [one for one in self.world.live("table") if one not in awaited]
        if with_readers := [one for one in tables if self.world.downstream.get(one)]:
            tables = with_readers
        if tables:
            name, kind = f"CR-{len(self.world.requests.by_name) + 1}", self.random.choice(("removal", "deprecation"))
            yield Announce(user, name, self.random.choice(tables), kind)

    def _answer_request(self, name: str) -> Iterator[Step]:
        request = self.world.requests.by_name[name]
        answering = [one for one in self.writers if not is_bot(one) and self.world.consumers_of(name, one)]
        if answering and self._happens(0.7):
            verdict = self.random.choice(("ready", "notAffected", "needsTime", "objects"))
            yield Answer(self.random.choice(answering), name, verdict)
        elif self._happens(0.5):
            yield Withdraw(request.author, name)
        else:
            softly = not self.world.upstream.get(request.about) and self._happens(0.5)
            yield Remove(request.author, request.about, is_hard=not softly)

    def _talk(self) -> Iterator[Step]:
        about = [one for entity_type in _FOLLOWED[:2] for one in self.world.live(entity_type)]
        running = [name for name, one in self.world.threads.items() if self._are_there(one.about)]
        if running and self._happens(0.6):
            yield from self._answer(self.random.choice(running))
        elif about:
            self.thread_count += 1
            key = self.random.choice(about)
            is_announced = any(one.about == key and one.kind == "Announcement" for one in self.world.threads.values())
            kind = self.random.choice(("Conversation", "Task", *(() if is_announced else ("Announcement",))))
            mentions = tuple(self._some_principals(2)) if kind == "Conversation" else ()
            assignees = (
                self._without_bots(("user", self.random.choice(self.writers)), *self._some_principals(1))
                if kind == "Task"
                else ()
            )
            author, name = self.random.choice(self.writers), f"thread {self.thread_count}"
            yield StartThread(author, name, key, kind, mentions, assignees)

    def _answer(self, name: str) -> Iterator[Step]:
        thread = self.world.threads[name]
        writers = [one for kind, one in thread.assignees if kind == "user" and one in self.writers]
        if thread.kind == "Task" and writers and not thread.is_over and self._happens(0.6):
            text = f"Written for {name}." if self._happens(0.6) else None
            yield EndTask(writers[0], name, text)
        elif thread.kind == "Task" and not thread.is_over and self._happens(0.4):
            if assignees := self._without_bots(*self._some_principals(2)):
                yield Reassign(thread.author, name, assignees)
        elif thread.posts and self._happens(0.4):
            yield EditPost(self.random.choice(sorted(thread.posts)), name, tuple(self._some_principals(2)))
        else:
            yield Post(
                self.random.choice(self.writers), name, tuple(self._some_principals(1)) if self._happens(0.4) else ()
            )

    @staticmethod
    def _without_bots(*principals: Principal) -> tuple[Principal, ...]:
        """Return principals once each, and no bots: tasks cannot be assigned to them."""
        return tuple(one for one in dict.fromkeys(principals) if not is_bot(one[1]))

    def _some_principals(self, maximum: int) -> Iterator[Principal]:
        """Yield some people and perhaps a team."""
        if self._happens(0.3):
            yield "team", self.random.choice(self.teams)
        yield from (("user", one) for one in self.random.sample(self.people, self.random.randrange(1, maximum + 1)))

    def _principals(self) -> list[Json]:
        """Return owners: up to two people, or a team."""
        if self._happens(0.3):
            return [{"type": "team", "name": self.random.choice((DEPARTMENT, *self.teams))}]
        names = self.random.sample(self.people, self.random.randrange(1, 3))
        return [{"type": "user", "name": one} for one in names]

    def _milestone(self, part: int) -> Iterator[Step]:
        """Yield what happens once, after so many hundredths of the history."""
        later, switched_alerts, dropped_alerts, shared_alerts = midway(self.cast)
        match part:
            case 15:
                for version in (*switched_alerts, *dropped_alerts, *shared_alerts):
                    yield SetAlert(version.maker, version.name, version.definition())
            case 20:
                yield from self._import()
            case 25:
                yield SwitchAlert(ADMIN, "Switched", enabled=False)
            case 40:
                for version in later:
                    yield SetAlert(version.maker, version.name, version.definition())
                yield SwitchAlert(ADMIN, "Switched", enabled=True)
            case 35 | 45 | 50 | 65 | 70:
                yield from self._rename_or_remove(part)
            case 55:
                yield Change(ADMIN, ("databaseService", "bigquery"), {"owners": self._principals()})
            case 60 | 85:
                yield from self._burst()
            case _:
                yield DropAlert(ADMIN, "Dropped")

    def _import(self) -> Iterator[Step]:
        """Yield a bulk request for so many tables of a dataset that it is told as one, and one for a table fewer."""
        for count in (12, 9):
            tables = [("table", f"{self.cast.dataset}.import_{count}_{number}") for number in range(count)]
            yield from self._containers(tables[0])
            owners = [{"owners": self._principals()} if self._happens(0.5) else {} for _ in tables]
            yield MakeMany(ADMIN, tuple(Make(ADMIN, *made) for made in zip(tables, owners, strict=True)))

    def _rename_or_remove(self, part: int) -> Iterator[Step]:
        """Yield what happens once to names, teams and people."""
        if part == 45:
            yield RenameTeam(ADMIN, GUILD, CIRCLE)
            self.teams = tuple(NAMES_NOW.get(one, one) for one in self.teams)
        elif part == 50:
            yield RenameTag(ADMIN, self.campaign, "Summer")
            self.campaign = "Campaign.Summer"
        elif part == 70:
            yield MoveTeam(ADMIN, GROUP, "Company")
        else:
            yield from self._remove_person(LEAVERS[part != 35], is_hard=part == 35)

    def _remove_person(self, user: str, *, is_hard: bool) -> Iterator[Step]:
        """Yield the deletion of somebody who owns and follows something by then."""
        for key in self.world.live("table")[-3:]:
            if not self._is_hidden(key):
                yield Change(ADMIN, key, {"owners": [{"type": "user", "name": one} for one in (user, self.cast.first)]})
                if user not in self.world.entities[key].followers:
                    yield Follow(ADMIN, user, key, begins=True)
        yield RemoveUser(ADMIN, user, is_hard=is_hard)
        self.people = tuple(one for one in self.people if one != user)

    def _burst(self) -> Iterator[Step]:
        """Yield the hard deletion of a dataset with what most depends on, and of tables one after the other."""
        sizes = {one: len(self.world.below(one)) for one in self.world.live("databaseSchema")}
        fitting = [one for one, size in sizes.items() if 2 <= size <= 80]
        if fitting:
            yield Remove(ADMIN, max(fitting, key=lambda one: sizes[one]), is_hard=True)
        tables = self.world.live("table")
        for table in self.random.sample(tables, min(20, len(tables) // 10)):
            yield Remove(ADMIN, table, is_hard=True)

    def _happens(self, chance: float) -> bool:
        return self.random.random() < chance
