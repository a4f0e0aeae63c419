"""Tests of the parts of events that conditions read and in which references can be."""

from __future__ import annotations

import pytest

from tocsin.conditions.check import parse_and_check
from tocsin.conditions.documents import LABEL_KEYS
from tocsin.conditions.fields import FIELDS
from tocsin.conditions.nodes import FieldValue, Present
from tocsin.conditions.references import ANY_PART, CHANGED, parts_read

_LABELS = {*LABEL_KEYS, CHANGED}


@pytest.mark.parametrize(
    ("condition", "parts"),
    [
        ("matchAnyDomain('Finance')", {"domains", "domain"}),
        ("!(owners.size() > 1) && tags.contains('PII')", {"owners", "owner", *_LABELS}),
        ("entity.domains[0].name == 'x' || entity.description.contains('x')", {"domains", "description"}),
        ("oldValue('owners').name == 'x'", {CHANGED}),
        ("matchAnyFieldChange('domains')", {CHANGED}),
        ("matchAnyTag('PII.Sensitive') && isBot", _LABELS),
        ("tier == 'Tier.Tier1'", _LABELS),
        ("matchAnyEntityFqn('a.b.c')", {"testSuites"}),
        ("user.follows(entity)", set()),
    ],
)
def test_a_condition_reads_these_parts(condition: str, parts: set[str]) -> None:
    assert parts_read(parse_and_check(condition)) == parts


def test_every_field_is_known_to_hold_references_or_none() -> None:
    assert [name for name in FIELDS if ANY_PART in parts_read(Present(FieldValue(name)))] == []
