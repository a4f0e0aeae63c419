"""Tests of links in messages: who opens the page of one has read it, and what the same cause did until then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import httpx
import pytest
from sqlalchemy import Engine, select
from tests.contract.test_access import restrict
from tests.contract.test_explain import alert, assign_owners, describe
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.delivery.links.acknowledge import AcknowledgeLink
from tocsin.delivery.links.acknowledge import token_of as acknowledge_token_of
from tocsin.delivery.links.mute import MuteLink
from tocsin.delivery.links.mute import token_of as mute_token_of
from tocsin.delivery.links.pages import VALID_FOR_MS, OpenedLink, token_of
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import message, notification


class Told(NamedTuple):
    """Ann, who owns the orders, is told in one mail and in the app of three changes by one person, then of a fourth.

    In the app she was told before that she owns them, which is of the same cause.
    """

    served: Served
    engine: Engine
    ann: str
    client: httpx.Client
    mail_id: str

    def token(self, *, after_ms: int = VALID_FOR_MS, key: bytes | None = None) -> str:
        parts = self.served.app.state.parts
        link = OpenedLink(self.mail_id, parts.clock.now_ms() + after_ms)
        return token_of(link, key or parts.alert_stores.unsubscribe_key)

    def open(self, client: httpx.Client, person: str, token: str | None = None) -> httpx.Response:
        return client.post(f"/users/{person}/notifications/opened", json={"token": token or self.token()})

    def read_states(self) -> list[bool]:
        """Return of each entry of Ann's inbox, the oldest first, whether it is read."""
        entries = self.client.get(f"/users/{self.ann}/notifications?tab=all").json()["data"]
        return [one["read"] for one in sorted(entries, key=lambda one: one["timestamp"])]


@pytest.fixture
def told_person(served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine) -> Iterator[Told]:
    ann, client = served.person("ann")
    assign_owners(administrator, orders, ann)
    to = [{"category": "Owners", "type": kind} for kind in ("Email", "ActivityFeed")]
    rules = {"effect": "include", "condition": "fieldChanged == 'description'"}
    alert(administrator, "Described", rules, destinations=to)
    for number in range(3):
        describe(administrator, orders, f"Orders, {number}.")
    notify_all(sqlite_engine)
    mails = select(notification.c.id).where(notification.c.channel == "Email").order_by(notification.c.log_offset)
    with sqlite_engine.connect() as connection:
        first_id = connection.scalars(mails).first()
    with writing(sqlite_engine) as connection:
        connection.execute(message.update().values(status="delivered", attempt_count=1))
    describe(administrator, orders, "Orders, at last.")
    notify_all(sqlite_engine)
    with client:
        yield Told(served, sqlite_engine, ann, client, str(first_id))


def test_the_opened_page_marks_the_cause_as_far_as_the_message_told_it(told_person: Told) -> None:
    assert told_person.read_states() == [False] * 5
    changes = told_person.served.app.state.parts.inbox.changes(limit=1)
    answer = told_person.open(told_person.client, told_person.ann)
    assert (answer.status_code, answer.json()) == (200, {"marked": 4})
    assert told_person.read_states() == [True, True, True, True, False], "what came after the message is unread"
    assert told_person.served.app.state.parts.inbox.changes(limit=1) != changes, "other tabs are told"
    assert told_person.open(told_person.client, told_person.ann).json() == {"marked": 0}


def test_only_the_recipient_marks_and_only_by_a_token_of_ours(told_person: Told, administrator: httpx.Client) -> None:
    ben, client_of_ben = told_person.served.person("ben")
    with client_of_ben, told_person.served.client() as nobody:
        assert told_person.open(nobody, told_person.ann).status_code == 401
        assert told_person.open(client_of_ben, told_person.ann).status_code == 403
        assert told_person.open(client_of_ben, ben).status_code == 404, "a forwarded mail"
        assert told_person.open(administrator, told_person.ann).status_code == 403, "has not read it"
        for token in (
            told_person.token(key=b"forged"),
            told_person.token(after_ms=-1),
            "n.1.x",
            told_person.token().replace(told_person.mail_id, "other"),
        ):
            assert told_person.open(told_person.client, told_person.ann, token).status_code == 404, token
        key = told_person.served.app.state.parts.alert_stores.unsubscribe_key
        for token in (
            mute_token_of(MuteLink(told_person.mail_id, 2**50), key),
            acknowledge_token_of(AcknowledgeLink(told_person.mail_id, 1, 2**50), key),
        ):
            assert told_person.open(told_person.client, told_person.ann, token).status_code == 404, "of another purpose"
        for body in (
            {},
            {"token": ""},
            {"token": "\u0000"},
            {"token": "x" * 201},
            {"token": told_person.token(), "user": ben},
            {"token": 5},
        ):
            answer = told_person.client.post(f"/users/{told_person.ann}/notifications/opened", json=body)
            assert answer.status_code in (400, 422), body
        assert nobody.get("/", params={"opened": told_person.token()}).status_code < 500
    assert told_person.read_states() == [False] * 5


def test_what_the_recipient_may_no_longer_view_stays_as_it_is(told_person: Told, administrator: httpx.Client) -> None:
    restrict(administrator, told_person.ann, {"effect": "deny", "resources": ["table"]})
    assert told_person.open(told_person.client, told_person.ann).json() == {"marked": 0}


def test_a_message_in_a_channel_is_read_by_each_for_themselves(told_person: Told) -> None:
    with writing(told_person.engine) as connection:
        is_mail = notification.c.id == told_person.mail_id
        connection.execute(notification.update().where(is_mail).values(recipient_id=None))
    ben, client_of_ben = told_person.served.person("ben")
    with client_of_ben:
        assert told_person.open(client_of_ben, ben).json() == {"marked": 0}, "was not told in the app"
    assert told_person.open(told_person.client, told_person.ann).json() == {"marked": 4}


def test_a_button_marks_the_cause_as_well_and_following_its_link_does_not(told_person: Told) -> None:
    parts = told_person.served.app.state.parts
    link = MuteLink(told_person.mail_id, parts.clock.now_ms() + 9_000_000)
    path = f"/mute/{mute_token_of(link, parts.alert_stores.unsubscribe_key)}"
    with told_person.served.client() as nobody:
        assert nobody.get(path).status_code == 200
        assert told_person.read_states() == [False] * 5
        assert nobody.post(path).status_code == 200
    assert told_person.read_states() == [True, True, True, True, False]
