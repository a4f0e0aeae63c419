"""Tests of the text of a test's parameters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.delivery.events import addition_of, change_event, deletion_of, update_of

from tocsin.delivery.wording.changes import event_text
from tocsin.delivery.wording.parameters import PARAMETERS
from tocsin.model.change import ChangeDescription

LEAST, MOST = {"name": "minValue", "value": "0"}, {"name": "maxValue", "value": "9"}


@pytest.mark.parametrize(
    ("described", "texts"),
    [
        (addition_of(PARAMETERS, [LEAST]), ["parameter min value 0 added"]),
        (deletion_of(PARAMETERS, [LEAST]), ["parameter min value 0 removed"]),
        (
            update_of(PARAMETERS, [LEAST], [LEAST | {"value": "5"}, MOST]),
            ["parameter min value 0 → 5", "parameter max value 9 added"],
        ),
        (update_of(PARAMETERS, [LEAST], [LEAST | {"value": None}]), ["parameter min value 0 → none"]),
        (update_of(PARAMETERS, "unknown", "as well"), ["parameter values unknown → as well"]),
    ],
)
def test_parameters_are_said_as_what_a_test_expects(described: ChangeDescription, texts: list[str]) -> None:
    assert [line.sentence for line in event_text(change_event(described)).lines] == texts


@pytest.mark.parametrize("value", [None, [], [None], [{}], [{"name": {}}], {"name": "x"}])
def test_whatever_the_parameters_are_they_can_be_said(value: Any) -> None:
    assert event_text(change_event(update_of(PARAMETERS, [LEAST], value))).lines
