"""Tests of the text of reasons in relation to the event."""

from __future__ import annotations

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import addition_of, change_event
from tests.unit.delivery.wording.test_threads import event as thread_event

from tocsin.delivery.wording.reasons import why_text
from tocsin.model.change import CHANGE_REQUEST, EventType
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.subscription import Channel

OF = {"subscription_id": "s", "subscription_name": "Orders", "destination_id": "d"}
FOLLOWS = Reason(kind=ReasonKind.FOLLOWER, **OF)
OF_SUBJECT = FOLLOWS.model_copy(update={"of_subject": True})


def test_who_follows_the_table_of_a_test_follows_that_and_not_the_test() -> None:
    test = samples.EVENTS["test_failure"]
    assert why_text(test, (FOLLOWS,)) == "you follow it (alert Orders)"
    both = "you follow it (alert Orders); you follow orders, which this test checks (alert Orders)"
    assert why_text(test, (FOLLOWS, OF_SUBJECT, OF_SUBJECT)) == both
    hidden = test.model_copy(update={"entity": None})
    assert why_text(hidden, (OF_SUBJECT,)) == "you follow the table, which this test checks (alert Orders)"


def test_who_follows_the_asset_of_a_thread_follows_that() -> None:
    assert why_text(thread_event("threadCreated"), (OF_SUBJECT,)) == "you follow orders (alert Orders)"


@pytest.mark.parametrize(
    ("event_type", "status", "sentence"),
    [
        (EventType.CHANGE_REQUEST_ANSWERED, "announced", "you announced it (alert Orders)"),
        (EventType.CHANGE_REQUEST_UPDATED, "due", "you announced it (alert Orders)"),
        (EventType.CHANGE_REQUEST_UPDATED, "announced", "you are asked about it (alert Orders)"),
        (EventType.CHANGE_REQUEST_REMINDER, "announced", "you are asked about it (alert Orders)"),
    ],
)
def test_the_author_of_a_change_request_is_told_of_it_and_not_asked(
    event_type: EventType, status: str, sentence: str
) -> None:
    event = change_event(addition_of(CHANGE_REQUEST, {"name": "CR-12", "status": status}), event_type=event_type)
    assert why_text(event, (Reason(kind=ReasonKind.ASKED, **OF),)) == sentence


@pytest.mark.parametrize(
    ("channel", "receiver"),
    [
        (Channel.EMAIL, "address"),
        (Channel.SLACK, "channel"),
        (Channel.MS_TEAMS, "channel"),
        (Channel.WEBHOOK, "endpoint"),
        (Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT, "queue"),
    ],
)
def test_an_alert_names_an_address_only_where_it_is_one(channel: Channel, receiver: str) -> None:
    why = why_text(change_event(), (samples.REASON,), channel)
    assert why == f"the alert names this {receiver} (alert Orders)"
