"""Tests of the header of a webhook that says why changes were made, as their authors say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.delivery.events import NOW_MS, change_event, dispatch

from tocsin.delivery.channels.webhook.sender import WebhookSender
from tocsin.delivery.transport.request import Recorder, Request
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.stated_reason import reason_in_header
from tocsin.model.subscription import Category, Channel, Destination, DestinationConfig

WHY = "X-Tocsin-Why"


async def sent_headers(*reasons: str | None) -> dict[str, str]:
    """Return the headers of a request with an event for each of these reasons."""
    config = DestinationConfig.model_validate({"endpoint": "https://example.org/hook"})
    destination = Destination(id="d", category=Category.EXTERNAL, type=Channel.WEBHOOK, config=config)
    texts = [change_event(reason=reason).to_json() for reason in reasons]
    entries = tuple(Entry(f"n{at}", at, CarriedEvent(f"e{at}", text)) for at, text in enumerate(texts))
    message = replace(dispatch(), entries=entries, batch_size=1_000, sends_arrays=len(reasons) > 1)
    recorder = Recorder()
    await WebhookSender(recorder, source="https://tocsin.example.org").send(message, destination, now_ms=NOW_MS)
    (request,) = recorder.sent
    assert isinstance(request, Request)
    return request.headers


@pytest.mark.parametrize(
    ("reasons", "value"),
    [
        (["the auditors asked"], "the auditors asked"),
        (["für Zoë"], "UTF-8''f%C3%BCr%20Zo%C3%AB"),
        ([None], None),
        (["one", "one"], "one"),
        (["one", "two"], None),
        (["one", None], None),
    ],
)
async def test_a_request_says_why_all_that_it_reports_was_done(reasons: list[str | None], value: str | None) -> None:
    assert (await sent_headers(*reasons)).get(WHY) == value


@pytest.mark.parametrize("reason", ["x" * 500, "ü" * 300, "👩" * 500])
async def test_a_reason_is_cut_where_receivers_would_refuse_its_header(reason: str) -> None:
    value = (await sent_headers(reason))[WHY]
    header_text = reason_in_header(value.encode())
    assert header_text is not None
    assert len(value) <= 2_000
    assert header_text == reason or (reason.startswith(header_text.rstrip("…")) and header_text.endswith("…"))
