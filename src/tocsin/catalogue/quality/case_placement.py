"""Parents, names and definitions of test cases and test suites: both belong to the table they test.

A test case's FQN is ``<table>[.<column>].<name>``; each table has one basic suite, ``<table>.testSuite``, made
when its first test case is. Source: OpenMetadata's ``TestCaseRepository`` and ``TestSuiteRepository``.
"""

from __future__ import annotations

import re

from tocsin.errors import InvalidInput
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.flow.capture.references import Resolver, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.columns import missing_column, relative_fqns_by_spelling
from tocsin.model.entity import FIRST_VERSION, Document
from tocsin.model.stored import Draft, Key, Stored

_TABLE = ("basicEntityReference", "executableEntityReference")  # what it is called now, and what it was called
_LINK = re.compile(r"<#E::(?P<type>\w+)::(?P<fqn>.+?)(?:::columns::(?P<column>.+?))?>")

_LINKS = {"COLUMN": "<#E::table::FQN::columns::NAME>", "TABLE": "<#E::table::FQN>"}


def place_case(record: Record, resolver: Resolver, document: Document) -> Draft:
    """Return where a test case belongs, its table, suite and definition filled in.

    Raises
    ------
    InvalidInput : the entity link names no table or column
    """
    link = _LINK.fullmatch(str(document.get("entityLink")))
    if link is None or link["type"] != "table":
        raise InvalidInput("entityLink must be <#E::table::FQN> or <#E::table::FQN::columns::NAME>", field="entityLink")
    table = resolver.live_entity("table", link["fqn"])
    tested_fqn = f"{table.fqn}.{_column(table, link['column'])}" if link["column"] else table.fqn
    suite = document.get("testSuite")
    place_fields = {
        "entityFQN": tested_fqn,
        "testSuite": resolver.one("testSuite", suite) if suite else basic_suite(record, resolver, table.fqn),
        "testDefinition": resolver.one("testDefinition", document["testDefinition"]),
    }
    return Draft(fqn.child(tested_fqn, document["name"]), document | place_fields)


def _column(table: Stored, name: str) -> str:
    paths = relative_fqns_by_spelling("table", table.fqn, table.document)
    if name not in paths:
        raise missing_column(table.fqn, name, paths, field="entityLink")
    return paths[name]


def place_suite(resolver: Resolver, document: Document) -> Draft:
    """Return the parent of a test suite: its table when it names one, else none."""
    fields = {key: value for key, value in document.items() if key not in _TABLE}
    table = next((document[key] for key in _TABLE if document.get(key)), None)
    if not table:
        return Draft(fqn.quote(document["name"]), fields | {"basic": False})
    reference = resolver.one("table", table)
    name = fqn.child(reference["fullyQualifiedName"], "testSuite")
    return Draft(name, fields | {"name": name, "basic": True, "basicEntityReference": reference})


def basic_suite(record: Record, resolver: Resolver, table_fqn: str) -> Document:
    """Return the reference to a table's basic suite, making the suite if there is none."""
    draft = place_suite(resolver, {"name": "testSuite", "basicEntityReference": table_fqn})
    suite = record.transaction.find("testSuite", Key.by_name(draft.fqn), Hold.SHARED)
    if suite is not None:
        return reference_to(suite)
    document = record.create("testSuite", draft.fqn, draft.document).document
    return reference_to(Stored(document["id"], "testSuite", draft.fqn, FIRST_VERSION, document))


def check_purpose(transaction: Transaction, case: Document, old: Document) -> None:
    """Refuse a definition that the test case did not have before and that is not for what it tests.

    Raises
    ------
    InvalidInput : the definition is for tables and the link names a column, or the other way round
    """
    reference, before = case.get("testDefinition") or {}, old.get("testDefinition") or {}
    if "id" not in reference or reference["id"] == before.get("id"):
        return
    definition = transaction.find("testDefinition", Key.by_id(reference["id"]), Hold.SHARED)
    if definition is None:
        return
    purpose = str(definition.document["entityType"])
    tested_kind = "COLUMN" if "::columns::" in str(case.get("entityLink")) else "TABLE"
    if purpose != tested_kind:
        problem = f"{definition.fqn} tests a {purpose.lower()}, but entityLink is of a {tested_kind.lower()}"
        raise InvalidInput(f"{problem}; it must be {_LINKS[purpose]}", field="entityLink")
