"""Tests of links in digests that were composed ahead: those of a digest that is worded when it is sent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.delivery.events import NOW_MS, change_event, dispatch

from tocsin.delivery.channels.email.composed import composed_texts
from tocsin.delivery.channels.email.render import compose_ahead, render_texts
from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.delivery.links.acknowledge import LinkSigner
from tocsin.delivery.links.pages import page_link_of
from tocsin.model.message import CarriedEvent

_BASE_URL, _UNSUBSCRIBE = "https://tocsin.example.org", "https://tocsin.example.org/u?a=1&b=2"


def digest() -> Dispatch:
    """Return a digest of an asset, of another with a button to a page, and of a thread, which has no page."""
    sample = dispatch()
    events = (change_event(), change_event(entity_id="2" * 36), change_event(entity_id="3" * 36, entity_type="thread"))
    entries = tuple(
        replace(sample.first, notification_id=f"{place:08}-0000-4000-8000-000000000000", carried=carried)
        for place, carried in enumerate(map(CarriedEvent.of, events))
    )
    button = Button("Answer", f"{_BASE_URL}/#/changes?a=1&b=2", "token")
    return replace(sample, entries=entries, buttons={entries[1].notification_id: (button,)})


@pytest.mark.parametrize("key", [b"key", b""])
def test_links_to_pages_are_those_of_a_digest_that_is_worded_when_it_is_sent(key: bytes) -> None:
    ahead = replace(digest(), composed=compose_ahead(digest(), _BASE_URL))
    sent = replace(ahead, page_link=page_link_of(LinkSigner(_BASE_URL, key), NOW_MS))
    texts = composed_texts(sent, _BASE_URL, _UNSUBSCRIBE)
    assert texts == render_texts(sent, _BASE_URL, _UNSUBSCRIBE)
    assert str(texts).count("?opened=") == (8 if key else 0)
