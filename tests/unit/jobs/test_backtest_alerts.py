"""Tests of the alerts of a backtest: what one triggers, and which matches behind an incident pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

pytest.importorskip("pyspark")

from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting, nothing_hidden
from tocsin.jobs.backtest_alerts import HeldBackMatches, alerts_involved_in
from tocsin.model.match_result import Pair
from tocsin.model.subscription import EventSubscription, alert_of


class Incidents:
    """Hold back what comes after an offset, and before another one, of every alert."""

    def __init__(self, **spans: tuple[int, int]) -> None:
        self.spans = spans

    def find_held_back(
        self, waiting: Sequence[Waiting], *, may_claim: bool, hidden: Hidden = nothing_hidden
    ) -> Mapping[Pair, HeldBack]:
        assert not may_claim, "a backtest writes nothing down"
        return {
            (match.log_offset, match.subscription_id): HeldBack(name, passes=False)
            for match in waiting
            for name, (since, until) in self.spans.items()
            if since < match.log_offset <= until
        }


def alert(name: str, condition: str = "eventType == 'entityUpdated'", **fields: object) -> EventSubscription:
    rules = {"resources": ["table"], "rules": [{"condition": condition}]}
    relations = {
        key: [{"id": one, "type": "eventsubscription"} for one in str(many).split()] for key, many in fields.items()
    }
    defaults = {"id": name, "name": name, "fullyQualifiedName": name, "alertType": "Notification"}
    return alert_of({**defaults, "filteringRules": rules, **relations}, created_at_ms=5, since_offset=100)


def events(*offsets: int) -> list[tuple[int, str]]:
    return [(one, "asset") for one in offsets]


def test_of_each_alert_the_first_match_behind_each_incident_passes() -> None:
    held_back = HeldBackMatches(Incidents(first=(10, 20), second=(30, 40)), {"a": ("up",), "b": ("up",)})
    assert held_back.held_back_pairs(events(5, 12, 14)) == {(14, "a"), (14, "b")}
    assert held_back.held_back_pairs(events(16, 25, 31, 32)) == {(16, "a"), (16, "b"), (32, "a"), (32, "b")}


def test_an_address_is_called_by_the_destinations_of_those_alerts_that_name_it() -> None:
    def hook(name: str | None, address: str) -> dict[str, object]:
        config = {"endpoint": f"https://hooks.example.com/{address}"}
        name_field = {} if name is None else {"name": name}
        return {"id": f"{name} {address}", "category": "External", "type": "Webhook", "config": config, **name_field}

    own_alert = alert_of(
        alert("own", triggers="next").to_wire() | {"destinations": [hook("#one", "a"), hook(None, "b")]},
        created_at_ms=5,
    )
    following = alert_of(alert("next").to_wire() | {"destinations": [hook("PagerDuty", "a")]}, created_at_ms=5)
    other_alerts = alerts_involved_in(own_alert, lambda: [following])

    def names(address: str, *alert_ids: str) -> list[str]:
        return other_alerts.destination_names(alert_ids, "Webhook", f"https://hooks.example.com/{address}")

    assert names("a", "own", "next") == ["#one", "PagerDuty"]
    assert (names("a", "next"), names("b", "own", "next"), names("c", "own")) == (["PagerDuty"], [], [])
    assert other_alerts.destination_names(["own"], "Slack", "https://hooks.example.com/a") == []


def test_nothing_is_asked_where_no_alert_depends_on_another_one() -> None:
    assert HeldBackMatches(Incidents(any=(0, 99)), {}).held_back_pairs(events(1, 2)) == frozenset()


def test_triggered_alerts_cover_the_whole_history_and_unreadable_ones_are_left_out() -> None:
    own_alert = alert("own", triggers="next broken gone")
    broken = alert("broken", "no condition (", triggers="beyond")
    stored = [alert("next", triggers="last own", dependsOn="up"), alert("last"), broken, alert("beyond"), own_alert]
    involved = alerts_involved_in(own_alert, lambda: stored)
    assert (involved.own_id, sorted(involved.triggered)) == ("own", ["last", "next"])
    cascades = {
        alert_id: {each.subscription_id: each.since_offset for each in triggered}
        for alert_id, triggered in involved.facts.cascades.items()
    }
    assert cascades == {"own": {"next": 0}, "next": {"last": 0, "own": 0}}
    assert sorted(involved.facts.rules) == ["last", "next", "own"]
    assert involved.facts.depending == {"next": ("up",)}


def test_stored_alerts_are_not_read_for_one_that_triggers_none() -> None:
    def never() -> list[EventSubscription]:
        raise AssertionError("not needed")

    assert alerts_involved_in(alert("own"), never).triggered == {}
