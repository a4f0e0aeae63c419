"""Tests of repeated changes of one field, which a message tells as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.folding import fold_repeated
from tocsin.model.change import ChangeDescription, ChangeEvent, FieldChange
from tocsin.model.message import CarriedEvent, Entry


def message_of(*events: ChangeEvent) -> Dispatch:
    entries = (Entry(f"n{place}", place, CarriedEvent.of(event), (OWNER,)) for place, event in enumerate(events))
    return replace(dispatch(), entries=tuple(entries))


def new_description(old: Any, new: Any, **fields: Any) -> ChangeEvent:
    return change_event(update_of("description", old, new), **fields)


def lines_of(message: Dispatch) -> list[str]:
    return [
        line for line in render_texts(message, "https://t")["text"].splitlines() if "was: " in line or "now: " in line
    ]


def test_repeated_changes_of_a_field_become_one_from_the_first_value_to_the_last() -> None:
    message = message_of(
        new_description("a", "b", previous_version="0.1", current_version="0.2"),
        change_event(addition_of("owners", [{"type": "team", "name": "Shop"}])),
        new_description("b", "c", user_name="ann", previous_version="0.3", current_version="0.4"),
    )
    (entry,) = fold_repeated(message).entries
    assert (entry.notification_id, entry.log_offset, entry.told_count) == ("n2", 2, 3)
    text = render_texts(message, "https://t")
    assert lines_of(message) == ["    was: a", "    now: c"]
    assert "- owner Shop added" in text["text"]
    assert "- description changed 2 times" in text["text"]
    assert "changed 3 times by jane.smith and ann, 2025-10-09 08:53 UTC, version 0.1 to 0.4" in text["text"]


def test_what_of_another_asset_changed_is_told_beside_it() -> None:
    unrelated = change_event(update_of("displayName", "A", "B"), entity_id="another")
    text = render_texts(message_of(new_description("a", "b"), unrelated, new_description("b", "c")), "https://t")
    assert text["text"].count("description changed") == 2  # in the headline and in the line
    assert text["subject"] == "3 changes: orders"


def test_a_certification_that_changes_again_and_again_is_told_from_the_first_to_the_last() -> None:
    silver, gold, bronze = (
        {"tagLabel": {"tagFQN": f"Certification.{name}"}, "expiryDate": 1_800_000_000_000}
        for name in ("Silver", "Gold", "Bronze")
    )
    first = change_event(update_of("certification", silver, gold))
    second = change_event(update_of("certification", gold, bronze))
    (entry,) = fold_repeated(message_of(first, second)).entries
    (line,) = event_text(entry.event).lines
    assert line.sentence == "certification changed 2 times: Silver → Bronze"


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        (((None, "a"), ("a", "b")), ["- description added, changed 2 times", "    now: b"]),
        ((("a", "b"), ("b", None)), ["- description removed, changed 2 times", "    was: a"]),
        ((("a", "b"), ("b", "a")), ["- description changed 2 times, and is as before"]),
        (((None, "a"), ("a", None)), ["- description changed 2 times, and is as before"]),
        ((("a", None), (None, "b")), ["- description changed 2 times", "    was: a", "    now: b"]),
        ((("a", "b"), ("x", "c")), ["- description changed 2 times", "    was: a", "    now: c"]),
    ],
)
def test_a_field_that_came_or_went_is_told_by_what_became_of_it(
    values: tuple[tuple[Any, Any], ...], lines: list[str]
) -> None:
    events = [change_event(ChangeDescription().with_changes(change_of(*one))) for one in values]
    text = render_texts(message_of(*events), "https://t")["text"].splitlines()
    assert [one for one in text if one.startswith(("- ", "    "))] == lines


def change_of(old: Any, new: Any) -> FieldChange:
    return FieldChange(name="description", old_value=old, new_value=new)


def test_a_short_value_that_changed_several_times_stands_in_its_line() -> None:
    types = [("INT", "TEXT"), ("TEXT", "BIGINT")]
    events = [change_event(update_of("columns.email.dataType", *one)) for one in types]
    events += [change_event(update_of("displayName", *one)) for one in (("A", "B"), ("B", "C"), ("C", "D"))]
    text = render_texts(message_of(*events), "https://t")["text"]
    assert "- column email changed 2 times: INT → BIGINT" in text
    assert "- display name changed 3 times: A → D" in text


TIERS = [{"tagFQN": f"Tier.Tier{number}", "source": "Classification"} for number in (1, 2, 3)]
SHOP, RENAMED_SHOP = ({"type": "team", "id": "s", "name": name, "displayName": name} for name in ("Shop", "Store"))
EDGE = {"fromEntity": {"fullyQualifiedName": "a.raw"}, "toEntity": {"fullyQualifiedName": "a.orders"}}


def column(name: str, data_type: str = "TEXT") -> dict[str, str]:
    return {"name": name, "dataType": data_type}


def exchange(key: str, old: Any, new: Any) -> ChangeEvent:
    """Return an event in which members of a list went and came."""
    departures = (FieldChange(name=key, old_value=old),) if old else ()
    arrivals = (FieldChange(name=key, new_value=new),) if new else ()
    return change_event(ChangeDescription(fields_added=arrivals, fields_deleted=departures))


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        (
            [exchange("columns", None, [column("a")]), exchange("columns", [column("a")], None)],
            ["- column a TEXT added, and removed again"],
        ),
        (
            [exchange("columns", [column("a")], None), exchange("columns", None, [column("a")])],
            ["- column a TEXT removed, and added again"],
        ),
        (
            [exchange("columns", [column("a")], None), exchange("columns", None, [column("a", "INT")])],
            ["- column a TEXT removed", "- column a INT added"],
        ),
        (
            [exchange("columns", None, [column("a"), column("b")]), exchange("columns", [column("a")], None)],
            ["- column b TEXT added", "- column a TEXT added, and removed again"],
        ),
        (
            [exchange("owners", [SHOP], None), exchange("owners", None, [RENAMED_SHOP])],
            ["- owner Store removed, and added again"],
        ),
        (
            [exchange("tags", TIERS[:1], TIERS[1:2]), exchange("tags", TIERS[1:2], TIERS[2:])],
            ["- tier Tier1 → Tier3", "- tier Tier2 added, and removed again"],
        ),
        (
            [exchange("tags", TIERS[:1], TIERS[1:2]), exchange("tags", TIERS[1:2], TIERS[:1])],
            ["- tier Tier1 removed, and added again", "- tier Tier2 added, and removed again"],
        ),
        (
            [exchange("columns.a.tags", None, TIERS[:1]), exchange("columns.a.tags", TIERS[:1], None)],
            ["- tier Tier1 added to column a, and removed again"],
        ),
        (
            [exchange("lineage", None, EDGE), exchange("lineage", EDGE, None)],
            ["- lineage added: a.raw → a.orders, and removed again"],
        ),
        (
            [exchange("extension.readers", None, ["ann", "ben"]), exchange("columns", None, [column("a")])],
            ["- column a TEXT added", "- custom property readers added"],
        ),
    ],
)
def test_members_that_come_and_go_are_told_by_what_became_of_each(events: list[ChangeEvent], lines: list[str]) -> None:
    text = render_texts(message_of(*events), "https://t")["text"].splitlines()
    assert [one for one in text if one.startswith("- ")] == lines


def test_an_asset_that_was_renamed_repeatedly_was_renamed_from_its_first_name_to_its_last() -> None:
    names = (("A", "B"), ("B", "C"))
    text = render_texts(message_of(*(change_event(update_of("name", *one)) for one in names)), "https://t")["text"]
    assert "- renamed 2 times: A → C" in text


def test_of_repeated_results_of_a_test_the_last_is_told_with_their_number() -> None:
    failure = samples.EVENTS["test_failure"]
    failures = [failure.model_copy(update={"timestamp": samples.FAILED_MS + place}) for place in range(24)]
    (entry,) = fold_repeated(message_of(*failures)).entries
    assert (entry.notification_id, entry.told_count) == ("n23", 24)
    unrelated = change_event(entity_id="another")
    text = render_texts(message_of(*failures, unrelated), "https://t")
    assert text["subject"].startswith("24 failures, 1 change: ")
    assert "reported 24 times, last 2025-10-09" in text["text"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (new_description("a", "b"), new_description("b", "c", entity_id="another")),
        (new_description("a", "b", reason="typo"), new_description("b", "c", reason="review")),
        (new_description("a", "b", announcements=()), new_description("b", "c")),
        (new_description("a", "b"), samples.EVENTS["test_failure"]),
        (samples.EVENTS["test_failure"], samples.EVENTS["recovery"]),
    ],
)
def test_what_belongs_to_nothing_else_stays_apart(first: ChangeEvent, second: ChangeEvent) -> None:
    message = message_of(first, second)
    assert fold_repeated(message) is message


def test_what_a_template_words_stays_apart() -> None:
    message = message_of(new_description("a", "b"), new_description("b", "c"))
    text = RichText("s", (RichBlock(BlockKind.PARAGRAPH, (Span("x"),)),))
    assert len(fold_repeated(replace(message, texts={"n0": text})).entries) == 2
