"""Tests of explanations by HTTP, with one case for each reason for a missing notification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from sqlalchemy import Engine, delete, update
from tests.contract.test_access import restrict
from tests.contract.test_quality import _fail, case
from tests.notifying import notify_all
from tests.serving import Json, Served
from tests.store.rows import finish_of

from tocsin.clock import SystemClock
from tocsin.delivery.lines import exact_moment_text
from tocsin.flow.eventlog.readers import STREAK_STREAM
from tocsin.model.backtest import JOB
from tocsin.model.message import DroppedReason, OutcomeReason, Rejected
from tocsin.store.database.tables import destination_status, entity_version, notification_ids, ownership, past_relation
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions

__all__ = ["case"]  # a fixture


def alert(client: httpx.Client, name: str, *rules: Json, **fields: Json) -> Json:
    request = {
        "name": name,
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": list(rules)},
        "destinations": [{"category": "Owners", "type": "ActivityFeed"}],
        **fields,
    }
    answer = client.post("/events/subscriptions", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def describe(client: httpx.Client, orders: Json, text: str) -> str:
    """Describe the table; return the event's id."""
    patch = [{"op": "add", "path": "/description", "value": text}]
    headers = {"Content-Type": "application/json-patch+json"}
    answer = client.patch(f"/tables/{orders['id']}", json=patch, headers=headers)
    assert answer.status_code == 200, answer.text
    events = client.get("/events", params={"entityId": orders["id"], "format": "tocsin"}).json()["data"]
    return str(events[-1]["id"])


def assign_owners(client: httpx.Client, orders: Json, *owners: str, kind: str = "user") -> None:
    patch = [{"op": "add", "path": "/owners", "value": [{"id": one, "type": kind} for one in owners]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert client.patch(f"/tables/{orders['id']}", json=patch, headers=headers).status_code == 200


def explanation_of(client: httpx.Client, event_id: str, **query: Json) -> Json:
    answer = client.get(f"/events/{event_id}/explain", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def alert_in(answer: Json, name: str) -> Json:
    return next(one for one in answer["alerts"] if one["name"] == name)


Person = Callable[[str], tuple[str, httpx.Client]]


@pytest.fixture
def person(served: Served) -> Iterator[Person]:
    """Makes people; their clients are closed at the end."""
    with ExitStack() as stack:

        def make(name: str) -> tuple[str, httpx.Client]:
            user_id, client = served.person(name)
            return user_id, stack.enter_context(client)

        yield make


@pytest.fixture
def ann(person: Person, administrator: httpx.Client, orders: Json) -> tuple[str, httpx.Client]:
    user_id, client = person("ann")
    assign_owners(administrator, orders, user_id)
    return user_id, client


@pytest.mark.parametrize("are_told_before_upgrade", [True, False])
def test_explanations_find_what_was_stored_before_the_upgrade_and_after_it(
    administrator: httpx.Client,
    orders: Json,
    ann: tuple[str, httpx.Client],
    sqlite_engine: Engine,
    are_told_before_upgrade: bool,
) -> None:
    alert(
        administrator,
        "Described",
        {"effect": "include", "condition": "fieldChanged == 'description'"},
        destinations=[{"category": "Owners", "type": "Email"}, {"category": "Owners", "type": "ActivityFeed"}],
    )
    event = describe(administrator, orders, "All orders.")
    through = EventLog(sqlite_engine).readable_end() - (not are_told_before_upgrade)
    with sqlite_engine.begin() as connection:
        connection.execute(update(notification_ids).values(hashed_through=through))
    notify_all(sqlite_engine)
    for query in ({"user": "ann"}, {}):
        answer = explanation_of(administrator, event, subscription="Described", **query)
        assert answer["disagreements"] == []
        versions = [one["id"][14] for one in answer["notified"]["data"]]
        assert versions == ["5" if are_told_before_upgrade else "8"] * 2
        recipients = answer["alerts"][0]["reached"]["data"]
        assert [one["notification"] is not None for one in recipients] == [True, True]


def test_a_recipient_reads_how_and_why_they_were_notified(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    user_id, client = ann
    description_alert = alert(
        administrator, "Described", {"effect": "include", "condition": "fieldChanged == 'description'"}
    )
    event = describe(administrator, orders, "All orders.")
    before = explanation_of(client, event, user="ann")
    assert before["answer"].startswith("Not yet: the pipeline is at offset ")
    assert before["answer"].endswith("; no pipeline is running: start one with `tocsin pipeline`.")
    assert before["disagreements"] == []
    ScheduledJobs(sqlite_engine).record_heartbeat(JOB, now_ms=SystemClock().now_ms())
    running = explanation_of(client, event, user="ann")
    assert (running["pipeline"]["isRunning"], "no pipeline" in running["answer"]) == (True, False)
    notify_all(sqlite_engine)
    answer = explanation_of(client, event, user="ann", subscription="Described")
    assert answer["answer"].startswith("Yes: you were notified in the app at ")
    assert "(unread), because you own it (alert ActivityFeedAlert); you own it (alert Described)." in answer["answer"]
    (explained_alert,) = answer["alerts"]
    assert (
        explained_alert["id"],
        explained_alert["matched"],
        [gate["holds"] for gate in explained_alert["gates"]],
    ) == (description_alert["id"], True, [True] * 3)
    assert explained_alert["rules"] == [], "what somebody else's alert asks for is theirs"
    explanation = explanation_of(administrator, event, user="ann", subscription="Described")
    (rule,) = explanation["alerts"][0]["rules"]
    assert rule["trace"] == {
        "text": "fieldChanged == 'description'",
        "line": 1,
        "column": 1,
        "holds": True,
        "seen": [
            {"name": "fieldChanged", "isMissing": False, "isInherited": False, "values": ["description"], "total": 1}
        ],
    }
    (recipients,) = explained_alert["reached"]["data"]
    assert (recipients["id"], recipients["isDue"], recipients["mergedWith"]) == (user_id, True, ["ActivityFeedAlert"])
    assert recipients["ways"][0]["reason"]["kind"] == "owner"
    assert answer["notified"]["data"][0]["id"] == recipients["notification"]
    assert answer["disagreements"] == []
    client.put(f"/users/{user_id}/notifications/{recipients['notification']}/read")
    assert "(read)" in explanation_of(client, event, user=user_id)["answer"]


def test_a_rule_that_does_not_hold_is_named_with_what_was_seen(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    condition = "isBot() == false && (tier == 'Tier.Tier1' || tags.contains('PII.Sensitive'))"
    alert(administrator, "Important", {"name": "matters", "effect": "include", "condition": condition})
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    own_answer = explanation_of(ann[1], event, user="ann", subscription="Important")
    assert own_answer["answer"].startswith(
        "No: Important would have notified you because you own it, but it did not match: its rules are false"
    )
    assert (alert_in(own_answer, "Important")["matched"], alert_in(own_answer, "Important")["obstacles"]) == (False, [])
    answer = explanation_of(administrator, event, user="ann", subscription="Important")
    assert not alert_in(answer, "Important")["matched"]
    (rule,) = alert_in(answer, "Important")["rules"]
    both = rule["trace"]["parts"][1]
    assert [(part["text"], part["holds"], part["seen"][0]["isMissing"]) for part in both["parts"]] == [
        ("tier == 'Tier.Tier1'", False, True),
        ("tags.contains('PII.Sensitive')", False, True),
    ]
    assert answer["notified"]["total"] == 0
    assert answer["answer"].startswith(
        "No: Important would have notified ann because ann owns it, but it did not match: the rule matters is false"
    )
    administrator.put("/events/subscriptions", json={**_wire(answer, administrator), "enabled": False})
    assert "the alert is disabled" in explanation_of(ann[1], event, user="ann", subscription="Important")["answer"]


def _wire(answer: Json, client: httpx.Client) -> Json:
    stored = client.get(f"/events/subscriptions/{answer['alerts'][0]['id']}").json()
    return {key: stored[key] for key in ("name", "alertType", "filteringRules", "destinations")}


def test_what_lies_before_the_alert_and_what_it_is_not_about(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    event = describe(administrator, orders, "All orders.")
    alert(administrator, "Late")
    alert(administrator, "Dashboards", filteringRules={"resources": ["dashboard"]})
    notify_all(sqlite_engine)
    late = explanation_of(administrator, event, user="ann", subscription="Late")
    assert "the alert was created after the event" in late["answer"]
    unrelated = explanation_of(administrator, event, user="ann", subscription="Dashboards")
    gates = {gate["name"]: (gate["holds"], gate["says"]) for gate in alert_in(unrelated, "Dashboards")["gates"]}
    assert gates["resources"] == (False, "the alert's resources (dashboard) do not include table")


def test_everything_that_stops_somebody_is_named(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    ben, ben_client = person("ben")
    cem, cem_client = person("cem")
    assign_owners(administrator, orders, ann[0], ben, cem)
    off = {"category": "Followers", "type": "ActivityFeed", "enabled": False}
    alert(administrator, "Watch", destinations=[{"category": "Owners", "type": "ActivityFeed"}, off])
    administrator.put(f"/tables/{orders['id']}/followers", json=ann[0])
    restrict(administrator, ben, {"effect": "deny", "resources": ["table"], "operations": ["ViewBasic", "ViewAll"]})
    event = describe(ann[1], orders, "By ann.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Watch")
    stops = {
        (recipient["name"], way["reason"]["kind"]): (way["stoppedBy"] or {}).get("kind")
        for recipient in alert_in(answer, "Watch")["reached"]["data"]
        for way in recipient["ways"]
    }
    assert stops == {
        ("ann", "owner"): "self",
        ("ann", "follower"): "destinationDisabled",
        ("ben", "owner"): "mayNotView",
        ("cem", "owner"): None,
    }
    assert "ann made the change" in explanation_of(administrator, event, user="ann")["answer"]
    assert "ben may not view this table: rule" in explanation_of(administrator, event, user="ben")["answer"]
    assert [one["recipientId"] for one in answer["notified"]["data"]] == [cem]
    assert answer["answer"] == "1 notification, by ActivityFeedAlert, Watch."
    assert cem_client.get(f"/events/{event}/explain").json()["notified"]["total"] == 1
    assert ben_client.get(f"/events/{event}/explain").status_code == 404


def test_a_person_who_is_no_recipient_reads_why_and_a_muted_alert_is_named(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    _, zoe = person("zoe")
    watch = alert(administrator, "Watch")
    muted = {"kind": "alert", "id": watch["id"]}
    assert ann[1].put(f"/users/{ann[0]}/mutes", json=muted).status_code == 200
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(zoe, event, user="zoe", subscription="Watch")
    assert answer["answer"] == "No: Watch matched, but you are not among the recipients."
    explanation = explanation_of(ann[1], event, subscription="Watch", user="ann")
    assert explanation["answer"] == "No: Watch matched, but you muted this alert permanently."
    assert explanation["disagreements"] == []


def test_whoever_asks_is_addressed_and_others_are_called_by_name(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    ben, ben_client = person("ben")
    assign_owners(administrator, orders, ann[0], ben)
    watch = alert(administrator, "Watch")
    me = administrator.get("/users/loggedInUser").json()
    rule = {"effect": "include", "condition": "user.owns(entity)"}
    to_me = [{"category": "Users", "type": "ActivityFeed", "config": {"receivers": [me["name"]]}}]
    alert(administrator, "Named", rule, destinations=to_me)
    event = describe(ann[1], orders, "By ann.")
    notify_all(sqlite_engine)
    about_ann = explanation_of(administrator, event, subscription="Watch", user="ann")["answer"]
    assert about_ann == "No: Watch matched, but ann made the change; nobody is notified of their own changes."
    about_ben = explanation_of(administrator, event, subscription="Watch", user="ben")
    assert about_ben["answer"].startswith("Yes: ben was notified in the app at ")
    (notifications,) = about_ben["notified"]["data"]
    sentences = [reason["sentence"] for reason in notifications["reasons"]]
    assert sentences == ["ben owns it (alert ActivityFeedAlert)", "ben owns it (alert Watch)"]
    to_ann = explanation_of(ann[1], event, subscription="Watch", user="ann")
    says = "you made the change; nobody is notified of their own changes"
    assert to_ann["answer"] == f"No: Watch matched, but {says}."
    (recipients,) = alert_in(to_ann, "Watch")["reached"]["data"]
    (way,) = recipients["ways"]
    assert (recipients["name"], way["reason"]["sentence"], way["stoppedBy"]["says"]) == (
        "ann",
        "you own it (alert Watch)",
        says,
    )
    (notifications,) = explanation_of(ben_client, event, user="ben", subscription=watch["id"])["notified"]["data"]
    sentences = [reason["sentence"] for reason in notifications["reasons"]]
    assert sentences == ["you own it (alert ActivityFeedAlert)", "you own it (alert Watch)"]
    (asker,) = alert_in(explanation_of(administrator, event, subscription="Named"), "Named")["reached"]["data"]
    assert asker["ways"][0]["stoppedBy"]["says"] == (
        "the alert's condition on recipients is false for you: user.owns(entity) is false"
    )


def test_people_are_called_by_their_display_names_and_keys_hold_their_names(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    user_id, client = ann
    patch = [{"op": "add", "path": "/displayName", "value": "Ann Berg"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/users/{user_id}", json=patch, headers=headers).is_success
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Mail", user="ann")
    assert answer["answer"].startswith("Yes: Ann Berg was notified by mail at ")
    assert "because Ann Berg owns it" in answer["answer"]
    assert answer["user"] == {"id": user_id, "name": "ann", "displayName": "Ann Berg"}
    assert (answer["event"]["userName"], answer["event"]["userDisplayName"]) == ("admin", "Administrator")
    (recipient,), (record,) = alert_in(answer, "Mail")["reached"]["data"], answer["notified"]["data"]
    assert (recipient["name"], recipient["displayName"]) == ("ann", "Ann Berg")
    assert (record["recipientName"], record["recipientDisplayName"]) == ("ann", "Ann Berg")
    assert recipient["ways"][0]["reason"]["sentence"].startswith("Ann Berg owns it")
    assert explanation_of(client, event, subscription="Mail", user="ann")["answer"].startswith("Yes: you were")


def test_times_in_sentences_are_in_the_zone_of_who_asks_and_others_stay_numbers(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    watch = alert(administrator, "Watch")
    mute_end_ms = 1_798_761_600_000  # 2027-01-01 00:00 UTC
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    assert ann[1].put(f"/users/{ann[0]}/preferences", json={"timezone": "Asia/Kolkata"}).status_code == 200
    to_ann = explanation_of(ann[1], event, subscription="Watch", user="ann")
    to_another = explanation_of(administrator, event, subscription="Watch", user="ann")
    due_ms = to_ann["notified"]["data"][0]["dueAt"]
    assert to_another["notified"]["data"][0]["dueAt"] == due_ms
    assert f"in the app at {exact_moment_text(due_ms, 'Asia/Kolkata')} (unread)" in to_ann["answer"]
    assert f"in the app at {exact_moment_text(due_ms)} (unread)" in to_another["answer"]
    gates = {gate["name"]: gate["says"] for gate in alert_in(to_ann, "Watch")["gates"]}
    assert gates["created"].endswith(" IST"), gates
    mute = {"kind": "alert", "id": watch["id"], "until": mute_end_ms}
    assert ann[1].put(f"/users/{ann[0]}/mutes", json=mute).status_code == 200
    second = describe(administrator, orders, "Orders of all shops.")
    notify_all(sqlite_engine)
    answer = explanation_of(ann[1], second, subscription="Watch", user="ann")["answer"]
    assert answer == "No: Watch matched, but you muted this alert until 2027-01-01 05:30 IST."


def test_conditions_on_people_are_shown_with_each_result(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    administrator.put(f"/tables/{orders['id']}/followers", json=ann[0])
    ben, _ = person("ben")
    assign_owners(administrator, orders, ann[0], ben)
    condition = "fieldChanged == 'description' && user.follows(entity)"
    alert(administrator, "Asking", {"name": "mine", "effect": "include", "condition": condition})
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Asking")
    (rule,) = alert_in(answer, "Asking")["rules"]
    assert (rule["holds"], rule["says"]) == (None, f"the rule mine depends on the recipient: {condition}")
    assert [part["holds"] for part in rule["trace"]["parts"]] == [True, None]
    assert [one["recipientId"] for one in answer["notified"]["data"]] == [ann[0]]
    assert answer["disagreements"] == []
    why_not = explanation_of(administrator, event, subscription="Asking", user="ben")["answer"]
    assert why_not == (
        "No: Asking matched, but the alert's condition on recipients is false for ben: user.follows(entity) is false."
    )


def test_what_depends_on_earlier_reports_is_explained_with_them(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine
) -> None:
    resources = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "firstFailure()"}]}
    alert(administrator, "First", filteringRules=resources)
    events = []
    for ahead_ms in (1_000, 2_000):
        _fail(administrator, now_ms() + ahead_ms)
        events.append(_last_failure(administrator, case))
    first, again = (explanation_of(administrator, one, subscription="First") for one in events)
    assert [alert_in(one, "First")["matched"] for one in (first, again)] == [True, False]
    assert "firstFailure() (failures is 2)" in alert_in(again, "First")["obstacles"][0]
    notify_all(sqlite_engine)
    assert first["pipeline"]["hasReached"] is False
    assert explanation_of(administrator, events[0])["pipeline"]["hasReached"] is True
    Notifications(sqlite_engine).advance(STREAK_STREAM, 1, now_ms=1)
    assert explanation_of(administrator, events[0])["pipeline"] == {
        "offset": 1,
        "hasReached": False,
        "isRunning": False,
    }


@pytest.mark.parametrize("condition", ["firstFailure()", "testStatus == 'Failed'"])
@pytest.mark.parametrize(
    ("days", "obstacle"), [(30, "before the alert was created"), (8, "more than report_max_age_h")]
)
def test_a_late_result_notifies_nobody_and_says_so(
    ann: tuple[str, httpx.Client],
    administrator: httpx.Client,
    case: Json,
    sqlite_engine: Engine,
    condition: str,
    days: int,
    obstacle: str,
) -> None:
    del ann  # who owns the table
    resources = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": condition}]}
    test_case = alert(administrator, "First", filteringRules=resources)
    if days == 8:  # the alert is older than the result
        move_creation_back(sqlite_engine, test_case, 9)
    notify_all(sqlite_engine)
    _fail(administrator, now_ms() - days * 86_400_000)
    answer = alert_in(explanation_of(administrator, _last_failure(administrator, case), subscription="First"), "First")
    assert (answer["matched"], len(answer["obstacles"])) == (False, 1)
    assert obstacle in answer["obstacles"][0]
    assert notify_all(sqlite_engine) == 0
    _fail(administrator, now_ms())
    answer = alert_in(explanation_of(administrator, _last_failure(administrator, case), subscription="First"), "First")
    assert answer["matched"] is (condition != "firstFailure()"), "for a streak, the late one was the first"
    assert notify_all(sqlite_engine) > 0, "those whom other alerts notify"


@pytest.mark.parametrize(("ahead_s", "is_future"), [(240, False), (400, True)])
def test_a_result_that_is_still_to_come_notifies_nobody_and_says_so(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine, ahead_s: int, is_future: bool
) -> None:
    resources = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    alert(administrator, "First", filteringRules=resources)
    notify_all(sqlite_engine)
    _fail(administrator, now_ms() + ahead_s * 1_000)
    answer = alert_in(explanation_of(administrator, _last_failure(administrator, case), subscription="First"), "First")
    assert answer["matched"] is not is_future
    assert ("more than 5 min after it was reported" in "".join(answer["obstacles"])) is is_future


def test_who_may_know_of_no_alert_is_told_that_the_result_is_of_the_future(
    administrator: httpx.Client, case: Json, sqlite_engine: Engine, person: Person
) -> None:
    _, eve = person("eve")
    notify_all(sqlite_engine)
    _fail(administrator, now_ms() + 400_000)
    notify_all(sqlite_engine)
    event = _last_failure(administrator, case)
    for query in ({}, {"user": "eve"}):
        answer = explanation_of(eve, event, **query)
        assert (answer["alerts"], answer["paging"]["total"]) == ([], 0)
        assert "check the clock of the reporter" in answer["answer"], answer["answer"]


def now_ms() -> int:
    return SystemClock().now_ms()


def _last_failure(client: httpx.Client, case: Json) -> str:
    read = client.get("/events", params={"entityId": case["id"], "format": "tocsin"}).json()["data"]
    return str(next(one["id"] for one in reversed(read) if one["eventType"] == "testCaseFailure"))


def move_creation_back(engine: Engine, alert: Json, days: int) -> None:
    with engine.begin() as connection:
        moved = update(entity_version).where(entity_version.c.entity_id == alert["id"])
        connection.execute(moved.values(updated_at_ms=entity_version.c.updated_at_ms - days * 86_400_000))


def test_what_is_stored_and_what_should_be_are_compared(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    ben, _ = person("ben")
    alert(administrator, "Watch")
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    with sqlite_engine.begin() as connection:  # somebody who writes past the product
        connection.execute(update(ownership).where(ownership.c.owner_id == ann[0]).values(owner_id=ben))
    answer = explanation_of(administrator, event, subscription="Watch")
    assert {(one["kind"], one["who"]) for one in answer["disagreements"]} == {
        ("expectedButNotStored", "ben"),
        ("storedButNotExpected", "ann"),
    }
    assert all(ann[0] not in one["says"] for one in answer["disagreements"]), "people are called by name"
    assert explanation_of(administrator, event, subscription="Watch", user="ann")["answer"].startswith(
        "Yes: ann was notified"
    )


def test_a_message_is_shown_with_its_attempts(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Mail", user="ann")
    (notified,) = answer["notified"]["data"]
    assert notified["message"]["status"] == "pending"
    assert notified["message"]["target"] == "ann@example.org"
    assert (notified["message"]["attempts"], notified["message"]["isDeadLetter"]) == ([], False)
    assert "by mail at" in answer["answer"]
    assert "not delivered yet, 0 attempts" in answer["answer"]
    assert Messages(sqlite_engine).due_destinations(notified["dueAt"] + 1)
    assert (notified["message"]["nextAttempt"], notified["message"]["held"]) == (notified["dueAt"], None)


@pytest.mark.parametrize(("stopped_at_ms", "reason"), [(None, "paused"), (5, "stopped")])
def test_a_message_says_that_its_destination_is_paused(
    administrator: httpx.Client,
    orders: Json,
    ann: tuple[str, httpx.Client],
    sqlite_engine: Engine,
    stopped_at_ms: int | None,
    reason: str,
) -> None:
    created = alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    keys = {"subscription_id": created["id"], "destination_id": created["destinations"][0]["id"]}
    row = {"status": "failed", "timestamp_ms": 5, "delivered_count": 0, "failed_count": 0, "opened_at_ms": 5}
    with sqlite_engine.begin() as connection:
        connection.execute(destination_status.insert().values(**keys, **row, stopped_at_ms=stopped_at_ms))
    (notified,) = explanation_of(administrator, event, subscription="Mail", user="ann")["notified"]["data"]
    message = notified["message"]
    assert (message["held"], message["heldSince"], message["nextAttempt"]) == (reason, 5, None)


def test_a_message_of_several_is_said_to_be_one(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    for number in range(2):
        describe(administrator, orders, f"All {number} orders.")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Mail", user="ann")
    (notified,) = answer["notified"]["data"]
    assert notified["message"]["notificationCount"] == 3
    assert notified["message"]["groupingKey"].startswith("alert:")
    assert "in one message with 2 other notifications (not delivered yet" in answer["answer"]


def test_reasons_that_were_left_out_are_shown_with_the_cause(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    messages, now_ms = Messages(sqlite_engine), 10**14
    Sessions(sqlite_engine).begin("s", lease_ms=1_000, now_ms=now_ms)
    (dispatch,) = messages.dispatches(messages.claim("s", 9, now_ms=now_ms))
    says = "the recipient muted this alert permanently"
    first, cause = dispatch.first.notification_id, OutcomeReason.MUTED
    dropped_reason = DroppedReason(notification_id=first, reason=dispatch.first.reasons[0], because=cause, says=says)
    finish = finish_of(dispatch.message, Rejected(OutcomeReason.MUTED))
    messages.record("s", [replace(finish, attempt=replace(finish.attempt, dropped=(dropped_reason,)))], now_ms=now_ms)
    answer = explanation_of(administrator, event, subscription="Mail", user="ann")
    assert f"(not sent: {says})" in answer["answer"]
    (shown_reason,) = answer["notified"]["data"][0]["message"]["attempts"][0]["dropped"]
    assert (shown_reason["because"], shown_reason["says"], shown_reason["reason"]["kind"]) == ("muted", says, "owner")
    assert shown_reason["reason"]["sentence"] == "the recipient owns it (alert Mail)"
    answer = explanation_of(ann[1], event, subscription="Mail", user="ann")
    assert "(not sent: you muted this alert permanently)" in answer["answer"]
    (shown_reason,) = answer["notified"]["data"][0]["message"]["attempts"][0]["dropped"]
    assert (shown_reason["says"], shown_reason["reason"]["sentence"]) == (
        "you muted this alert permanently",
        "you own it (alert Mail)",
    )


def test_what_a_receiver_answered_is_shown_to_administrators_alone(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    messages, now_ms = Messages(sqlite_engine), 10**14
    Sessions(sqlite_engine).begin("s", lease_ms=1_000, now_ms=now_ms)
    answered = Rejected(OutcomeReason.CLIENT_ERROR, status_code=403, detail="<title>router of the office</title>")
    messages.record("s", [finish_of(one, answered) for one in messages.claim("s", 9, now_ms=now_ms)], now_ms=now_ms)
    for client, shows_detail in ((administrator, True), (ann[1], False)):
        answer = client.get(f"/events/{event}/explain", params={"subscription": "Mail", "user": "ann"})
        ((attempt,),) = [one["message"]["attempts"] for one in answer.json()["notified"]["data"]]
        assert (attempt["statusCode"], attempt["reason"]) == (403, "clientError")
        assert ("router of the office" in answer.text, "detail" in attempt) == (shows_detail, shows_detail)


def test_notifications_of_a_deleted_alert_are_still_explained(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
    deleted_alert = alert(administrator, "Gone", destinations=[{"category": "Owners", "type": "ActivityFeed"}, hook])
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    assert administrator.delete(f"/events/subscriptions/{deleted_alert['id']}").status_code == 200
    for name_or_id in (deleted_alert["id"], "Gone"):
        answer = explanation_of(administrator, event, subscription=name_or_id)
        assert answer["answer"] == "2 notifications, by ActivityFeedAlert, Gone."
        assert [one["recipientName"] for one in answer["notified"]["data"]] == ["ann", None]
    assert explanation_of(administrator, event)["notified"]["total"] == 2, (
        "an administrator sees what was notified by what is gone"
    )
    assert explanation_of(ann[1], event, subscription="Gone", user="ann")["answer"].startswith(
        "Yes: you were notified in the app"
    )
    for client, query in ((person("ben")[1], {"subscription": "Gone"}), (administrator, {"subscription": "Nope"})):
        refusal = client.get(f"/events/{event}/explain", params=query)
        assert (refusal.status_code, refusal.json()["message"]) == (404, f"alert {query['subscription']} not found")


def test_alerts_come_page_by_page_those_that_matched_first(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client]
) -> None:
    for number in range(3):
        alert(administrator, f"Never{number}", {"effect": "include", "condition": "isBot()"})
    alert(administrator, "Zorro")
    event = describe(administrator, orders, "All orders.")
    first = explanation_of(administrator, event, limit=2)
    assert [one["name"] for one in first["alerts"]] == ["ActivityFeedAlert", "Zorro"]
    assert first["paging"] == {"total": 13, "after": "2"}
    next_page = explanation_of(administrator, event, limit=13, after=2)
    assert [one["name"] for one in next_page["alerts"]] == [
        "AssignedIncidents",
        "BrokenAlerts",
        "ChangeRequests",
        "ConversationAlert",
        "EventLag",
        "MessagesOfAssets",
        "MessagesOfConversations",
        "Never0",
        "Never1",
        "Never2",
        "PersonalNotices",
    ]
    assert next_page["paging"] == {"total": 13}


def test_others_are_open_to_who_may_edit_the_alert(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client]
) -> None:
    alert(administrator, "Watch")
    event = describe(administrator, orders, "All orders.")
    _, zoe = person("zoe")
    assert zoe.get(f"/events/{event}/explain", params={"user": "ann"}).status_code == 403
    assert zoe.get(f"/events/{event}/explain", params={"user": "ann", "subscription": "Watch"}).status_code == 403
    assert explanation_of(zoe, event)["notified"]["data"] == []
    alert(zoe, "Mine")
    answer = explanation_of(zoe, event, user="ann")
    assert [one["name"] for one in answer["alerts"]] == ["Mine"]


def test_alerts_of_others_are_counted_and_no_more(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    """What an alert asks for may name what one may not see: it is shown to who may edit the alert, and nobody else."""
    secret = "matchAnyEntityFqn({'warehouse.shop.public.orders', 'warehouse.vault.salaries'})"
    alert(administrator, "Salaries", {"name": "vault", "effect": "include", "condition": secret})
    _, zoe = person("zoe")
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    for query in ({}, {"user": "zoe"}):
        answer = explanation_of(zoe, event, **query)
        assert (answer["alerts"], answer["paging"], answer["otherAlerts"]) == ([], {"total": 0}, {"matched": 2})
        assert "2 alerts of others matched, but" in answer["answer"]
        assert not any(word in str(answer) for word in ("vault", "Salaries", "salaries"))
    explanation = explanation_of(zoe, event, subscription="Salaries")
    assert [one["rules"] for one in explanation["alerts"]] == [[]]
    assert "vault" not in str(explanation)
    recipients = explanation_of(ann[1], event)
    assert [(one["name"], one["rules"]) for one in recipients["alerts"]] == [
        ("ActivityFeedAlert", []),
        ("Salaries", []),
    ]
    assert "vault" not in str(recipients)


def test_hidden_recipients_are_not_explained_as_no_recipients(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    alert(administrator, "Watch")
    alert(administrator, "Never", {"effect": "include", "condition": "isBot()"})
    _, zoe = person("zoe")
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    note = " Notifications of other people are not shown."
    answer = explanation_of(zoe, event, subscription="Watch")
    assert answer["answer"] == (
        f"You were not notified by this alert: Watch matched, but you are not among the recipients.{note}"
    )
    assert answer["notified"] == {"total": 0, "isWhole": False, "data": []}
    assert explanation_of(zoe, event, subscription="Never")["answer"].startswith(
        "You were not notified by this alert: Never did not match"
    )
    own_explanation = explanation_of(ann[1], event)
    assert own_explanation["answer"] == f"1 notification that you may see, by ActivityFeedAlert, Watch.{note}"
    explanation = explanation_of(administrator, event, subscription="Watch")
    assert (explanation["answer"], explanation["notified"]["isWhole"]) == (
        "1 notification, by ActivityFeedAlert, Watch.",
        True,
    )
    assert explanation_of(ann[1], event, user="ann")["notified"]["isWhole"]
    alert(zoe, "Mine", {"effect": "include", "condition": "isBot()"})
    assert explanation_of(zoe, event, user="ann")["answer"].endswith("Alerts that you may not edit are not shown.")


@pytest.mark.parametrize(
    ("query", "status"),
    [("user=nobody", 404), ("subscription=none", 404), ("limit=-1", 400), ("limit=x", 400), ("after=-1", 400)],
)
def test_a_broken_question_is_refused(administrator: httpx.Client, orders: Json, query: str, status: int) -> None:
    event = describe(administrator, orders, "x")
    answer = administrator.get(f"/events/{event}/explain?{query}")
    assert (answer.status_code, "code" in answer.json()) == (status, True)
    assert administrator.get(f"/events/{orders['id']}/explain").status_code == 404


@pytest.mark.parametrize("again", [False, True])
def test_the_stored_reasons_of_a_notification_held_at_the_event(
    person: Person, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, again: bool
) -> None:
    fay, fays = person("fay")
    follows = f"/tables/{orders['id']}/followers"
    alert(administrator, "Watch", destinations=[{"category": "Followers", "type": "ActivityFeed"}])
    assert fays.put(follows, json=fay).status_code == 200
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    assert fays.delete(f"{follows}/{fay}").status_code == 200
    if again:
        assert fays.put(follows, json=fay).status_code == 200
    answer = explanation_of(fays, event, user="fay", subscription="Watch")
    assert answer["answer"].startswith("Yes: you were notified")
    assert "you follow it" in answer["answer"]
    ways = [way for one in alert_in(answer, "Watch")["reached"]["data"] for way in one["ways"]]
    assert [way["stoppedBy"] for way in ways] == [None]
    assert answer["disagreements"] == []


def test_who_followed_at_the_event_and_no_longer_does_reads_that(
    person: Person, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    fay, fays = person("fay")
    follows = f"/tables/{orders['id']}/followers"
    rule = {"effect": "include", "condition": "isBot()"}
    alert(administrator, "Watch", rule, destinations=[{"category": "Followers", "type": "ActivityFeed"}])
    assert fays.put(follows, json=fay).status_code == 200
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    sayings = []
    for change in (
        lambda: None,
        lambda: fays.delete(f"{follows}/{fay}"),
        lambda: fays.put(follows, json=fay),
    ):
        change()
        answer = explanation_of(administrator, event, user="fay", subscription="Watch")
        (way,) = (way for reached in alert_in(answer, "Watch")["reached"]["data"] for way in reached["ways"])
        sayings.append(
            (way["hasEnded"], answer["answer"].endswith("fay followed it when it happened, and no longer does."))
        )
    assert sayings == [(False, False), (True, True), (False, False)]
    assert fays.delete(f"{follows}/{fay}").status_code == 200
    answer = explanation_of(fays, event, user="fay", subscription="Watch")["answer"]
    assert answer.endswith("You followed it when it happened, and no longer do.")
    after = describe(administrator, orders, "All of them.")
    (way,) = alert_in(explanation_of(administrator, after, user="fay"), "Watch")["reached"]["data"][0]["ways"]
    assert (way["hasEnded"], way["stoppedBy"]["kind"]) == (False, "noLonger")


def test_a_second_way_that_came_later_is_none_of_the_reasons(
    person: Person, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    ann, _ = person("ann")
    teams = [
        administrator.post("/teams", json={"name": name, "teamType": "Group", "users": [ann]}).json()["id"]
        for name in ("Sales", "Stock")
    ]
    alert(administrator, "Described", {"effect": "include", "condition": "fieldChanged == 'description'"})
    assign_owners(administrator, orders, teams[0], kind="team")
    event = describe(administrator, orders, "All orders.")
    assign_owners(administrator, orders, *teams, kind="team")
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, event, subscription="Described")
    (ann_reached,) = alert_in(answer, "Described")["reached"]["data"]
    stops = {way["reason"]["team"]: (way["stoppedBy"] or {}).get("kind") for way in ann_reached["ways"]}
    assert stops == {"Sales": None, "Stock": "notThen"}


def test_who_followed_at_the_event_is_notified_whatever_they_did_since(
    person: Person, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    fay, fays = person("fay")
    follows = f"/tables/{orders['id']}/followers"
    alert(administrator, "Watch", destinations=[{"category": "Followers", "type": "ActivityFeed"}])
    assert fays.put(follows, json=fay).status_code == 200
    event = describe(administrator, orders, "All orders.")
    assert fays.delete(f"{follows}/{fay}").status_code == 200
    assert fays.put(follows, json=fay).status_code == 200
    notify_all(sqlite_engine)
    answer = explanation_of(fays, event, user="fay", subscription="Watch")["answer"]
    assert answer.startswith("Yes: you were notified")


def test_a_relation_that_went_missing_is_said(
    person: Person, administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    assign_owners(administrator, orders, ann[0])
    alert(administrator, "Watch")
    assert administrator.delete(f"/tables/{orders['id']}", params={"hardDelete": True}).status_code == 200
    events = administrator.get("/events", params={"entityId": orders["id"], "format": "tocsin"}).json()["data"]
    with sqlite_engine.begin() as connection:
        connection.execute(delete(past_relation))
    notify_all(sqlite_engine)
    answer = explanation_of(administrator, events[-1]["id"], subscription="Watch")
    assert "1 relation of the deleted asset" in answer["answer"]
    assert [one["kind"] for one in answer["disagreements"]] == ["relationMissing"]


def test_a_notification_is_explained_by_its_id_to_its_person_and_to_nobody_else(
    administrator: httpx.Client, orders: Json, ann: tuple[str, httpx.Client], person: Person, sqlite_engine: Engine
) -> None:
    alert(administrator, "Described", {"effect": "include", "condition": "fieldChanged == 'description'"})
    event = describe(administrator, orders, "All orders.")
    notify_all(sqlite_engine)
    user_id, client = ann
    entries = client.get(f"/users/{user_id}/notifications").json()["data"]
    (entry,) = (one for one in entries if one["eventId"] == event)
    assert entry["id"] != event
    explanation = explanation_of(client, entry["id"])
    assert (explanation["event"]["id"], explanation["answer"][:4]) == (event, "Yes:")
    assert explanation == explanation_of(client, event, user="ann") | {"asOf": explanation["asOf"]}
    assert client.get(f"/events/{entry['id']}/audience").json()["eventId"] == event
    _, stranger = person("stranger")
    for path in ("explain", "audience"):
        for client_of_another in (stranger, administrator):
            assert client_of_another.get(f"/events/{entry['id']}/{path}").status_code == 404
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"]})
    assert client.get(f"/events/{entry['id']}/explain").status_code == 404
