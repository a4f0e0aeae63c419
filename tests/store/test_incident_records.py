"""Tests of incidents beside those of test cases, on both stores: whatever happens in which order, both say the same."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, select, text
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.waiting import until

from tocsin.alerts.incident_merging import merge, split
from tocsin.alerts.incidents import Handling, handle, take_step_for_all
from tocsin.catalogue.observations.silences import Silence, add_silence
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import Conflict
from tocsin.flow.capture.write import Record
from tocsin.flow.eventlog.selection import EventSelection
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key, Stored, Written
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.catalogue.quality.incidents import IncidentLog, IncidentStateFilter
from tocsin.store.database.cursors import ReportWindow
from tocsin.store.database.tables import entity, notification
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.failure_incidents import ReportPlace, incidents_at

BELL = {"category": "Owners", "type": "ActivityFeed"}
KIND, DETAILS = "testCaseResolutionStatusType", "testCaseResolutionStatusDetails"
_RESOLVED = {"testCaseFailureReason": "Other", "testCaseFailureComment": "done"}
_NUMBER_KINDS = {"ack": StepKind.ACKNOWLEDGED, "assign": StepKind.ASSIGNED, "resolve": StepKind.RESOLVED}
_STATUSES = {"ack": "Ack", "assign": "Assigned", "resolve": "Resolved", "new": "New"}
_RESULTS = {"fail": "Failed", "succeed": "Success", "abort": "Aborted"}
_NAMES = (f"case{number}" for number in count())


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return company_on(store_engine)


def company_on(engine: Engine) -> SmallCompany:
    small_company = SmallCompany(engine)
    small_company.alert("failed", [BELL], "testStatus == 'Failed'", resources=("testCase",))
    return small_company


class Case:
    """A test of ``orders`` with its results, and what ana and ben do to its incidents by number and by record."""

    def __init__(self, company: SmallCompany, *, closes: bool = False) -> None:
        self.company, self.name, self.closes = company, next(_NAMES), closes
        self.id = company.test_case("orders", self.name, autoCloseIncident=closes)["id"]
        notify_all(company.engine)

    def do(self, action: str, by: str = "ana") -> None:
        """Do one thing a second later: ``fail``, ``succeed``, ``notify``, ``number ack``, ``record assign`` …"""
        where, _, act = action.partition(" ")
        if where == "notify":
            notify_all(self.company.engine)
        elif where == "number":
            self._handle(act, by)
        elif where == "record":
            self._take(act, by)
        else:
            self.company.result("orders", _RESULTS[where], self.name)

    def _handle(self, act: str, by: str) -> None:
        """Handle the newest incident, if there is one; one that is over is not changed."""
        self.company.clock.advance(1_000)
        assignee = {"type": "user", "name": by} if act == "assign" else None
        work = partial(handle, handling=Handling(_NUMBER_KINDS[act], assignee=assignee))
        for incident in self.incidents()[-1:]:
            try:
                self.company.writes.within(partial(work, incident_id=incident.id), actor=self.company.actor(by))
            except Conflict:
                assert not incident.is_open

    def _take(self, act: str, by: str) -> None:
        self.company.clock.advance(1_000)
        details = {"assign": {"assignee": {"type": "user", "name": by}}, "resolve": _RESOLVED}.get(act)
        request: Document = {"testCaseReference": self.name, KIND: _STATUSES[act]}
        request |= {DETAILS: details} if details else {}
        work = partial(take_step_for_all, request=request)
        self.company.writes.on_entity("testCase", Key.by_id(self.id), work, actor=self.company.actor(by))

    def incidents(self) -> list[AlertIncident]:
        page = AlertIncidentLog(self.company.engine).page(AlertIncidentFilter(asset_id=self.id), limit=100)
        return list(reversed(page))

    def steps_of(self, state_id: str | None) -> list[Document]:
        """Return the steps of one of the test case's own incidents, oldest first."""
        assert state_id is not None
        return list(reversed(IncidentLog(self.company.engine).of_state(state_id)))

    def last_steps(self) -> list[Document]:
        """Return the steps of the last of the test case's own incidents, oldest first."""
        of_case = IncidentStateFilter(test_case_id=self.id, latest=True)
        page = IncidentLog(self.company.engine).page(of_case, ReportWindow())
        return self.steps_of(page.documents[0]["stateId"]) if page.documents else []

    def acknowledger(self, incident: AlertIncident) -> str | None:
        """Return by whom messages say that an incident is acknowledged."""
        place = ReportPlace(self.id, incident.opened_offset)
        with self.company.engine.connect() as connection:
            return incidents_at(connection, [place])[place].acknowledged_by

    def check(self) -> None:
        """Assert that the incidents and those of the test case say the same, with all events processed."""
        incidents, steps = self.incidents(), self.last_steps()
        for incident in incidents:
            own_steps = self.steps_of(incident.state_id)
            assert {one["testCaseReference"]["id"] for one in own_steps} == {self.id}
            is_ended_by_hand = not incident.is_open and incident.recovered_offset is None
            if is_ended_by_hand or (self.closes and not incident.is_open):
                assert own_steps[-1][KIND] == "Resolved"
        if steps and steps[-1][KIND] == "Resolved":
            assert not any(one.is_open for one in incidents)
        for incident in incidents[-1:]:
            if incident.is_open:
                self._check_lasting(incident, steps)

    def _check_lasting(self, incident: AlertIncident, steps: list[Document]) -> None:
        assert incident.state_id == steps[-1]["stateId"]
        assignee_ids = [one[DETAILS]["assignee"]["id"] for one in steps if one[KIND] == "Assigned"]
        assert (incident.assignee and incident.assignee["id"]) == (assignee_ids[-1] if assignee_ids else None)
        begin = max(at for at, one in enumerate(steps) if one[KIND] == "New" or at == 0)
        kinds = [one[KIND] for one in steps[begin:]]
        if "Ack" in kinds:
            assert incident.status is IncidentStatus.ACKNOWLEDGED
            first = kinds.index("Ack")
            # Somebody may have acknowledged what was assigned: that is no step of the test case's own.
            if "Assigned" not in kinds[:first]:
                assert self.acknowledger(incident) == steps[begin + first]["updatedBy"]["name"]
        elif steps[-1][KIND] == "Assigned":
            assert incident.is_open, "what is assigned has no acknowledgement in the test case's own"
        else:
            assert (incident.status, steps[-1][KIND]) == (IncidentStatus.OPEN, "New")


_ACTIONS = (
    *("fail", "succeed", "notify", "abort"),
    *("number ack", "number assign", "number resolve"),
    *("record ack", "record assign", "record resolve", "record new"),
)
_SEQUENCES = st.lists(st.tuples(st.sampled_from(_ACTIONS), st.sampled_from(("ana", "ben"))), max_size=14)


def by_ana(*actions: str) -> list[tuple[str, str]]:
    return [(action, "ana") for action in actions]


@given(_SEQUENCES, st.booleans())
@example(by_ana("fail", "notify", "number ack", "succeed", "fail"), False)
@example(by_ana("fail", "notify", "record assign", "succeed", "notify", "fail", "notify", "number ack"), False)
@example(by_ana("fail", "record ack", "record assign", "notify", "number resolve", "fail"), False)
@example(by_ana("fail", "record resolve", "notify", "fail"), False)
@example(by_ana("fail", "notify", "succeed", "fail", "number ack", "record ack"), True)
@settings(
    max_examples=200 if SOAK else 8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_an_incident_and_that_of_the_test_case_say_the_same_whatever_happens(
    company: SmallCompany, sequence: list[tuple[str, str]], closes: bool
) -> None:
    case = Case(company, closes=closes)
    for action, by in [("fail", "ana"), *sequence, ("notify", "ana")]:
        case.do(action, by)
        if action == "notify":
            case.check()


def case_after(company: SmallCompany, *actions: str, closes: bool = False) -> Case:
    """Return a test case to which ana has done these things."""
    case = Case(company, closes=closes)
    for action in actions:
        case.do(action)
    return case


def report(case: Case, status: str, at_ms: int) -> None:
    """Report a result as of a time, without a change of the clock."""
    result = {"timestamp": at_ms, "testCaseStatus": status}
    case.company.writes.add_test_result(f"pg.store.public.orders.{case.name}", result, actor=SYSTEM)


def statuses(steps: list[Document]) -> list[str]:
    return [one[KIND] for one in steps]


def searches_in(engine: Engine, work: Callable[[], object]) -> int:
    """Return how often some work searches for earlier results of a test case."""
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    try:
        work()
    finally:
        event.remove(engine, "before_cursor_execute", note)
    return sum("FROM series" in one and "ORDER BY series.timestamp_ms DESC" in one for one in statements)


def test_a_failure_after_a_success_is_new_though_an_earlier_one_was_acknowledged(company: SmallCompany) -> None:
    case = case_after(company, "fail", "notify", "number ack", "succeed", "abort", "fail", "fail", "notify")
    first, second = case.incidents()
    assert (first.status, second.status) == (IncidentStatus.RESOLVED, IncidentStatus.OPEN)
    assert first.state_id == second.state_id
    assert statuses(case.last_steps()) == ["New", "Ack", "New"]
    case.do("number ack", "ben")
    assert statuses(case.last_steps()) == ["New", "Ack", "New", "Ack"]
    assert case.acknowledger(case.incidents()[-1]) == "ben"


def test_a_failure_searches_once_however_many_runs_were_cut_short(company: SmallCompany) -> None:
    case = case_after(company, "fail", "record ack", "succeed", *("abort",) * 8)
    assert searches_in(company.engine, partial(case.do, "fail")) == 1
    assert statuses(case.last_steps()) == ["New", "Ack", "New"]
    case = case_after(company, "fail", "record ack", *("abort",) * 8)
    assert searches_in(company.engine, partial(case.do, "fail")) == 1
    assert statuses(case.last_steps()) == ["New", "Ack"]


def test_only_an_acknowledged_incident_asks_for_earlier_results(company: SmallCompany) -> None:
    assert searches_in(company.engine, partial(case_after(company, "fail", "abort").do, "fail")) == 0
    assert searches_in(company.engine, partial(case_after(company, "succeed").do, "fail")) == 0


def test_who_is_assigned_stays_so_after_a_success_until_somebody_resolves_it(company: SmallCompany) -> None:
    case = case_after(company, "fail", "notify", "number assign", "succeed", "fail", "notify")
    incident = case.incidents()[-1]
    assert (incident.assignee, incident.status) == ({"id": company.ids["ana"], "type": "user"}, IncidentStatus.OPEN)
    case.do("number ack", "ben")
    assert statuses(case.last_steps()) == ["New", "Assigned"]
    assert case.acknowledger(case.incidents()[-1]) == "ben"
    for action in ("number resolve", "fail", "notify"):
        case.do(action)
    assert case.incidents()[-1].assignee is None


def test_what_people_do_before_the_pipeline_opens_an_incident_is_done_to_it(company: SmallCompany) -> None:
    case = case_after(company, "fail", "record ack", "record assign", "notify")
    (incident,) = case.incidents()
    assert (incident.status, incident.assignee and incident.assignee["id"]) == (
        IncidentStatus.ACKNOWLEDGED,
        company.ids["ana"],
    )
    steps = AlertIncidentLog(company.engine).steps(incident.id)
    assert [(one.kind, one.user_name, one.at_ms >= incident.opened_at_ms) for one in steps] == [
        (StepKind.ACKNOWLEDGED, "ana", True),
        (StepKind.ASSIGNED, "ana", True),
    ]
    resolved_case = case_after(company, "fail", "record resolve", "notify", "fail", "notify")
    assert [one.status for one in resolved_case.incidents()] == [IncidentStatus.RESOLVED, IncidentStatus.OPEN]


def test_the_record_of_a_part_names_who_acknowledged_what_it_was_merged_into(company: SmallCompany) -> None:
    lead, part = (case_after(company, "fail", "notify") for _ in range(2))
    lead.do("record ack", "ben")
    (lead_incident,), (incident,) = lead.incidents(), part.incidents()
    for work in (partial(merge, part_id=incident.id, target_id=lead_incident.id), partial(split, part_id=incident.id)):
        company.clock.advance(1_000)
        company.writes.within(work, actor=company.actor("ana"))
    part.check()
    assert [(one[KIND], one["updatedBy"]["name"]) for one in part.last_steps()[1:]] == [("Ack", "ben")]
    assert part.acknowledger(incident) == "ben"


@pytest.mark.parametrize(
    ("act", "kinds", "of_first", "status"),
    [
        ("record ack", ["New", "Ack"], [], IncidentStatus.ACKNOWLEDGED),
        ("number ack", ["New"], [StepKind.ACKNOWLEDGED], IncidentStatus.OPEN),
    ],
)
def test_what_people_do_before_the_pipeline_sees_a_success_is_done_to_what_they_name(
    company: SmallCompany, act: str, kinds: list[str], of_first: list[StepKind], status: IncidentStatus
) -> None:
    """The success has ended the test case's first incident, and the next failure opened another."""
    case = case_after(company, "fail", "notify", "succeed", "fail", act, "notify", closes=True)
    first, second = case.incidents()
    assert first.state_id != second.state_id
    assert statuses(case.last_steps()) == kinds
    assert [one.kind for one in AlertIncidentLog(company.engine).steps(first.id)] == of_first
    assert second.status is status


def test_a_failure_after_the_record_was_resolved_has_a_number_of_its_own_though_the_pipeline_lags(
    company: SmallCompany,
) -> None:
    case = case_after(company, "fail", "record ack", "record resolve", "fail", "record assign", "notify")
    first, second = case.incidents()
    assert (first.status, first.assignee) == (IncidentStatus.RESOLVED, None)
    assert statuses(case.steps_of(first.state_id)) == ["New", "Ack", "Resolved"]
    assert (second.status, second.assignee and second.assignee["id"]) == (IncidentStatus.OPEN, company.ids["ana"])
    assert second.state_id == case.last_steps()[-1]["stateId"] != first.state_id


@pytest.mark.parametrize("minutes", [0, -30])
def test_a_failure_belongs_to_no_resolved_record_though_the_clock_stands_still_or_is_set_back(
    company: SmallCompany, minutes: int
) -> None:
    case, begin_ms = Case(company), company.clock.now_ms()
    company.clock.advance(36_000_000)
    for number in range(3):
        report(case, "Failed", begin_ms + number)
        case.do("record resolve")
        company.clock.advance(minutes * 60_000)
    report(case, "Failed", begin_ms + 3)
    case.do("notify")
    case.do("notify")
    case.check()
    assert [one.is_open for one in case.incidents()] == [False, False, False, True]


@pytest.mark.parametrize("of_record", [["record assign", "record ack", "record resolve"], ["record ack"]])
def test_a_silence_takes_over_nothing_from_an_earlier_failure(company: SmallCompany, of_record: list[str]) -> None:
    company.alert("late", [BELL], "noSuccessFor('1h')", resources=("testCase",))
    case = case_after(company, "fail", "notify", *of_record, "succeed", "notify")
    since_ms = company.clock.now_ms()
    company.clock.advance(7_200_000)
    add_silence(company.writes, "testCase", Silence(case.id, since_ms, 3_600_000, company.clock.now_ms()))
    case.do("notify")
    _, incident = case.incidents()
    assert (incident.status, incident.assignee, incident.state_id) == (IncidentStatus.OPEN, None, None)
    assert AlertIncidentLog(company.engine).steps(incident.id) == []


def test_incidents_that_a_success_has_ended_belong_to_what_their_failures_opened_though_a_clock_is_set_back(
    company: SmallCompany,
) -> None:
    case, begin_ms = Case(company), company.clock.now_ms() + 10_000
    for number, minutes in enumerate((0, 60, -30)):
        company.clock.advance(minutes * 60_000)
        report(case, "Failed", begin_ms + 2 * number)
        case.do("record ack")
        company.clock.advance(1_000)
        report(case, "Success", begin_ms + 2 * number + 1)
        case.do("notify")
        case.do("record resolve")
    assert [case.steps_of(one.state_id)[1]["timestamp"] for one in case.incidents()] == sorted(
        step["timestamp"] for step in case_steps(case) if step[KIND] == "Ack"
    )
    assert [case.acknowledger(one) for one in case.incidents()] == ["ana", "ana", "ana"]


def test_incidents_of_one_millisecond_belong_to_what_their_failures_opened(company: SmallCompany) -> None:
    case, begin_ms = Case(company, closes=True), company.clock.now_ms() + 10_000
    for number in range(3):
        report(case, "Failed", begin_ms + 2 * number)
        report(case, "Success", begin_ms + 2 * number + 1)
    case.do("notify")
    begun_states = [step["stateId"] for step in case_steps(case) if step[KIND] == "New"]
    assert [one.state_id for one in case.incidents()] == begun_states
    assert len(set(begun_states)) == 3


def case_steps(case: Case) -> list[Document]:
    """Return the steps of all of the test case's own incidents, oldest first."""
    page = IncidentLog(case.company.engine).page(IncidentStateFilter(test_case_id=case.id), ReportWindow())
    return list(reversed(page.documents))


def test_who_handles_both_at_once_leaves_them_the_same(company: SmallCompany) -> None:
    """The pipeline opens an incident while people acknowledge that of the test case."""
    for _ in range(10 if SOAK else 3):
        case = case_after(company, "fail")
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(case.do, ("notify", "record ack")))
        case.do("notify")
        case.check()


def test_the_pipeline_does_not_wait_for_who_holds_a_test_case(postgres_engine: Engine) -> None:
    """SQLite has one writer."""
    case = case_after(company_on(postgres_engine), "fail")
    with ThreadPoolExecutor(1) as pool, postgres_engine.connect() as connection:
        connection.execute(select(entity.c.id).where(entity.c.id == case.id).with_for_update())
        pool.submit(case.do, "notify").result(timeout=60)
    assert [one.is_open for one in case.incidents()] == [True]


_WAITERS = text("""
    SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""")


def test_the_pipeline_waits_for_who_acknowledges_the_record(postgres_engine: Engine) -> None:
    case = case_after(company_on(postgres_engine), "fail")

    def is_waited_for() -> bool:
        with postgres_engine.connect() as connection:
            return bool(connection.execute(_WAITERS).scalar_one())

    with ThreadPoolExecutor(1) as pool:

        def acknowledge(record: Record, stored_case: Stored) -> Written:
            written = take_step_for_all(record, stored_case, {"testCaseReference": case.name, KIND: "Ack"})
            pool.submit(case.do, "notify")
            until(is_waited_for)
            return written

        actor = case.company.actor("ana")
        case.company.writes.on_entity("testCase", Key.by_id(case.id), acknowledge, actor=actor)
    assert [one.status for one in case.incidents()] == [IncidentStatus.ACKNOWLEDGED]
    case.check()


def test_a_success_that_ends_the_incident_of_its_test_is_one_event_and_told_once(company: SmallCompany) -> None:
    company.alert("everything", [BELL], resources=("testCase",))
    company.clock.advance(1_000)
    case = Case(company, closes=True)
    case.do("fail")
    notify_all(company.engine)
    before = told_events(company.engine)
    case.do("succeed")
    notify_all(company.engine)
    (told_event,) = told_events(company.engine) - before
    (newest,) = EventLog(company.engine).list_events(EventSelection(entity_id=case.id), limit=99)[-1:]
    assert newest.event.id == told_event
    assert newest.event.change_description is not None
    assert sorted(newest.event.change_description.paths()) == ["incidentStatus", "testCaseResult"]
    assert event_text(newest.event).headline == f"orders: {case.name} passes again"
    assert [one[KIND] for one in case.last_steps()] == ["New", "Resolved"]
    case.check()


def told_events(engine: Engine) -> set[str]:
    """Return the ids of the events that people were notified of."""
    with engine.connect() as connection:
        return set(connection.execute(select(notification.c.event_id)).scalars())
