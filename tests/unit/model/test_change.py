"""Tests of the wire form of change events."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner | st.text(), max_size=3),
    max_leaves=8,
)
_TEXT = st.none() | st.text()
_VERSION = st.none() | st.integers(0, 300).map(lambda tenths: Decimal(tenths).scaleb(-1))


def _instances_of(model: Any, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(fields).map(lambda values: model(**values))


_CHANGES = st.lists(_instances_of(FieldChange, name=st.text(), old_value=_JSON, new_value=_JSON), max_size=2).map(tuple)
_DESCRIPTIONS = _instances_of(
    ChangeDescription,
    fields_added=_CHANGES,
    fields_updated=_CHANGES,
    fields_deleted=_CHANGES,
    previous_version=_VERSION,
)
_EVENTS = _instances_of(
    ChangeEvent,
    id=st.text(),
    event_type=st.sampled_from(EventType),
    entity_type=st.text(),
    entity_id=st.text(),
    entity_fully_qualified_name=_TEXT,
    domains=st.none() | st.lists(st.text(), max_size=2).map(tuple),
    previous_version=_VERSION,
    current_version=_VERSION,
    user_name=_TEXT,
    user_id=_TEXT,
    timestamp=st.integers(0, 2**53),
    change_description=st.none() | _DESCRIPTIONS,
    entity=st.none() | st.dictionaries(st.text(max_size=3), _JSON, max_size=3),
)


@given(_EVENTS)
def test_an_event_is_written_out_as_pydantic_would(event: ChangeEvent) -> None:
    assert event.to_json() == event.model_dump_json(by_alias=True, exclude_none=True)
