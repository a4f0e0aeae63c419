"""Check that a test definition fits its test case: column tests for columns, table tests for tables.

Next: ``flow/capture/case_placement.py``, which determines what a test case belongs to.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.model.entity import Document
from tocsin.model.stored import Key

_LINKS = {"COLUMN": "<#E::table::FQN::columns::NAME>", "TABLE": "<#E::table::FQN>"}


def check_purpose(transaction: Transaction, case: Document, old: Document) -> None:
    """Refuse a definition that the test case did not have before and that is not for what it tests."""
    given, before = case.get("testDefinition") or {}, old.get("testDefinition") or {}
    if "id" not in given or given["id"] == before.get("id"):
        return
    definition = transaction.find("testDefinition", Key.by_id(given["id"]), Hold.SHARED)
    if definition is None:
        return
    purpose = str(definition.document["entityType"])
    tested = "COLUMN" if "::columns::" in str(case.get("entityLink")) else "TABLE"
    if purpose != tested:
        said = f"{definition.fqn} tests a {purpose.lower()}, and entityLink names a {tested.lower()}"
        raise InvalidInput(f"{said}; it must be {_LINKS[purpose]}", field="entityLink")
