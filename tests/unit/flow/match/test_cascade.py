"""Tests of alerts that trigger others: directly, through others, never in circles."""

from __future__ import annotations

from tocsin.conditions.relations import EVERYBODY
from tocsin.flow.match.cascade import Links, Triggered, cascades_of, path_between, with_triggered


def links(**triggers: str) -> dict[str, Links]:
    """Alerts by their names, each with the letters of those that it triggers; all of them cover everything."""
    return {one: Links(0, tuple(others)) for one, others in triggers.items()}


def test_what_is_triggered_triggers_in_turn_and_a_circle_ends() -> None:
    cascades = cascades_of(links(a="b", b="c", c="a", d=""))
    assert cascades == {"a": (Triggered("b", 0),), "b": (Triggered("c", 0),), "c": (Triggered("a", 0),)}
    assert with_triggered({"b": 1}, 5, cascades)[1] == {"c": "b", "a": "b"}


def test_an_alert_that_is_barred_leads_nowhere() -> None:
    cascades = cascades_of(links(a="b", b="c", c="", d="c"))
    assert with_triggered({"a": 1}, 5, cascades, {"b"}) == ({"a": 1}, {})
    assert with_triggered({"a": 1, "d": 1}, 5, cascades, {"b"})[1] == {"c": "d"}


def test_an_alert_that_is_disabled_is_not_triggered_and_leads_nowhere() -> None:
    assert cascades_of(links(a="b", c="")) == {}, "b is not among the enabled ones"


def test_an_event_is_matched_by_what_its_alerts_trigger() -> None:
    cascades = cascades_of(links(a="bc", b="", c=""))
    assert with_triggered({"a": 1, "c": 2}, 5, cascades) == ({"a": 1, "b": EVERYBODY, "c": 2}, {"b": "a"})
    assert with_triggered({"b": 1}, 5, cascades) == ({"b": 1}, {})


def test_an_alert_does_not_look_back_when_it_is_triggered() -> None:
    cascades = cascades_of({"a": Links(0, ("b",)), "b": Links(6, ())})
    assert with_triggered({"a": 1}, 5, cascades) == ({"a": 1}, {})
    assert with_triggered({"a": 1}, 6, cascades)[1] == {"b": "a"}


def test_the_shortest_way_between_two_alerts_is_found() -> None:
    graph = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["e"]}
    assert path_between("a", "e", graph) == ["a", "b", "d", "e"]
    assert path_between("a", "a", graph) == ["a"]
    assert path_between("e", "a", graph) == []
