"""Tests of Slack's interactivity: signatures as Slack publishes them, buttons that it takes, and what is no press."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block
from slack_sdk.signature import SignatureVerifier

from tocsin.delivery.channels.slack.interactions import (
    LONGEST_DIFFERENCE_S,
    ActionButton,
    ButtonPress,
    Signed,
    buttons_block,
    ephemeral,
    is_genuine,
    is_of_slack,
    is_recent,
    press_in,
    signature_of,
)
from tocsin.errors import InvalidInput

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
PUBLISHED = Signed(
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a1"
    b"4d10d2c447fce8b6703c",
    "1531420618",
    "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
)
"""The example of Slack's "Verifying requests from Slack"."""
AT_MS = 1_531_420_618_000


def form(payload: object) -> bytes:
    return urlencode({"payload": json.dumps(payload)}).encode()


def press_payload(**fields: Any) -> dict[str, Any]:
    action = {"type": "button", "action_id": "mute", "value": "a.b.c"}
    return {"type": "block_actions", "user": {"id": "U012AB3CD", "team_id": "T1"}, "actions": [action], **fields}


def test_slacks_published_example_is_genuine() -> None:
    assert is_genuine(PUBLISHED, SECRET)


@given(st.text(max_size=300), st.integers(0, 10**11), st.from_regex(r"[!-~]{16,40}", fullmatch=True))
def test_signatures_are_those_of_slacks_own_library(body: str, timestamp: int, secret: str) -> None:
    signed = Signed(body.encode(), str(timestamp), "")
    theirs = SignatureVerifier(secret).generate_signature(timestamp=str(timestamp), body=body)
    assert signature_of(signed, secret) == theirs


@pytest.mark.parametrize(
    ("change", "secret"),
    [
        ({"signature": PUBLISHED.signature[:-1] + "4"}, SECRET),
        ({"signature": PUBLISHED.signature.removeprefix("v0=")}, SECRET),
        ({"signature": ""}, SECRET),
        ({"signature": "v0=ü"}, SECRET),
        ({"body": PUBLISHED.body + b"x"}, SECRET),
        ({"timestamp": "1531420619"}, SECRET),
        ({"timestamp": ""}, SECRET),
        ({"timestamp": "1531420618.0"}, SECRET),
        ({"timestamp": "-1"}, SECRET),
        ({"timestamp": "9" * 400}, SECRET),
        ({"timestamp": "١٥٣١٤٢٠٦١٨"}, SECRET),
        ({}, SECRET + "x"),
        ({}, ""),
    ],
)
def test_what_is_changed_or_forged_is_not_genuine(change: dict[str, Any], secret: str) -> None:
    assert not is_genuine(PUBLISHED._replace(**change), secret)


def test_five_minutes_of_difference_are_allowed() -> None:
    for after_s in (-LONGEST_DIFFERENCE_S, LONGEST_DIFFERENCE_S):
        assert is_recent(PUBLISHED, now_ms=AT_MS + after_s * 1_000)
        further_ms = 1 if after_s > 0 else -1
        assert not is_recent(PUBLISHED, now_ms=AT_MS + after_s * 1_000 + further_ms)


def test_a_press_says_which_button_who_and_where_to_answer() -> None:
    assert press_in(form(press_payload(response_url="https://hooks.slack.com/a"))) == ButtonPress(
        "a.b.c", "U012AB3CD", "https://hooks.slack.com/a"
    )
    assert press_in(form(press_payload())).response_url == ""


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"payload",
        b"payload=",
        b"payload=%7B",
        b"payload=[]",
        b"payload=%FF",
        b"\xff\xfe",
        b"&".join([b"a=1"] * 50),
        form("block_actions"),
        form(press_payload(type="view_submission")),
        form(press_payload(actions=[])),
        form(press_payload(actions={})),
        form(press_payload(actions=["x"])),
        form(press_payload(actions=[{"value": None}])),
        form(press_payload(actions=[{"value": ""}])),
        form(press_payload(actions=[{"value": "x" * 301}])),
        form(press_payload(user=None)),
        form(press_payload(user={"id": 5})),
        form(press_payload(user={"id": "U0/../x"})),
        form({"payload": "[" * 5_000}),
        b"payload=" + b"[" * 5_000,
    ],
)
def test_what_is_no_press_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        press_in(body)


@given(st.binary(max_size=200) | st.recursive(st.none() | st.text(), st.lists, max_leaves=5).map(form))
def test_garbage_is_refused_and_nothing_else_happens(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        press_in(body)


def test_slack_takes_the_buttons() -> None:
    block = buttons_block(
        [ActionButton("acknowledge_1", "Acknowledge INC-7", "x" * 200), ActionButton("mute", "Mute", "y")]
    )
    parsed_block = Block.parse(block)
    assert parsed_block is not None
    parsed_block.validate_json()
    assert [one["action_id"] for one in block["elements"]] == ["acknowledge_1", "mute"]


@pytest.mark.parametrize(
    ("url", "is_slacks"),
    [
        ("https://hooks.slack.com/actions/T1/2/3", True),
        ("https://hooks.slack-gov.com/actions/T1/2/3", True),
        ("http://127.0.0.1:9/reply", True),
        ("http://127.0.0.1:10/reply", False),
        ("http://hooks.slack.com/actions", False),
        ("https://slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("https://hooks.slack.com@evil.example/x", False),
        ("https://[::1/x", False),
        ("", False),
    ],
)
def test_only_slack_is_answered(url: str, *, is_slacks: bool) -> None:
    assert is_of_slack(url, "http://127.0.0.1:9/api") is is_slacks


def test_an_answer_is_seen_by_one_and_mentions_nobody() -> None:
    answer = json.loads(ephemeral("<!channel> & co"))
    assert answer == {
        "response_type": "ephemeral",
        "replace_original": False,
        "text": "&lt;!channel&gt; &amp; co",
    }
