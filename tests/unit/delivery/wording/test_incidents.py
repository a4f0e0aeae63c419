"""Tests of the text of incidents: one act is one line, and the reader is addressed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.delivery.channels.kinds import ANA, KINDS
from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.dispatch import FailureContext, FailureIncident
from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.content import message_content
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
        "incident: INC-7, Severity 2 (high)"
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
