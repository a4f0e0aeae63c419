"""Tests of the health summary as its person meets it: the preview, the mail, and what others may see of it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import statuses, until
from tests.contract.test_access import restrict
from tests.contract.test_explain import describe
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.clock import SystemClock
from tocsin.flow.schedule.health_times import DAY_MS
from tocsin.jobs.health_summaries import HealthSummariesJob
from tocsin.store.database.engine import writing
from tocsin.store.database.people_tables import personal_notice
from tocsin.store.database.tables import entity_version

HIDDEN = {"effect": "deny", "resources": ["table"], "operations": ["ViewAll"]}
CHOSEN = {"healthSummary": {"day": "friday", "at": "16:00"}}


@pytest.fixture
def alice(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[tuple[str, httpx.Client]]:
    """Alice, who follows orders and has chosen a summary, and her client."""
    user_id, client = served.person("alice")
    with client:
        assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success
        assert client.put(f"/users/{user_id}/preferences", json=CHOSEN).is_success
        yield user_id, client


def preview(client: httpx.Client, user_id: str) -> Json:
    answer = client.get(f"/users/{user_id}/healthSummary")
    assert answer.status_code == 200, answer.text
    return answer.json()


def summarize(engine: Engine) -> None:
    """Let the last summary be more than a week ago, and send the one that is due."""
    HealthSummariesJob(engine).look()
    ago_ms = SystemClock().now_ms() - 9 * DAY_MS
    with writing(engine) as connection:
        connection.execute(update(personal_notice).values(until_ms=ago_ms, since_ms=ago_ms))
        connection.execute(update(entity_version).values(updated_at_ms=ago_ms + DAY_MS))
    HealthSummariesJob(engine).look()


def test_the_preview_says_what_happened_and_when_the_next_is_sent(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, served: Served
) -> None:
    user_id, client = alice
    describe(administrator, orders, "one")
    answer = preview(client, user_id)
    assert answer["dueAt"] > SystemClock().now_ms()
    assert answer["summary"]["changedAssets"]["count"] == 1
    assert "orders" in answer["message"]["text"]
    assert answer["message"]["subject"].startswith("Your week: ")
    bob, client_of_bob = served.person("bob")
    with client_of_bob, served.client() as client_of_nobody:
        assert client_of_bob.get(f"/users/{user_id}/healthSummary").status_code == 403
        assert client_of_nobody.get(f"/users/{user_id}/healthSummary").status_code == 401
        empty = preview(client_of_bob, bob)
        assert ("dueAt" in empty, "message" in empty) == (False, False)
    assert preview(administrator, user_id) is not None
    restrict(administrator, user_id, HIDDEN)
    assert preview(client, user_id)["summary"]["changedAssets"]["count"] == 0


def test_only_a_person_chooses_it(alice: tuple[str, httpx.Client], administrator: httpx.Client) -> None:
    user_id, client = alice
    assert client.get(f"/users/{user_id}/preferences").json()["healthSummary"] == CHOSEN["healthSummary"]
    refusal = administrator.put("/system/preferences", json=CHOSEN)
    assert (refusal.status_code, "healthSummary" in refusal.json()["message"]) == (400, True)
    for wrong in ({"day": "someday"}, {"at": "25:00"}, "friday"):
        assert client.put(f"/users/{user_id}/preferences", json={"healthSummary": wrong}).status_code == 400


async def test_the_mail_is_composed_by_the_rights_of_the_moment_at_which_it_is_sent(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    describe(administrator, orders, "one")
    summarize(sqlite_engine)
    notify_all(sqlite_engine)
    threads = str(administrator.get("/feed", params={"resolved": "true"}).json()["data"])
    assert ("For you alone" in threads, "orders" in threads) == (True, False)
    needing = client.get(f"/users/{user_id}/notifications", params={"needsMe": "true"}).json()["data"]
    assert needing == []
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert "Changed most: 1" in text
    assert "orders" in text


async def test_a_summary_of_what_is_hidden_by_now_is_not_sent(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, _ = alice
    describe(administrator, orders, "one")
    summarize(sqlite_engine)
    notify_all(sqlite_engine)
    restrict(administrator, user_id, HIDDEN)
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mail_texts(mailbox) == []
