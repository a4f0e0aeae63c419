"""Tests of a whole and its parts, which a message to people tells as one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import PUBLIC, table_deleted
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch, update_of

from tocsin.conditions.breaking import DELETED_WHILE_READ
from tocsin.delivery.channels.email.render import CHANGES_LIMIT, render_texts
from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import Button, Dispatch, Guidance
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.wording.content import fold_notifications
from tocsin.delivery.wording.whole_folding import fold_wholes
from tocsin.model.announcement import Announcement, ChangeOutcome
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.severity import Severity
from tocsin.model.subscription import Channel

FOLLOWER = OWNER.model_copy(update={"kind": ReasonKind.FOLLOWER, "subscription_name": "Watch"})
TEXT = RichText("s", (RichBlock(BlockKind.PARAGRAPH, (Span("x"),)),))


def part(event: ChangeEvent | str, *, reason: Reason = FOLLOWER, whole_id: str | None = PUBLIC.id) -> Entry:
    event = table_deleted(event) if isinstance(event, str) else event
    return Entry(f"n-{event.entity_id}", 1, CarriedEvent.of(event), (reason,), whole_id=whole_id)


WHOLE = part(PUBLIC, reason=OWNER, whole_id=None)


def message_of(*entries: Entry, **fields: Any) -> Dispatch:
    return replace(dispatch(), entries=entries, **fields)


def leads_of(message: Dispatch) -> list[tuple[str, list[str]]]:
    """Return what a message tells of, each with what it tells with it."""
    entries = fold_notifications(message).entries
    return [(one.event.entity_id, [part.event.entity_id for part in one.parts]) for one in entries]


def text_of(message: Dispatch) -> str:
    return str(render_texts(message, "https://t")["text"])


def test_a_whole_is_told_with_its_parts_wherever_it_stands() -> None:
    parts = [part(f"t{at}") for at in range(12)]
    for entries in ((*parts, WHOLE), (WHOLE, *parts)):
        message = message_of(*entries)
        assert leads_of(message) == [(PUBLIC.entity_id, [f"t{at}" for at in range(12)])]
        assert render_texts(message, "https://t")["subject"] == "public: deleted, and 50 below it"
        expected = ", ".join(f"t{at}" for at in range(10))
        assert f"With it: {expected} and 2 more; you hear of each because you follow it (alert Watch)\n" in text_of(
            message
        )


def test_without_the_whole_the_first_part_is_told_with_those_of_the_same_reasons() -> None:
    message = message_of(part("a"), part("b", reason=OWNER), part("c"), part("d", reason=OWNER), part("e"))
    assert leads_of(message) == [("a", ["c", "e"]), ("b", ["d"])]
    text = render_texts(message, "https://t")
    assert text["subject"] == "5 deletions: a, c, e and 2 more"
    assert "Also deleted: c, e\n" in text["text"]
    alone = message_of(part("a"), part("c"))
    assert render_texts(alone, "https://t")["subject"] == "2 deletions: a, c"


def test_a_table_is_told_before_its_tests_and_their_suite_which_were_deleted_first() -> None:
    suite = table_deleted("suite", entity_type="testSuite", entity_fully_qualified_name="acme.shop.public.a.testSuite")
    case = table_deleted("rows", entity_type="testCase", entity_fully_qualified_name="acme.shop.public.a.rows")
    message = message_of(part(suite), part(case), part("a"), part("b"))
    assert leads_of(fold_wholes(message)) == [("a", ["suite", "rows", "b"])]
    assert leads_of(fold_wholes(message_of(part(suite), part(case)))) == [("suite", ["rows"])]


def test_each_reason_of_parts_is_said_and_those_beyond_the_third_are_counted() -> None:
    reasons = [FOLLOWER.model_copy(update={"subscription_name": f"Alert{at}"}) for at in range(5)]
    parts = [part(f"t{at}", reason=one) for at, one in enumerate((OWNER, *reasons))]
    lines = [line for line in text_of(message_of(WHOLE, *parts)).splitlines() if line.startswith("With it")]
    assert lines == [
        "With it: t0",
        "With it: t1; you hear of it because you follow it (alert Alert0)",
        "With it: t2; you hear of it because you follow it (alert Alert1)",
        "With it, for other reasons: t3, t4, t5",
    ]


@pytest.mark.parametrize(
    "apart",
    [
        part("b", whole_id="another"),
        part("b", whole_id=None),
        part(table_deleted("b", breaking_reasons=(DELETED_WHILE_READ,))),
        part(
            table_deleted(
                "b", announcements=(Announcement(request="CR-1", outcome=ChangeOutcome("early"), field=None),)
            )
        ),
        part(change_event(update_of("description", "x", "y"), entity_id="b")),
    ],
)
def test_what_says_more_than_the_whole_stays_by_itself(apart: Entry) -> None:
    leads = leads_of(message_of(WHOLE, part("a"), apart))
    assert sorted(leads) == [(PUBLIC.entity_id, ["a"]), ("b", [])]


@pytest.mark.parametrize(
    "fields",
    [
        {"texts": {"n-b": TEXT}},
        {"buttons": {"n-b": (Button("Ready", "https://t", "token"),)}},
        {"guidance": {"n-b": Guidance(Severity.SEVERITY_1)}},
    ],
)
def test_what_a_template_words_has_a_button_or_other_guidance_stays_by_itself(fields: dict[str, Any]) -> None:
    message = message_of(WHOLE, part("a"), part("b"), **fields)
    assert leads_of(message) == [(PUBLIC.entity_id, ["a"]), ("b", [])]


def test_a_whole_that_a_template_words_leads_nothing() -> None:
    message = message_of(WHOLE, part("a"), part("b"), texts={WHOLE.notification_id: TEXT})
    assert leads_of(message) == [(PUBLIC.entity_id, []), ("a", ["b"])]


def test_imported_changes_are_told_as_one_only_where_they_are_the_same() -> None:
    tag = [{"tagFQN": "Tier.Tier1"}]
    changes = [
        addition_of("tags", tag),
        update_of("description", "x", "y"),
        addition_of("tags", tag),
        addition_of("tags", [{"tagFQN": "Tier.Tier2"}]),
    ]
    parts = [part(change_event(one, entity_id=f"t{at}")) for at, one in enumerate(changes)]
    creation = part(change_event(None, event_type=EventType.ENTITY_CREATED, entity_id="new"))
    assert leads_of(message_of(WHOLE, *parts, creation)) == [
        (PUBLIC.entity_id, ["new"]),
        ("t0", ["t2"]),
        ("t1", []),
        ("t3", []),
    ]
    assert "The same of: orders\n" in text_of(message_of(*parts[::2], part("z", whole_id=None)))


def test_renames_are_told_with_the_rename_of_the_whole() -> None:
    names = [change_event(update_of("fullyQualifiedName", f"a.t{at}", f"b.t{at}"), entity_id=f"t{at}") for at in (0, 1)]
    assert leads_of(message_of(WHOLE, *map(part, names))) == [(PUBLIC.entity_id, ["t0", "t1"])]
    assert leads_of(message_of(*map(part, names))) == [("t0", ["t1"])]


def test_a_part_that_is_a_whole_itself_is_not_lost_with_its_own_parts() -> None:
    inner = part(table_deleted("inner"))
    message = message_of(WHOLE, inner, part("x", whole_id="event of inner"), part("y", whole_id="event of inner"))
    assert leads_of(message) == [(PUBLIC.entity_id, ["inner"]), ("x", ["y"])]


def test_what_is_left_out_is_counted_with_its_parts() -> None:
    deletions = [part(f"o{at}", whole_id=None) for at in range(CHANGES_LIMIT + 1)]
    parts = [part(f"t{at}") for at in range(50)]
    text = text_of(message_of(*deletions, *parts))
    assert "… and 51 more, in your inbox" in text  # of two more, the last one and its 49 parts


def test_two_readers_of_one_event_read_their_own_parts() -> None:
    texts = [text_of(message_of(WHOLE, part(name))) for name in ("a", "b")]
    assert [[f"With it: {name};" in text for name in ("a", "b")] for text in texts] == [[True, False], [False, True]]


def test_webhooks_and_messages_without_parts_are_as_they_were() -> None:
    message = message_of(WHOLE, part("a", whole_id=None))
    assert fold_wholes(message) is message


@pytest.mark.parametrize("channel", PREVIEWS)
def test_names_of_parts_are_no_markup(channel: Channel) -> None:
    name = samples.HOSTILE + "\r\nBcc: all@example.com \u202e"
    hostile = part(table_deleted("a", entity={"id": "a", "name": name}))
    message = message_of(WHOLE, hostile, part("b"))
    message = replace(message, message=replace(message.message, channel=channel))
    rendered = PREVIEWS[channel](message, samples.HOME)
    text = rendered["html"] if channel is Channel.EMAIL else json.dumps(rendered, ensure_ascii=False)
    marks = ("<!channel>", "<users/all>", "<b>x</b>", "<at>all</at>", "<https://evil", 'href="https://evil', "\u202e")
    assert not [mark for mark in marks if mark in text]
