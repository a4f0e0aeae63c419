"""Tests of certainty on generated conditions and events: no event refutes a claim."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.parity.generated import conditions, events

from tocsin.conditions.certainty import Certainty, certainty
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.evaluate import holds
from tocsin.model.change import LoggedEvent


@settings(max_examples=12, suppress_health_check=list(HealthCheck))
@given(parts=st.lists(conditions, min_size=30, max_size=30), log=events)
def test_what_is_certain_is_so_for_every_event(parts: list[str], log: list[LoggedEvent]) -> None:
    together = [f"({a}) && !({b}) && ({c})" for a, b, c in zip(parts, parts[1:], [*parts[2:], parts[0]], strict=False)]
    either = [f"({a}) || !({b}) || ({c})" for a, b, c in zip(parts, [*parts[3:], *parts[:3]], parts[2:], strict=False)]
    for text in (*parts, *together, *either):
        node = parse_and_check(text)
        certain = certainty(node)
        if certain is not None:
            assert {holds(node, one) for one in log} <= {certain is Certainty.ALWAYS}, text
