"""Tests of test sends to every channel and category, with the settings of ``tocsin up``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event, Thread

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server
from tests.startedstore import StartedStore

from tocsin.cli.ports import any_free_port
from tocsin.cli.up import DevReceiver, parts_of, with_dev_receiver
from tocsin.delivery.channels.table import CHANNELS
from tocsin.delivery.worker.dev_receiver import Receiver, receiving
from tocsin.model.subscription import Category, Channel
from tocsin.settings import Settings

ADMINISTRATOR = "admin@tocsin.example.org"
UNSENT = {Channel.ACTIVITY_FEED, Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT, Channel.PUSH}
HOSTED = {Channel.WEBHOOK, Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT}
PATH = "/events/subscriptions"


@dataclass
class TrialSetup:
    """A server with a development receiver, as ``tocsin up`` starts them."""

    client: httpx.Client
    served: Served
    receiver: Receiver
    hook: str
    calls: list[tuple[str, Json]] = field(default_factory=list)

    def trial_of(self, category: Category, channel: Channel, **config: Json) -> Json:
        destination = {"category": category.value, "type": channel.value, "config": config}
        answer = self.client.post(f"{PATH}/validation/destination", json={"destination": destination})
        many = self.client.post(f"{PATH}/testDestination", json={"destinations": [destination]})
        assert answer.status_code == many.status_code, many.text
        if answer.status_code != 200:
            return answer.json()
        single, (from_list,) = answer.json()["statusDetails"], many.json()
        assert {**single, "timestamp": 0} == {**from_list["statusDetails"], "timestamp": 0}
        return single

    def arrivals(self) -> list[Json]:
        return self.receiver.arrivals()


@pytest.fixture
def house(started_store: StartedStore, sqlite_engine: Engine) -> Iterator[TrialSetup]:
    dev_receiver = DevReceiver(any_free_port(), any_free_port())
    parts = {one.name: one for one in parts_of(with_dev_receiver(Settings(), dev_receiver), dev_receiver, _is_ready)}
    environment = parts["server"].environment
    assert environment["TOCSIN_SMTP_PORT"] == str(dev_receiver.smtp_port), "the server sends tests of mail itself"
    settings = with_dev_receiver(
        Settings(
            log_level="warning",
            smtp_host=environment["TOCSIN_SMTP_HOST"],
            smtp_port=int(environment["TOCSIN_SMTP_PORT"]),
            trial_messages_per_hour=1_000,
        ),
        dev_receiver,
    )
    receiver = Receiver(lambda _line: None)
    with (
        _running(receiver, dev_receiver),
        running_server(sqlite_engine, settings, password=started_store.password) as server,
        server.administrator() as client,
    ):
        yield TrialSetup(client, server, receiver, f"http://127.0.0.1:{dev_receiver.http_port}/hook")


async def _is_ready() -> bool:
    return True


@contextlib.contextmanager
def _running(receiver: Receiver, at: DevReceiver) -> Iterator[None]:
    start, loop, stop = Event(), asyncio.new_event_loop(), asyncio.Event()

    async def run() -> None:
        async with receiving(receiver, at.http_port, at.smtp_port):
            start.set()
            await stop.wait()

    thread = Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert start.wait(10)
    yield
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


@pytest.mark.parametrize("channel", Channel)
def test_every_pair_is_tried_for_real_or_refused(house: TrialSetup, channel: Channel) -> None:
    for category in Category:
        before = len(house.arrivals())
        _check_pair(house, category, channel)
        sent = channel not in UNSENT and _is_possible(category, channel) and not _is_own(category, channel)
        assert len(house.arrivals()) - before == (2 if sent else 0), "one for each route"


def _is_possible(category: Category, channel: Channel) -> bool:
    channel_row = CHANNELS.get(channel)
    needs_bot = channel is Channel.SLACK and category is not Category.EXTERNAL
    return channel_row is not None and category in channel_row.categories and not needs_bot


def _is_own(category: Category, channel: Channel) -> bool:
    """Return whether recipients have addresses of their own, which a test does not write to."""
    return channel in HOSTED and category is not Category.EXTERNAL


def _check_pair(house: TrialSetup, category: Category, channel: Channel) -> None:
    if not _is_possible(category, channel):
        refusal = house.trial_of(category, channel, endpoint=house.hook, receivers=["admin"])
        assert refusal["code"] == 400, (category, channel)
        return
    external = {"endpoint": house.hook} if channel in HOSTED else {"receivers": [ADMINISTRATOR]}
    if channel is Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT:
        external = {}
    teams = {"receivers": ["Organization"]} if category is Category.TEAMS else {"receivers": ["admin"]}
    outcome = house.trial_of(category, channel, **(external if category is Category.EXTERNAL else teams))
    assert outcome.get("status") == "Success", (category, outcome)
    if channel in UNSENT or _is_own(category, channel):
        assert outcome["statusInfo"].startswith("Nothing was sent")
        return
    is_instead = channel not in HOSTED and category is not Category.EXTERNAL
    assert ("addressed to you instead" in outcome.get("statusInfo", "")) == is_instead
    if channel is Channel.EMAIL:
        assert [one["to"] for one in house.arrivals()][-2:] == [[ADMINISTRATOR]] * 2


def test_a_test_writes_to_nobody_but_who_asks_and_the_addresses_that_it_names(house: TrialSetup) -> None:
    _, client = house.served.person("ana")
    with client:
        mail = {"category": "Users", "type": "Email", "config": {"receivers": ["admin"]}}
        answer = client.post(f"{PATH}/testDestination", json={"destinations": [mail, {**mail, "category": "Admins"}]})
        assert [one["statusDetails"]["status"] for one in answer.json()] == ["Success", "Success"]
    assert [one["to"] for one in house.arrivals()] == [["ana@example.org"]] * 2


def test_what_fails_says_why_and_no_more(house: TrialSetup) -> None:
    outcome = house.trial_of(Category.EXTERNAL, Channel.WEBHOOK, endpoint="http://127.0.0.1:9/hook")
    assert {key: outcome[key] for key in ("status", "reason")} == {"status": "Failed", "reason": "egressRefused"}
    for address in ("http://169.254.1.1/latest/meta-data", "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/"):
        refused = house.trial_of(Category.EXTERNAL, Channel.WEBHOOK, endpoint=address)
        assert refused.keys() == {"status", "reason", "timestamp"}
        assert refused["reason"] == "egressRefused"


def test_without_a_mail_server_a_test_of_mail_fails(administrator: httpx.Client) -> None:
    body = {"destination": {"category": "Owners", "type": "Email", "config": {"sendToOwners": True}}}
    status = administrator.post(f"{PATH}/validation/destination", json=body).json()["statusDetails"]
    assert (status["status"], status["reason"]) == ("Failed", "mailDeferred")
