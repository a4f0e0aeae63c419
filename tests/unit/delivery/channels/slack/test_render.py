"""Tests of Slack messages: golden messages, Block Kit's limits by slack_sdk, and no markup or mention from an asset."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.blocks import Block
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import change_event, dispatch, update_of

from tocsin.delivery.channels.slack.render import BLOCKS_LIMIT, MESSAGE_BYTES, render_message
from tocsin.delivery.dispatch import Dispatch

GOLDEN = Path(__file__).parent / "golden"


def message(sample: Dispatch, members: dict[str, str] | None = None) -> dict[str, Any]:
    """Return a message that Slack takes, as far as its own models know."""
    payload = render_message(sample, base_url=samples.HOME, members=members or {})
    assert len(payload) <= MESSAGE_BYTES
    document: dict[str, Any] = json.loads(payload)
    assert 0 < len(document["blocks"]) <= BLOCKS_LIMIT
    for block in blocks_of(document):
        parsed_block = Block.parse(block)
        assert parsed_block is not None
        parsed_block.validate_json()
        assert all(one["text"] for one in plain_texts(block)), "Slack refuses an empty text"
    return document


def blocks_of(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks of a message, with those beside its coloured bar."""
    return [*document["blocks"], *(block for one in document.get("attachments", ()) for block in one["blocks"])]


def plain_texts(block: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in (block.get("text"), *block.get("elements", ())) if one and "text" in one]


def test_an_incident_can_be_acknowledged_in_a_message_of_one_and_of_many() -> None:
    samples.assert_golden(message(samples.with_incident(samples.sample("test_failure"))), GOLDEN / "incident.json")
    many = samples.with_incident(samples.digest(2, samples.EVENTS["test_failure"]))
    samples.assert_golden(message(many), GOLDEN / "incident_digest.json")


@pytest.mark.parametrize("name", samples.EVENTS)
def test_messages_are_as_they_were_looked_at(name: str) -> None:
    samples.assert_golden(message(samples.sample(name)), GOLDEN / f"{name}.json")


def test_a_digest_is_as_it_was_looked_at() -> None:
    samples.assert_golden(message(samples.digest(2)), GOLDEN / "digest.json")


OURS = re.compile(
    rf"<{re.escape(samples.HOME)}/#/tables/[^|<>]*\|Open in Tocsin>"
    r"|<!date\^\d+\^\{date_short_pretty\} \{time\}\|\d{4}-\d\d-\d\d \d\d:\d\d UTC>"
)
"""What Tocsin itself writes as ``mrkdwn``."""


def texts_without_markup(block: dict[str, Any]) -> list[str]:
    """Return the texts of rich text, which Slack shows as they are."""
    return samples.texts_of(block) if block["type"] == "rich_text" else []


def test_owners_who_are_members_are_mentioned_and_others_named() -> None:
    document = message(samples.sample("test_failure"), {"0d9c": "U012AB"})
    samples.assert_golden(document, GOLDEN / "mention.json")
    assert '"<@U012AB>"' in json.dumps(document)


def test_text_of_an_asset_is_neither_markup_nor_a_mention() -> None:
    """Fault scenario 40."""
    for given_dispatch in (samples.hostile(), samples.digest(3, samples.hostile().event)):
        document = message(given_dispatch)
        assert (document["mrkdwn"], "<" in document["text"]) == (False, False)
        assert all("<" not in text for block in blocks_of(document) for text in texts_without_markup(block))
        for element in (text for block in document["blocks"] for text in plain_texts(block)):
            if element["type"] == "mrkdwn":
                assert OURS.fullmatch(element["text"])
            else:
                assert (element["type"], element["emoji"], "<" in element["text"]) == ("plain_text", False, False)


@pytest.mark.parametrize("given_dispatch", [samples.enormous(), samples.enormous_digest(), samples.digest(10_000)])
def test_a_message_keeps_within_the_limits_and_counts_what_it_leaves_out(given_dispatch: Dispatch) -> None:
    assert any(text.startswith("… and ") for text in samples.texts_of(blocks_of(message(given_dispatch))))


def test_a_digest_counts_the_notifications_that_it_does_not_show() -> None:
    blocks = blocks_of(message(samples.digest(10_000)))
    assert blocks[0]["text"]["text"].startswith("10,000 changes: ")
    assert blocks[-1]["elements"][0]["text"] == "… and 9,980 more"


@given(st.text(max_size=4_000), st.text(max_size=4_000))
def test_no_text_makes_invalid_blocks(old: str, name: str) -> None:
    event = change_event(update_of("description", old, name), entity={"id": "i", "name": name}, user_name=old)
    message(dispatch(event, reasons=(samples.REASON,)))
