"""Tests of several events about one change request, which a message tells as one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch, update_of

from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.content import message_content
from tocsin.delivery.wording.folding import fold_repeated
from tocsin.model.change import CHANGE_REQUEST, ChangeDescription, ChangeEvent, EventType
from tocsin.model.change_request import RequestNow, RequestStatus
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.notification import ReasonKind

DAY_MS = 86_400_000
NINTH = 1_765_274_400_000
ASKED = OWNER.model_copy(update={"kind": ReasonKind.ASKED})
REQUEST: dict[str, Any] = {"id": "r", "name": "CR-12", "kind": "removal", "status": "announced", "column": "email"}
REQUEST |= {"date": NINTH, "why": "unused"}


def of_request(
    change: ChangeDescription, kind: EventType = EventType.CHANGE_REQUEST_UPDATED, **fields: Any
) -> ChangeEvent:
    return change_event(change, event_type=kind, **fields)


def move(days: int, since: int = 0, **fields: Any) -> ChangeEvent:
    """Return that the request is moved to so many days after the ninth, from another day."""
    before, after = REQUEST | {"date": NINTH + since * DAY_MS}, REQUEST | {"date": NINTH + days * DAY_MS} | fields
    return of_request(update_of(CHANGE_REQUEST, before, after))


ANNOUNCED = of_request(addition_of(CHANGE_REQUEST, REQUEST))
WITHDRAWN = of_request(
    update_of(CHANGE_REQUEST, REQUEST, REQUEST | {"status": "withdrawn", "comment": "you are right"}), user_name="ann"
)
ENDED = of_request(update_of(CHANGE_REQUEST, REQUEST, REQUEST | {"status": "done"}))
DUE = of_request(update_of(CHANGE_REQUEST, REQUEST | {"status": "due"}, REQUEST | {"status": "due"}))
REMINDER = of_request(update_of(CHANGE_REQUEST, REQUEST, REQUEST), EventType.CHANGE_REQUEST_REMINDER)


def message_of(*events: ChangeEvent) -> Dispatch:
    entries = (Entry(f"n{place}", place, CarriedEvent.of(event), (ASKED,)) for place, event in enumerate(events))
    return replace(dispatch(), entries=tuple(entries))


@pytest.mark.parametrize(
    ("events", "line"),
    [
        ((ANNOUNCED, WITHDRAWN), "CR-12 announced and withdrawn: column email stays"),
        ((ANNOUNCED, move(1)), "CR-12 announced and moved: column email is to be removed on 2025-12-10 10:00 UTC"),
        ((move(1), move(5, since=1)), "CR-12 moved twice: column email is to be removed on 2025-12-14 10:00 UTC"),
        (
            (ANNOUNCED, move(1), move(2, since=1), move(3, since=2), WITHDRAWN),
            "CR-12 announced, moved 3 times and withdrawn: column email stays",
        ),
        ((ANNOUNCED, REMINDER), "CR-12 announced: column email is to be removed on 2025-12-09 10:00 UTC"),
        ((REMINDER, REMINDER), "CR-12 is still open: column email is to be removed on 2025-12-09 10:00 UTC"),
        (
            (move(1), ENDED),
            "CR-12 moved and ended, as the asset is deleted permanently:"
            " column email was to be removed on 2025-12-09 10:00 UTC",
        ),
    ],
)
def test_what_holds_at_the_end_stands_with_what_happened(events: tuple[ChangeEvent, ...], line: str) -> None:
    message = message_of(*events)
    (entry,) = fold_repeated(message).entries
    assert (entry.notification_id, entry.told_count) == (f"n{len(events) - 1}", 1)
    link = "Change request: CR-12 (https://t/#/changes/CR-12)\n"
    linked_text = render_texts(message, "https://t")["text"]
    assert linked_text.count(link) == 1
    text = linked_text.replace(link, "")
    assert text.count("CR-12") == text.count(line) + text.count("tocsin changes answer CR-12")
    assert text.count(line) > 0


def test_what_people_said_meanwhile_is_kept() -> None:
    reasoned = ANNOUNCED.model_copy(update={"reason": "ticket 7"})
    text = render_texts(message_of(reasoned, move(1, comment="until the audit is over"), WITHDRAWN), "https://t")[
        "text"
    ]
    told_lines = ["Reason: ticket 7", "Comment: until the audit is over", "Comment: you are right"]
    assert [line for line in text.splitlines() if line.startswith(("- Reason", "- Comment"))] == [
        f"- {line}" for line in told_lines
    ]
    assert "by jane.smith and ann" in text


def test_requests_that_differ_and_the_question_to_the_author_stay_apart() -> None:
    second_request = of_request(addition_of(CHANGE_REQUEST, REQUEST | {"id": "s", "name": "CR-13"}))
    message = message_of(ANNOUNCED, second_request, WITHDRAWN, DUE)
    entries = fold_repeated(message).entries
    assert [entry.notification_id for entry in entries] == ["n2", "n1", "n3"]
    assert render_texts(message, "https://t")["subject"].startswith("1 announced change, 1 warning, 1 change: orders")


def test_an_event_of_another_system_cannot_say_what_happened() -> None:
    forged = of_request(addition_of(CHANGE_REQUEST, REQUEST | {"acts": "never announced", "texts": [["reason", "x"]]}))
    assert "never announced" not in render_texts(message_of(forged), "https://t")["text"]


@pytest.mark.parametrize(
    ("now", "lines"),
    [
        (RequestNow("ann", NINTH), ["to answer for a consumer"]),
        (RequestNow("u", NINTH), ["to answer for a consumer", "to move it", "to withdraw it"]),
        (RequestNow("ann", NINTH, RequestStatus.WITHDRAWN), ["since then: withdrawn", "to look at it"]),
        (RequestNow("u", NINTH, RequestStatus.DONE), ["since then: ended", "to look at it"]),
        (RequestNow("ann", NINTH).at(NINTH), ["since then: its date has come", "to look at it"]),
        (
            RequestNow("ann", NINTH + DAY_MS).at(NINTH),
            ["since then: moved to 2025-12-10 10:00 UTC", "to answer for a consumer"],
        ),
    ],
)
def test_a_message_that_waited_says_what_has_become_of_the_request(now: RequestNow, lines: list[str]) -> None:
    message = replace(message_of(ANNOUNCED), requests={"r": now})
    message = replace(message, entries=(replace(message.first, recipient_id="u"),))
    (section,) = message_content(message, message.entries, base_url="https://t", lines_each=9).sections
    shown_lines = [line.label if line.label.startswith("to ") else line.labelled_text for line in section.lines]
    assert [line for line in shown_lines if line != "reason: unused"] == lines


def test_nobody_asks_the_author_of_what_is_due() -> None:
    due = DUE.model_copy(update={"user_name": "system"})
    text = render_texts(message_of(due), "https://t")["text"]
    assert "(table), reported 2025-10-09 08:53 UTC" in text
    assert "system" not in text
