"""Tests of what the truth expects as time passes: reminders, questions on the date, checks, outcomes; by hand."""

from __future__ import annotations

import pytest
from truth.alerts import Alert
from truth.expected_state import ExpectedState
from truth.failures import Incident
from truth.job_events import REMINDER, JobEvent
from truth.passing_time import Reminders, check_events, request_events
from truth.steps import ADMIN, Announce, Answer, Edge, Follow, Make, Remove, Report, Step, Wait

ORDERS, DAILY = ("table", "s.d.p.orders"), ("table", "s.d.p.daily")
TEST = ("testCase", "s.d.p.orders.rows")


def world_on(day: int, *steps: Step) -> ExpectedState:
    """Return a catalogue on a day in which orders feed daily, which ben owns; cem follows orders."""
    world = ExpectedState()
    for step in (
        Make(ADMIN, ORDERS, {}),
        Make(ADMIN, DAILY, {"owners": [{"type": "user", "name": "ben"}]}),
        Edge(ADMIN, ORDERS, DAILY, is_there=True),
        Follow("cem", "cem", ORDERS, begins=True),
        *steps,
    ):
        world.apply(step)
    world.day = day
    return world


def announcement(kind: str = "removal") -> Announce:
    return Announce("ann", "CR-1", ORDERS, kind)


def request_events_of(world: ExpectedState) -> list[tuple[str, set[tuple[str, str]], tuple[str, str, int] | None]]:
    return [(one.event_type, set(one.asked_principals), one.request) for one in request_events(world)]


REMINDED = ("changeRequestReminder", {("user", "ben"), ("user", "cem")}, ("CR-1", "announced", 2))
ASKED = ("changeRequestUpdated", {("user", "ann")}, ("CR-1", "due", 2))


def test_those_that_are_open_are_reminded_every_seven_days_until_the_date_and_then_the_author_is_asked_once() -> None:
    assert request_events_of(world_on(6, announcement())) == []
    assert request_events_of(world_on(8, announcement())) == [REMINDED]
    assert request_events_of(world_on(14, announcement(), Wait(8))) == []
    assert request_events_of(world_on(15, announcement(), Wait(8))) == [REMINDED]
    assert request_events_of(world_on(30, announcement(), Wait(8))) == [ASKED]
    assert request_events_of(world_on(40, announcement(), Wait(30))) == []


def test_only_those_without_an_answer_are_reminded() -> None:
    reminder_of_the_other = ("changeRequestReminder", {("user", "cem")}, ("CR-1", "announced", 1))
    assert request_events_of(world_on(8, announcement(), Answer("ben", "CR-1", "ready"))) == [reminder_of_the_other]
    answers = [Answer(one, "CR-1", "ready") for one in ("ben", "cem")]
    assert request_events_of(world_on(8, announcement(), *answers)) == []


def test_nobody_is_told_of_a_request_about_what_is_deleted_or_asked_about_a_deprecation() -> None:
    assert request_events_of(world_on(8, announcement(), Remove(ADMIN, ORDERS, is_hard=False))) == []
    assert request_events_of(world_on(31, announcement("deprecation"))) == []


@pytest.mark.parametrize(
    ("kind", "verdict", "day", "outcome"),
    [
        ("removal", "ready", 29, "early"),
        ("removal", "objects", 29, "early"),
        ("removal", "ready", 30, "asAnnounced"),
        ("removal", "objects", 30, "objected"),
        ("deprecation", "ready", 30, "otherwise"),
    ],
)
def test_a_deletion_is_judged_by_date_kind_and_objections(kind: str, verdict: str, day: int, outcome: str) -> None:
    world = world_on(day, announcement(kind), Answer("ben", "CR-1", verdict))
    world.apply(Remove(ADMIN, ORDERS, is_hard=True))
    assert world.requests.just_ended == {ORDERS: ("CR-1", outcome)}


def test_each_alert_reminds_by_its_own_interval_and_all_of_a_day_are_one_reminder() -> None:
    alerts = {
        name: Alert(name, (), (), (), repeat_days=days)
        for name, days in (("Often", 1), ("Rarely", 10), ("Never", None))
    }
    reminders, incident = Reminders(), Incident("id", "event", frozenset(alerts))

    def reminders_of(day: int) -> list[JobEvent]:
        return list(reminders.take({TEST: incident}, alerts, {"event": 0}, day))

    assert reminders_of(0) == []
    assert reminders_of(1) == [JobEvent(REMINDER, TEST, reminding=frozenset({"Often"}), number=1)]
    assert reminders_of(10) == [JobEvent(REMINDER, TEST, reminding=frozenset({"Often", "Rarely"}), number=2)]
    assert reminders_of(19) == [JobEvent(REMINDER, TEST, reminding=frozenset({"Often"}), number=3)]


def test_a_check_finds_what_fails_what_is_stale_and_what_nobody_owns_where_an_alert_asks() -> None:
    world = world_on(16, Make(ADMIN, TEST, {}), Report("ann", TEST, "Success"), Wait(8), Report("ann", TEST, "Failed"))
    red, stale = (
        Alert(name, ("testCase",), (), (), checks=(state,))
        for name, state in (("Red", "stillFailing"), ("Stale", "stillStale"))
    )
    of_tables = Alert("Tables", ("table",), (), (), checks=("stillFailing", "stillWithoutOwner"))
    states = frozenset({"stillFailing", "stillStale", "stillWithoutOwner"})
    for alerts, is_found in (([red], True), ([stale], True), ([of_tables], True), ([], False)):
        assert [one.states for one in check_events(world, alerts)] == [states] * is_found
    world.apply(Remove(ADMIN, TEST, is_hard=False))
    assert list(check_events(world, [red])) == []
