"""Tests of Google Chat cards: golden messages, limits, and that nothing in an entity becomes markup or a mention."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import SHARES_OF_FIVE, change_event, deletion_of, dispatch, update_of

from tocsin.delivery.channels.google_chat.render import MESSAGE_BYTES, render_message
from tocsin.delivery.dispatch import Dispatch
from tocsin.model.change import ChangeDescription, ChangeEvent, FieldChange
from tocsin.model.notification import Reason

GOLDEN = Path(__file__).parent / "golden"
HOME, REASON = samples.HOME, samples.REASON


def message(event: ChangeEvent, *reasons: Reason) -> dict[str, Any]:
    payload = render_message(dispatch(event, reasons=reasons or (REASON,)), base_url=HOME)
    assert len(payload) <= MESSAGE_BYTES
    document: dict[str, Any] = json.loads(payload)
    return document


@pytest.mark.parametrize("name", samples.EVENTS)
def test_messages_are_as_they_were_looked_at(name: str) -> None:
    samples.assert_golden(message(samples.EVENTS[name]), GOLDEN / f"{name}.json")


def test_an_incident_can_be_acknowledged_in_a_message_of_one_and_of_many() -> None:
    for name, message in (
        ("incident", samples.sample("test_failure")),
        ("incident_digest", samples.digest(2, samples.EVENTS["test_failure"])),
    ):
        payload = render_message(samples.with_incident(message), base_url=HOME)
        samples.assert_golden(json.loads(payload), GOLDEN / f"{name}.json")


def test_text_of_an_asset_is_neither_markup_nor_a_mention() -> None:
    """Fault scenario 40."""
    hostile = "<users/all> <a href='https://evil.example'>click</a> <b>x</b>"
    event = change_event(
        update_of("description", hostile, hostile),
        user_name=hostile,
        entity_fully_qualified_name=f"acme.{hostile}",
        entity={"id": "i", "name": hostile},
    )
    card_message = message(event, REASON.model_copy(update={"subscription_name": hostile}))
    card = card_message["cardsV2"][0]["card"]
    plain = (card_message["fallbackText"], card["header"]["title"], card["header"]["subtitle"])
    assert not any("<" in text for text in plain)
    (section,) = card["sections"]
    texts = "".join(one["textParagraph"]["text"] for one in section["widgets"] if "textParagraph" in one)
    for tag in ("<br>", "<i>", "</i>", "<s>", "</s>", "<u>", "</u>"):
        texts = texts.replace(tag, "")
    assert "<" not in texts


def test_a_message_keeps_within_the_limit_and_says_what_it_leaves_out() -> None:
    many = ChangeDescription(
        fields_updated=tuple(
            FieldChange(name=f"columns.c{number}.description", old_value="ü" * 2_000, new_value="<" * 2_000)
            for number in range(500)
        )
    )
    (section,) = message(change_event(many))["cardsV2"][0]["card"]["sections"]
    texts = [one["textParagraph"]["text"] for one in section["widgets"] if "textParagraph" in one]
    shown_count = sum("was: " in text for text in texts)
    assert 0 < shown_count <= 20
    assert f"… and {500 - shown_count} more" in texts
    assert len(section["widgets"]) <= 100


def test_one_more_change_is_counted_alone() -> None:
    removed = deletion_of("columns", [{"name": f"c{number}", "dataType": "INT"} for number in range(21)])
    (section,) = message(change_event(removed))["cardsV2"][0]["card"]["sections"]
    assert "… and 1 more" in [one["textParagraph"]["text"] for one in section["widgets"] if "textParagraph" in one]


def digest(count: int, change: ChangeDescription | None = None) -> Dispatch:
    return samples.digest(count, change_event(change or update_of("description", "old", "<b>new</b>")))


def test_a_card_of_several_shows_each_and_counts_the_others() -> None:
    payload = render_message(digest(10_000), base_url=HOME)
    (entry,) = json.loads(payload)["cardsV2"]
    sections = entry["card"]["sections"]
    assert entry["card"]["header"]["title"].startswith("10,000 changes: ")
    assert len(sections) == 21
    assert sections[-1]["widgets"][0]["textParagraph"]["text"] == "… and 9,980 more"
    first = sections[0]["widgets"][0]["textParagraph"]["text"]
    assert first.startswith("<b>")
    assert "&lt;b&gt;new" in first


def test_a_card_shows_no_more_than_the_alerts_batch_size() -> None:
    payload = render_message(replace(digest(30), shares=SHARES_OF_FIVE), base_url=HOME)
    assert len(json.loads(payload)["cardsV2"][0]["card"]["sections"]) == 6


def test_a_card_of_several_long_ones_stays_within_the_limit() -> None:
    long = tuple(FieldChange(name=f"field{n}", old_value="x" * 900, new_value="y" * 900) for n in range(5))
    payload = render_message(digest(30, ChangeDescription(fields_updated=long)), base_url=HOME)
    sections = json.loads(payload)["cardsV2"][0]["card"]["sections"]
    assert len(payload) <= MESSAGE_BYTES
    assert sections[-1]["widgets"][0]["textParagraph"]["text"] == f"… and {31 - len(sections)} more"
