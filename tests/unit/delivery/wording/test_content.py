"""Tests of the content of messages: what a digest shows first, and what it never leaves out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.delivery.channels.samples import EVENTS
from tests.unit.delivery.events import OWNER, addition_of, change_event, dispatch

from tocsin.conditions.breaking import DELETED_WHILE_READ
from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Advice, Button, Dispatch, FailureContext, FailureIncident, Guidance
from tocsin.delivery.lines import ChangeLine
from tocsin.delivery.wording.content import message_content, sort_by_importance
from tocsin.delivery.wording.spans import spans_of
from tocsin.delivery.wording.surroundings import FAILURE_ADVICE, REPAIR_ADVICE
from tocsin.model.change import CHANGE_REQUEST, ChangeEvent, EventType
from tocsin.model.notification import ReasonKind
from tocsin.model.severity import Severity


def digest_of(*events: ChangeEvent) -> Dispatch:
    first = dispatch().first
    entries = (replace(first.with_event(event), notification_id=str(place)) for place, event in enumerate(events))
    return replace(dispatch(), entries=tuple(entries))


def lines_shown(message: Dispatch, lines_each: int) -> list[str]:
    content = message_content(message, message.entries, base_url="", lines_each=lines_each)
    return [line.text for line in content.sections[0].lines]


def test_a_digest_begins_with_what_its_headline_counts_first() -> None:
    change, deletion = change_event(addition_of("owners", [{"name": "ann"}])), EVENTS["deletion"]
    recovery, failure = EVENTS["recovery"], EVENTS["test_failure"]
    message = sort_by_importance(digest_of(change, recovery, deletion, failure, change))
    assert [entry.event for entry in message.entries] == [failure, deletion, recovery, change, change]
    assert [entry.notification_id for entry in message.entries][-2:] == ["0", "4"]


def test_what_is_to_be_done_is_shown_however_few_lines_there_are() -> None:
    message = digest_of(EVENTS["test_failure"], change_event())
    assert len(lines_shown(message, 3)) == 4
    assert lines_shown(message, 3)[-1] == REPAIR_ADVICE
    content = message_content(message, message.entries, base_url="", lines_each=3)
    assert content.sections[0].more_count == 1
    assert lines_shown(message, 0) == []


def test_a_button_says_what_to_do_in_place_of_a_line() -> None:
    message = digest_of(EVENTS["test_failure"], change_event())
    with_button = replace(message, buttons={"0": (Button("Acknowledge INC-7", "https://x", "token"),)})
    assert REPAIR_ADVICE not in lines_shown(with_button, 10)
    assert REPAIR_ADVICE in lines_shown(message, 10)
    breaking_failure = EVENTS["test_failure"].model_copy(update={"breaking_reasons": (DELETED_WHILE_READ,)})
    command = f"see who reads what changed: tocsin impact {breaking_failure.id}"
    breaking = digest_of(breaking_failure, change_event())
    assert f"{REPAIR_ADVICE}; {command}" in lines_shown(breaking, 10)
    breaking_with_button = replace(breaking, buttons=with_button.buttons)
    assert [line for line in lines_shown(breaking_with_button, 10) if command in line] == [command]


@pytest.mark.parametrize(("recipient_id", "advice"), [(None, FAILURE_ADVICE), ("ann", REPAIR_ADVICE)])
def test_a_person_without_a_button_is_not_advised_to_acknowledge(recipient_id: str | None, advice: str) -> None:
    message = dispatch(EVENTS["test_failure"])
    entries = tuple(replace(one, recipient_id=recipient_id) for one in message.entries)
    open_incident = FailureContext(incident=FailureIncident("INC-7"))
    assert advice in lines_shown(replace(message, entries=entries, failure=open_incident), 10)


@pytest.mark.parametrize(
    ("owners", "advice"),
    [
        (
            [{"id": "o", "type": "user", "name": "ann"}],
            "tell its owner what it means to you; only its editors, or the assignee, can acknowledge the incident",
        ),
        ([{"id": "o", "type": "user", "name": "ann", "deleted": True}], "tell an administrator: it has no owner"),
        ([], "tell an administrator: it has no owner"),
    ],
)
def test_a_person_who_may_only_look_at_an_incident_is_advised_what_they_can_do(owners: list[Any], advice: str) -> None:
    entity = {**(EVENTS["test_failure"].entity or {}), "owners": owners}
    message = dispatch(EVENTS["test_failure"].model_copy(update={"entity": entity}))
    read_only, key = frozenset({message.first.notification_id}), message.first.notification_id
    looking = replace(message, read_only=read_only, failure=FailureContext(incident=FailureIncident("INC-7")))
    looking = replace(looking, buttons={key: (Button("Open INC-7", "https://x", ""),)})
    lines = lines_shown(looking, 10)
    assert advice in lines
    assert [one for one in lines if "repair it" in one] == []
    handled = FailureContext(incident=FailureIncident("INC-7", acknowledged_by="ben"))
    assert "nothing: ben is looking into it" in lines_shown(replace(looking, failure=handled), 10)
    with_runbook = replace(looking, guidance={key: Guidance(None, (Advice("https://runbook"),))})
    assert advice not in lines_shown(with_runbook, 10)


def test_mails_show_commands_below_their_buttons() -> None:
    request = {"name": "CR-12", "kind": "removal", "column": "email", "date": 1_760_000_000_000, "why": "unused"}
    request |= {"status": "announced"}
    event = change_event(addition_of(CHANGE_REQUEST, request), event_type=EventType.CHANGE_REQUEST_UPDATED)
    message = dispatch(event, reasons=(OWNER.model_copy(update={"kind": ReasonKind.ASKED}),))
    message = replace(message, buttons={message.first.notification_id: (Button("Answer CR-12", "https://x", "t"),)})
    texts = render_texts(message, "https://t")
    for text in (texts["text"], texts["html"]):
        assert -1 < text.index("unused") < text.index("Answer CR-12") < text.index("tocsin changes answer CR-12")


def test_a_digest_names_the_incident_of_each_failure_with_a_link() -> None:
    message = digest_of(EVENTS["test_failure"], EVENTS["test_failure"], change_event())
    incidents = {"0": FailureIncident("INC-7", Severity.SEVERITY_2, "ben"), "1": FailureIncident("INC-8")}
    message = replace(message, incidents=incidents)
    content = message_content(message, message.entries, base_url="https://t", lines_each=3)
    links = [[(span.text, span.link) for block in one.notes for span in block.spans] for one in content.sections]
    assert links == [
        [("Incident: ", None), ("INC-7, Severity 2 (high), acknowledged by ben", "https://t/#/incidents/INC-7")],
        [("Incident: ", None), ("INC-8", "https://t/#/incidents/INC-8")],
        [],
    ]
    assert FAILURE_ADVICE not in lines_shown(message, 10), "ben is looking into it"


def test_a_label_keeps_the_capitals_of_the_names_in_it() -> None:
    (label, _) = spans_of(ChangeLine("no", label="objection of Dana Whitlock"))
    assert label.text == "Objection of Dana Whitlock: "
