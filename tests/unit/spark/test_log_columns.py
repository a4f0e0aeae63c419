"""Columns of events as Arrow reads them together, against those that are read event by event."""

from __future__ import annotations

import json
from random import Random

import pyarrow as pa
import pytest
from tests.soak import SOAK

from tocsin.model.entity import Document
from tocsin.spark import log_columns
from tocsin.spark.log_columns import to_arrow

EVENT = {
    "id": "a",
    "eventType": "entityUpdated",
    "entityType": "table",
    "entityId": "e",
    "entityFullyQualifiedName": 'pg."a.b".t',
    "previousVersion": 0.1,
    "currentVersion": 1,
    "userName": "Zoë 😀\u0000\n",
    "timestamp": 1_700_000_000_000,
    "changeDescription": {"fieldsUpdated": [{"name": "timestamp", "newValue": '{"id": 1}'}]},
    "entity": {"id": "e", "timestamp": "now", "userName": None, "tags": [{"tagFQN": "PII"}]},
}
DERIVED = {"fieldsUpdated": ["a", "a"], "tags": [], "isBot": False, "tier": None, "unchangedFor": 5}


def columns_of(*changes: Document, derived: str = json.dumps(DERIVED)) -> dict[str, list[object]]:
    log_rows = [(number, json.dumps(EVENT | change), derived) for number, change in enumerate(changes, 7)]
    batch = to_arrow(log_rows)
    assert [(row["log_offset"], row["event"]) for row in batch.to_pylist()] == [row[:2] for row in log_rows]
    return dict(batch.to_pydict())


def test_names_inside_the_document_and_the_changes_are_not_the_events() -> None:
    columns = columns_of({})
    assert columns["timestamp_ms"] == [1_700_000_000_000]
    assert columns["user_name"] == ["Zoë 😀\u0000\n"]
    assert (columns["user_id"], columns["tags"], columns["domains"]) == ([None], [[]], [None])


def test_events_of_earlier_releases_are_judged_and_others_taken_as_they_are() -> None:
    removed = {"changeDescription": {"fieldsDeleted": [{"name": "columns", "oldValue": [{"name": "a"}]}]}}
    assert columns_of({}, removed, removed | {"entityType": "user"})["is_breaking"] == [False, True, False]
    judged = json.dumps(DERIVED | {"isBreaking": False})
    assert columns_of({}, removed, derived=judged)["is_breaking"] == [False, False]


@pytest.mark.parametrize("version", [0.30000000000000004, 0.25, 12, 1e1])
def test_versions_have_one_decimal_however_they_are_written(version: float) -> None:
    versions = columns_of({"previousVersion": version}, {})["previous_version"]
    assert list(map(str, versions)) == [f"{version:.1f}", "0.1"]


def test_what_arrow_refuses_is_read_by_itself() -> None:
    assert columns_of({"timestamp": 5.0}, {})["timestamp_ms"] == [5, 1_700_000_000_000]
    twice = f'{{"tier": "Tier.Tier1", {json.dumps(DERIVED)[1:]}'.replace('"tier": null', '"tier": "Tier.Tier2"')
    in_lines = json.dumps(DERIVED, indent=1).replace("null", '"Tier.Tier3"')
    assert columns_of({}, derived=twice)["tier"] == ["Tier.Tier2"]
    assert columns_of({}, derived=in_lines)["tier"] == ["Tier.Tier3"]


@pytest.mark.parametrize("text", ["null", "[]", "", '{"id": "a"}\n{"id": "b"}', '{"id": "a"} {"id": "b"}', '{"id": 1'])
def test_what_is_no_object_is_an_error_and_moves_no_other_event(text: str) -> None:
    with pytest.raises((ValueError, AttributeError)):
        to_arrow([(1, text, "{}"), (2, json.dumps(EVENT), "{}")])


def test_no_rows_make_an_empty_batch() -> None:
    assert to_arrow([]).num_rows == 0


@pytest.mark.parametrize("seed", range(20 if SOAK else 4))
def test_values_of_any_kind_are_the_same_read_together_and_singly(seed: int) -> None:
    rng = Random(seed)
    by_type: dict[str, list[object]] = {
        "string": ["", "a", "😀\u0000", "\\", None],
        "int64": [0, -5, 2**53, None],
        "bool": [True, False, None],
        "decimal128(10, 1)": [0.1, 7, 123456789, -0.0, None],
        "list<element: string not null>": [[], ["a", ""], ["é\n"], None],
    }
    for fields in (log_columns._OF_EVENT, log_columns._DERIVED):
        kinds = {field.name: str(log_columns._schema().field(field.column).type) for field in fields}
        texts = [
            json.dumps({name: rng.choice(by_type[kinds[name]]) for name in rng.sample(sorted(kinds), 6)})
            for _ in range(50)
        ]
        together, singly = (read(texts, fields) for read in (log_columns._read_together, log_columns._read_singly))
        assert together is not None, "ordinary events are read at once"
        assert singly is not None
        assert together.keys() == singly.keys()
        assert [name for name in singly if not _is_same(together[name], singly[name])] == []


def _is_same(column: pa.Array, another: pa.Array) -> bool:
    return bool(column.equals(another)) and column.type == another.type
