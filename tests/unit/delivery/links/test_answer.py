"""Tests of buttons to answer change requests, and of their tokens."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch

from tocsin.delivery.dispatch import Button, Dispatch
from tocsin.delivery.links.acknowledge import LinkSigner
from tocsin.delivery.links.answer import (
    AnswerLink,
    AnswerPress,
    answer_buttons_of,
    link_of,
    press_of,
    press_token_of,
    token_of,
)
from tocsin.delivery.links.tokens import sign_token
from tocsin.model.change import CHANGE_REQUEST, EventType
from tocsin.model.change_request import ConsumerVerdict, RequestNow, RequestStatus
from tocsin.model.message import CarriedEvent
from tocsin.model.notification import ReasonKind

LINK = AnswerLink("0b7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11", "1c7f2f5c-38a5-5d3c-9a0e-4f1f1c9f6d11")
LINKS = LinkSigner("https://t.example", b"key")
ASKED = OWNER.model_copy(update={"kind": ReasonKind.ASKED})


def answer_request(channel: str = "Email", recipient_id: str | None = "u", **request: Any) -> Dispatch:
    """A message that asks for answers to CR-12."""
    value = {"id": "r", "name": "CR-12", "status": "announced", "date": 1_000, **request}
    event = change_event(addition_of(CHANGE_REQUEST, value), event_type=EventType.CHANGE_REQUEST_UPDATED)
    message = dispatch()
    entry = replace(message.first, recipient_id=recipient_id, reasons=(ASKED,), carried=CarriedEvent.of(event))
    return replace(message, message=replace(message.message, channel=channel), entries=(entry,))


def buttons(message: Dispatch, *, now_ms: int = 0, links: LinkSigner = LINKS) -> list[Button]:
    return [one for many in answer_buttons_of(message, links, now_ms=now_ms).values() for one in many]


def test_a_token_says_who_may_answer_what_and_nobody_else_can_make_or_change_one() -> None:
    token = token_of(LINK, b"key")
    assert len(token) < 200
    assert link_of(token, b"key") == LINK
    for wrong in (token_of(LINK, b"other"), token.replace("0b7f", "0b7e"), token[:-1], f"{token}x", "", ".", "a.b.c"):
        assert link_of(wrong, b"key") is None


@given(st.text())
def test_no_other_text_is_a_token(text: str) -> None:
    assert link_of(text, b"key") is None


def test_a_mail_to_a_person_knows_them_and_every_other_message_leads_to_the_request() -> None:
    (button,) = buttons(answer_request())
    assert (button.text, link_of(button.token, b"key")) == ("Answer CR-12", AnswerLink("u", "r", "n"))
    assert button.address == f"https://t.example/api/v1/answer/{button.token}"
    to_page = Button("Answer CR-12", "https://t.example/#/changes/CR-12", "")
    for message, links in (
        (answer_request("Slack"), LINKS),
        (answer_request("MsTeams", None), LINKS),
        (replace(answer_request(), reaches_recipient=False), LINKS),
        (answer_request(), LINKS._replace(key=b"")),
    ):
        assert [one._replace(choices=()) for one in buttons(message, links=links)] == [to_page]


def test_slack_has_buttons_for_answers_that_need_no_words() -> None:
    (button,) = buttons(answer_request("Slack"))
    presses = [press_of(one.token, b"key") for one in button.choices]
    notification_id, key = answer_request().first.notification_id, ASKED.destination_key
    verdicts = (ConsumerVerdict.READY, ConsumerVerdict.NOT_AFFECTED)
    assert presses == [AnswerPress(notification_id, "r", verdict, key, "u") for verdict in verdicts]
    (in_channel,) = buttons(answer_request("Slack", None))
    press = press_of(in_channel.choices[0].token, b"key")
    assert press is not None
    assert press.recipient_id is None
    assert [one.text for one in button.choices] == ["We are ready", "Not affected"]
    for message, links in (
        (answer_request("MsTeams"), LINKS),
        (answer_request(), LINKS),
        (answer_request("Slack"), LINKS._replace(key=b"")),
    ):
        assert [one.choices for one in buttons(message, links=links)] == [()]


def test_tokens_of_mails_and_chats_do_not_work_for_each_other() -> None:
    ids = LINK.person_id, LINK.request_id
    press = AnswerPress(*ids, ConsumerVerdict.NOT_AFFECTED, destination_key=ids, recipient_id=LINK.person_id)
    token = press_token_of(press, b"key")
    assert (len(token) < 300, press_of(token, b"key")) == (True, press)
    assert link_of(token, b"key") is None
    for wrong in (
        token_of(LINK, b"key"),
        press_token_of(press, b"other"),
        token.replace("notAffected", "ready"),
        "",
        ".",
    ):
        assert press_of(wrong, b"key") is None


def test_buttons_sent_before_tokens_named_a_destination_still_work() -> None:
    press = AnswerPress("n", "r", ConsumerVerdict.READY, destination_key=None, recipient_id=None)
    token = sign_token("answer in chat", "n.r.ready", b"key")
    assert (press_of(token, b"key"), press_token_of(press, b"key")) == (press, token)
    for wrong in (sign_token("answer in chat", "n.r.ready", b"other"), sign_token("answer", "n.r.ready", b"key")):
        assert press_of(wrong, b"key") is None


@pytest.mark.parametrize("request_", [{"status": "withdrawn"}, {"status": "due"}, {"date": 5}])
def test_what_takes_no_answers_has_no_button(request_: dict[str, Any]) -> None:
    assert buttons(answer_request(**request_), now_ms=5) == []


@pytest.mark.parametrize(
    ("channel", "recipient_id", "text"),
    [
        ("Email", "u", "Look at CR-12"),
        ("Email", None, "Look at CR-12"),
        ("Slack", "u", "Look at CR-12"),
        ("Slack", None, "Answer CR-12"),
        ("MsTeams", None, "Answer CR-12"),
    ],
)
def test_who_is_not_asked_looks_at_it_and_where_others_read_they_answer_on_its_page(
    channel: str, recipient_id: str | None, text: str
) -> None:
    message = answer_request(channel, recipient_id)
    (button,) = buttons(replace(message, entries=(replace(message.first, reasons=(OWNER,)),)))
    assert (button.text, button.address, button.token) == (text, "https://t.example/#/changes/CR-12", "")
    assert buttons(dispatch()) == []


def test_a_request_is_answered_from_a_message_only_if_it_still_takes_answers() -> None:
    message = answer_request()
    withdrawn = RequestNow("a", 1_000, RequestStatus.WITHDRAWN)
    for now, now_ms, texts in (
        (RequestNow("a", 1_000), 999, ["Answer CR-12"]),
        (RequestNow("a", 1_000), 1_000, []),
        (RequestNow("a", 2_000), 1_500, ["Answer CR-12"]),  # moved since
        (withdrawn, 0, []),
    ):
        assert [one.text for one in buttons(replace(message, requests={"r": now}), now_ms=now_ms)] == texts
    withdrawal = answer_request(status="withdrawn").first
    both = replace(message, entries=(message.first, replace(withdrawal, notification_id="n2")))
    assert buttons(both) == []


def test_a_message_has_one_button_for_each_request() -> None:
    first, second = answer_request().first, answer_request(id="s", name="CR-13").first
    entries = tuple(replace(one, notification_id=f"n{at}") for at, one in enumerate((first, first, second), start=1))
    offered = answer_buttons_of(replace(dispatch(), entries=entries), LINKS, now_ms=0)
    assert {key: [one.text for one in many] for key, many in offered.items()} == {
        "n2": ["Answer CR-12"],
        "n3": ["Answer CR-13"],
    }
