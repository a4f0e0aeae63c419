"""Tests of one word in every secret of every channel, against a receiver that repeats it: it is found nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from pydantic import SecretStr
from sqlalchemy import Engine, func, select
from tests.conftest import KEY
from tests.notifying import notify_all
from tests.serving import Json, table

from tocsin.clock import SystemClock
from tocsin.delivery.worker.deliver import run
from tocsin.model.subscription import Channel
from tocsin.settings import Settings
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import attempt, message
from tocsin.store.upkeep.backup.making import BackupContents, back_up

WORD = "kanarie"
PATIENCE_S = 30.0


def destinations(url: str) -> dict[str, Json]:
    """Return a destination for each way in which a channel holds secrets, with the word in all of them."""
    chat = f"{url}/services/{WORD}-path?key={WORD}-query"
    hook = {
        "endpoint": chat,
        "secretKey": f"{WORD}-key {WORD}-older",
        "headers": {"X-Api-Key": f"{WORD}-header"},
        "queryParams": {"token": f"{WORD}-parameter"},
        "bodyTemplate": f'{{"routing_key": "{WORD}-routing", "text": "{WORD}-prefix {{{{headline}}}}", "at": 1}}',
    }
    oauth = {"type": "oauth2", "tokenUrl": f"{url}/token", "clientId": f"{WORD}-id", "clientSecret": f"{WORD}-secret"}
    bot = {"botToken": f"xoxb-{WORD}-token", "signingSecret": f"{WORD}-signing-secret", "channel": "#alerts"}
    return {
        "bearer": {
            "type": "Webhook",
            "config": {**hook, "authType": {"type": "bearer", "secretKey": f"{WORD}-bearer"}},
        },
        "oauth": {"type": "Webhook", "config": {**hook, "authType": oauth}},
        "Slack": {"type": "Slack", "config": {"endpoint": chat}},
        "bot": {"type": "Slack", "config": bot},
        "MsTeams": {"type": "MsTeams", "config": {"endpoint": chat}},
        "GChat": {"type": "GChat", "config": {"endpoint": chat}},
    }


async def repeat(request: web.Request) -> web.Response:
    """Answer with all that was sent, as a receiver does that is being debugged; at its token URL with a token."""
    body = (await request.read()).decode("utf-8", "replace")
    if request.path == "/token":
        return web.json_response({"access_token": f"{WORD}-access", "token_type": "bearer"})
    headers = "\n".join(f"{name}: {value}" for name, value in request.headers.items())
    return web.Response(status=500, text=f"{request.method} {request.path_qs}\n{headers}\n\n{body}")


@pytest.fixture
def dead_letters(
    administrator: httpx.Client, orders: Json, sqlite_engine: Engine, tmp_path: Path
) -> Iterator[tuple[Settings, list[Json]]]:
    """Alerts over all channels of which every message became a dead letter; with the settings of the worker."""
    database = str(sqlite_engine.url.render_as_string(hide_password=False))
    plain: dict[str, Any] = {
        "data_dir": tmp_path / "data",
        "database_url": database,
        "log_level": "info",
        "secrets_key": SecretStr(KEY),
    }

    async def deliver() -> tuple[Settings, list[Json]]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", repeat)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        settings = Settings(**plain, egress_allow=("127.0.0.1/32",), slack_api_url=f"{url}/api/")
        alerts = await asyncio.to_thread(create_alerts, url)
        stop = asyncio.Event()
        worker = asyncio.create_task(run(settings, stop))
        async with asyncio.timeout(PATIENCE_S):
            while await asyncio.to_thread(undeliverable_count) < len(alerts):
                await asyncio.sleep(0.05)
        stop.set()
        await worker
        await runner.cleanup()
        return settings, alerts

    def create_alerts(url: str) -> list[Json]:
        alerts = []
        for name, destination in destinations(url).items():
            request = {"name": name, "alertType": "Notification", "resources": ["table"], "retries": 0}
            request["destinations"] = [{"category": "External", **destination}]
            answer = administrator.post("/events/subscriptions", json=request)
            assert answer.status_code == 201, answer.text
            alerts.append(answer.json())
        table(administrator, "changed")
        notify_all(sqlite_engine)
        return alerts

    def undeliverable_count() -> int:
        query = select(func.count()).where(message.c.status.in_(("failed", "retryLimitReached")))
        with reading(sqlite_engine) as connection:
            return int(connection.execute(query).scalar_one())

    yield asyncio.run(deliver())


def test_secrets_of_every_channel_are_found_nowhere(
    dead_letters: tuple[Settings, list[Json]],
    administrator: httpx.Client,
    sqlite_engine: Engine,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    settings, alerts = dead_letters
    with reading(sqlite_engine) as connection:
        details = list(connection.execute(select(attempt.c.detail)).scalars())
    assert len(details) == len(alerts)
    assert all("*********" in one for one in details), "each receiver has repeated what it was sent"
    assert WORD not in "\n".join(details)
    for path in paths(administrator, alerts):
        answer = administrator.get(path)
        assert answer.status_code == 200, path
        assert WORD not in answer.text, path
    back_up(
        sqlite_engine,
        settings,
        tmp_path / "backup",
        contents=BackupContents(),
        clock=SystemClock(),
        report=lambda _done, _total: None,
    )
    holding = [file for file in tmp_path.rglob("*") if file.is_file() and WORD.encode() in file.read_bytes()]
    database = Path(str(sqlite_engine.url.database))
    holding += [file for file in database.parent.glob(f"{database.name}*") if WORD.encode() in file.read_bytes()]
    assert holding == [], "database, journal, backup"
    output = capfd.readouterr()
    assert WORD not in output.out + output.err, "logs"


def test_every_channel_with_secrets_is_among_them() -> None:
    used = {one["type"] for one in destinations("http://x").values()}
    assert used == {one.value for one in Channel} - {"Email", "ActivityFeed", "GovernanceWorkflowChangeEvent", "Push"}


def paths(client: httpx.Client, alerts: list[Json]) -> Iterator[str]:
    """Yield every address that shows alerts, events about them, their status or their dead letters."""
    yield from ("/events?limit=1000&format=tocsin", "/events/deliveries?limit=100", "/events/subscriptions?fields=*")
    yield "/events/subscriptions/listAllFailedEvents"
    for letter in client.get("/events/deliveries", params={"limit": 100}).json()["data"]:
        yield f"/events/deliveries/{letter['id']}"
        yield f"/events/{letter['events'][0]['id']}/explain"
    for alert in alerts:
        for subpath in (
            "",
            "/versions",
            "/status",
            "/destinations",
            "/logs",
            "/failedEvents",
            "/history",
            "/listEvents",
        ):
            yield f"/events/subscriptions/{alert['id']}{subpath}"
