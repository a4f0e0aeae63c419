"""Tests of the two programs of the followers document, against a real server with the sample company."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Served, running_server
from tests.unit.client.test_printed_programs import PRINTED, programs

from openmetadata.client import OpenMetadata
from tocsin.clock import SystemClock
from tocsin.sample.load import load
from tocsin.settings import Settings


@pytest.fixture
def served(sqlite_engine: Engine, tmp_path: Path) -> Iterator[Served]:
    settings = Settings(log_level="warning", data_dir=tmp_path)
    with running_server(sqlite_engine, settings) as server:
        load(sqlite_engine, settings, now_ms=SystemClock().now_ms())
        yield server


def failed_test(administrator: httpx.Client, fqn: str) -> str:
    """Let a new test of a table fail, and return the test's FQN."""
    link = f"<#E::table::{fqn}>"
    body = {"name": "row_count", "entityLink": link, "testDefinition": "tableRowCountToBeBetween"}
    case = administrator.post("/dataQuality/testCases", json=body)
    assert case.status_code == 201, case.text
    name: str = case.json()["fullyQualifiedName"]
    result = {"timestamp": SystemClock().now_ms(), "testCaseStatus": "Failed"}
    assert administrator.post(f"/dataQuality/testCases/testCaseResults/{name}", json=result).is_success
    return name


def test_both_programs_run_as_printed(
    served: Served, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user_id, client_of_reader = served.person("reader")
    monkeypatch.setenv("TOCSIN_SERVER", served.url)
    monkeypatch.setenv("TOCSIN_TOKEN", served.tokens["reader@example.org"])
    first, second = (text.replace("my-user-uuid", user_id) for text in programs(PRINTED))
    names: dict[str, object] = {"datetime": datetime, "timedelta": timedelta}

    exec(first, names)
    names["client"].close()  # type: ignore[attr-defined]
    with client_of_reader:
        followed_names = {
            table["fullyQualifiedName"] for table in client_of_reader.get(f"/users/{user_id}/follows").json()["tables"]
        }
        tagged_tables = client_of_reader.get(
            "/tables", params={"database": "postgres_prod.ecommerce", "tags": "PII.Sensitive", "limit": 1000}
        )
    assert followed_names == {one["fullyQualifiedName"] for one in tagged_tables.json()["data"]}
    assert followed_names

    with served.administrator() as administrator:
        changed_table = administrator.get(f"/tables/name/{sorted(followed_names)[0]}").json()
        patch = [{"op": "add", "path": "/displayName", "value": "Renamed"}]
        headers = {"Content-Type": "application/json-patch+json"}
        answer = administrator.patch(f"/tables/{changed_table['id']}", json=patch, headers=headers)
        assert answer.status_code == 200, answer.text
        case = failed_test(administrator, changed_table["fullyQualifiedName"])
    capsys.readouterr()
    names["client"] = OpenMetadata()
    exec(second, names)
    names["client"].close()  # type: ignore[attr-defined]
    output_lines = capsys.readouterr().out.splitlines()
    assert f"{changed_table['fullyQualifiedName']}: displayName added" in output_lines
    assert f"{case}: test failed" in output_lines
    assert not [line for line in output_lines if "followers" in line]
