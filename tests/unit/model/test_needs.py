"""Tests of what notifications need of their person: kinds of change, reasons, and what these come to."""

from __future__ import annotations

import pytest

from tocsin.model.needs import Need, need_of
from tocsin.model.notification import ReasonKind

_OWNER, _FOLLOWER, _ASSIGNEE = ReasonKind.OWNER, ReasonKind.FOLLOWER, ReasonKind.ASSIGNEE
TABLE: list[tuple[set[str], set[ReasonKind], Need | None]] = [
    ({"testFailure"}, {_OWNER}, Need.FAILURE),
    ({"runFailure"}, {_OWNER, _FOLLOWER}, Need.FAILURE),
    ({"freshness"}, {_OWNER}, Need.FAILURE),
    ({"testFailure"}, {_FOLLOWER}, None),
    ({"recovery"}, {_OWNER}, None),
    ({"incident"}, {_OWNER}, None),
    ({"incident"}, {_ASSIGNEE}, Need.FAILURE),
    ({"breaking", "columns"}, {_OWNER}, Need.BREAKING),
    ({"breaking", "columns"}, {_FOLLOWER, ReasonKind.ADMIN, ReasonKind.TEAM}, None),
    ({"columns"}, {_OWNER}, None),
    ({"changeRequest"}, {ReasonKind.ASKED}, Need.REQUEST),
    ({"changeRequest"}, {_OWNER}, None),
    ({"task"}, {_ASSIGNEE}, Need.TASK),
    ({"task"}, {_OWNER}, None),
    ({"discussion", "mention"}, {ReasonKind.MENTION}, Need.MENTION),
    ({"discussion", "mention"}, {_OWNER}, None),
    ({"task", "mention"}, {_ASSIGNEE, ReasonKind.MENTION}, Need.TASK),
    (set(), set(), None),
]


@pytest.mark.parametrize(("kinds", "reasons", "need"), TABLE)
def test_what_an_event_needs_of_whom_it_is_told(kinds: set[str], reasons: set[ReasonKind], need: Need | None) -> None:
    assert need_of(kinds, reasons) is need
