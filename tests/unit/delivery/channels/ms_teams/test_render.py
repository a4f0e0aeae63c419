"""Tests of Teams messages: golden messages, the schema and size of cards, and no markup or mention from an asset."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.ms_teams.adaptive_card import SCHEMA
from tests.unit.delivery.events import change_event, dispatch, update_of

from tocsin.delivery.channels.ms_teams.render import MESSAGE_BYTES, render_message
from tocsin.delivery.dispatch import Dispatch

GOLDEN = Path(__file__).parent / "golden"
VALIDATOR = Draft202012Validator(SCHEMA)


def message(sample: Dispatch) -> dict[str, Any]:
    payload = render_message(sample, base_url=samples.HOME)
    assert len(payload) <= MESSAGE_BYTES
    document: dict[str, Any] = json.loads(payload)
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    return document


def card(sample: Dispatch) -> dict[str, Any]:
    (attachment,) = message(sample)["attachments"]
    content: dict[str, Any] = attachment["content"]
    return content


def test_an_incident_can_be_acknowledged_in_a_message_of_one_and_of_many() -> None:
    samples.assert_golden(message(samples.with_incident(samples.sample("test_failure"))), GOLDEN / "incident.json")
    many = samples.with_incident(samples.digest(2, samples.EVENTS["test_failure"]))
    samples.assert_golden(message(many), GOLDEN / "incident_digest.json")


@pytest.mark.parametrize("name", samples.EVENTS)
def test_messages_are_as_they_were_looked_at(name: str) -> None:
    samples.assert_golden(message(samples.sample(name)), GOLDEN / f"{name}.json")


def test_a_digest_is_as_it_was_looked_at() -> None:
    samples.assert_golden(message(samples.digest(2)), GOLDEN / "digest.json")


def test_text_of_an_asset_is_neither_markup_nor_a_mention() -> None:
    """Fault scenario 40."""
    for given_dispatch in (samples.hostile(), samples.digest(3, samples.hostile().event)):
        document = card(given_dispatch)
        texts = samples.texts_of(document)
        assert not [text for text in texts if "<" in text or "{{" in text]
        kinds = json.dumps(document)
        assert "TextBlock" not in kinds.replace("RichTextBlock", ""), "text blocks read Markdown"
        assert "entities" not in document["msteams"]


@pytest.mark.parametrize("given_dispatch", [samples.enormous(), samples.enormous_digest(), samples.digest(10_000)])
def test_a_message_keeps_within_the_limit_and_counts_what_it_leaves_out(given_dispatch: Dispatch) -> None:
    assert any(text.startswith("… and ") for text in samples.texts_of(card(given_dispatch)["body"]))


@given(st.text(max_size=4_000), st.text(max_size=4_000))
def test_no_text_makes_an_invalid_card(old: str, name: str) -> None:
    event = change_event(update_of("description", old, name), entity={"id": "i", "name": name}, user_name=old)
    message(dispatch(event, reasons=(samples.REASON,)))
