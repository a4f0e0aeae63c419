"""Tests of webhooks with templates, through a real worker: what arrives, how it is signed, and what fails."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web
from sqlalchemy import Engine, select
from tests.acceptance.worker.receivers import receiver
from tests.acceptance.worker.test_worker import statuses, until, working
from tests.company import SmallCompany
from tests.notifying import notify_all
from tests.unit.delivery.events import NOW_MS, OWNER, dispatch

from tocsin.delivery.channels.webhook.filling import filled_config
from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.channels.webhook.signature import is_signed
from tocsin.delivery.dispatch import RenderingAccount
from tocsin.delivery.templates.accounts import MinuteLimits, TemplateAccounts
from tocsin.delivery.transport.egress import egress_of
from tocsin.delivery.transport.http_requests import HttpRequests
from tocsin.model.message import Delivered
from tocsin.model.notification import Reason
from tocsin.model.subscription import Destination, DestinationConfig
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import attempt

PATIENCE_S = 30.0


@dataclass
class Heard:
    """What a receiver heard."""

    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.raw_path, headers, await request.read()))
        return web.Response()


async def send_change(engine: Engine, path: str, **config: Any) -> tuple[list[tuple[str, dict[str, str], bytes]], str]:
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
    requests, problem = await send_change(
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
    requests, problem = await send_change(sqlite_engine, "/hook", bodyTemplate='{"missing": {{entity.nothing}}}')
    ((_, _, body),) = requests
    assert json.loads(body)["eventType"] == "entityUpdated"
    assert problem.startswith("bodyTemplate: the body is not JSON: ")
    assert problem.endswith("; the default body was sent")


async def test_templates_that_take_all_their_time_hold_up_nobody_else() -> None:
    """While somebody's templates render, what the store is asked and what others send does not wait for them."""
    heard, release = Heard(), threading.Event()

    class Slow(Reason):
        """A reason that takes its time when a template names it."""

        def sentence(self, name: str | None = None, **words: Any) -> str:
            release.wait()
            return super().sentence(name, **words)

    slow = Slow.model_validate(OWNER.model_dump())
    async with receiver(heard.answer) as url, HttpRequests(egress_of(("127.0.0.0/8",))) as requests:
        sender = WebhookSender(requests, source="https://tocsin.example.com")
        plain = Destination.model_validate(
            {"id": "p", "category": "External", "type": "Webhook", "config": {"endpoint": f"{url}/plain"}}
        )
        templated_config = plain.config.model_copy(update={"endpoint": f"{url}/own", "body_template": '"{{headline}}"'})
        own_destination = plain.model_copy(update={"config": templated_config})
        many = [
            replace(dispatch(reasons=(slow,)), payer=RenderingAccount(f"alert {number}", "eve"))
            for number in range(100)
        ]
        waiting = [asyncio.create_task(sender.send(one, own_destination, now_ms=NOW_MS)) for one in many]
        try:
            async with asyncio.timeout(PATIENCE_S):
                assert isinstance(await sender.send(dispatch(), plain, now_ms=NOW_MS), Delivered)
                assert await asyncio.to_thread(lambda: [path for path, *_ in heard.requests]) == ["/plain"]
        finally:
            release.set()
        assert {type(one) for one in await asyncio.gather(*waiting)} == {Delivered}


def test_beyond_its_time_of_a_minute_an_alert_sends_the_default_body_and_says_so() -> None:
    spent = TemplateAccounts(MinuteLimits(alert_s=0))
    config = DestinationConfig(endpoint="https://example.org/", body_template='"{{headline}}"')
    filling = filled_config(dispatch(), config, source="https://tocsin.example.com", accounts=spent)
    assert filling.payloads == {}
    problem = "bodyTemplate: the templates of this alert have taken 0 s of this minute; the default body was sent"
    assert filling.problem == problem
