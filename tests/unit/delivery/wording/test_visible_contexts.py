"""Tests of what surrounds failures, as far as the readers of their messages may see it."""

from __future__ import annotations

import pytest
from tests.unit.delivery.events import dispatch

from tocsin.delivery.dispatch import FailureContext, FailureIncident
from tocsin.delivery.wording.visible_contexts import visible_context

INCIDENT = FailureIncident("INC-1", acknowledged_by="zoe.quist", acknowledger="Zoe Quist", acknowledger_id="z")


@pytest.mark.parametrize(("seen_names", "name"), [(('"zoe.quist"',), "Zoe Quist"), ((), None)])
def test_who_acknowledged_has_a_display_name_for_who_may_see_them(
    seen_names: tuple[str, ...], name: str | None
) -> None:
    context = visible_context(dispatch(), FailureContext(incident=INCIDENT), lambda _, names: seen_names)
    assert context.incident is not None
    assert (context.incident.acknowledged_by, context.incident.acknowledger) == ("zoe.quist", name)
