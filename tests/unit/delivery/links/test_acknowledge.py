"""Tests of buttons to acknowledge incidents, and of their tokens."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.delivery.events import NOW_MS, OWNER, dispatch

from tocsin.delivery.dispatch import Button, Dispatch, narrow_dispatch
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.acknowledge import (
    VALID_FOR_MS,
    AcknowledgeLink,
    LinkSigner,
    buttons_of,
    request_of,
    token_of,
)
from tocsin.model.alert_incident import OpenIncident
from tocsin.model.message import OutcomeReason

ASKED = AcknowledgeLink("0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11", 7, 1_000)
LINKS = LinkSigner("https://t.example", b"key")


def failing(recipient_id: str | None, *incidents: OpenIncident | None) -> Dispatch:
    """A message with a failure of each of these incidents."""
    message = dispatch()
    entries = [
        replace(message.first, notification_id="n" * number, recipient_id=recipient_id, incident=incident)
        for number, incident in enumerate(incidents, start=1)
    ]
    return replace(message, entries=tuple(entries))


def test_a_token_says_what_is_asked_until_it_is_over() -> None:
    token = token_of(ASKED, b"key")
    assert len(token) < 200
    assert request_of(token, b"key", 999) == ASKED
    assert request_of(token, b"key", 1_000) is None


def test_nobody_else_can_make_or_change_a_token() -> None:
    token = token_of(ASKED, b"key")
    muting = mute_links.token_of(mute_links.MuteLink(ASKED.notification_id, 9_000), b"key")
    wrong = (
        token_of(ASKED, b"other"),
        token.replace(".1000.", ".9000."),
        token.replace(".7.", ".8."),
        token[:-1],
        token + "x",
        muting,
        "",
        ".",
        "a.b.c.d",
        "ü",
    )
    assert [request_of(one, b"key", 0) for one in wrong] == [None] * len(wrong)
    assert mute_links.request_of(token, b"key", 0) is None


@given(st.text())
def test_no_other_text_is_a_token(text: str) -> None:
    assert request_of(text, b"key", 0) is None


def test_a_persons_button_knows_them_and_that_of_a_channel_leads_to_the_page() -> None:
    incident = OpenIncident(7)
    ((button,),) = buttons_of(failing("u", incident), LINKS, now_ms=NOW_MS).values()
    assert button.text == "Acknowledge INC-7"
    assert button.address == f"https://t.example/api/v1/acknowledge/{button.token}"
    assert request_of(button.token, b"key", NOW_MS) == AcknowledgeLink("n", 7, NOW_MS + VALID_FOR_MS)
    ((in_channel,),) = buttons_of(failing(None, incident), LINKS, now_ms=NOW_MS).values()
    assert in_channel.address == "https://t.example/#/incidents/INC-7"


def test_a_message_has_one_button_for_each_open_incident() -> None:
    first, second = OpenIncident(7), OpenIncident(8)
    buttons = buttons_of(failing("u", None, first, first, second), LINKS, now_ms=0)
    assert {entry: [one.text for one in many] for entry, many in buttons.items()} == {
        "nn": ["Acknowledge INC-7"],
        "nnnn": ["Acknowledge INC-8"],
    }
    assert buttons_of(failing("u", None), LINKS, now_ms=0) == {}


def test_an_incident_stays_with_whatever_reason_remains() -> None:
    other_reason = OWNER.model_copy(update={"subscription_id": "t"})
    message = failing("u", OpenIncident(7))
    both = replace(message, entries=(replace(message.first, reasons=(OWNER, other_reason)),))

    narrowed, _ = narrow_dispatch(both, lambda _, reason: (OutcomeReason.DISABLED, "off") if reason is OWNER else None)
    assert narrowed is not None
    assert narrowed.first.incident == OpenIncident(7)


def test_who_may_not_acknowledge_gets_a_link_to_the_incident() -> None:
    incidents = OpenIncident(7), OpenIncident(8)
    message = replace(failing("u", *incidents), read_only=frozenset({"n"}))
    buttons = buttons_of(message, LINKS, now_ms=NOW_MS)
    assert buttons["n"] == (Button("Open INC-7", "https://t.example/#/incidents/INC-7", ""),)
    assert [one.text for one in buttons["nn"]] == ["Acknowledge INC-8"]
    unasked = buttons_of(replace(message, read_only=None), LINKS, now_ms=NOW_MS)
    assert [one.text for many in unasked.values() for one in many] == ["Acknowledge INC-7", "Acknowledge INC-8"]
    twice = replace(failing("u", incidents[0], incidents[0]), read_only=frozenset({"n"}))
    assert [(entry, one.text) for entry, (one,) in buttons_of(twice, LINKS, now_ms=NOW_MS).items()] == [
        ("nn", "Acknowledge INC-7")
    ]
