"""Tests that messages say what there is to say once: creations, renames, breaking changes, expected values."""

from __future__ import annotations

import pytest
from tests.unit.delivery.events import change_event, deletion_of, update_of

from tocsin.delivery.dispatch import FailureContext
from tocsin.delivery.wording.changes import event_text
from tocsin.model.breaking import BreakingKind, BreakingReason
from tocsin.model.change import ChangeDescription, EventType, FieldChange


def test_a_creation_says_nothing_twice() -> None:
    table = {"id": "1", "name": "t0", "description": "orders", "columns": [{"name": "id", "dataType": "INT"}]}
    schema = {"id": "2", "type": "databaseSchema", "name": "big", "fullyQualifiedName": "pg.store.big"}
    new = table | {"databaseSchema": schema, "owners": [{"id": "3", "type": "user", "name": "ana"}]}
    described = ChangeDescription(
        fields_added=tuple(FieldChange(name=key, new_value=value) for key, value in new.items() if key != "id")
    )
    text = event_text(change_event(described, event_type=EventType.ENTITY_CREATED, entity=new))
    assert [line.labelled_text for line in text.lines] == ["owner ana added", "description: orders", "columns: id INT"]


def test_a_rename_does_not_count_the_full_name_that_follows() -> None:
    described = ChangeDescription(
        fields_updated=(
            FieldChange(name="name", old_value="Biz", new_value="Business"),
            FieldChange(name="fullyQualifiedName", old_value="Biz", new_value="Business"),
        )
    )
    assert event_text(change_event(described)).headline.endswith(": renamed Biz → Business")


@pytest.mark.parametrize(
    ("kind", "field", "path", "values", "expected"),
    [
        (
            BreakingKind.SIGNATURE_CHANGED,
            "storedProcedureCode",
            "storedProcedureCode",
            ("(a INT)", "(a INT, b INT)"),
            "breaking: signature changed: (a INT) → (a INT, b INT)",
        ),
        (
            BreakingKind.SCHEMA_INCOMPATIBLE,
            "messageSchema",
            "messageSchema.schemaText",
            (None, "by the rules of JSON Schema, property id is required now"),
            "breaking: schema of the messages incompatible: by the rules of JSON Schema, property id is required now",
        ),
    ],
)
def test_a_text_that_breaks_readers_says_once_in_what(
    kind: BreakingKind, field: str, path: str, values: tuple[str | None, str], expected: str
) -> None:
    event = change_event(
        ChangeDescription(fields_updated=(FieldChange(name=path, old_value="x" * 400, new_value="y" * 400),)),
        breaking_reasons=(BreakingReason(kind=kind, field=field, before=values[0], after=values[1]),),
    )
    text = event_text(event)
    assert [line.text for line in text.lines if not line.label] == [expected]
    assert text.headline.endswith(f": {expected}")


@pytest.mark.parametrize(
    ("result", "expected"),
    [("Found min=-4000 vs. the expected min=0", []), ("Found min=0", ["min value 0"]), ("3 rows", ["min value 0"])],
)
def test_what_the_result_says_was_expected_is_no_line_of_its_own(result: str, expected: list[str]) -> None:
    test = {"id": "1", "name": "positive", "parameterValues": [{"name": "minValue", "value": "0"}]}
    failed = {"testCaseStatus": "Failed", "result": result}
    event = change_event(update_of("testCaseResult", None, failed), entity=test)
    assert [line.text for line in event_text(event).lines if line.label == "expected"] == expected


@pytest.mark.parametrize(
    ("downstream", "expected"), [((), ["none that may be named here"]), (("acme.marts.revenue",), ["revenue"])]
)
def test_a_breaking_change_says_that_no_reader_may_be_named(downstream: tuple[str, ...], expected: list[str]) -> None:
    removed = BreakingReason(kind=BreakingKind.FIELD_REMOVED, field="columns.email")
    event = change_event(deletion_of("columns", [{"name": "email"}]), breaking_reasons=(removed,))
    lines = event_text(event, failure=FailureContext(downstream=downstream)).lines
    assert [line.text for line in lines if line.label == "downstream"] == expected
    lines = event_text(event.model_copy(update={"breaking_reasons": ()}), failure=FailureContext()).lines
    assert not [line for line in lines if line.label == "downstream"]
