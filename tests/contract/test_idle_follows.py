"""Tests of follows that end soon, as their person meets them: the notice by mail, the list, and how they are kept."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import statuses, until
from tests.contract.test_access import restrict
from tests.contract.test_follows import list_of, messages_in, names_in, post
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.clock import SystemClock
from tocsin.jobs.idle_follows import IdleFollowsJob
from tocsin.store.database.engine import writing
from tocsin.store.database.tables import change_event, entity
from tocsin.store.recipients.idle_follows import DAY_MS

EXPIRING = {"review": "expiring"}


@pytest.fixture
def alice(served: Served, administrator: httpx.Client, orders: Json) -> Iterator[tuple[str, httpx.Client]]:
    """Alice, who follows orders and customers, and her client."""
    user_id, client = served.person("alice")
    customers = table(administrator, "customers")
    with client:
        for asset in (orders, customers):
            assert client.put(f"/tables/{asset['id']}/followers/{user_id}").is_success
        yield user_id, client


def warn(engine: Engine) -> None:
    """Let everything be long ago, and warn of what is idle."""
    with writing(engine) as connection:
        ago_ms = SystemClock().now_ms() - 100 * DAY_MS
        connection.execute(update(entity).values(updated_at_ms=ago_ms))
        connection.execute(update(change_event).values(timestamp_ms=ago_ms))
    IdleFollowsJob(engine, 30).look()


def test_what_ends_soon_is_listed_and_kept_by_following_it_again(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine, served: Served
) -> None:
    user_id, client = alice
    assert list_of(client, user_id, **EXPIRING)["data"] == []
    warn(sqlite_engine)
    page = list_of(client, user_id, **EXPIRING)
    assert names_in(page) == ["customers", "orders"]
    assert all(one["expires"] > SystemClock().now_ms() + 6 * DAY_MS for one in page["data"])
    dry_result = post(client, f"/users/{user_id}/follows", **EXPIRING, dryRun=True)
    assert messages_in(dry_result) == {"customers": "kept", "orders": "kept"}
    _, client_of_bob = served.person("bob")
    with client_of_bob:
        assert client_of_bob.post(f"/users/{user_id}/follows", json=EXPIRING).status_code == 403
        assert client_of_bob.put(f"/tables/{orders['id']}/followers/{user_id}").status_code == 403
    assert names_in(list_of(client, user_id, **EXPIRING)) == ["customers", "orders"]
    assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success
    assert names_in(list_of(client, user_id, **EXPIRING)) == ["customers"]
    result = post(client, f"/users/{user_id}/follows", **EXPIRING)
    assert (messages_in(result), result["followCount"]) == ({"customers": "kept"}, 2)
    assert list_of(client, user_id, **EXPIRING)["data"] == []
    result = post(client, f"/users/{user_id}/follows", ids=[orders["id"]])
    assert messages_in(result) == {"orders": "already followed"}
    assert "expires" not in list_of(client, user_id)["data"][0]


def test_what_ends_soon_is_unfollowed_at_once_if_one_likes(
    alice: tuple[str, httpx.Client], sqlite_engine: Engine
) -> None:
    user_id, client = alice
    warn(sqlite_engine)
    assert post(client, f"/users/{user_id}/unfollow", **EXPIRING)["followCount"] == 0


async def test_the_mail_names_what_ends_as_far_as_its_reader_may_view_it_by_then(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    warn(sqlite_engine)
    notify_all(sqlite_engine)
    assert client.put(f"/tables/{orders['id']}/followers/{user_id}").is_success, "orders is kept"
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"delivered": 1})
    (text,) = mail_texts(mailbox)
    assert "For 30 days nothing of this has changed, or you have read nothing of it." in text
    assert ("customers" in text, "public.orders" in text) == (True, False)
    assert "tocsin follow --review expiring" in text
    threads = administrator.get("/feed").json()["data"]
    assert [one for one in threads if "customers" in str(one["message"])] == [], "others may read the thread"
    inbox = client.get(f"/users/{user_id}/notifications").json()
    assert inbox["data"][0]["title"].startswith("Some of what you follow you have no")


async def test_a_mail_of_which_nothing_is_left_is_not_sent(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    user_id, _ = alice
    warn(sqlite_engine)
    notify_all(sqlite_engine)
    restrict(administrator, user_id, {"effect": "deny", "resources": ["table"], "operations": ["ViewAll"]})
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mail_texts(mailbox) == []


async def test_the_mail_names_neither_what_is_unfollowed_by_then_nor_what_is_deleted(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    warn(sqlite_engine)
    notify_all(sqlite_engine)
    assert client.delete(f"/tables/{orders['id']}/followers/{user_id}").is_success
    (entry,) = list_of(client, user_id, **EXPIRING)["data"]
    assert administrator.delete(f"/tables/{entry['asset']['id']}").is_success
    mailbox = Mailbox()
    async with mailing(sqlite_engine, mailbox):
        await until(lambda: statuses(sqlite_engine) == {"failed": 1})
    assert mail_texts(mailbox) == []


def test_what_another_person_writes_is_no_notice(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, sqlite_engine: Engine
) -> None:
    message = {"about": "<#E::user::alice>", "message": "<#E::user::alice> For you alone: all is well."}
    assert administrator.post("/feed", json=message).status_code == 201
    notify_all(sqlite_engine)
    assert statuses(sqlite_engine) == {}
