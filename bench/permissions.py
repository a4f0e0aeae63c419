"""Benchmark of access decisions: without conditions, with them, and for a whole list.

The floor is one dictionary lookup, which is the cost of a decision without conditions.
The list compares a page that a condition filters with the same page unfiltered.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.measured import Measurement, Report, p50, scale_count
from tocsin.access.decide import Permissions
from tocsin.access.defaults import POLICIES
from tocsin.access.nodes import Condition
from tocsin.access.resources import RESOURCES
from tocsin.access.rules import checked_rules, policy_of
from tocsin.access.subject import Grant, Subject
from tocsin.catalogue.writes import BulkWrites, Writes
from tocsin.clock import SystemClock
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.entities.listing import Listing
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

CHECK_COUNT, TABLE_COUNT, PAGE_COUNT = 500_000, 20_000, 60
_COLUMNS = [{"name": f"c{number}", "dataType": "INT"} for number in range(20)]
_HIDING = {"name": "r", "effect": "deny", "operations": ["All"], "resources": ["all"]}
_CONDITION = "matchAnyTag('PII.Sensitive') && !isOwner()"


def measure(scale: float, report: Report) -> list[Measurement]:
    """Measure all of it."""
    count = scale_count(CHECK_COUNT, scale, least=1_000)
    floor_us = _dictionary_us(count)
    plain, narrow_permissions = _permissions(), _permissions({**_HIDING, "condition": _CONDITION})
    document: Document = {"id": "t", "columns": _COLUMNS, "owners": [{"id": "o", "type": "user"}]}
    measurements = [
        _row("permission check per entity, no condition", _check_us(plain, document, count), floor_us, count),
        _row(
            "permission check per entity, by tag and owner",
            _check_us(narrow_permissions, document, count // 20),
            floor_us,
            count,
        ),
    ]
    report(1, 2)
    tables = scale_count(TABLE_COUNT, scale, least=200)
    narrowed_ms, whole_ms = _pages_ms(narrow_permissions.scope("table", Operation.VIEW_BASIC), tables)
    name = f"list of 100 among {tables:,} tables, narrowed by tag and owner"
    measurements.append(Measurement("permissions", name, narrowed_ms, "ms (p50)", whole_ms, PAGE_COUNT))
    report(2, 2)
    return measurements


def _row(name: str, figure: float, floor: float, count: int) -> Measurement:
    return Measurement("permissions", name, figure, "µs", floor, count)


def _permissions(*rules: Document) -> Permissions:
    """Return what a plain person may do, with further rules."""
    chosen_policies = [
        rule_policy for rule_policy in POLICIES if rule_policy["name"] in ("OrganizationPolicy", "DataConsumerPolicy")
    ]
    chosen_policies.append({"name": "More", "rules": list(rules)})
    policies = [
        policy_of({**rule_policy, "id": rule_policy["name"], "rules": checked_rules(rule_policy, RESOURCES)})
        for rule_policy in chosen_policies
    ]
    return Permissions(Subject(id="a", name="a", grants=tuple(Grant(rule_policy) for rule_policy in policies)))


def _check_us(permissions: Permissions, document: Document, count: int) -> float:
    return _each_us(lambda: permissions.may(Operation.VIEW_BASIC, "table", document), count)


def _dictionary_us(count: int) -> float:
    answers = {("table", Operation.VIEW_BASIC): True}
    return _each_us(lambda: answers["table", Operation.VIEW_BASIC], count)


def _each_us(ask: Callable[[], object], count: int) -> float:
    started_s = time.perf_counter()
    for _ in range(max(1, count)):
        ask()
    return (time.perf_counter() - started_s) / max(1, count) * 1e6


def _pages_ms(scope: Condition, tables: int) -> tuple[float, float]:
    """Return the median time of a page that is narrowed to ``scope``, and of one that is not, turn by turn."""
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(f"sqlite:///{Path(folder) / 'store.db'}", synchronous="NORMAL")
        migrate(engine)
        catalogue = SqlCatalogue(engine)
        _fill(catalogue, tables)
        times: dict[bool, list[float]] = {True: [], False: []}
        for _ in range(PAGE_COUNT):
            for is_narrowed in (True, False):
                listing = Listing(limit=100, visible=scope) if is_narrowed else Listing(limit=100)
                started_s = time.perf_counter()
                catalogue.list_entities("table", listing)
                times[is_narrowed].append((time.perf_counter() - started_s) * 1000)
        engine.dispose()
    return p50(times[True]), p50(times[False])


def _fill(catalogue: SqlCatalogue, tables: int) -> None:
    """Write a schema of so many tables, every tenth of them tagged."""
    writes = Writes(catalogue, SystemClock())
    for entity_type, request in (
        ("classification", {"name": "PII", "description": "x"}),
        ("tag", {"name": "Sensitive", "classification": "PII", "description": "x"}),
        ("databaseService", {"name": "s", "serviceType": "Postgres"}),
        ("database", {"name": "d", "service": "s"}),
        ("databaseSchema", {"name": "p", "database": "s.d"}),
    ):
        writes.create(entity_type, request, actor=SYSTEM)
    requests: list[Document] = [
        {"name": f"t{number}", "databaseSchema": "s.d.p", "columns": _COLUMNS, **_tagged_document(number)}
        for number in range(tables)
    ]
    BulkWrites(catalogue, SystemClock()).create("table", requests, actor=SYSTEM)


def _tagged_document(number: int) -> Document:
    return {} if number % 10 else {"tags": [{"tagFQN": "PII.Sensitive"}]}
