"""Tests of the columns of events: they follow from the table of fields, and those already written stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from tocsin.spark.schema import EVENTS

_WRITTEN = (
    "log_offset:bigint,event_id:string,event_type:string,entity_type:string,entity_id:string,entity_fqn:string,"
    "user_name:string,user_id:string,is_bot:boolean,timestamp_ms:bigint,previous_version:decimal(10,1),"
    "current_version:decimal(10,1),fields_added:array<string>,fields_updated:array<string>,"
    "fields_deleted:array<string>,field_changed:array<string>,tags:array<string>,owners:array<string>,"
    "domains:array<string>,tier:string,service:string,test_status:string,pipeline_status:string,"
    "test_suites:array<string>,tested_entity_fqn:string,thread_type:string,mentions:array<string>,"
    "change_category:array<string>,change_operation:array<string>,change_target:array<string>,changes:array<string>,"
    "unchanged_for:bigint,recorded:boolean,late:boolean,reported_at:bigint,previous_status:string,streak:bigint,failures:bigint,"
    "failures_before:bigint,without_success:bigint,without_success_before:bigint,"
    "is_breaking:boolean,is_announced:boolean,change_request:array<string>,open_answers:bigint,part_of:string,"
    "reason:string,state_at_schedule:array<string>"
)
"""The columns of the lake's files; a new field comes after them."""


def test_columns_that_the_lake_holds_keep_their_name_type_and_place() -> None:
    columns = [f"{field.name}:{field.dataType.simpleString()}" for field in EVENTS]
    assert ",".join(columns).startswith(_WRITTEN)
    assert columns[-1] == "event:string"
    assert all(field.nullable for field in EVENTS)


@pytest.mark.soak
def test_a_row_in_the_table_is_all_that_a_new_field_needs_to_be_stored_and_asked_for() -> None:
    """The parity table stands for it: it has a line for each field, which both engines must agree on."""
    process = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("added_fields.py"))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert process.returncode == 0, process.stderr
    results = json.loads(process.stdout)
    schema = StructType.fromJson(json.loads(results["schema"]))
    added_fields = schema.fields[len(EVENTS) - 1 : -1]
    assert {field.name: field.dataType.simpleString() for field in added_fields} == {
        "cost_center": "string",
        "audit_state": "string",
        "watchers": "array<string>",
        "row_count": "bigint",
        "fill_ratio": "decimal(10,2)",
        "is_urgent": "boolean",
    }
    assert results["spark"] == results["python"]
    assert all(len(set(answers)) == 2 for answers in results["python"].values()), "each holds for one event of the two"
