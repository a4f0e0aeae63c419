"""Tests of merging incidents by hand on both stores: what holds for parts, who comes first, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_alert_incidents import BELL, handle_incident

from tocsin.access.person_visibility import event_without
from tocsin.alerts.incident_merging import merge, split
from tocsin.alerts.incidents import Handling
from tocsin.delivery.wording.changes import event_text
from tocsin.errors import Conflict
from tocsin.flow.capture.write import Record
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Written
from tocsin.store.catalogue.alerts.incidents import AlertIncidentFilter, AlertIncidentLog
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.failure_incidents import ReportPlace, incidents_at

_TAKEN_OVER = (StepKind.ACKNOWLEDGED, StepKind.ASSIGNED)
OPEN, ACKNOWLEDGED, RESOLVED = IncidentStatus.OPEN, IncidentStatus.ACKNOWLEDGED, IncidentStatus.RESOLVED
ACKNOWLEDGE, RESOLVE = Handling(StepKind.ACKNOWLEDGED), Handling(StepKind.RESOLVED)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """Three pipelines that fail: INC-1 to INC-3."""
    small_company = SmallCompany(store_engine)
    for name in ("p1", "p2", "p3"):
        small_company.pipeline(name)
    small_company.clock.advance(1_000)
    small_company.alert("failed", [BELL], "pipelineStatus == 'Failed'", resources=("pipeline",))
    for name in ("p1", "p2", "p3"):
        small_company.run(name, "Failed")
    notify_all(store_engine)
    return small_company


def incident(company: SmallCompany, name: str) -> AlertIncident:
    found_incident = AlertIncidentLog(company.engine).find(name)
    assert found_incident is not None
    return found_incident


def states(company: SmallCompany) -> list[tuple[IncidentStatus, str | None]]:
    """Status of each incident, and of which it is a part."""
    page = AlertIncidentLog(company.engine).page(AlertIncidentFilter(), limit=99)
    names = {one.id: one.name for one in page}
    return [(one.status, names.get(one.part_of or "")) for one in sorted(page, key=lambda one: one.number)]


def act(company: SmallCompany, work: Callable[[Record], Written], by: str = "dia") -> Written:
    company.clock.advance(1_000)
    return company.writes.within(work, actor=company.actor(by))


def merge_incident(company: SmallCompany, part: str, target: str) -> Written:
    part_id, target_id = incident(company, part).id, incident(company, target).id
    return act(company, lambda record: merge(record, part_id, target_id))


def split_incident(company: SmallCompany, part: str) -> Written:
    part_id = incident(company, part).id
    return act(company, lambda record: split(record, part_id))


def acknowledger(company: SmallCompany, name: str) -> str | None:
    """Return by whom messages say that an incident is acknowledged."""
    place = ReportPlace(incident(company, name).entity_id, incident(company, name).opened_offset)
    with company.engine.connect() as connection:
        return incidents_at(connection, [place])[place].acknowledged_by


def kinds(company: SmallCompany, name: str) -> list[str]:
    return [step.kind.value for step in AlertIncidentLog(company.engine).steps(incident(company, name).id)]


def test_what_is_done_to_an_incident_is_done_to_its_parts_and_not_the_reverse(company: SmallCompany) -> None:
    handle_incident(company, "INC-1", ACKNOWLEDGE)
    outcome = merge_incident(company, "INC-2", "INC-1")
    assert outcome.event is not None
    assert states(company) == [(ACKNOWLEDGED, None), (ACKNOWLEDGED, "INC-1"), (OPEN, None)]
    assert merge_incident(company, "INC-2", "INC-1").event is None
    merge_incident(company, "INC-3", "INC-2")
    assert states(company) == [(ACKNOWLEDGED, None), (ACKNOWLEDGED, "INC-1"), (ACKNOWLEDGED, "INC-1")]
    assign = Handling(StepKind.ASSIGNED, assignee={"type": "user", "name": "ben"})
    handle_incident(company, "INC-1", assign)
    assert {incident(company, f"INC-{number}").assignee["id"] for number in (1, 2, 3)} == {company.ids["ben"]}  # type: ignore[index]
    handle_incident(company, "INC-2", RESOLVE)
    assert [status for status, _ in states(company)] == [ACKNOWLEDGED, RESOLVED, ACKNOWLEDGED]
    handle_incident(company, "INC-1", RESOLVE)
    assert [status for status, _ in states(company)] == [RESOLVED] * 3
    assert kinds(company, "INC-3") == ["merged", "acknowledged", "assigned", "resolved"]
    company.run("p3", "Failed")
    notify_all(company.engine)
    assert states(company)[3:] == [(OPEN, None)]


@pytest.mark.parametrize("is_deleted", [False, True], ids=["there", "deleted"])
def test_a_part_names_who_acknowledged_and_assigned_and_not_who_merged(
    company: SmallCompany, *, is_deleted: bool
) -> None:
    handle_incident(company, "INC-1", ACKNOWLEDGE, by="ana")
    handle_incident(company, "INC-1", replace(ACKNOWLEDGE, comment="me, too"), by="dia")
    handle_incident(company, "INC-1", Handling(StepKind.ASSIGNED, assignee={"type": "user", "name": "dia"}), by="ben")
    merge_incident(company, "INC-3", "INC-2")
    if is_deleted:
        company.writes.delete("user", company.key("ana"), hard=True, actor=SYSTEM)
    before = EventLog(company.engine).highest_offset()
    merge_incident(company, "INC-2", "INC-1")
    for part in ("INC-2", "INC-3"):
        split_incident(company, part)
        steps = AlertIncidentLog(company.engine).steps(incident(company, part).id)
        assert [(one.kind.value, one.user_name) for one in steps if one.kind in _TAKEN_OVER] == [
            ("acknowledged", "ana"),
            ("assigned", "ben"),
        ]
        assert acknowledger(company, part) == "ana"
    events = [one.event for one in EventLog(company.engine).read(before, 99)]
    assert [one.user_name for one in events] == ["dia", *["ana"] * 2, *["ben"] * 2, *["dia"] * 3]


def test_the_parts_of_a_part_move_along_and_a_split_undoes_a_merge(company: SmallCompany) -> None:
    merge_incident(company, "INC-3", "INC-2")
    merge_incident(company, "INC-2", "INC-1")
    assert states(company) == [(OPEN, None), (OPEN, "INC-1"), (OPEN, "INC-1")]
    split_incident(company, "INC-3")
    assert split_incident(company, "INC-3").event is None
    assert states(company) == [(OPEN, None), (OPEN, "INC-1"), (OPEN, None)]
    handle_incident(company, "INC-1", ACKNOWLEDGE)
    assert [status for status, _ in states(company)] == [ACKNOWLEDGED, ACKNOWLEDGED, OPEN]
    assert kinds(company, "INC-1") == ["merged", "merged", "split", "acknowledged"]


def test_events_of_merges_and_splits_name_the_other_incident_by_its_asset(company: SmallCompany) -> None:
    for written in (merge_incident(company, "INC-2", "INC-1"), split_incident(company, "INC-2")):
        assert written.event is not None
        assert written.event.change_description is not None
        (change,) = written.event.change_description.fields_updated
        asset = change.new_value["otherIncident"]
        assert (asset["id"], asset["type"], asset["incident"]) == (company.ids["p1"], "pipeline", "INC-1")
        hidden = event_without(written.event, {asset["id"]})
        assert event_text(hidden).headline in (
            "p2: INC-2 merged into another incident",
            "p2: INC-2 split from another incident",
        )


def test_an_incident_becomes_no_part_of_itself_of_its_part_or_of_what_is_over(company: SmallCompany) -> None:
    merge_incident(company, "INC-2", "INC-1")
    handle_incident(company, "INC-3", RESOLVE)
    for part, target in (("INC-1", "INC-1"), ("INC-1", "INC-2"), ("INC-3", "INC-1"), ("INC-1", "INC-3")):
        with pytest.raises(Conflict):
            merge_incident(company, part, target)
    assert states(company) == [(OPEN, None), (OPEN, "INC-1"), (RESOLVED, None)]


def test_a_success_ends_each_for_itself_and_lets_parts_that_still_fail_stand_alone(company: SmallCompany) -> None:
    merge_incident(company, "INC-2", "INC-1")
    merge_incident(company, "INC-3", "INC-1")
    company.run("p2", "Successful")
    notify_all(company.engine)
    assert states(company) == [(OPEN, None), (RESOLVED, "INC-1"), (OPEN, "INC-1")]
    company.run("p1", "Successful")
    company.run("p3", "Failed")
    notify_all(company.engine)
    assert states(company) == [(RESOLVED, None), (RESOLVED, "INC-1"), (OPEN, None)]
    with pytest.raises(Conflict):
        split_incident(company, "INC-2")


def outcomes(company: SmallCompany, *works: Callable[[], object]) -> int:
    """Do all at once; return how many were refused."""

    def is_refused(work: Callable[[], object]) -> bool:
        try:
            work()
        except Conflict:
            return True
        return False

    with ThreadPoolExecutor(len(works)) as pool:
        return sum(pool.map(is_refused, works))


def test_of_two_who_merge_two_incidents_into_each_other_at_once_one_is_refused(company: SmallCompany) -> None:
    refused_count = outcomes(
        company,
        lambda: merge_incident(company, "INC-1", "INC-2"),
        lambda: merge_incident(company, "INC-2", "INC-1"),
    )
    assert refused_count == 1
    assert sorted(name is None for _, name in states(company)) == [False, True, True]


def test_a_circle_of_merges_at_once_leaves_one_that_stands_for_all(company: SmallCompany) -> None:
    outcomes(
        company,
        lambda: merge_incident(company, "INC-1", "INC-2"),
        lambda: merge_incident(company, "INC-2", "INC-3"),
        lambda: merge_incident(company, "INC-3", "INC-1"),
    )
    leads = {name for _, name in states(company) if name}
    assert len(leads) == 1
    assert states(company)[int(leads.pop()[-1]) - 1] == (OPEN, None)


def test_a_split_while_a_success_arrives_leaves_no_failure_without_an_incident(company: SmallCompany) -> None:
    for number in (2, 3):
        merge_incident(company, f"INC-{number}", "INC-1")
    for name in ("p1", "p2"):
        company.run(name, "Successful")
    outcomes(
        company,
        lambda: split_incident(company, "INC-2"),
        lambda: notify_all(company.engine),
        lambda: split_incident(company, "INC-3"),
    )
    assert [status for status, _ in states(company)] == [RESOLVED, RESOLVED, OPEN]
    assert states(company)[2] == (OPEN, None)
