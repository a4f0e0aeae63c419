"""Tests of repeated changes of one field, which a message tells as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.email.render import preview
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.folding import fold_repeated
from tocsin.delivery.wording.reports import RESULT
from tocsin.model.change import ChangeDescription, ChangeEvent
from tocsin.model.message import CarriedEvent, Entry


def message_of(*events: ChangeEvent) -> Dispatch:
    entries = (Entry(f"n{place}", place, CarriedEvent.of(event), (OWNER,)) for place, event in enumerate(events))
    return replace(dispatch(), entries=tuple(entries))


def new_description(old: Any, new: Any, **fields: Any) -> ChangeEvent:
    return change_event(update_of("description", old, new), **fields)


def lines_of(message: Dispatch) -> list[str]:
    return [line for line in preview(message, "https://t")["text"].splitlines() if "was: " in line or "now: " in line]


def test_repeated_changes_of_a_field_become_one_from_the_first_value_to_the_last() -> None:
    message = message_of(
        new_description("a", "b", previous_version="0.1", current_version="0.2"),
        change_event(addition_of("owners", [{"type": "team", "name": "Shop"}])),
        new_description("b", "c", user_name="ann", previous_version="0.3", current_version="0.4"),
    )
    assert lines_of(message) == ["    was: a", "    now: b", "    was: b", "    now: c"]
    message = message_of(*(message.entries[at].event for at in (0, 2)))
    (entry,) = fold_repeated(message).entries
    assert (entry.notification_id, entry.log_offset) == ("n1", 1)
    text = preview(message, "https://t")
    assert text["subject"] == "orders: description changed"
    assert lines_of(message) == ["    was: a", "    now: c"]
    assert "changed by jane.smith and ann, 2025-10-09 08:53 UTC, version 0.1 to 0.4" in text["text"]


def test_what_else_changed_is_told_beside_it() -> None:
    first = change_event(
        ChangeDescription(
            fields_added=addition_of("owners", [{"type": "team", "name": "Shop"}]).fields_added,
            fields_updated=update_of("description", "a", "b").fields_updated,
        )
    )
    unrelated = change_event(update_of("displayName", "A", "B"), entity_id="another")
    text = preview(message_of(first, unrelated, new_description("b", "c")), "https://t")
    assert "- owner Shop added" in text["text"]
    assert text["text"].count("description changed") == 1
    assert text["subject"] == "2 changes: orders"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (new_description("a", "b"), new_description("x", "c")),
        (new_description("a", "b"), new_description("b", "c", entity_id="another")),
        (new_description("a", "b"), change_event(update_of("displayName", "b", "c"))),
        (new_description("a", "b"), new_description("b", "a")),
        (new_description("a", "b", reason="typo"), new_description("b", "c", reason="review")),
        (new_description("a", "b", announcements=()), new_description("b", "c")),
        (change_event(update_of(RESULT, {"a": 1}, {"a": 2})), change_event(update_of(RESULT, {"a": 2}, {"a": 3}))),
    ],
)
def test_what_repeats_nothing_stays_apart(first: ChangeEvent, second: ChangeEvent) -> None:
    message = message_of(first, second)
    assert fold_repeated(message) is message


def test_what_a_template_words_stays_apart() -> None:
    message = message_of(new_description("a", "b"), new_description("b", "c"))
    text = RichText("s", (RichBlock(BlockKind.PARAGRAPH, (Span("x"),)),))
    assert len(fold_repeated(replace(message, texts={"n0": text})).entries) == 2
