"""Tests of the text of reasons in relation to the event."""

from __future__ import annotations

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.events import addition_of, change_event
from tests.unit.delivery.wording.test_threads import event as thread_event

from tocsin.delivery.wording.reasons import why_text
from tocsin.model.change import CHANGE_REQUEST, EventType
from tocsin.model.change_request import AskedAsset, AskedFor
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


def test_a_reason_that_several_alerts_share_is_said_once() -> None:
    event, owner_reason = change_event(), Reason(kind=ReasonKind.OWNER, **OF)
    removal_reason = owner_reason.model_copy(update={"subscription_name": "Removed"})
    why = why_text(event, (owner_reason, FOLLOWS, removal_reason, removal_reason))
    assert why == "you own it (alerts Orders and Removed); you follow it (alert Orders)"
    downstream_reason = owner_reason.model_copy(update={"subscription_name": "Failed", "downstream_of": "raw.orders"})
    with_cause = "you own it (alert Orders); you own it (alert Failed; raw.orders failed first)"
    assert why_text(event, (owner_reason, downstream_reason)) == with_cause


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


COLUMN, WHOLE = {"name": "CR-12", "column": "email"}, {"name": "CR-12"}
DAILY = AskedAsset("acme.marts.orders_daily", "orders_daily", reads_column=True)
FOR_TEAM = AskedAsset("acme.marts.sales", "sales", team="Shop")
SEVEN = tuple(AskedAsset(f"acme.t{at}", f"t{at}", reads_column=True) for at in range(7))


@pytest.mark.parametrize(
    ("request_value", "answerable", "team", "sentence"),
    [
        (COLUMN, AskedFor((DAILY,)), None, "you own orders_daily, which reads orders.email"),
        (WHOLE, AskedFor((DAILY,)), None, "you own orders_daily, which reads orders"),
        (COLUMN, AskedFor((DAILY, FOR_TEAM)), None, "you own orders_daily, which reads orders.email"),
        (COLUMN, AskedFor((DAILY, FOR_TEAM)), "Shop", "you own sales through team Shop, which reads orders"),
        (COLUMN, AskedFor(SEVEN[:2]), None, "you own t0 and t1, which read orders.email"),
        (COLUMN, AskedFor(SEVEN), None, "you own t0, t1, t2 and 4 more, which read orders.email"),
        (COLUMN, AskedFor((), follows=True), None, "you follow it"),
        (COLUMN, AskedFor((DAILY,), follows=True), None, "you follow it and you own orders_daily, which reads"),
        (COLUMN, AskedFor((FOR_TEAM,)), None, "you are asked about it"),
        (COLUMN, AskedFor(), "Shop", "you are asked about it through team Shop"),
    ],
)
def test_a_consumer_of_a_change_request_is_told_for_what_they_answer(
    request_value: dict[str, str], answerable: AskedFor, team: str | None, sentence: str
) -> None:
    event = change_event(addition_of(CHANGE_REQUEST, request_value), event_type=EventType.CHANGE_REQUEST_UPDATED)
    why = why_text(event, (Reason(kind=ReasonKind.ASKED, team=team, **OF),), answerable=answerable)
    assert why.startswith(sentence) and why.endswith("(alert Orders)"), why


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
