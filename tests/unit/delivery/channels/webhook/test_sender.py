"""Tests of what a webhook's sender keeps of a destination from one request to the next."""

from __future__ import annotations

from tests.unit.delivery.events import NOW_MS, dispatch

from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.transport.request import Recorder, Request
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig


def destination(**config: object) -> Destination:
    whole_config = DestinationConfig.model_validate(config)
    return Destination(id="d", category=Category.EXTERNAL, type=Channel.WEBHOOK, config=whole_config)


async def test_a_destination_that_is_changed_is_sent_to_as_it_is_now() -> None:
    recorder = Recorder()
    sender = WebhookSender(recorder, source="https://tocsin.example.org")
    before = destination(endpoint="https://example.org/old", headers={"X-A": "1"}, secretKey="one")
    after = destination(endpoint="https://example.org/{{entity.name}}", headers={"X-A": "2"}, httpMethod="PUT")
    without_address = destination()
    for at, where in enumerate([before, before, after, before, without_address, without_address]):
        await sender.send(dispatch(target=f"https://example.org/{at}"), where, now_ms=NOW_MS)
    requests = [request for request in recorder.sent if isinstance(request, Request)]
    assert [request.url.path for request in requests] == ["/old", "/old", "/orders", "/old", "/4", "/5"]
    assert [request.headers.get("X-A") for request in requests] == ["1", "1", "2", "1", None, None]
    assert ["webhook-signature" in request.headers for request in requests] == [True, True, False, True, False, False]
    assert [request.method for request in requests] == ["POST", "POST", "PUT", "POST", "POST", "POST"]
