"""Tests of buttons in Slack: whose request counts, for whom it acts, and what that person is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.slack_workspace import TEAM, SlackWorkspace, press, running_workspace, signed_headers
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_acknowledge_links import readers_in, tell_in_app
from tests.contract.test_alert_incidents import report_result
from tests.contract.test_explain import alert, assign_owners
from tests.notifying import notify_all
from tests.serving import Json, Served, running_server, server_settings
from tests.startedstore import StartedStore

from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.acknowledge import AcknowledgeLink, token_of
from tocsin.delivery.links.mute import MuteLink

TOKEN, SECRET = "xoxb-1-2-s3cret", "8f742231b10e8888abcd99f0d5c185a5"
OTHER_SECRET = "0123456789abcdef0123456789abcdef"
PATH = "/slack/interactions"
DAY_MS = 86_400_000


@pytest.fixture
def workspace() -> Iterator[SlackWorkspace]:
    with running_workspace(TOKEN) as running:
        yield running


@pytest.fixture
def served(sqlite_engine: Engine, started_store: StartedStore, workspace: SlackWorkspace) -> Iterator[Served]:
    """A server whose bots are of the workspace."""
    settings = server_settings(slack_api_url=f"{workspace.url}/api")
    with running_server(sqlite_engine, settings, password=started_store.password, token=started_store.token) as running:
        yield running


def bot(category: str, **config: str) -> Json:
    return {
        "category": category,
        "type": "Slack",
        "config": {"botToken": TOKEN, "signingSecret": SECRET, **config},
    }


@dataclass
class Failing:
    """A failed test of a table that Ann owns, of which bots notify her and channels; Ben is nobody in particular."""

    served: Served
    workspace: SlackWorkspace
    case: Json
    ann: str
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parts = self.served.app.state.parts
        self.key = self.parts.alert_stores.unsubscribe_key
        self.nobody = self.served.client()

    def now_ms(self) -> int:
        """Return the time."""
        return int(self.parts.clock.now_ms())

    def acknowledge_value(self, to: str = "direct", *, number: int = 1, after_ms: int = DAY_MS) -> str:
        """Return the value of a button to acknowledge in the message to Ann, or to a channel."""
        return token_of(AcknowledgeLink(self.notes[to], number, self.now_ms() + after_ms), self.key)

    def mute_value(self, to: str = "direct") -> str:
        """Return the value of a button to mute."""
        return mute_links.token_of(MuteLink(self.notes[to], self.now_ms() + DAY_MS), self.key)

    def press(self, token: str, who: str = "UANN", *, secret: str = SECRET, after_s: int = 0) -> httpx.Response:
        """Send what Slack sends when a member presses a button."""
        at_s = self.now_ms() // 1000 + after_s
        body, headers = press(token, who, secret=secret, at_s=at_s, response_url=f"{self.workspace.url}/reply")
        return self.nobody.post(PATH, content=body, headers=headers)

    def reply_to(self, token: str, who: str = "UANN") -> str:
        """Press a button; return what the member is told."""
        answer = self.press(token, who)
        assert (answer.status_code, answer.json()) == (200, {}), answer.text
        return self.workspace.next_told()


@pytest.fixture
def failing(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, workspace: SlackWorkspace
) -> Iterator[Failing]:
    for name in ("ann", "ben"):
        user_id, client = served.person(name)
        client.close()
        workspace.join(f"U{name.upper()}", f"{name.upper()}@example.org")
        if name == "ann":
            ann = user_id
            assign_owners(administrator, orders, ann)
    rules = {"resources": ["testCase"], "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}]}
    of_results = {"alertType": "Observability", "filteringRules": rules}
    alert(administrator, "Quality", destinations=[bot("Owners"), bot("External", channel="#alerts")], **of_results)
    elsewhere = bot("External", channel="#other", signingSecret=OTHER_SECRET)
    alert(administrator, "Other", destinations=[elsewhere], **of_results)
    link = f"<#E::table::{orders['fullyQualifiedName']}::columns::email>"
    case = create_entity(
        administrator,
        "/dataQuality/testCases",
        name="not_null",
        entityLink=link,
        testDefinition="columnValuesToBeNotNull",
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", int(case["updatedAt"]))
    notify_all(sqlite_engine)
    setup = Failing(served, workspace, case, ann)
    result_offset = setup.parts.log.readable_end() - 1  # the completed run of its suite follows
    records = setup.parts.alert_stores.records.of_event(result_offset, limit=9)
    for notification in (record.notification for record in records.values() if record.notification.channel == "Slack"):
        alert_names = {reason.subscription_name for reason in notification.reasons}
        setup.notes["direct" if notification.recipient_id else "other" if "Other" in alert_names else "channel"] = (
            notification.id
        )
    assert setup.notes.keys() == {"direct", "channel", "other"}
    with setup.nobody:
        yield setup


def steps(administrator: httpx.Client, name: str = "INC-1") -> list[tuple[str, str | None]]:
    timeline = administrator.get(f"/incidents/{name}").json()["timeline"]
    return [(one["kind"], (one.get("user") or {}).get("name")) for one in timeline if one["kind"] != "message"]


def incident_of(administrator: httpx.Client, name: str) -> int:
    """Return the number of the incident of an alert."""
    (incident,) = administrator.get("/incidents", params={"alert": name}).json()["data"]
    return int(incident["name"].removeprefix("INC-"))


@pytest.mark.parametrize("to", ["direct", "channel"])
def test_who_presses_acknowledges_with_their_own_rights_once(
    failing: Failing, administrator: httpx.Client, to: str
) -> None:
    number = incident_of(administrator, "Quality")
    name, token = f"INC-{number}", failing.acknowledge_value(to, number=number)
    if to == "channel":
        reply = failing.reply_to(token, "UBEN")
        assert (
            reply == f"Only the assignee of {name} and editors of its asset or, of a test, of its table may change it."
        )
    assert steps(administrator, name) == [("opened", None)]
    assert failing.reply_to(token) == f"You have acknowledged {name}."
    assert failing.reply_to(token) == f"{name} is already acknowledged."
    assert steps(administrator, name) == [("opened", None), ("acknowledged", "ann")]
    assert administrator.put(f"/incidents/{name}/resolve").is_success
    assert failing.reply_to(token) == f"{name} is already resolved."


def test_a_press_marks_what_the_inbox_of_who_pressed_has_of_it(failing: Failing, sqlite_engine: Engine) -> None:
    ben = failing.parts.people.by_name("ben").id
    tell_in_app(sqlite_engine, failing.notes["direct"], of_ann=failing.ann, of_ben=ben)
    failing.reply_to(failing.mute_value(), "UBEN")
    assert readers_in(sqlite_engine) == set()
    failing.reply_to(failing.mute_value())
    assert readers_in(sqlite_engine) == {failing.ann}


def test_the_recipient_of_a_direct_message_mutes_its_asset_and_nobody_else_does(
    failing: Failing, administrator: httpx.Client
) -> None:
    assert (
        failing.reply_to(failing.mute_value(), "UBEN")
        == "This message was sent to another person, so nothing was changed."
    )
    assert (
        failing.reply_to(failing.mute_value("channel"))
        == "This message was sent to another person, so nothing was changed."
    )
    assert administrator.get(f"/users/{failing.ann}/mutes").json()["data"] == []
    says = "You will receive no notifications about not_null of orders.email until"
    assert failing.reply_to(failing.mute_value()).startswith(says)
    (mute,) = administrator.get(f"/users/{failing.ann}/mutes").json()["data"]
    assert (mute["kind"], mute["id"], mute["channel"]) == ("asset", failing.case["id"], None)


def test_nothing_happens_for_who_is_not_known_or_may_not(failing: Failing, administrator: httpx.Client) -> None:
    number = incident_of(administrator, "Quality")
    token, unknown = failing.acknowledge_value("channel", number=number), "Tocsin knows nobody with your e-mail address"
    members: dict[str, tuple[str | None, dict[str, Any]]] = {
        "UNEW": ("new@example.org", {}),
        "UNOMAIL": (None, {}),
        "UBOT": ("ann@example.org", {"is_bot": True}),
        "UGONE": ("ann@example.org", {"deleted": True}),
        "UGUEST": ("ann@example.org", {"team_id": "T0ELSEWHERE"}),
        "UORG": ("ann@example.org", {"team_id": "T0ELSEWHERE", "enterprise_user": {"enterprise_id": "E1"}}),
    }
    for identity, (email, profile) in members.items():
        failing.workspace.join(identity, email, **profile)
        assert failing.reply_to(token, identity).startswith(unknown), identity
    assert failing.reply_to(token, "UMISSING").startswith(unknown)
    restrict(administrator, failing.ann, {"effect": "deny", "resources": ["testCase"]})
    assert failing.reply_to(token) == f"incident INC-{number} not found"
    assert administrator.delete(f"/users/{failing.ann}").is_success
    assert failing.reply_to(token).startswith(unknown)
    assert steps(administrator, f"INC-{number}") == [("opened", None)]


def test_an_expired_button_says_so(failing: Failing, administrator: httpx.Client) -> None:
    number = incident_of(administrator, "Quality")
    assert failing.reply_to(failing.acknowledge_value(number=number, after_ms=-1)) == "This button has expired."
    assert steps(administrator, f"INC-{number}") == [("opened", None)]


def test_a_button_reaches_only_the_incident_of_its_message(
    failing: Failing, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    link = f"<#E::table::{orders['fullyQualifiedName']}>"
    case = create_entity(
        administrator, "/dataQuality/testCases", name="rows", entityLink=link, testDefinition="tableRowCountToEqual"
    )
    report_result(administrator, case["fullyQualifiedName"], "Failed", int(case["updatedAt"]))
    notify_all(sqlite_engine)
    assert administrator.get("/incidents/INC-2").json()["entity"]["id"] == case["id"]
    assert failing.reply_to(failing.acknowledge_value("channel", number=2)).startswith("This link is invalid")
    assert steps(administrator, "INC-2") == [("opened", None)]


def test_acknowledging_is_for_all_alerts_that_watch_the_incident(failing: Failing, administrator: httpx.Client) -> None:
    number = incident_of(administrator, "Quality")
    assert incident_of(administrator, "Other") == number
    watchers = administrator.get(f"/incidents/INC-{number}").json()["watchers"]
    assert {one["name"] for one in watchers} == {"Quality", "Other"}
    assert (
        failing.reply_to(failing.acknowledge_value("channel", number=number)) == f"You have acknowledged INC-{number}."
    )
    for name in ("Quality", "Other"):
        (incident,) = administrator.get("/incidents", params={"alert": name}).json()["data"]
        assert incident["status"] == "acknowledged"


def test_a_bot_acts_for_nobody_unless_an_administrators_alert_has_it_with_that_secret(
    failing: Failing, administrator: httpx.Client
) -> None:
    """Whoever sets up a bot says who its members are, and signs what they press."""
    path = f"/events/subscriptions/{administrator.get('/events/subscriptions/name/Quality').json()['id']}"
    eve, client = failing.served.person("eve", isAdmin=True)
    with client:
        assert send_patch(client, path, {"op": "add", "path": "/description", "value": "x"}).is_success
    assert send_patch(administrator, f"/users/{eve}", {"op": "replace", "path": "/isAdmin", "value": False}).is_success
    for token in (failing.acknowledge_value(), failing.mute_value()):
        refusal = failing.press(token)
        assert (refusal.status_code, "administrator" in refusal.json()["message"]) == (403, True)
    alert(administrator, "Ours", destinations=[bot("External", channel="#else", signingSecret=OTHER_SECRET)])
    assert failing.press(failing.acknowledge_value()).status_code == 403
    alert(administrator, "Same", destinations=[bot("External", channel="#else")])
    number = incident_of(administrator, "Quality")
    assert failing.reply_to(failing.acknowledge_value(number=number)) == f"You have acknowledged INC-{number}."


def test_when_slack_does_not_say_who_it_is_nothing_happens(failing: Failing, administrator: httpx.Client) -> None:
    number = incident_of(administrator, "Quality")
    for method in ("users.info", "auth.test"):
        failing.workspace.faults = {method: {"ok": False, "error": "missing_scope"}}
        assert failing.reply_to(failing.acknowledge_value(number=number)).startswith("Slack did not say who you are")
    assert steps(administrator, f"INC-{number}") == [("opened", None)]


def test_slack_has_its_answer_in_time_even_if_it_does_not_say_who_it_is(
    failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.delivery.channels.slack.replies.IDENTIFY_S", 0.3)
    failing.workspace.speaks.clear()
    reply = failing.reply_to(failing.acknowledge_value())
    failing.workspace.speaks.set()
    assert reply.startswith("Slack did not say who you are")


@pytest.mark.parametrize(
    "fault",
    [
        {"users.info": {"ok": True}},
        {"users.info": {"ok": True, "user": "UANN"}},
        {"users.info": {"ok": True, "user": {"id": "UBEN", "team_id": TEAM, "profile": {"email": "ann@example.org"}}}},
        {"users.info": {"ok": True, "user": {"id": "UANN", "team_id": TEAM, "profile": ["ann@example.org"]}}},
        {"users.info": {"ok": True, "user": {"id": "UANN", "team_id": TEAM, "profile": {"email": 7}}}},
        {"users.info": {"ok": True, "user": {"id": "UANN", "profile": {"email": "ann@example.org"}}}},
        {"auth.test": {"ok": True}},
        {"auth.test": {"ok": True, "team_id": "T0ELSEWHERE"}},
    ],
)
def test_whom_slack_does_not_clearly_name_is_nobody(
    failing: Failing, administrator: httpx.Client, fault: dict[str, Any]
) -> None:
    failing.workspace.faults = fault
    number = incident_of(administrator, "Quality")
    assert failing.reply_to(failing.acknowledge_value(number=number)).startswith("Tocsin knows nobody")
    assert steps(administrator, f"INC-{number}") == [("opened", None)]


def test_a_request_that_slack_did_not_sign_a_moment_ago_for_this_message_is_refused(
    failing: Failing, administrator: httpx.Client
) -> None:
    number = incident_of(administrator, "Quality")
    token = failing.acknowledge_value(number=number)
    body, headers = press(token, "UANN", secret=SECRET, at_s=failing.now_ms() // 1000)
    refusals = [
        failing.press(token, secret=OTHER_SECRET),  # another bot's
        failing.press(token, secret="*********"),
        failing.press(
            failing.acknowledge_value("other", number=incident_of(administrator, "Other"))
        ),  # another message's
        failing.press(token[:-1]),
        failing.press("x.y.z"),
        failing.nobody.post(PATH, content=body),
        failing.nobody.post(PATH, content=body + b"&more=1", headers=headers),
        failing.nobody.post(PATH, content=body, headers=headers | {"X-Slack-Signature": "v0=0"}),
        failing.nobody.post(PATH, content=body, headers=headers | {"X-Slack-Request-Timestamp": "soon"}),
    ]
    for answer in refusals:
        assert (answer.status_code, answer.json().keys()) == (401, {"code", "message"}), answer.text
        assert "is not signed with the signing secret" in answer.json()["message"]
    for after_s, words in ((-310, "is too old"), (310, "is ahead of its time")):
        answer = failing.press(token, after_s=after_s)
        assert answer.status_code == 401
        assert words in answer.json()["message"] and "correct the clock" in answer.json()["message"]
        other_answer = failing.press(token, secret=OTHER_SECRET, after_s=after_s)
        assert "is not signed with the signing secret" in other_answer.json()["message"], "its time is not believed"
    assert failing.workspace.calls == [], "Slack is asked nothing for them, nobody told"
    assert steps(administrator, f"INC-{number}") == [("opened", None)]


def test_garbage_is_refused_with_a_4xx(failing: Failing) -> None:
    wrong_requests: list[tuple[bytes, int]] = [
        (b"", 400),
        (b"payload=%7B%7D", 400),
        (b"\xff", 400),
        (urlencode({"payload": json.dumps({"type": "block_actions"})}).encode(), 400),
        (b"payload=" + b"x" * 70_000, 413),
    ]
    for body, status in wrong_requests:
        headers = signed_headers(body, secret=SECRET, at_s=failing.now_ms() // 1000)
        answer = failing.nobody.post(PATH, content=body, headers=headers)
        assert (answer.status_code, answer.json().keys()) == (status, {"code", "message"}), body[:40]
    long = failing.nobody.post(PATH, content=b"payload={}", headers={"X-Slack-Signature": "v" * 201})
    assert long.status_code == 400
    assert failing.nobody.get(PATH).status_code in (404, 405)


def test_only_slack_is_told_what_came_of_it(failing: Failing, administrator: httpx.Client) -> None:
    number = incident_of(administrator, "Quality")
    token, at_s = failing.acknowledge_value(number=number), failing.now_ms() // 1000
    elsewhere = failing.workspace.url.replace("127.0.0.1", "localhost")
    for url in (f"{elsewhere}/reply", "file:///etc/passwd", "", "http://[", "https://10.0.0.1/reply"):
        body, headers = press(token, "UANN", secret=SECRET, at_s=at_s, response_url=url)
        assert failing.nobody.post(PATH, content=body, headers=headers).status_code == 200
    assert failing.reply_to(token) == f"INC-{number} is already acknowledged."
    assert failing.workspace.replies == []


def test_without_the_secret_a_bot_has_no_buttons_that_count(
    failing: Failing, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    number = incident_of(administrator, "Quality")
    path = f"/events/subscriptions/{administrator.get('/events/subscriptions/name/Quality').json()['id']}"
    changes: list[dict[str, Any]] = [
        {"op": "remove", "path": f"/destinations/{at}/config/signingSecret"} for at in range(2)
    ]
    assert send_patch(administrator, path, *changes).is_success
    for secret in (SECRET, "", "None"):
        assert failing.press(failing.acknowledge_value(number=number), secret=secret).status_code == 401
