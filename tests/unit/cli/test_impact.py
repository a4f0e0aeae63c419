"""Tests of ``tocsin impact``: a tree of downstream assets, and everything as JSON."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
EVENT = "0193a7c1-0000-7000-8000-000000000001"


def asset(name: str, entity_type: str, level: int, via: str, **fields: Any) -> dict[str, Any]:
    reference = {"id": name, "type": entity_type, "name": name, "fullyQualifiedName": name}
    return reference | {"level": level, "via": {"id": via}, "owners": []} | fields


ANSWER: dict[str, Any] = {
    "entity": {"id": "a", "type": "table", "name": "a", "fullyQualifiedName": "a"},
    "counts": {"total": 3},
    "people": {"owners": 2, "followers": 5},
    "truncated": True,
    "affected": {
        "dashboards": [asset("d", "dashboard", 2, "b", basis="table")],
        "mlmodels": [],
        "tables": [
            asset("b", "table", 1, "a", basis="column", affectedColumns=["b.x"], owners=[{"name": "sales"}]),
            asset("c", "table", 1, "a", basis="column", affectedColumns=[]),
        ],
    },
}


def test_what_is_made_from_an_asset_is_a_tree(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/tables/name/a", {"id": "a", "name": "a", "fullyQualifiedName": "a"})
    small_server.answer("GET", f"{API}/lineage/table/name/a/impact", ANSWER)
    output = run("impact", "a", "--columns", "x,y", "--depth", "4").out
    assert output.splitlines() == [
        "table a",
        "├── table b  columns x  owners: sales",
        "│   └── dashboard d  column lineage unknown  no owner",
        "└── table c  no owner",
        "3 assets: 1 dashboard, 2 tables. 2 owners, 5 followers. The result is truncated.",
    ]
    assert small_server.requests[-1].query == {"depth": "4", "columns": "x,y"}


def test_an_event_is_known_by_its_id(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events/{EVENT}/impact", ANSWER)
    assert json.loads(run("impact", EVENT, "--json").out) == ANSWER
    assert run("impact", EVENT, "--columns", "x").code == 2


def test_nothing_is_made_from_it(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events/{EVENT}/impact", ANSWER | {"counts": {"total": 0}, "affected": {}})
    assert run("impact", EVENT).out == "table a\nNothing is downstream of it.\n"
