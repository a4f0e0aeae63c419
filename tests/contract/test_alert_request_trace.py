"""Trace of the request that creates an alert: one pass, few functions, and no call back to a higher layer.

Counted is what a reader meets between the route and the writing of the alert: the functions of the alerts' routes, of
``server/alerts`` and of ``alerts``, and the functions of other packages that these call. What those do in turn, such as
compiling a condition, reading a table or finding out rights, has its own place and tests.
"""

from __future__ import annotations

import pytest
from tests.serving import Json, Served
from tests.tracing import Trace, trace_calls

from tocsin.model.people import Actor
from tocsin.server.http.request_slots import Taken
from tocsin.server.request import Caller
from tocsin.server.routes.alerts import subscriptions

HOOK = {
    "category": "External",
    "type": "Webhook",
    "config": {"endpoint": "https://example.org/hook/t1", "secretKey": "one"},
}
MAIL = {"category": "Users", "type": "Email", "config": {"receivers": ["dana"]}}
CONDITION = "matchAnyOwnerName({'dana'}) && matchAnyFieldChange({'columns'})"
ALERT: Json = {
    "name": "Schema",
    "alertType": "Notification",
    "filteringRules": {
        "resources": ["table"],
        "rules": [{"name": "own", "condition": CONDITION, "effect": "include"}],
    },
    "destinations": [HOOK, MAIL],
}
ROUTES, FACTS, ALERTS = "tocsin.server.routes.alerts", "tocsin.server.alerts", "tocsin.alerts"
LAYERS = (
    *(ROUTES, FACTS, "tocsin.server", "tocsin.store"),
    *(f"{ALERTS}.request", f"{ALERTS}.rules", f"{ALERTS}.remarks", f"{ALERTS}.destinations"),
    *(f"{ALERTS}.named_filters", f"{ALERTS}.offers", ALERTS),
    *("tocsin.catalogue", "tocsin.flow", "tocsin.delivery", "tocsin.access", "tocsin.conditions", "tocsin.search"),
    *("tocsin.model", "tocsin.logic", "tocsin.settings", "tocsin.clock", "tocsin.errors"),
)
LIMIT = 40
"""Functions that a reader meets at most."""


@pytest.fixture
def trace(served: Served) -> Trace:
    """The trace of the second alert that a person without special rights creates."""
    user_id, client = served.person("dana")
    client.close()
    parts = served.app.state.parts
    caller = Caller(Actor(user_id, "dana"), parts, served.url, Taken(parts.traffic.shares, user_id))
    subscriptions.create({**ALERT, "name": "First"}, caller)
    with trace_calls() as trace:
        subscriptions.create(ALERT, caller)
    return trace.until(f"{ROUTES}.subscriptions:_create").calls_around((ROUTES, FACTS, ALERTS))


def test_a_new_alert_enters_few_functions(trace: Trace) -> None:
    assert f"{ALERTS}.request:parse_alert" in trace.functions
    assert len(trace.functions) < LIMIT, sorted(trace.functions)


def test_no_layer_calls_a_higher_one(trace: Trace) -> None:
    assert trace.calls_up(LAYERS) == []


def test_the_request_is_parsed_and_checked_once(trace: Trace) -> None:
    assert trace.entry_count(f"{ALERTS}.request") == 2
    callers = {caller for caller, function in trace.calls if function.startswith(f"{ALERTS}.request:")}
    outside = {one for one in callers if not one.startswith(f"{ALERTS}.request:")}
    assert outside == {f"{ROUTES}.subscriptions:_alert_of_request"}
    plans = [function for _, function in trace.steps if function == "tocsin.flow.match.plan:plan_of"]
    assert len(plans) == 1
