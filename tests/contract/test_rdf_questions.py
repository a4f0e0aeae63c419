"""The questions that the page of linked data prints, asked of the sample company as the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pyoxigraph
import pytest
from pydantic import SecretStr
from tests.loadedsample import NOW_MS
from tests.serving import KEY, Json, Served, running_server, server_settings

from tocsin.server.rdf.nodes import time_text
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import use_vault

pytestmark = pytest.mark.xdist_group("sample load")
_PAGE = (Path(__file__).parents[2] / "docs/linked-data.md").read_text()
_DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def company(loaded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the sample company."""
    path = tmp_path_factory.mktemp("questions") / "sample.db"
    path.write_bytes(loaded_sample.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    settings = server_settings(secrets_key=SecretStr(KEY))
    use_vault(engine, settings)
    with running_server(engine, settings) as served:
        yield served
    engine.dispose()


@pytest.fixture(scope="module")
def administrator(company: Served) -> Iterator[httpx.Client]:
    with company.administrator() as client:
        yield client


@pytest.fixture(scope="module")
def mart(administrator: httpx.Client) -> Json:
    """The table that the most assets lie before."""
    tables = administrator.get("/tables", params={"limit": 1000}).json()["data"]
    return max(tables, key=lambda table: len(upstream_ids(administrator, table)))


@pytest.fixture(scope="module")
def store(company: Served, administrator: httpx.Client, mart: Json) -> pyoxigraph.Store:
    """What the program of the page loads."""
    program = _block("python").replace("http://localhost:8585", company.url)
    token = administrator.headers["Authorization"].removeprefix("Bearer ")
    names: dict[str, Any] = {"token": token, "mart": mart["fullyQualifiedName"]}
    exec(compile(program, "docs/linked-data.md", "exec"), names)
    loaded: pyoxigraph.Store = names["store"]  # what the program leaves
    return loaded


def _solutions(store: pyoxigraph.Store, query: str) -> pyoxigraph.QuerySolutions:
    answer = store.query(query)
    assert isinstance(answer, pyoxigraph.QuerySolutions)
    return answer


def test_who_changed_what_a_mart_was_derived_from(
    administrator: httpx.Client, store: pyoxigraph.Store, mart: Json
) -> None:
    begin, end = NOW_MS - 7 * _DAY_MS, NOW_MS
    query = _queries()[0].replace("MART", mart["fullyQualifiedName"])
    query = query.replace("SINCE", time_text(begin)).replace("UNTIL", time_text(end))
    names = ("source", "who", "field")
    answers = {(*(one[name].value for name in names), _time_ms(one["when"].value)) for one in _solutions(store, query)}
    origins = upstream_ids(administrator, mart)
    events = administrator.get("/events", params={"limit": 10_000, "format": "default"}).json()["data"]
    expected_answers = {
        (event["entityFullyQualifiedName"], event["userName"], change["name"], event["timestamp"])
        for event in events
        if event["entityId"] in origins and begin <= event["timestamp"] < end
        for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted")
        for change in event.get("changeDescription", {}).get(kind, [])
    }
    assert answers == expected_answers
    assert expected_answers, "the sample has no such change: the test would prove nothing"


def test_what_bots_changed(store: pyoxigraph.Store) -> None:
    counts = [(one["bot"].value, int(one["changes"].value)) for one in _solutions(store, _queries()[1])]
    assert counts
    assert [count for _, count in counts] == sorted((count for _, count in counts), reverse=True)


def test_which_event_made_each_version(administrator: httpx.Client, store: pyoxigraph.Store, mart: Json) -> None:
    query = _queries()[2].replace("MART", mart["fullyQualifiedName"])
    numbers = [one["number"].value for one in _solutions(store, query)]
    versions = administrator.get(f"/tables/{mart['id']}/versions").json()["versions"]
    assert len(numbers) == len(versions)
    assert numbers[0] == "0.1"


def upstream_ids(client: httpx.Client, table: Json) -> set[str]:
    graph = client.get(f"/lineage/table/{table['id']}", params={"upstreamDepth": 10, "downstreamDepth": 0}).json()
    return {edge["fromEntity"] for edge in graph["upstreamEdges"]}


def _time_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _block(language: str) -> str:
    block = re.search(rf"```{language}\n(.*?)```", _PAGE, re.DOTALL)
    assert block is not None
    return block[1]


def _queries() -> list[str]:
    return re.findall(r"```sparql\n(.*?)```", _PAGE, re.DOTALL)
