"""Tests of the text of incidents: one act is one line, and the reader is addressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from tests.unit.delivery.channels.kinds import ANA, KINDS
from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.dispatch import FailureContext, FailureIncident
from tocsin.delivery.lines import ChangeLine
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.content import message_content
from tocsin.delivery.wording.incidents import INCIDENT
from tocsin.model.change import ALERT_INCIDENT, ChangeEvent
from tocsin.model.severity import Severity

FACTS = ("found", "expected", "failing rows")
ASSIGNED = KINDS["incident_of_alerts_and_test"]


def test_an_act_on_the_incident_of_alerts_and_of_the_test_is_one_line() -> None:
    text = event_text(ASSIGNED)
    assert text.headline == "email_not_null of orders.email: INC-9 assigned to Ana Lopez"
    assert [line.text for line in text.all_lines if not line.label] == ["INC-9 assigned to Ana Lopez"]


def test_an_incident_is_assigned_to_you_where_you_read_it() -> None:
    assert event_text(ASSIGNED, reader_id=ANA["id"]).headline.endswith("INC-9 assigned to you")
    assert event_text(ASSIGNED, reader_id="somebody else").headline.endswith("INC-9 assigned to Ana Lopez")


@pytest.mark.parametrize(("reader_id", "name"), [(ANA["id"], "you"), ("b", "Ana Lopez"), (None, "Ana Lopez")])
def test_messages_about_one_event_address_each_reader(reader_id: str | None, name: str) -> None:
    to_nobody = dispatch(ASSIGNED, reasons=(OWNER,))
    entries = tuple(replace(one, recipient_id=reader_id) for one in to_nobody.entries)
    message_content(to_nobody, to_nobody.entries, base_url="", lines_each=5)
    content = message_content(replace(to_nobody, entries=entries), entries, base_url="", lines_each=5)
    assert content.headline.endswith(f"INC-9 assigned to {name}")
    assert content.sections[0].byline == "By jane.smith,"


def test_a_step_of_a_test_names_the_incident_that_alerts_watch_and_a_failure_does_so_once() -> None:
    context = FailureContext(incident=FailureIncident("INC-7", Severity.SEVERITY_2))
    text = event_text(KINDS["test_incident"], (), context)
    assert text.headline == "email_not_null of orders.email: INC-7 acknowledged"
    assert [line.labelled_text for line in text.lines if line.label not in FACTS] == [
        "incident: INC-7, Severity 2 (high)",
        "what to do: nothing: jane.smith is looking into it, and there are no more reminders; "
        "to follow it: tocsin incidents show INC-7",
    ]
    lines = [line.labelled_text for line in event_text(KINDS["failed_test"], (), context).lines]
    assert [line for line in lines if line.startswith("incident")] == ["incident: INC-7, Severity 2 (high)"]


@pytest.mark.parametrize(
    ("is_merged", "headline"), [(True, "INC-9 merged into INC-7"), (False, "INC-9 split from INC-7")]
)
def test_a_merge_names_both_incidents_and_says_what_follows(is_merged: bool, headline: str) -> None:
    text = event_text(KINDS["merged_incident" if is_merged else "split_incident"])
    assert text.headline == f"orders: {headline}"
    assert [line.label for line in text.lines[-2:]] == ["what follows", "tier"]


def test_a_dismissed_cause_is_named_and_says_nothing_of_who_looks_into_it() -> None:
    merged = KINDS["merged_incident"]
    described = merged.change_description
    assert described is not None
    updated = tuple(
        change.model_copy(update={"new_value": {**change.new_value, "isMerged": None}})
        for change in described.fields_updated
    )
    changes = described.model_copy(update={"fields_updated": updated})
    text = event_text(merged.model_copy(update={"change_description": changes}))
    assert text.headline == "orders: INC-9 has another cause than INC-7"
    assert "looks into it" not in " ".join(line.labelled_text for line in text.lines)


DANA = {"id": "7f3a8a1e-6d5c-4a59-9f0e-2f6f4f6d2a11", "type": "user", "name": "dana", "displayName": "Dana Whitlock"}
BACK_MS = 1_796_626_800_000


def assignment_for(person: Mapping[str, object], *fields: str) -> ChangeEvent:
    """Return an event that assigns an incident to Ana, in these fields, for a person who is away."""
    described = ASSIGNED.change_description
    assert described is not None
    updated = tuple(
        change.model_copy(update={"new_value": change.new_value | {"for": person, "awayUntil": BACK_MS}})
        for change in described.fields_updated
        if change.name in fields
    )
    changes = described.model_copy(update={"fields_updated": updated})
    return ASSIGNED.model_copy(update={"change_description": changes})


def told_line(event: ChangeEvent, **how: str | None) -> ChangeLine:
    """Return the line that says to whom the incident is assigned."""
    return next(line for line in event_text(event, **how).all_lines if not line.label)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reader_id", "says"),
    [
        (None, "Ana Lopez (substitute of Dana Whitlock, who is away until 2026-12-07 08:00 CET)"),
        (ANA["id"], "you (substitute of Dana Whitlock, who is away until 2026-12-07 08:00 CET)"),
        (DANA["id"], "Ana Lopez (your substitute, as you are away until 2026-12-07 08:00 CET)"),
    ],
)
def test_an_assignment_names_whom_the_assignee_stands_in_for(reader_id: str | None, says: str) -> None:
    event = assignment_for(DANA, ALERT_INCIDENT)
    line = told_line(event, zone="Europe/Berlin", reader_id=reader_id)
    assert line.text == f"INC-9 assigned to {says}"
    assert line.moments == (("2026-12-07 08:00 CET", BACK_MS),)


def test_the_step_of_a_test_names_the_substitute_as_well() -> None:
    line = told_line(assignment_for(DANA, INCIDENT))
    says = "Ana Lopez (substitute of Dana Whitlock, who is away until 2026-12-07 07:00 UTC)"
    assert line.text == f"incident assigned to {says}"


def test_without_a_substitute_the_assignee_is_said_to_be_away_but_not_to_themselves() -> None:
    event = assignment_for(ANA, ALERT_INCIDENT)
    assert told_line(event).text == "INC-9 assigned to Ana Lopez, who is away until 2026-12-07 07:00 UTC"
    assert told_line(event, reader_id=ANA["id"]).text == "INC-9 assigned to you"


def test_a_person_who_is_hidden_is_not_named_as_away() -> None:
    event = assignment_for({}, ALERT_INCIDENT)
    assert told_line(event).text == "INC-9 assigned to Ana Lopez"
