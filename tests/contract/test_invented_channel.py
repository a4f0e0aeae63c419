"""A channel is one folder and its rows of the tables, as ``docs/recipes.md`` says: these replace Google Chat's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.acceptance.worker.test_worker import until
from tests.notifying import notify_all
from tests.serving import KEY, Json

from tocsin.delivery.channels.channel_type import ChannelType
from tocsin.delivery.channels.endpoints import check_endpoint, endpoint_of
from tocsin.delivery.channels.sender_setup import SenderSetup
from tocsin.delivery.channels.senders import SENDERS
from tocsin.delivery.channels.table import CHANNELS, phrase_of
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.delivery.worker.build import build
from tocsin.delivery.worker.deliver import Worker
from tocsin.model.message import Delivered, Outcome
from tocsin.model.subscription import Category, Channel, Destination
from tocsin.settings import Settings
from tocsin.store.eventlog.log import EventLog

ADDRESS = "https://pigeons.example.org/loft/secret-loft"


class InventedChannel:
    """A sender that notes what it was given."""

    def __init__(self) -> None:
        self.flown: list[tuple[str, str | None]] = []

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        self.flown.append((dispatch.event.entity_fully_qualified_name or "", destination.config.endpoint))
        return Delivered(200)

    @asynccontextmanager
    async def connect(self, _setup: SenderSetup) -> AsyncIterator[Sender]:
        yield self


@pytest.fixture
def pigeons(monkeypatch: pytest.MonkeyPatch) -> InventedChannel:
    channel = InventedChannel()
    row = ChannelType(
        channel=Channel.G_CHAT,
        phrase="by pigeon",
        categories=frozenset({Category.EXTERNAL}),
        check=lambda destination, place: check_endpoint(destination.config.endpoint, f"{place}.endpoint"),
        targets=endpoint_of,
    )
    monkeypatch.setitem(CHANNELS, Channel.G_CHAT, row)
    monkeypatch.setitem(SENDERS, Channel.G_CHAT, channel.connect)
    return channel


def alert(**config: str) -> Json:
    return {
        "name": "Pigeons",
        "alertType": "Notification",
        "filteringRules": {"resources": ["table"], "rules": []},
        "destinations": [{"category": "External", "type": "GChat", "config": config}],
    }


def test_a_row_of_the_table_is_checked_masked_tried_sent_and_explained(
    pigeons: InventedChannel, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    refusal = administrator.post("/events/subscriptions", json=alert())
    assert (refusal.status_code, "destinations[0].config.endpoint" in refusal.text) == (400, True)
    response = administrator.post("/events/subscriptions", json=alert(endpoint=ADDRESS))
    assert response.status_code == 201, response.text
    assert "secret-loft" not in response.text
    trial_request = {"destinations": alert(endpoint=ADDRESS)["destinations"]}
    assert '"Success"' in administrator.post("/events/subscriptions/testDestination", json=trial_request).text
    assert [address for _, address in pigeons.flown] == [ADDRESS]
    pigeons.flown.clear()
    patch = [{"op": "add", "path": "/description", "value": "by air"}]
    headers = {"Content-Type": "application/json-patch+json"}
    change_answer = administrator.patch(f"/tables/{orders['id']}", content=json.dumps(patch), headers=headers)
    assert change_answer.status_code == 200, change_answer.text
    notify_all(sqlite_engine)
    asyncio.run(deliver_until(sqlite_engine, lambda: bool(pigeons.flown)))
    assert pigeons.flown == [(orders["fullyQualifiedName"], ADDRESS)]
    events = EventLog(sqlite_engine).read(0, 10_000)
    (event,) = [one.event for one in events if one.event.entity_id == orders["id"]][-1:]
    why = administrator.get(f"/events/{event.id}/explain").json()
    assert [one["channel"] for one in why["notified"]["data"]] == ["GChat"]
    assert phrase_of("GChat") == "by pigeon"


async def deliver_until(engine: Engine, is_done: Callable[[], bool]) -> None:
    """Run a worker with the senders that the table names until something has arrived."""
    url = engine.url.render_as_string(hide_password=False)
    settings = Settings(database_url=url, secrets_key=SecretStr(KEY))
    stop = asyncio.Event()
    async with build(settings) as parts:
        assert parts.attempts.senders.keys() == {name.value for name in SENDERS if name is not Channel.PUSH}
        running = asyncio.create_task(Worker(parts).run(stop))
        await until(is_done)
        stop.set()
        await running
