"""Tests of the programs of docs/consume-events.md, as printed there, against a real server.

They run until the end of the log, and those that begin with what is new begin with the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Json, running_server, server_settings, warehouse
from tests.unit.small_server import SmallServer, listening

PAGE = (Path(__file__).parents[2] / "docs" / "consume-events.md").read_text(encoding="utf-8")
PATCH = {"Content-Type": "application/json-patch+json"}
SAMPLE_ORDERS, ORDERS = "postgres_prod.ecommerce.public.orders", "warehouse.shop.public.orders"


def program(section: str) -> str:
    """Return the program of a section of the page, about a table that is here."""
    text = PAGE.partition(f"## {section}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return str(block).replace(SAMPLE_ORDERS, ORDERS)


def run(section: str) -> dict[str, Any]:
    """Run a program over the whole log; return its names."""
    names: dict[str, Any] = {}
    text = program(section)
    start = "" if "start=" in text else ', start="start"'
    exec(re.sub(r"ApiSource\(((?:[^()]|\n)*?),?\s*\)", rf"ApiSource(\1, stop_at_end=True{start})", text), names)
    return names


@pytest.fixture
def administrator(sqlite_engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[httpx.Client]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with running_server(sqlite_engine, server_settings()) as served, served.administrator() as client:
        monkeypatch.setenv("TOCSIN_SERVER", served.url)
        monkeypatch.setenv("TOCSIN_TOKEN", str(client.headers["Authorization"]).removeprefix("Bearer "))
        yield client


@pytest.fixture
def orders(administrator: httpx.Client) -> Json:
    """A table from which a dashboard is made, and whose column ``email`` is deleted."""
    created_table = warehouse(administrator)
    service = {"name": "superset", "serviceType": "Superset"}
    assert administrator.post("/services/dashboardServices", json=service).status_code == 201
    dashboard = administrator.post("/dashboards", json={"name": "sales", "service": "superset"})
    assert dashboard.status_code == 201, dashboard.text
    ends = {
        "fromEntity": {"id": created_table["id"], "type": "table"},
        "toEntity": {"id": dashboard.json()["id"], "type": "dashboard"},
    }
    assert administrator.put("/lineage", json={"edge": ends}).is_success
    removal = [{"op": "remove", "path": "/columns/1"}]
    assert administrator.patch(f"/tables/{created_table['id']}", json=removal, headers=PATCH).is_success
    return created_table


def test_events_are_loaded_by_type(orders: Json, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run("The client")
    printed = capsys.readouterr().out.splitlines()
    assert f"table ['{ORDERS}', '{ORDERS}']" in printed
    run("The client")
    assert capsys.readouterr().out == ""
    assert json.loads((tmp_path / "tocsin/positions/warehouse.json").read_text())["offset"] > 0


def test_the_server_filters(administrator: httpx.Client, orders: Json, capsys: pytest.CaptureFixture[str]) -> None:
    tag = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}]
    assert administrator.patch(f"/tables/{orders['id']}", json=tag, headers=PATCH).is_success
    run("Filter")
    (line,) = capsys.readouterr().out.splitlines()
    assert line == f"entityUpdated {ORDERS} tag PII.Sensitive added"


def test_slack_is_told(orders: Json, monkeypatch: pytest.MonkeyPatch) -> None:
    slack = SmallServer()
    slack.answer("POST", "/hook", {})
    with listening(slack):
        monkeypatch.setenv("SLACK_WEBHOOK", f"{slack.url}/hook")
        run("Notify Slack of deleted columns")
    (sent,) = slack.requests
    assert sent.body == {"text": f"⚠️ Column email deleted from {ORDERS} by admin"}


def test_the_impact_is_analysed(orders: Json, capsys: pytest.CaptureFixture[str]) -> None:
    run("Impact analysis")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{ORDERS} {{'affectedDashboards': ['superset.sales'], 'affectedPipelines': []")


def test_the_lineage_graph_follows_from_events(administrator: httpx.Client, orders: Json) -> None:
    assert list(run("Lineage graph from events")["edges"]) == [(ORDERS, "superset.sales")]
    answer = administrator.delete(f"/lineage/table/name/{ORDERS}/dashboard/name/superset.sales")
    assert answer.is_success, answer.text
    assert run("Lineage graph from events")["edges"] == {}


def test_a_version_comes_back(administrator: httpx.Client, orders: Json, capsys: pytest.CaptureFixture[str]) -> None:
    exec(program("Roll back to a version"), {})
    assert [one["name"] for one in administrator.get(f"/tables/{orders['id']}").json()["columns"]] == ["id", "email"]
    assert "1.1 admin" in capsys.readouterr().out


def test_a_repeated_event_is_handled_once(orders: Json, tmp_path: Path) -> None:
    def changes() -> list[Any]:
        names = run("Handle every event once")
        with names["database"] as database:
            changes = database.execute("SELECT * FROM changes").fetchall()
        database.close()
        return list(changes)

    first = changes()
    (tmp_path / "tocsin/positions/once.json").unlink()
    assert (changes(), (ORDERS, "column email removed") in first) == (first, True)


def test_the_shapes_of_the_page_of_the_seeds_are_all_there() -> None:
    """Use cases 2 to 5 and best practices 1, 2 and 4 of the page on change events."""
    words = ("fieldsDeleted", "affectedDashboards", "affectedModels", '"lineage"', "rollback(", "idempotency_key")
    assert [
        word for word in (*words, "event_types", "include_fields", 'group_by="entityType"') if word not in PAGE
    ] == []
