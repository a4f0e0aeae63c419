"""Tests of what scheduled alerts name, on both stores: each only what it asks for, though one check is for all."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.notifying import notify_all

from tocsin.alerts.explanations.matching import match_trace
from tocsin.catalogue.observations.scheduled_checks import AssetState, DueCheck, add_checks
from tocsin.delivery.dispatch import Dispatch, narrow_dispatch
from tocsin.delivery.wording.changes import event_text
from tocsin.flow.match.plan import plan_of
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.message import OutcomeReason
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.inbox import Inbox
from tocsin.store.outbox.messages import Messages
from tocsin.store.outbox.sessions import Sessions

EIGHT = {"triggerType": "Scheduled", "cronExpression": "0 0 8 * * ?"}
LATER_MS = 10**15
HOUR_MS = 3_600_000


def users(*names: str, channel: str = "Email") -> Document:
    return {"category": "Users", "type": channel, "config": {"receivers": list(names)}}


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    """A company whose pipeline fails for 30 hours and has no owner, and three alerts on that at the same times."""
    small_company = SmallCompany(store_engine)
    small_company.pipeline("etl")
    small_company.clock.advance(1_000)
    for name, condition, destinations in (
        ("red", "stillFailing()", [users("ana", "cem"), users("ana", channel="ActivityFeed")]),
        ("bare", "stillWithoutOwner()", [users("dia", "cem")]),
        ("stale", "stillStale('24h')", [users("ben")]),
    ):
        small_company.alert(name, destinations, condition, resources=("pipeline",), trigger=EIGHT)
    notify_all(store_engine)
    plans = tuple(plan for one in Subscriptions(store_engine).list_enabled() if (plan := plan_of(one)).states)
    state = AssetState(small_company.ids["etl"], "pipeline", True, 3, small_company.clock.now_ms() - 30 * HOUR_MS, True)
    red = next(one for one in Subscriptions(store_engine).list_enabled() if one.name == "red")
    check = DueCheck(red.trigger.schedule_id, small_company.clock.now_ms(), plans)
    assert add_checks(small_company.writes, [state], [check], set()) == 1
    notify_all(store_engine)
    return small_company


def dispatches_of(company: SmallCompany) -> dict[str, Dispatch]:
    """Return the mails by whom they are for."""
    Sessions(company.engine).begin("worker", lease_ms=90_000, now_ms=1)
    messages = Messages(company.engine)
    dispatches = messages.dispatches(messages.claim("worker", 64, now_ms=LATER_MS))
    return {one.message.target.partition("@")[0]: one for one in dispatches}


def findings_in(event: ChangeEvent) -> list[str]:
    assert event.change_description is not None
    return sorted(event.change_description.paths())


def test_each_message_names_only_what_its_alerts_ask_for(company: SmallCompany) -> None:
    dispatches = dispatches_of(company)
    assert {name: [findings_in(entry.event) for entry in one.entries] for name, one in dispatches.items()} == {
        "ana": [["stillFailing"]],
        "ben": [["stillStale"]],
        "cem": [["stillFailing", "stillWithoutOwner"]],
        "dia": [["stillWithoutOwner"]],
    }
    (entry,) = dispatches["dia"].entries
    text = event_text(entry.event, entry.reasons)
    assert "still without an owner" in text.headline
    assert "failing" not in " ".join([text.headline, *(line.text for line in text.all_lines)])
    assert "stillFailing" not in str(entry.carried.as_wire())


def test_what_a_reason_brought_goes_with_it(company: SmallCompany) -> None:
    def objection(_entry: object, reason: object) -> tuple[OutcomeReason, str] | None:
        is_bare = getattr(reason, "subscription_name", "") == "bare"
        return (OutcomeReason.MUTED, "muted") if is_bare else None

    narrowed_dispatch, _ = narrow_dispatch(dispatches_of(company)["cem"], objection)
    assert narrowed_dispatch is not None
    assert [findings_in(entry.event) for entry in narrowed_dispatch.entries] == [["stillFailing"]]


def test_the_inbox_and_explanations_name_only_those_of_the_alert(company: SmallCompany) -> None:
    (entry,) = Inbox(company.engine).page(company.ids["ana"], now_ms=LATER_MS, limit=10)
    assert findings_in(entry.event) == ["stillFailing"]
    check_event = EventLog(company.engine).find(entry.event.id)
    assert check_event is not None
    alerts = [one for one in Subscriptions(company.engine).list_enabled() if one.name in ("red", "bare", "stale")]
    traces = {one.name: match_trace(one, check_event) for one in alerts}
    assert all(trace.matched for trace in traces.values())
    observed_values = {
        name: [value for rule in trace.rules if rule.trace for one in rule.trace.observations for value in one.values]
        for name, trace in traces.items()
    }
    stale = f"stillStale:{24 * HOUR_MS}"
    assert observed_values == {"red": ["stillFailing"], "bare": ["stillWithoutOwner"], "stale": [stale]}
