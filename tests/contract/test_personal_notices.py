"""Tests of notices to one person that say all they have to say in their thread: they come by mail as well."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import Engine, update
from tests.acceptance.worker.test_email_channel import Mailbox
from tests.acceptance.worker.test_merged import mail_texts, mailing
from tests.acceptance.worker.test_worker import statuses, until
from tests.contract.test_follows import SCHEMA, post
from tests.notifying import notify_all
from tests.serving import Json, Served

from tocsin.clock import SystemClock
from tocsin.jobs.mutes import MutesJob
from tocsin.model.follow_review import ADVISED_FOLLOWS
from tocsin.store.database.alert_tables import mute
from tocsin.store.database.engine import writing

_HOUR_MS = 3_600_000


@pytest.fixture
def alice(served: Served) -> Iterator[tuple[str, httpx.Client]]:
    user_id, client = served.person("alice")
    with client:
        yield user_id, client


def advise(administrator: httpx.Client, client: httpx.Client, user_id: str) -> None:
    """Let a person follow more assets than is advised."""
    names = [f"t{number}" for number in range(ADVISED_FOLLOWS + 1)]
    requests = [{"name": name, "databaseSchema": SCHEMA, "columns": []} for name in names]
    assert administrator.put("/tables/bulk", json=requests).json()["status"] == "success"
    assert "advice" in post(client, f"/users/{user_id}/follows", names=[f"{SCHEMA}.{name}" for name in names])


def end_a_mute_soon(engine: Engine, client: httpx.Client, user_id: str, orders: Json) -> None:
    """Let a person have muted an asset seven hours ago, for eight, and look after it."""
    now_ms = SystemClock().now_ms()
    request = {"kind": "asset", "id": orders["id"], "until": now_ms + _HOUR_MS}
    assert client.put(f"/users/{user_id}/mutes", json=request).is_success
    with writing(engine) as connection:
        connection.execute(update(mute).values(since_ms=now_ms - 7 * _HOUR_MS))
    assert MutesJob(engine).look()


async def mails(engine: Engine, count: int) -> list[str]:
    """Return the texts of the mails of what has happened, so many that are delivered."""
    notify_all(engine)
    mailbox = Mailbox()
    async with mailing(engine, mailbox):
        await until(lambda: statuses(engine) == ({"delivered": count} if count else {}))
    return mail_texts(mailbox)


async def test_the_advice_of_who_follows_much_comes_by_mail(
    alice: tuple[str, httpx.Client], administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    advise(administrator, client, user_id)
    (text,) = await mails(sqlite_engine, 1)
    assert "You follow more than 100 assets" in text
    assert "Review them: tocsin follows" in text


async def test_that_a_mute_ends_comes_by_mail_and_does_not_say_which(
    alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    end_a_mute_soon(sqlite_engine, client, user_id, orders)
    (text,) = await mails(sqlite_engine, 1)
    assert "One of your mutes ends soon" in text
    assert "orders" not in text


async def test_who_wants_no_mentions_by_mail_gets_no_notice_by_mail(
    alice: tuple[str, httpx.Client], orders: Json, sqlite_engine: Engine
) -> None:
    user_id, client = alice
    quiet = {"kinds": {"mention": {"Email": "never"}}}
    assert client.put(f"/users/{user_id}/preferences", json=quiet).is_success
    end_a_mute_soon(sqlite_engine, client, user_id, orders)
    notify_all(sqlite_engine)
    assert "delivered" not in statuses(sqlite_engine)
    (notice,) = client.get(f"/users/{user_id}/notifications").json()["data"]
    assert "One of your mutes ends soon" in notice["title"]
