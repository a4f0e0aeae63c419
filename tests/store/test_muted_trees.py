"""Property of mutes: over random trees, mutes and their ends, what the pipeline writes is what explanations say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, select
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.serving import running_server
from tests.soak import SOAK

from tocsin.flow.schedule.preferences import NEVER_MS
from tocsin.jobs.mutes import MutesJob
from tocsin.model.alert_incident import IncidentStatus
from tocsin.model.change import EventType, LoggedEvent
from tocsin.model.mute import Mute, MuteEnd, MuteKind
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.recipients.mutes import Mutes

_MUTE_MS = 30_000
"""Time after which a mute until a time ends; some steps of a test take longer."""

_number = st.integers(0, 9)
_ends = st.sampled_from([None, "time", MuteEnd.CHANGED, MuteEnd.RESOLVED])
Step = tuple[str, int, object]
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("mute"), _number, _ends),
        st.tuples(st.sampled_from(["change", "fail", "succeed"]), _number, st.none()),
        st.tuples(st.sampled_from(["unmute", "wait", "notify"]), _number, st.none()),
    ),
    min_size=4,
    max_size=14,
)
_numbers = count()


@dataclass
class _Tree:
    """A service with two databases, and schemas and tables in them, all of which ana owns; some tables have a domain.

    ``schemas`` says of each in which database it is, ``tables`` of each in which schema, and whether in the domain.
    ``around`` holds by the id of an asset what, muted, keeps it quiet; ``mute_steps`` how each was muted, and after
    which offset.
    """

    company: SmallCompany
    schemas: list[int]
    tables: list[tuple[int, bool]]
    assets: list[tuple[str, str]] = field(default_factory=list)
    around: dict[str, set[str]] = field(default_factory=dict)
    mute_steps: dict[str, list[tuple[object, int]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        company, mark = self.company, f"{next(_numbers)}"
        owners = [{"type": "user", "name": "ana"}]
        self.domain = f"domain{mark}"
        company.put("domain", {"name": self.domain, "domainType": "Aggregate", "description": ""})
        service = f"service{mark}"
        company.put("databaseService", {"name": service, "serviceType": "Postgres"})
        self.assets.append(("databaseService", service))
        for number in (0, 1):
            company.put("database", {"name": f"db{mark}_{number}", "service": service, "owners": owners})
            self._note("database", f"db{mark}_{number}", service)
        for number, database in enumerate(self.schemas):
            fqn = f"{service}.db{mark}_{database}"
            company.put("databaseSchema", {"name": f"schema{mark}_{number}", "database": fqn, "owners": owners})
            self._note("databaseSchema", f"schema{mark}_{number}", f"db{mark}_{database}")
        self.table_fqns: list[str] = []
        for number, (schema, in_domain) in enumerate(self.tables):
            at = schema % len(self.schemas)
            fqn = f"{service}.db{mark}_{self.schemas[at]}.schema{mark}_{at}"
            fields = {"domains": [self.domain]} if in_domain else {}
            columns = [{"name": "id", "dataType": "INT"}]
            name = f"table{mark}_{number}"
            company.put("table", {"name": name, "databaseSchema": fqn, "columns": columns, "owners": owners, **fields})
            self._note("table", name, f"schema{mark}_{at}", *([self.domain] if in_domain else []))
            self.table_fqns.append(f"{fqn}.{name}")
            link = f"<#E::table::{fqn}.{name}>"
            case = company.put("testCase", {"name": "has_rows", "entityLink": link, "testDefinition": "hasRows"})
            self.around[case["id"]] = self.around[company.ids[name]]

    def _note(self, entity_type: str, name: str, *containers: str) -> None:
        ids = self.company.ids
        above = [self.around.get(ids[one], {ids[one]}) for one in containers]
        self.assets.append((entity_type, name))
        self.around[ids[name]] = {ids[name]}.union(*above)

    def must_be_told(self, logged_event: LoggedEvent) -> bool | None:
        """Return whether ana must hear of a change, or a result of a test; None where it depends on how a mute ends."""
        around = self.around.get(logged_event.event.entity_id)
        if around is None or logged_event.event.event_type is not EventType.ENTITY_UPDATED:
            return None
        steps = [self.mute_steps[one] for one in sorted(around) if one in self.mute_steps]
        lasting = [many[0][1] for many in steps if len(many) == 1 and many[0][0] is None]
        return False if any(since < logged_event.offset for since in lasting) else None if steps else True

    def take(self, step: Step) -> None:
        """Let a step happen; numbers count around."""
        kind, number, end = step
        self.company.clock.advance(40_000 if kind == "wait" else 1_000)
        asset_type, name = self.assets[number % len(self.assets)]
        if kind == "mute":
            self._mute(number, end)
        elif kind == "unmute":
            self._note_mute_step(self._muted_id(number), "unmuted")
            Mutes(self.company.engine).remove(self.company.ids["ana"], self._muted_id(number))
        elif kind == "change":
            text = [{"op": "add", "path": "/description", "value": f"at {self.company.clock.now_ms()}"}]
            self.company.writes.patch(asset_type, self.company.key(name), text, actor=self.company.actor("dia"))
        elif kind in ("fail", "succeed"):
            fqn = self.table_fqns[number % len(self.table_fqns)]
            report = {"timestamp": self.company.clock.now_ms()}
            report["testCaseStatus"] = "Failed" if kind == "fail" else "Success"  # type: ignore[assignment]
            self.company.writes.add_test_result(f"{fqn}.has_rows", report, actor=self.company.actor("dia"))
        else:
            notify_all(self.company.engine)
            MutesJob(self.company.engine, self.company.clock).look()

    def _muted_id(self, number: int) -> str:
        names = [self.domain, *(name for _, name in self.assets)]
        return self.company.ids[names[number % len(names)]]

    def _mute(self, number: int, end: object) -> None:
        about, now_ms = self._muted_id(number), self.company.clock.now_ms()
        lasting_mute = new_mute = Mute(self.company.ids["ana"], MuteKind.ASSET, about, since_ms=now_ms)
        if end == "time":
            new_mute = replace(new_mute, until_ms=now_ms + _MUTE_MS)
        elif end is MuteEnd.CHANGED:
            new_mute = replace(new_mute, ends_by=MuteEnd.CHANGED, ends_of=about)
        elif end is MuteEnd.RESOLVED and (incident_id := self._open_incident()):
            new_mute = replace(new_mute, ends_by=MuteEnd.RESOLVED, ends_of=incident_id)
        Mutes(self.company.engine).put(new_mute)
        self._note_mute_step(about, new_mute.ends_by or end if new_mute != lasting_mute else None)

    def _note_mute_step(self, about: str, end: object) -> None:
        end_offset = EventLog(self.company.engine).readable_end()
        self.mute_steps.setdefault(about, []).append((end, end_offset))

    def _open_incident(self) -> str | None:
        is_open = alert_incident.c.status == IncidentStatus.OPEN.value
        with reading(self.company.engine) as connection:
            return connection.scalar(select(alert_incident.c.id).where(is_open).order_by(alert_incident.c.number))


@contextmanager
def _company_behind_server(engine: Engine) -> Iterator[tuple[SmallCompany, httpx.Client]]:
    """Yield a company whose clock is the server's, and the administrator's client."""
    with running_server(engine) as served, served.administrator() as client:
        company = SmallCompany(engine)
        definition = {"name": "hasRows", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]}
        company.put("testDefinition", definition)
        served.app.state.parts = replace(served.app.state.parts, clock=company.clock)
        company.clock.advance(1_000)
        owners = [{"category": "Owners", "type": "ActivityFeed"}]
        company.alert("bell", owners)
        company.alert("failed", owners, "testStatus == 'Failed'", resources=("testCase",))
        notify_all(engine)
        yield company, client


def _check_agreement(company: SmallCompany, client: httpx.Client, tree: _Tree, steps: list[Step]) -> set[bool]:
    """Let the steps happen; compare what ana is told of each event with what is explained. Return which was seen."""
    start = EventLog(company.engine).readable_end()
    for step in steps:
        tree.take(step)
    notify_all(company.engine)
    with reading(company.engine) as connection:
        columns = (notification.c.log_offset, notification.c.due_at_ms)
        is_hers = (notification.c.recipient_id == company.ids["ana"], notification.c.log_offset > start)
        visibility_by_offset = {
            offset: due_ms != NEVER_MS for offset, due_ms in connection.execute(select(*columns).where(*is_hers))
        }
    for logged_event in EventLog(company.engine).read(start, 10_000):
        answer = client.get(f"/events/{logged_event.event.id}/explain", params={"user": "ana"}).json()
        is_told = visibility_by_offset.get(logged_event.offset, False)
        context = (
            logged_event.event.event_type,
            logged_event.event.entity_fully_qualified_name,
            answer["answer"],
            steps,
        )
        assert tree.must_be_told(logged_event) in (None, is_told), context
        assert answer["disagreements"] == [], context
        assert answer["answer"].startswith("Yes: " if is_told else "No: "), context
        assert ("muted" in answer["answer"]) == (logged_event.offset in visibility_by_offset and not is_told), context
    return set(visibility_by_offset.values())


@settings(max_examples=60 if SOAK else 12, suppress_health_check=list(HealthCheck))
@given(
    trees=st.tuples(
        st.lists(st.integers(0, 1), min_size=1, max_size=3),
        st.lists(st.tuples(_number, st.booleans()), min_size=1, max_size=4),
    ),
    steps=_steps,
)
def _agree(
    company_and_client: tuple[SmallCompany, httpx.Client],
    trees: tuple[list[int], list[tuple[int, bool]]],
    steps: list[Step],
) -> None:
    company, client = company_and_client
    tree = _Tree(company, *trees)
    notify_all(company.engine)
    _check_agreement(company, client, tree, steps)
    for about in [tree.domain, *(name for _, name in tree.assets)]:
        Mutes(company.engine).remove(company.ids["ana"], company.ids[about])


def test_what_is_written_and_what_is_explained_agree_on_random_trees_and_mutes(sqlite_engine: Engine) -> None:
    with _company_behind_server(sqlite_engine) as company_and_client:
        _agree(company_and_client)


@pytest.mark.parametrize("engine_name", ["sqlite_engine", "postgres_engine"])
def test_a_tree_with_mutes_of_each_end_is_written_as_it_is_explained(
    request: pytest.FixtureRequest, engine_name: str
) -> None:
    """Numbers of what is muted: 0 the domain, 1 the service, 4 the first schema; of assets: 3 this, 5 a table in it."""
    steps: list[Step] = [("change", 5, None), ("fail", 0, None), ("notify", 0, None)]
    steps += [("mute", 4, MuteEnd.RESOLVED), ("fail", 0, None), ("change", 5, None), ("succeed", 0, None)]
    steps += [("notify", 0, None), ("fail", 0, None), ("mute", 1, "time"), ("change", 5, None), ("wait", 0, None)]
    steps += [("change", 6, None), ("mute", 4, MuteEnd.CHANGED), ("change", 5, None), ("notify", 0, None)]
    steps += [("change", 3, None), ("change", 5, None), ("mute", 0, None), ("change", 6, None), ("change", 5, None)]
    with _company_behind_server(request.getfixturevalue(engine_name)) as (company, client):
        tree = _Tree(company, [0, 1], [(0, False), (1, True)])
        notify_all(company.engine)
        assert _check_agreement(company, client, tree, steps) == {True, False}
