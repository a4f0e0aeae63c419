"""Tests of the parts of a whole whose recipient may no longer view it when it is sent, on both stores: told once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, update
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.store.test_failing_rows import permit
from tests.store.test_independence import Collecting, yes
from tests.store.test_wholes import FOLLOWERS, delete_schema, follow
from tests.workers import worker_parts

from tocsin.delivery.worker.attempt import Attempts
from tocsin.model.change import EventType
from tocsin.model.subscription import Channel
from tocsin.store.database.tables import message

LATER_MS = 10**15


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company whose schema was deleted; ben, who follows it and one of its tables, has a mail waiting."""
    small_company = SmallCompany(store_engine)
    small_company.alert("watch", FOLLOWERS)
    for entity_type, name in (("databaseSchema", "public"), ("table", "orders")):
        follow(small_company, "ben", entity_type, name)
        follow(small_company, "ana", entity_type, name)
    notify_all(store_engine)
    delete_schema(small_company)
    notify_all(store_engine)
    return small_company


def hide_from_ben(company: SmallCompany, *resources: str) -> None:
    """Hide entities of these types from ben."""
    rule = {"name": "hidden", "effect": "deny", "resources": list(resources), "operations": ["ViewAll"]}
    for name, rules in (("ana", []), ("ben", [rule]), ("cem", [])):
        permit(company, name, *rules)


def keep_rights() -> None:
    """Change nothing."""


async def send_all(
    company: SmallCompany, *, is_killed: bool = False, after_kill: Callable[[], None] = keep_rights
) -> list[tuple[str, str | None]]:
    """Send what is due until nothing is; return recipients and assets. ``is_killed``: no first outcome is recorded."""
    channel = Collecting()
    parts = worker_parts(company.engine, {Channel.EMAIL: channel})
    messages, attempts = parts.queue.messages, Attempts(parts.attempts, parts.time)
    parts.queue.sessions.begin("s", lease_ms=90_000, now_ms=0)
    while claimed_messages := messages.claim("s", 64, now_ms=LATER_MS):
        outcomes = [await attempts.make(dispatch, yes) for dispatch in messages.dispatches(claimed_messages)]
        if is_killed:
            with company.engine.begin() as connection:
                connection.execute(update(message).values(lease_owner=None))
            is_killed = False
            channel.sent.clear()
            after_kill()
        else:
            messages.record("s", [one for one in outcomes if one is not None], now_ms=LATER_MS)
    return sorted(
        (dispatch.message.target, str(entry.event.entity_fully_qualified_name))
        for dispatch in channel.sent
        for entry in dispatch.entries
        if entry.event.event_type is EventType.ENTITY_SOFT_DELETED
    )


@pytest.mark.parametrize("is_killed", [False, True])
async def test_who_may_no_longer_view_the_whole_is_told_of_the_parts_that_they_follow_once(
    company: SmallCompany, is_killed: bool
) -> None:
    hide_from_ben(company, "databaseSchema")
    assert await send_all(company, is_killed=is_killed) == [
        ("ana@example.com", "pg.store.public"),
        ("ben@example.com", "pg.store.public.orders"),
        ("cem@example.com", "pg.store.public.orders"),
    ]


async def test_who_may_view_the_whole_again_after_its_parts_were_told_is_not_told_of_it_as_well(
    company: SmallCompany,
) -> None:
    """The worker is killed after it stored the parts; the next one finds that nothing hides the whole."""
    hide_from_ben(company, "databaseSchema")
    assert await send_all(company, is_killed=True, after_kill=lambda: permit(company, "ben")) == [
        ("ana@example.com", "pg.store.public"),
        ("ben@example.com", "pg.store.public.orders"),
        ("cem@example.com", "pg.store.public.orders"),
    ]


async def test_who_may_view_neither_is_told_of_neither(company: SmallCompany) -> None:
    hide_from_ben(company, "databaseSchema", "table")
    assert [target for target, _ in await send_all(company)] == ["ana@example.com", "cem@example.com"]


async def test_who_may_view_the_whole_is_told_of_no_part(company: SmallCompany) -> None:
    """Cem follows the table alone."""
    assert await send_all(company) == [
        ("ana@example.com", "pg.store.public"),
        ("ben@example.com", "pg.store.public"),
        ("cem@example.com", "pg.store.public.orders"),
    ]
