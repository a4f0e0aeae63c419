"""Tests of webhooks with templates, through a real worker: what arrives, how it is signed, and what fails."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.receivers import receiver
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.flow.send.channels.webhook.signature import is_signed
from tocsin.store.engine import reading
from tocsin.store.tables import attempt


@dataclass
class Heard:
    """What a receiver heard."""

    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.raw_path, headers, await request.read()))
        return web.Response()


async def sent(engine: Engine, path: str, **config: Any) -> tuple[list[tuple[str, dict[str, str], bytes]], str]:
    """Take one change to a webhook; return its requests, and what the attempt says of its templates."""
    heard, company = Heard(), SmallCompany(engine)
    async with receiver(heard.answer) as url:
        to = {"category": "External", "type": "Webhook", "config": {"endpoint": f"{url}{path}", **config}}
        company.alert("hook", [to], "fieldChanged == 'description'")
        notify_all(engine)
        company.describe("orders", 'say "hi"\r\nX-Evil: 1')
        notify_all(engine)
        async with working(engine):
            await until(lambda: statuses(engine) == {"delivered": 1})
    with reading(engine) as connection:
        return heard.requests, str(connection.execute(select(attempt.c.template_error)).scalar_one())


async def test_body_header_query_and_address_are_filled_in_and_the_body_is_signed(sqlite_engine: Engine) -> None:
    requests, problem = await sent(
        sqlite_engine,
        "/assets/{{entity.name}}",
        bodyTemplate='{"title": "{{headline}}", "text": "{{entity.description}}", "by": "{{event.userName}}"}',
        headers={"X-Asset": "{{entity.name}}: {{entity.description}}"},
        queryParams={"who": "{{event.userName}} & co"},
        secretKey="s3cret",
    )
    ((path, headers, body),) = requests
    assert problem == ""
    assert json.loads(body) == {
        "title": "orders: description added",
        "text": 'say "hi"\r\nX-Evil: 1',
        "by": "dia",
    }
    assert path == "/assets/orders?who=dia+%26+co"
    assert headers["x-asset"] == 'orders: say "hi" X-Evil: 1'
    assert "x-evil" not in headers
    assert is_signed(body, headers, "s3cret")


async def test_a_body_that_is_no_json_is_the_default_one_and_the_attempt_says_so(sqlite_engine: Engine) -> None:
    """Fault scenario 39."""
    requests, problem = await sent(sqlite_engine, "/hook", bodyTemplate='{"missing": {{entity.nothing}}}')
    ((_, _, body),) = requests
    assert json.loads(body)["eventType"] == "entityUpdated"
    assert problem.startswith("bodyTemplate: the body is not JSON: ")
    assert problem.endswith("; the default body was sent")
