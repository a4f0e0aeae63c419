"""Tests of answering a change request by a button in Slack: for whom it acts, and what that person is told."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, delete, update
from tests.contract.slack_workspace import SlackWorkspace, press
from tests.contract.test_access import restrict
from tests.contract.test_changes import announce, leave_one_post
from tests.contract.test_explain import alert
from tests.contract.test_impact import feed
from tests.contract.test_slack_interactions import OTHER_SECRET, PATH, SECRET, bot, served, workspace
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.delivery.links.answer import AnswerLink, AnswerPress, press_token_of, token_of
from tocsin.delivery.links.tokens import sign_token
from tocsin.model.change_request import ConsumerVerdict
from tocsin.store.database.change_tables import change_request
from tocsin.store.database.tables import notification

__all__ = ["served", "workspace"]  # fixtures


class Asked:
    """CR-1 removes orders.email, which clean of ann reads; a bot has asked ann and a channel. Ben is nobody's owner."""

    def __init__(self, served: Served, workspace: SlackWorkspace, people: dict[str, str], request: Json) -> None:
        self.served, self.workspace, self.people, self.request = served, workspace, people, request
        self.parts = served.app.state.parts
        self.nobody = served.client()
        offset = self.parts.log.readable_end()
        records = self.parts.alert_stores.records.of_event(offset, limit=9).values()
        notifications = [one.notification for one in records if one.notification.channel == "Slack"]
        self.notes = {"direct" if one.recipient_id else "channel": one for one in notifications}

    def token(self, to: str, verdict: str = "ready") -> str:
        """Return the value of a button in the message to ann, or to the channel."""
        key = self.parts.alert_stores.unsubscribe_key
        note = self.notes[to]
        destination_key = min(one.destination_key for one in note.reasons)
        press = AnswerPress(note.id, self.request["id"], ConsumerVerdict(verdict), destination_key, note.recipient_id)
        return press_token_of(press, key)

    def press(self, token: str, who: str = "UANN", *, secret: str = SECRET) -> httpx.Response:
        """Send what Slack sends when a member presses a button."""
        at_s = int(self.parts.clock.now_ms()) // 1000
        body, headers = press(token, who, secret=secret, at_s=at_s, response_url=f"{self.workspace.url}/reply")
        return self.nobody.post(PATH, content=body, headers=headers)

    def reply_to(self, token: str, who: str = "UANN") -> str:
        """Press a button; return what the member is told."""
        assert self.press(token, who).status_code == 200
        return self.workspace.next_told()


@pytest.fixture
def world(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine, workspace: SlackWorkspace
) -> Iterator[Asked]:
    people = {}
    for name in ("ann", "ben"):
        people[name], client = served.person(name)
        client.close()
        workspace.join(f"U{name.upper()}", f"{name}@example.org")
    clean = table(administrator, "clean", owners=[{"type": "user", "id": people["ann"]}])
    feed(administrator, orders, clean, "email")
    condition = "matchAnyEventType({'changeRequestUpdated'})"
    rules = {"resources": ["all"], "rules": [{"effect": "include", "condition": condition}]}
    destinations = [bot("Assignees"), bot("External", channel="#announcements")]
    alert(administrator, "Changes", filteringRules=rules, destinations=destinations)
    request = announce(administrator, orders)
    notify_all(sqlite_engine)
    setup = Asked(served, workspace, people, request)
    assert setup.notes.keys() == {"direct", "channel"}
    with setup.nobody:
        yield setup


def timeline(administrator: httpx.Client) -> list[tuple[str, str | None, str | None]]:
    steps = administrator.get("/changes/CR-1/timeline").json()["data"]
    return [(one["user"]["name"], one.get("answer"), one.get("way")) for one in steps if one["kind"] == "answered"]


def test_who_presses_answers_for_what_they_own_once_and_may_change_it(
    world: Asked, administrator: httpx.Client
) -> None:
    ready = "Your answer to CR-1 is recorded, for 1 consumer: We are ready."
    assert world.reply_to(world.token("direct")) == ready
    assert world.reply_to(world.token("direct")) == ready
    assert world.reply_to(world.token("channel", "notAffected")).endswith("It does not affect us.")
    assert timeline(administrator) == [("ann", "ready", "chat"), ("ann", "notAffected", "chat")]


def test_nothing_happens_for_who_answers_for_nothing_is_not_the_recipient_or_unknown(
    world: Asked, administrator: httpx.Client
) -> None:
    assert world.reply_to(world.token("channel"), "UBEN").startswith("You answer for no consumer of CR-1")
    assert world.reply_to(world.token("direct"), "UBEN").startswith("This message was sent to another person")
    assert world.reply_to(world.token("channel"), "UMISSING").startswith("Tocsin knows nobody")
    restrict(administrator, world.people["ann"], {"effect": "deny", "resources": ["table"]})
    assert world.reply_to(world.token("direct")) == f"change request {world.request['id']} not found"
    assert administrator.put("/changes/CR-1/withdraw").is_success
    assert administrator.delete(f"/users/{world.people['ann']}").is_success
    assert world.reply_to(world.token("direct")).startswith("Tocsin knows nobody")
    assert timeline(administrator) == []


def test_a_request_that_takes_no_answers_says_so(world: Asked) -> None:
    with world.served.administrator() as administrator:
        assert administrator.put("/changes/CR-1/withdraw").is_success
        assert world.reply_to(world.token("direct")) == "CR-1 is withdrawn: answers are final"
        assert timeline(administrator) == []


def test_a_button_works_until_the_date_also_when_its_notification_is_removed(
    world: Asked, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    with sqlite_engine.begin() as connection:
        connection.execute(delete(notification))
    assert world.reply_to(world.token("direct"), "UBEN").startswith("This message was sent to another person")
    assert world.press(world.token("channel"), secret=OTHER_SECRET).status_code == 401
    assert world.reply_to(world.token("direct")).endswith("We are ready.")
    assert world.reply_to(world.token("channel", "notAffected")).endswith("It does not affect us.")
    assert timeline(administrator) == [("ann", "ready", "chat"), ("ann", "notAffected", "chat")]
    with sqlite_engine.begin() as connection:
        connection.execute(update(change_request).values(due_at_ms=1))
    assert world.reply_to(world.token("direct")) == "CR-1 is due: answers are final"
    alert_id = administrator.get("/events/subscriptions/name/Changes").json()["id"]
    assert administrator.delete(f"/events/subscriptions/{alert_id}").is_success
    assert world.press(world.token("direct")).status_code == 401


def test_a_button_that_names_no_destination_works_while_its_notification_is_there(
    world: Asked, administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    key = world.parts.alert_stores.unsubscribe_key
    direct, channel = (
        sign_token("answer in chat", f"{world.notes[to].id}.{world.request['id']}.ready", key)
        for to in ("direct", "channel")
    )
    assert world.reply_to(direct, "UBEN").startswith("This message was sent to another person")
    assert world.reply_to(channel, "UBEN").startswith("You answer for no consumer of CR-1")
    assert world.reply_to(direct).endswith("We are ready.")
    assert world.reply_to(channel).endswith("We are ready.")
    assert world.press(direct, secret=OTHER_SECRET).status_code == 401
    with sqlite_engine.begin() as connection:
        connection.execute(delete(notification))
    assert [world.press(one).status_code for one in (direct, channel)] == [401, 401]
    assert timeline(administrator) == [("ann", "ready", "chat")]


def test_a_press_that_is_not_slacks_or_of_another_purpose_is_refused(world: Asked, administrator: httpx.Client) -> None:
    key, token = world.parts.alert_stores.unsubscribe_key, world.token("direct")
    of_mail = token_of(AnswerLink(world.people["ann"], world.request["id"]), key)
    for wrong, secret in ((token, OTHER_SECRET), (token[:-1], SECRET), (of_mail, SECRET), (f"{token}x", SECRET)):
        assert world.press(wrong, secret=secret).status_code == 401
    assert world.nobody.get(f"/answer/{token}").is_client_error
    assert timeline(administrator) == []


def test_a_bot_of_no_administrator_acts_for_nobody(world: Asked, administrator: httpx.Client) -> None:
    path = f"/events/subscriptions/{administrator.get('/events/subscriptions/name/Changes').json()['id']}"
    eve, client = world.served.person("eve", isAdmin=True)
    with client:
        change = [{"op": "add", "path": "/description", "value": "x"}]
        headers = {"Content-Type": "application/json-patch+json"}
        assert client.patch(path, json=change, headers=headers).is_success
    demotion = [{"op": "replace", "path": "/isAdmin", "value": False}]
    assert administrator.patch(f"/users/{eve}", json=demotion, headers=headers).is_success
    assert world.press(world.token("channel")).status_code == 403
    assert timeline(administrator) == []


def test_the_same_answer_by_a_button_again_is_no_post(world: Asked) -> None:
    leave_one_post(world.served, world.people["ann"])
    replies = [world.reply_to(world.token("direct", verdict)) for verdict in ("ready", "ready", "notAffected")]
    assert ["is recorded" in one for one in replies] == [True, True, False]
    assert "per hour" in replies[2]
