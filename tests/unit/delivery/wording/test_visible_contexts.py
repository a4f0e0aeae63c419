"""Tests of what surrounds failures, as far as the readers of their messages may see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import pytest
from tests.unit.delivery.events import dispatch

from tocsin.delivery.dispatch import Dispatch, FailureContext, FailureIncident, ToldPeople
from tocsin.delivery.wording.visible_contexts import has_names, visible_context

INCIDENT = FailureIncident("INC-1", acknowledged_by="zoe.quist", acknowledger="Zoe Quist", acknowledger_id="z")


class Seeing(NamedTuple):
    """Rights of readers who may see what has these names, and these people."""

    names: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()

    def names_seen(self, _dispatch: Dispatch, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name in self.names)

    def people_seen(self, _dispatch: Dispatch, user_ids: Collection[str]) -> frozenset[str]:
        return self.people.intersection(user_ids)


@pytest.mark.parametrize(
    ("rights", "name"),
    [
        (Seeing(people=frozenset({"z"})), "Zoe Quist"),
        (Seeing(), None),
        (Seeing(names=frozenset({'"zoe.quist"'}), people=frozenset({"somebody else"})), None),
    ],
    ids=["seen", "hidden", "another person took the name"],
)
def test_who_acknowledged_has_a_display_name_for_who_may_see_them(rights: Seeing, name: str | None) -> None:
    context = visible_context(dispatch(), FailureContext(incident=INCIDENT), rights)
    assert has_names(FailureContext(incident=INCIDENT))
    assert context.incident is not None
    assert (context.incident.acknowledged_by, context.incident.acknowledger) == ("zoe.quist", name)


@pytest.mark.parametrize(
    ("rights", "names"),
    [
        (Seeing(people=frozenset({"z"})), ("Zoe Quist",)),
        (Seeing(names=frozenset({"Zoe Quist", "orders"}), people=frozenset({"a"})), ("orders",)),
        (Seeing(names=frozenset({"Zoe Quist", "orders"})), ()),
    ],
    ids=["one hidden", "called like an asset", "both hidden, an asset called like them"],
)
def test_whom_else_it_was_told_to_is_named_by_who_they_are_not_what_they_are_called(
    rights: Seeing, names: tuple[str, ...]
) -> None:
    audience = ToldPeople(("Zoe Quist", "orders"), 3, ("z", "a"))
    context = visible_context(dispatch(), FailureContext(audience=audience), rights)
    assert has_names(FailureContext(audience=audience))
    assert context.audience is not None
    assert (context.audience.names, context.audience.total) == (names, 3)
