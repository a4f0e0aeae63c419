"""Tests of the alert cache: what is read again when an alert changes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pytest
import structlog
from structlog.testing import capture_logs

from tocsin.flow.match.indexing import Anchor
from tocsin.flow.match.plan import Plan, between_reports
from tocsin.jobs.alerts import CurrentAlerts
from tocsin.model.subscription import EventSubscription, Trigger, TriggerType
from tocsin.spark.anchors import number_of

COUNT = 2_000


def subscription(number: int, condition: str, *, enabled: bool = True) -> EventSubscription:
    wire = {
        "id": f"{number:05}",
        "name": f"alert {number}",
        "fullyQualifiedName": f"alert {number}",
        "alertType": "Notification",
        "enabled": enabled,
        "filteringRules": {"resources": ["table"], "rules": [{"condition": condition}]},
        "destinations": [{"id": f"to {number}", "category": "Owners", "type": "Email"}],
    }
    return EventSubscription.model_validate(wire)


class AlertsInMemory:
    """Alerts in memory, and what was asked of them."""

    def __init__(self, *subscriptions: EventSubscription) -> None:
        self.known = {one.id: one for one in subscriptions}
        self.written = dict.fromkeys(self.known, 1)
        self.read: list[set[str]] = []
        self.unparsable: dict[str, str] = {}

    def put(self, alert: EventSubscription) -> None:
        self.known[alert.id] = alert
        self.written[alert.id] = self.written.get(alert.id, 0) + 1

    def revision(self) -> int:
        return sum(self.written.values())

    def marks(self) -> dict[str, int]:
        return dict(self.written)

    def has_open_incidents(self) -> bool:
        return False

    def with_past_names(self, alerts: Sequence[EventSubscription], *, after: int) -> list[EventSubscription]:
        return list(alerts)

    def progress(self, query_name: str) -> int:
        return 0

    def list_unparsable(self, subscription_ids: Collection[str]) -> dict[str, str]:
        return {one: why for one, why in self.unparsable.items() if one in subscription_ids}

    def list_enabled(self, subscription_ids: Collection[str] | None = None) -> list[EventSubscription]:
        assert subscription_ids is not None
        self.read.append(set(subscription_ids))
        return [one for one in self.known.values() if one.enabled and one.id in subscription_ids]


def test_one_changed_alert_among_many_is_read_alone_and_so_planned_alone() -> None:
    shelf = AlertsInMemory(*(subscription(n, "owners == 'ann'") for n in range(COUNT)))
    current = CurrentAlerts("match_stream", shelf)
    first = current.read()
    assert current.read() is first
    shelf.put(subscription(1_711, "tags == 'PII'"))
    second = current.read()
    assert shelf.read == [set(shelf.known), {"01711"}]
    assert second.index.table.num_rows == COUNT
    expected_anchor = number_of(Anchor(("entityType", "tags"), ("table", "PII")))
    assert _anchors(second.index.table.to_pylist(), "01711") == [expected_anchor]


@pytest.fixture
def all_levels_logged() -> Iterator[None]:
    """Log every level, whatever a server in this process has set up."""
    before = structlog.get_config()
    structlog.reset_defaults()
    yield
    structlog.configure(**before)


@pytest.mark.usefixtures("all_levels_logged")
def test_the_log_says_which_query_loaded_them() -> None:
    with capture_logs() as logged:
        CurrentAlerts("streak_stream", AlertsInMemory(subscription(1, "owners == 'ann'"))).read()
    assert [(one["event"], one["query"]) for one in logged] == [("alerts_loaded", "streak_stream")]


def test_alerts_come_and_go() -> None:
    shelf = AlertsInMemory(subscription(1, "owners == 'ann'"))
    current = CurrentAlerts("match_stream", shelf)
    current.read()
    shelf.put(subscription(2, "userName != 'ann'"))
    assert current.read().index.unindexed_ids() == []
    assert {one for one, rules in current.read().facts.rules.items() if rules} == {"00001", "00002"}
    shelf.put(subscription(1, "owners == 'ann'", enabled=False))
    assert {row["subscription_id"] for row in current.read().index.table.to_pylist()} == {"00002"}
    assert "00001" not in current.read().facts.rules
    del shelf.known["00002"]
    shelf.written["00002"] += 1
    assert current.read().index.table.num_rows == 0


def _anchors(index_rows: list[dict[str, object]], subscription_id: str) -> list[object]:
    return [row["anchor"] for row in index_rows if row["subscription_id"] == subscription_id]


def test_a_schedule_that_an_earlier_version_stored_and_this_one_refuses_stops_no_other_alert() -> None:
    stale = subscription(2, "fieldChanged == 'tags'").model_copy(
        update={"trigger": Trigger(trigger_type=TriggerType.SCHEDULED, cron_expression="0 0 8 15 * 2")}
    )
    read = CurrentAlerts("query", AlertsInMemory(subscription(1, "fieldChanged == 'tags'"), stale)).read()
    assert set(read.facts.rules) == {"00001"}
    assert "write ? for one of them" in read.unreadable["00002"]


def _kinds(first: int, count: int) -> list[str]:
    tests = ("{} == 'a'", "{}.startsWith('a')", "{}.endsWith('a')", "{}.contains('a')", "{} > 3", "{}.size() > 3")
    paths = [f"entity.extension{step * depth}" for depth in range(1, 25) for step in (".x", "[0]")]
    return [test.format(path) for path in paths for test in tests][first : first + count]


def _with_rules(number: int, conditions: list[str]) -> EventSubscription:
    rules = [{"condition": one, "prefixCondition": "OR"} for one in conditions]
    wire = subscription(number, "owners == 'ann'").to_wire()
    return EventSubscription.model_validate(wire | {"filteringRules": {"resources": ["table"], "rules": rules}})


def test_a_stored_alert_that_costs_too_much_is_unreadable_and_the_others_are_matched() -> None:
    shelf = AlertsInMemory(subscription(1, "owners == 'ann'"), _with_rules(2, _kinds(0, 60)))
    now = CurrentAlerts("match_stream", shelf).read()
    assert set(now.facts.rules) == {"00001"}
    assert "kinds of test" in now.unreadable["00002"]


def test_alerts_that_cost_too_much_together_are_left_out_of_the_index() -> None:
    shelf = AlertsInMemory(
        subscription(0, "owners == 'ann'"), *(_with_rules(n, _kinds(n * 35, 35)) for n in range(1, 7))
    )
    now = CurrentAlerts("match_stream", shelf).read()
    assert len(now.too_costly) == 2
    assert set(now.index.subscription_ids()) == set(shelf.known) - set(now.too_costly)
    assert "00000" not in now.too_costly


def test_an_alert_that_cannot_be_indexed_is_unreadable_and_the_others_are_matched() -> None:
    def select_or_fail(plans: Sequence[Plan]) -> Sequence[Plan]:
        if any(plan.subscription_id == "00002" for plan in plans):
            raise RecursionError("too deep")
        return between_reports(plans)

    shelf = AlertsInMemory(*(subscription(n, "owners == 'ann'") for n in range(4)))
    now = CurrentAlerts("match_stream", shelf, select_or_fail).read()
    assert now.unreadable == {"00002": "RecursionError: too deep"}
    assert now.index.subscription_ids() == ["00000", "00001", "00003"]
    assert set(now.facts.rules) == {"00000", "00001", "00003"}


def test_an_alert_that_cannot_be_parsed_is_unreadable_and_the_others_are_matched() -> None:
    shelf = AlertsInMemory(subscription(1, "owners == 'ann'"))
    shelf.unparsable, shelf.written["00002"] = {"00002": "alertType: unknown"}, 1
    now = CurrentAlerts("match_stream", shelf).read()
    assert (now.index.subscription_ids(), now.unreadable) == (["00001"], {"00002": "alertType: unknown"})
