"""Tests of mails whose readers share events: what was laid out for one reader never stands in the mail of another."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from tests.unit.delivery.events import OWNER, change_event, dispatch

from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.model.change import ChangeDescription, FieldChange
from tocsin.model.entity import Document
from tocsin.model.message import CarriedEvent
from tocsin.model.notification import ReasonKind

_BASE_URL = "https://tocsin.example.org"
_ANN: Document = {"id": "00000000-0000-4000-8000-00000000000a", "type": "user", "name": "ann", "displayName": "Ann"}
_OWNED = {"id": "123e4567-e89b-12d3-a456-426614174000", "name": "orders", "owners": [_ANN]}
_EVENTS = [
    change_event(entity=_OWNED),
    change_event(entity={"id": "e", "name": "revenue"}, entity_id=f"{1:036}"),
    change_event(
        ChangeDescription(fields_updated=(FieldChange(name="reviewers", old_value=[], new_value=[_ANN]),)),
        entity_id=f"{2:036}",
    ),
]


def digest() -> Dispatch:
    """Return a digest to Ben, who follows what has changed."""
    sample = dispatch()
    follower = OWNER.model_copy(update={"kind": ReasonKind.FOLLOWER})
    entries = [
        replace(sample.first, notification_id=f"n{place}", reasons=(follower,), recipient_id="ben", carried=carried)
        for place, carried in enumerate(map(CarriedEvent.of, _EVENTS))
    ]
    return replace(sample, entries=tuple(entries))


def of_ann(message: Dispatch) -> Dispatch:
    """Return a digest to Ann, who owns what has changed and marks as read what she opens."""
    entries = (replace(one, reasons=(OWNER,), recipient_id=str(_ANN["id"])) for one in message.entries)
    return replace(message, entries=tuple(entries), page_link=lambda address, identity: f"{address}&of=<{identity}>")


def of_who_acknowledges(message: Dispatch) -> Dispatch:
    """Return a digest to somebody who has buttons, each with a link of their own."""
    buttons = {
        entry.notification_id: (Button("Acknowledge", f"{_BASE_URL}/a?{entry.notification_id}", "token"),)
        for entry in message.entries
    }
    return replace(message, buttons=buttons)


def elsewhere(message: Dispatch) -> Dispatch:
    return replace(message, zone="Asia/Tokyo")


def with_events_of(message: Dispatch, shared: Dispatch) -> Dispatch:
    """Return a message whose notifications carry the very events of another."""
    pairs = zip(message.entries, shared.entries, strict=True)
    return replace(message, entries=tuple(replace(entry, carried=other.carried) for entry, other in pairs))


def test_a_reader_is_told_the_same_whoever_was_told_of_the_events_before() -> None:
    readers = (digest, lambda: of_ann(digest()), lambda: of_who_acknowledges(digest()), lambda: elsewhere(digest()))
    alone = [render_texts(message(), _BASE_URL) for message in readers]
    assert len({text["html"] for text in alone}) == len({text["text"] for text in alone}) == len(readers)
    for order in permutations(range(len(readers))):
        shared = digest()
        for place in order:
            texts = render_texts(with_events_of(readers[place](), shared), _BASE_URL)
            assert texts == alone[place]


def test_the_link_of_a_reader_is_escaped_in_the_section_that_is_shared() -> None:
    shared = digest()
    render_texts(shared, _BASE_URL)
    texts = render_texts(with_events_of(of_ann(digest()), shared), _BASE_URL)
    assert "&of=<n0>" in texts["text"]
    assert "&amp;of=&lt;n0&gt;" in texts["html"]
    assert "<n0>" not in texts["html"]


def test_links_for_one_reader_stay_out_of_the_mail_of_the_next() -> None:
    shared = digest()
    first = render_texts(shared, _BASE_URL, links=(("https://example.org/mute", "Mute"),))
    assert first["text"].count("Mute: https://example.org/mute") == len(_EVENTS)
    assert render_texts(with_events_of(digest(), shared), _BASE_URL) == render_texts(digest(), _BASE_URL)
