"""Golden messages with severity and runbooks on every channel, and what decides between alerts that share one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.delivery.channels import samples
from tests.unit.delivery.channels.kinds import KINDS
from tests.unit.delivery.events import OWNER, dispatch

from tocsin.delivery.channels.previews import PREVIEWS
from tocsin.delivery.dispatch import (
    Advice,
    DefinitionRunbook,
    Dispatch,
    FailureContext,
    FailureIncident,
    Guidance,
    Route,
    Share,
)
from tocsin.delivery.wording.guidance import guidance_of
from tocsin.model.message import CarriedEvent
from tocsin.model.notification import Reason
from tocsin.model.severity import Severity
from tocsin.model.subscription import Channel, Destination

GOLDEN = Path(__file__).parent / "golden/guidance.json"
PAGE = "https://wiki.example.com/email?a=1&b=2"
GUIDANCE = Guidance(
    Severity.SEVERITY_2, (Advice("Ask the shop's team, then rerun load_orders"), Advice(PAGE, "Quality"))
)
CHATS = (Channel.SLACK, Channel.MS_TEAMS, Channel.G_CHAT)
DESTINATION = Destination(id="d", category="External", type="Slack")


def guided_message(channel: Channel, guidance: Guidance, *, count: int = 1) -> Dispatch:
    single = dispatch(KINDS["failed_test"], reasons=(OWNER if channel is Channel.EMAIL else samples.REASON,))
    return replace(
        single,
        message=replace(single.message, channel=channel),
        entries=single.entries if count == 1 else samples.digest(count, single.event).entries,
        guidance=dict.fromkeys((single.first.notification_id, *(f"n{at}" for at in range(count))), guidance),
    )


def test_messages_say_how_bad_it_is_and_what_to_do() -> None:
    rendered = {
        f"{channel.value}{'' if count == 1 else ' digest'}": PREVIEWS[channel](
            guided_message(channel, GUIDANCE, count=count), samples.HOME
        )
        for channel in (Channel.EMAIL, *CHATS)
        for count in (1, 2)
    }
    samples.assert_golden(rendered, GOLDEN)


def test_an_event_without_a_runbook_need_not_be_read_for_it() -> None:
    unread = CarriedEvent("e", '{"entity": {"name": "orders"}}')
    single = dispatch(KINDS["failed_test"])
    message = replace(single, entries=(replace(single.first, carried=unread),))
    assert guidance_of(message, {}) == {}
    assert "event" not in vars(unread)


@pytest.mark.parametrize("channel", [Channel.EMAIL, *CHATS])
def test_no_runbook_is_markup_or_leads_to_what_is_no_page(channel: Channel) -> None:
    hostile = Guidance(None, (Advice(samples.HOSTILE, samples.HOSTILE), Advice("javascript:alert(1)", "Quality")))
    rendered = PREVIEWS[channel](guided_message(channel, hostile), samples.HOME)
    text = rendered["html"] if channel is Channel.EMAIL else json.dumps(rendered)
    assert not [markup for markup in ("<!channel>", "<users/all>", "<b>x</b>", "<at>all</at>") if markup in text]
    assert not [link for link in ('href="javascript', '"url": "javascript') if link in text]


def _guidance(routes: Mapping[tuple[str, str], Route], message: Dispatch | None = None) -> Guidance | None:
    reasons = tuple(
        Reason(kind=OWNER.kind, subscription_id=alert, subscription_name=alert, destination_id=destination)
        for alert, destination in routes
    )
    to_all = message or dispatch(KINDS["failed_test"], reasons=reasons)
    return guidance_of(to_all, routes).get(to_all.first.notification_id)


def test_the_worst_severity_counts_and_each_runbook_stands_once() -> None:
    high_route = Route(DESTINATION, severity=Severity.SEVERITY_2, runbook=PAGE)
    low_route = Route(DESTINATION, severity=Severity.SEVERITY_4, runbook=PAGE)
    plain_route = Route(DESTINATION, runbook="call ann")
    routes = {("Low", "d"): low_route, ("High", "d"): high_route, ("Other", "d"): plain_route}
    assert _guidance(routes) == Guidance(Severity.SEVERITY_2, (Advice(PAGE, "Low"), Advice("call ann", "Other")))
    assert _guidance({("Plain", "d"): Route(DESTINATION)}) is None


def test_a_persons_alert_says_nothing_in_a_message_of_an_administrators_alert() -> None:
    of_person = Route(DESTINATION, severity=Severity.SEVERITY_1, runbook="https://evil.example")
    of_administrators = Route(DESTINATION, share=Share(is_of_administrators=True))
    assert _guidance({("Evil", "d"): of_person, ("Quality", "e"): of_administrators}) is None
    guiding = replace(of_administrators, severity=Severity.SEVERITY_3, runbook=PAGE)
    routes = {("Evil", "d"): of_person, ("Quality", "e"): guiding}
    assert _guidance(routes) == Guidance(Severity.SEVERITY_3, (Advice(PAGE, "Quality"),))


def test_the_runbook_of_a_test_comes_first() -> None:
    failed = KINDS["failed_test"]
    event = failed.model_copy(update={"entity": {**(failed.entity or {}), "runbook": "call ann"}})
    message = dispatch(event)
    routes = {("s", "d"): Route(DESTINATION, runbook=PAGE)}
    assert _guidance(routes, message) == Guidance(None, (Advice("call ann"), Advice(PAGE, "schema changes")))


@pytest.mark.parametrize("channel", [Channel.EMAIL, *CHATS])
def test_a_message_says_its_severity_once(channel: Channel) -> None:
    message = replace(
        guided_message(channel, GUIDANCE),
        failure=FailureContext(incident=FailureIncident("INC-7", Severity.SEVERITY_1)),
    )
    rendered = PREVIEWS[channel](message, samples.HOME)
    text = rendered["text"] if channel is Channel.EMAIL else json.dumps(rendered)
    assert text.count("Severity ") == 1
    assert "Severity 1 (critical)" in text
    assert "rerun load_orders" in text


def test_a_severity_of_the_alert_that_is_worse_than_the_incidents_is_said_beside_it() -> None:
    incident = FailureContext(incident=FailureIncident("INC-7", Severity.SEVERITY_3))
    message = replace(guided_message(Channel.EMAIL, GUIDANCE), failure=incident)
    text = PREVIEWS[Channel.EMAIL](message, samples.HOME)["text"]
    assert "Severity 2 (high)" in text
    assert "Severity 3 (medium)" in text


@pytest.mark.parametrize("advice", [(), (Advice("call ann"),)])
def test_the_runbook_of_a_definition_counts_where_neither_test_nor_alert_has_one(advice: tuple[Advice, ...]) -> None:
    definition = DefinitionRunbook("columnValuesToBeNotNull", "rerun load_orders")
    message = guided_message(Channel.EMAIL, Guidance(None, advice))
    message = replace(message, failure=FailureContext(runbook=definition))
    texts = [PREVIEWS[Channel.EMAIL](one, samples.HOME)["text"] for one in (message, replace(message, guidance={}))]
    assert ["What to do: rerun load_orders" in text for text in texts] == [not advice, True]
    assert ["What to do: call ann" in text for text in texts] == [bool(advice), False]


@pytest.mark.parametrize(
    ("kind", "is_guided"),
    [
        *(("failed_test", True), ("failed_run", True), ("reminder", True), ("still_failing", True), ("stale", True)),
        *(("test_incident", True), ("not_announced", True), ("deleted", True), ("lag", True)),
        *(("recovered_test", False), ("recovered_run", False), ("lag_recovered", False), ("resolved_incident", False)),
        *(("description", False), ("expiring_alert", False), ("expired_alert", False)),
    ],
)
def test_only_what_has_to_be_looked_into_says_how_bad_it_is_and_what_to_do(kind: str, is_guided: bool) -> None:
    event = KINDS[kind].model_copy(update={"entity": {**(KINDS[kind].entity or {}), "runbook": "call ann"}})
    routes = {("s", "d"): Route(DESTINATION, severity=Severity.SEVERITY_2)}
    guidance = Guidance(Severity.SEVERITY_2, (Advice("call ann"),))
    assert _guidance(routes, dispatch(event)) == (guidance if is_guided else None)
    webhook = dispatch(event)
    webhook = replace(webhook, message=replace(webhook.message, channel=Channel.WEBHOOK))
    assert _guidance(routes, webhook) == guidance, "receivers sort events by them"
