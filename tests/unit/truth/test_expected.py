"""Tests of the calculation behind ``make truth``: what it expects of a small company, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from truth.alerts import BELL, MAIL, Alert, AlertPeople, Destination, Rule
from truth.expected import Expectation, Reason, expectation_of
from truth.expected_state import ExpectedState
from truth.facts import Event
from truth.history import History, Json, Key
from truth.predicted import events_of
from truth.script import HIDDEN, OTHER, READERS, Script
from truth.steps import (
    ADMIN,
    Change,
    Edge,
    Follow,
    Make,
    Members,
    MuteAlert,
    MuteAsset,
    Remove,
    Report,
    SetAlert,
    Step,
    SwitchAlert,
)

ORDERS, DAILY = ("table", "s.d.p.orders"), ("table", "s.d.p.daily")
BELLS = Alert("Bells", ("table",), (), (Destination("Owners", BELL), Destination("Followers", BELL)))
FAR = Alert(
    "Far",
    ("table",),
    (Rule("eventType == 'entityDeleted'", lambda facts, _: facts.event_type == "entityDeleted"),),
    (Destination("Owners", MAIL, depth=None),),
)
WHO_DOES_NOT_FOLLOW = Alert(
    "NotYet",
    ("table",),
    (Rule("!user.follows(entity)", lambda _, held: "follows" not in held),),
    (Destination("Owners", MAIL),),
    relations=("follows",),
)
FOUNDING = (
    Make(ADMIN, ("team", "shop"), {"users": [{"type": "user", "name": "ann"}]}),
    Make(
        ADMIN,
        ("team", "tills"),
        {"parents": [{"type": "team", "name": "shop"}], "users": [{"type": "user", "name": "ben"}]},
    ),
    Make(ADMIN, ("databaseSchema", "s.d.p"), {"owners": [{"type": "team", "name": "shop"}]}),
    Make(ADMIN, ORDERS, {}),
    Make(ADMIN, DAILY, {"owners": [{"type": "user", "name": "cem"}]}),
    Edge(ADMIN, ORDERS, DAILY, is_there=True),
)


def script_with(alert: Alert, *steps: Step) -> Script:
    history = History([], [], [], [], [], {})
    people = ("ann", "ben", "cem", *READERS)
    cast = AlertPeople("ann", "ben", READERS[0], READERS[1], "tills", "shop", "sales", "s.d.p", "guild")
    opening = SetAlert(ADMIN, alert.name, alert.definition())
    return Script(history, people, (), cast, FOUNDING, {alert.name: [alert]}, (opening, *steps))


def expectation(script: Script, *, at_the_end: bool = False) -> Expectation:
    """Return what is expected if the log holds exactly what is predicted; events are numbered."""
    world, steps, number = ExpectedState(), (*script.setup, *script.steps), 0
    log: list[list[Event]] = []
    for step in steps:
        predicted = []
        for event_type, key in events_of(step, world):
            number += 1
            predicted.append(event(str(number), event_type, key, step))
        world.apply(step)
        log.append(predicted)
    return expectation_of(script, log, at_the_end=at_the_end)


def event(event_id: str, event_type: str, key: Key, step: Step) -> Event:
    names = frozenset[str](step.values) if isinstance(step, Change) else frozenset[str]()
    actor = str(getattr(step, "actor", ADMIN))
    return Event(event_id, event_type, key, "id", actor, 0, frozenset(), names, frozenset())


def heard(judgement: Expectation, alert: str) -> set[tuple[str, str, str, str, int]]:
    return {
        (who, reason.kind, reason.team, reason.via, reason.hops)
        for (_, _, who), reasons in judgement.notifications.items()
        for reason in reasons
        if reason.alert == alert
    }


def description_by(by: str = ADMIN, key: Key = ORDERS) -> Change:
    values: Json = {"description": f"by {by}"}
    return Change(by, key, values)


def test_owners_of_the_container_and_members_of_teams_below_hear_but_not_the_actor() -> None:
    judgement = expectation(script_with(BELLS, description_by("ann")))
    assert heard(judgement, "Bells") == {("ben", "owner", "shop", "", 0)}


def test_a_follower_hears_from_the_follow_to_the_unfollow() -> None:
    follow, unfollow = (Follow("cem", "cem", ORDERS, begins=one) for one in (True, False))
    judgement = expectation(
        script_with(BELLS, description_by("ann"), follow, description_by("ben"), unfollow, description_by("ann"))
    )
    assert len([one for one in judgement.notifications.values() if Reason("follower", "Bells", 1) in one]) == 1


def test_a_deletion_notifies_the_people_of_the_asset() -> None:
    judgement = expectation(script_with(FAR, Remove(ADMIN, ORDERS, is_hard=True)))
    assert heard(judgement, "Far") == {
        ("ann@history.example.org", "owner", "shop", "", 0),
        ("ben@history.example.org", "owner", "shop", "", 0),
        ("cem@history.example.org", "owner", "", "s.d.p.daily", 1),
    }


def test_a_deletion_is_an_event_at_each_asset_that_loses_its_source() -> None:
    world = ExpectedState()
    for step in FOUNDING:
        world.apply(step)
    assert list(events_of(Remove(ADMIN, ORDERS, is_hard=True), world)) == [
        ("entityDeleted", ORDERS),
        ("entityUpdated", DAILY),
    ]


def test_conditions_on_the_recipient_are_asked_of_each() -> None:
    follow = Follow("ann", "ann", ORDERS, begins=True)
    judgement = expectation(script_with(WHO_DOES_NOT_FOLLOW, follow, description_by("cem")))
    assert heard(judgement, "NotYet") == {("ben@history.example.org", "owner", "shop", "", 0)}


def test_who_muted_or_may_not_view_does_not_hear() -> None:
    tagged = Change(ADMIN, ORDERS, {"tags": [{"tagFQN": HIDDEN}]})
    readers = Change(ADMIN, ORDERS, {"owners": [{"type": "user", "name": one} for one in (READERS[0], "cem")]})
    judgement = expectation(script_with(BELLS, MuteAsset("ben", ORDERS, BELL), description_by("ann"), tagged, readers))
    assert "ben" not in {who for who, *_ in heard(judgement, "Bells")}
    assert READERS[0] not in {who for who, *_ in heard(judgement, "Bells")}
    assert ("cem", "owner", "", "", 0) in heard(judgement, "Bells")


@pytest.fixture(params=[False, True], ids=["running", "at the end"])
def at_the_end(request: pytest.FixtureRequest) -> Iterator[bool]:
    yield request.param


def test_an_alert_covers_what_follows_its_last_enabling(at_the_end: bool) -> None:
    off, on = (SwitchAlert(ADMIN, "Bells", enabled=one) for one in (False, True))
    changes = [description_by(one) for one in ("ann", "ben", "cem")]
    judgement = expectation(script_with(BELLS, changes[0], off, changes[1], on, changes[2]), at_the_end=at_the_end)
    assert len(judgement.firings["Bells"]) == (1 if at_the_end else 2)


def test_a_lost_event_is_a_surprise() -> None:
    script = script_with(BELLS, description_by())
    log: list[list[Event]] = [[] for _ in (*script.setup, *script.steps)]
    assert len(expectation_of(script, log, at_the_end=False).surprises) == len(log)


def test_a_test_concerns_the_followers_of_its_table_and_what_that_feeds() -> None:
    case = ("testCase", "s.d.p.orders.rows")
    destinations = (Destination("Followers", BELL), Destination("Owners", MAIL, depth=None))
    alert = Alert("Tests", ("testCase",), (), destinations)
    preparation = (Make(ADMIN, case, {}), Follow("ben", "ben", ORDERS, begins=True))
    expected_recipients = {
        ("ben", "follower", "", "", 0),
        *((f"{who}@history.example.org", "owner", "shop", "", 0) for who in ("ann", "ben")),
        ("cem@history.example.org", "owner", "", DAILY[1], 1),
    }
    assert (
        heard(expectation(script_with(alert, *preparation, Report(ADMIN, case, "Failed"))), "Tests")
        == expected_recipients
    )
    quiet = expectation(script_with(alert, *preparation, MuteAsset("ben", ORDERS, BELL), Report(ADMIN, case, "Failed")))
    assert heard(quiet, "Tests") == expected_recipients - {("ben", "follower", "", "", 0)}


def event_of_other(number: int, event_type: str, key: Key, **differing: Any) -> Event:
    fields: dict[str, Any] = {"added": frozenset(), "updated": frozenset(), "deleted": frozenset(), **differing}
    return Event(f"other {number}", event_type, key, "id", OTHER, 0, **fields)


def beside(script: Script, **foreign_events: list[Event]) -> Expectation:
    """Return what is expected if somebody else made these events ``before`` and ``after`` the last step's own."""
    log: list[list[Event]] = [[] for _ in (*script.setup, *script.steps)]
    own_event = event("own", "entityUpdated", ("team", "tills"), script.steps[-1])
    log[-1] = [
        *foreign_events["before"],
        *([own_event] if isinstance(script.steps[-1], Members) else []),
        *foreign_events["after"],
    ]
    return expectation_of(script, log, at_the_end=False)


def test_events_of_another_writer_are_judged_by_what_is_so_at_their_place_beside_a_step() -> None:
    other_table = ("table", "s.d.p.other")
    membership = Members(ADMIN, "tills", ("ben", "dan"))
    judgement = beside(
        script_with(BELLS, membership),
        before=[event_of_other(1, "entityCreated", other_table)],
        after=[event_of_other(2, "entityUpdated", other_table)],
    )
    people_by_event = {
        number: {who for (one, channel, who) in judgement.notifications if (one, channel) == (f"other {number}", BELL)}
        for number in (1, 2)
    }
    assert people_by_event == {1: {"ann", "ben"}, 2: {"ann", "ben", "dan"}}
    assert not any("other" in one for one in judgement.surprises)


def test_a_step_without_an_event_comes_after_what_another_writer_made_meanwhile() -> None:
    foreign = [event_of_other(1, "entityUpdated", ORDERS)]
    judgement = beside(script_with(BELLS, MuteAlert("ben", "Bells")), before=foreign, after=[])
    assert {who for who, *_ in heard(judgement, "Bells")} == {"ann", "ben"}


def test_edges_and_results_of_another_writer_are_known() -> None:
    raw, case = ("table", "s.d.p.raw"), ("testCase", "s.d.p.raw.total.is_there")
    ends, lineage = (raw, ORDERS), frozenset({"lineage"})
    result = frozenset({"testCaseResult"})
    failing = Rule("testStatus == 'Failed'", lambda facts, _: facts.test_status == "Failed")
    alert = Alert("Failing", ("testCase",), (failing,), (Destination("Owners", MAIL, depth=None),))
    foreign = [
        event_of_other(1, "entityCreated", raw),
        event_of_other(2, "entityUpdated", ORDERS, added=lineage, ends=ends),
        event_of_other(3, "entityUpdated", case, updated=result, status="Success"),
        event_of_other(4, "testCaseFailure", case, updated=result, status="Failed"),
    ]
    judgement = beside(script_with(alert, MuteAlert("ben", "Bells")), before=foreign, after=[])
    assert judgement.firings["Failing"] == {"other 4"}
    assert {(who, kind, hops) for who, kind, _, _, hops in heard(judgement, "Failing")} == {
        *((f"{who}@history.example.org", "owner", 0) for who in ("ann", "ben")),
        *((f"{who}@history.example.org", "owner", 1) for who in ("ann", "ben")),
        ("cem@history.example.org", "owner", 2),
    }


def test_a_run_that_began_before_an_alert_was_made_does_not_match_it() -> None:
    all_events_alert = Alert("Every", ("all",), (), (Destination("Users", BELL, ("ann",)),))
    key, status = ("ingestionPipeline", "s.nightly"), frozenset({"pipelineStatus"})
    script = script_with(all_events_alert)
    log: list[list[Event]] = [[] for _ in (*script.setup, *script.steps)]
    nothing = frozenset[str]()
    created = Event("own", "entityCreated", ("eventsubscription", "Every"), "id", ADMIN, 100, nothing, nothing, nothing)
    log[-1] = [created, *(event_of_other(ms, "entityUpdated", key, updated=status, dated_ms=ms) for ms in (99, 100))]
    judgement = expectation_of(script, log, at_the_end=False)
    assert (judgement.firings["Every"], judgement.too_new) == ({"other 100"}, frozenset({"Every"}))
