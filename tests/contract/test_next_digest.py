"""Tests of the preview of a person's next digest: what is sent later, by the rights of now, and nothing changes."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine, select, update
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import statuses, until
from tests.contract.test_explain import alert, assign_owners, describe
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.store.database.engine import reading, writing
from tocsin.store.database.tables import message, notification

PAGE = re.compile(r"https?://[^/\s]+")


@pytest.fixture
def ann(served: Served, administrator: httpx.Client, orders: Json) -> Any:
    """Ann, who owns the orders and gets mails each week, and her client."""
    user_id, client = served.person("ann")
    assign_owners(administrator, orders, user_id)
    alert(administrator, "Mail", destinations=[{"category": "Owners", "type": "Email"}])
    with client:
        client.put(f"/users/{user_id}/preferences", json={"frequency": "weekly"})
        yield user_id, client


def digests_of(person: tuple[str, httpx.Client]) -> Any:
    user_id, client = person
    answer = client.get(f"/users/{user_id}/digest")
    assert answer.status_code == 200, answer.text
    return answer.json()["data"]


def stored_rows(engine: Engine) -> list[Any]:
    with reading(engine) as connection:
        return [*connection.execute(select(message)).all(), *connection.execute(select(notification)).all()]


async def test_a_digest_is_shown_as_it_is_sent_later_and_nothing_changes(
    ann: Any, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    assert digests_of(ann) == []
    for text in ("one", "two", "three"):
        describe(administrator, orders, text)
    notify_all(sqlite_engine)
    before = stored_rows(sqlite_engine)
    (digest,) = digests_of(ann)
    assert digests_of(ann) == [digest]
    assert stored_rows(sqlite_engine) == before
    assert (digest["channel"], digest["notificationCount"]) == ("Email", 3)
    assert digest["dueAt"] > 0
    assert "changed 3 times" in digest["message"]["text"]
    with writing(sqlite_engine) as connection:
        connection.execute(update(message).values(due_at_ms=0))
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (sent_text,) = mail_texts(mailbox)
    shown_text = digest["message"]["text"]
    assert PAGE.sub("", sent_text).split() == PAGE.sub("", shown_text).split()
    assert digests_of(ann) == []


def test_what_the_reader_may_not_see_by_now_or_has_muted_is_not_in_it(
    ann: Any, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = ann
    describe(administrator, orders, "one")
    notify_all(sqlite_engine)
    assert len(digests_of(ann)) == 1
    mute = {"kind": "asset", "id": orders["id"], "type": "table"}
    assert client.put(f"/users/{user_id}/mutes", json=mute).status_code == 200
    assert digests_of(ann) == []
    assert client.delete(f"/users/{user_id}/mutes/{orders['id']}").status_code in (200, 204)
    assert len(digests_of(ann)) == 1
    rule = {"name": "Shut", "effect": "deny", "operations": ["ViewAll"], "resources": ["table"]}
    policy = administrator.post("/policies", json={"name": "Shut", "rules": [rule]}).json()
    role = administrator.post("/roles", json={"name": "Shut", "policies": ["Shut"]})
    assert role.status_code == 201, (role.text, policy)
    patch = [{"op": "add", "path": "/roles", "value": [{"id": role.json()["id"], "type": "role"}]}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"/users/{user_id}", json=patch, headers=headers).status_code == 200
    assert digests_of(ann) == []


def test_nobody_reads_the_digest_of_another(ann: Any, served: Served, administrator: httpx.Client) -> None:
    user_id, _ = ann
    _, client_of_bob = served.person("bob")
    with client_of_bob, served.client() as client_of_nobody:
        assert client_of_bob.get(f"/users/{user_id}/digest").status_code == 403
        assert client_of_nobody.get(f"/users/{user_id}/digest").status_code == 401
    assert administrator.get(f"/users/{user_id}/digest").json()["data"] == []


def test_an_explanation_of_an_event_reads_one_notification_of_a_digest_and_not_the_others(
    ann: Any, served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    for text in ("one", "two", "three"):
        describe(administrator, orders, text)
    notify_all(sqlite_engine)
    with reading(sqlite_engine) as connection:
        is_gathered = notification.c.message_id.is_not(None)
        query = select(notification.c.message_id, notification.c.id).where(is_gathered).order_by(notification.c.id)
        stored_pairs = list(connection.execute(query))
    assert len(stored_pairs) == 3
    message_id, notification_id = stored_pairs[1]
    digests = served.app.state.parts.alert_stores.next_digests
    (dispatch,) = digests.unsent({message_id}, {notification_id})
    assert [entry.notification_id for entry in dispatch.entries] == [notification_id]
    assert digests.unsent({message_id}, {"another"}) == []
