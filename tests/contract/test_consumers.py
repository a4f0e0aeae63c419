"""Tests of registered consumers: who registers and commits, conflicts, and that retention and lag know them."""

from __future__ import annotations

import json

import httpx
import pytest
from sqlalchemy import Engine
from tests.serving import Served

from tocsin.store.database.engine import reading
from tocsin.store.upkeep.retention.readers import readers_on

ROOT = "/events/consumers"


def register(administrator: httpx.Client, name: str = "warehouse", **body: object) -> dict[str, object]:
    answer = administrator.put(f"{ROOT}/{name}", json=body)
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.json()
    return document


def commit(client: httpx.Client, offset: object, previous: object, name: str = "warehouse") -> httpx.Response:
    return client.put(f"{ROOT}/{name}/position", json={"offset": offset, "previousOffset": previous})


def test_a_consumer_commits_its_position_and_another_with_an_old_one_conflicts(administrator: httpx.Client) -> None:
    assert register(administrator, start="start") | {"registeredAt": 0} == {
        "name": "warehouse",
        "user": "admin",
        "offset": 0,
        "registeredAt": 0,
        "committedAt": None,
    }
    assert commit(administrator, 3, 0).json()["offset"] == 3
    refusal = commit(administrator, 4, 0)
    assert (refusal.status_code, "is at 3, not at 0" in refusal.json()["message"]) == (409, True)
    assert administrator.get(f"{ROOT}/warehouse").json()["committedAt"] is not None
    assert register(administrator)["offset"] == 3, "registering again leaves the position"
    assert administrator.delete(f"{ROOT}/warehouse").status_code == 200
    assert administrator.get(f"{ROOT}/warehouse").status_code == 404


def test_only_its_user_and_administrators_know_a_consumer(served: Served, administrator: httpx.Client) -> None:
    admin, (_, etl), (_, eve) = administrator, served.person("etl"), served.person("eve")
    with etl, eve:
        assert etl.put(f"{ROOT}/warehouse", json={}).status_code == 403
        assert register(admin, user="etl", start="start")["user"] == "etl"
        assert commit(etl, 2, 0).json()["offset"] == 2
        assert commit(eve, 3, 2).status_code == 404
        assert (eve.get(f"{ROOT}/warehouse").status_code, eve.get(ROOT).json()["data"]) == (404, [])
        assert [one["name"] for one in etl.get(ROOT).json()["data"]] == ["warehouse"]
        assert etl.delete(f"{ROOT}/warehouse").status_code == 403
        assert register(admin, user="eve")["offset"] == 2
        assert commit(etl, 3, 2).status_code == 404, "given to somebody else"


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"start": "yesterday"}, "start: must be an integer, or must be 'now' or 'start'"),
        ({"start": -1}, "start"),
        ({"start": 2**40}, "end of the log"),
        ({"start": True}, "start"),
        ({"user": "nobody"}, "no user"),
        ({"user": 7}, "user"),
        ({"usr": "admin"}, "usr"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(
    administrator: httpx.Client, body: dict[str, object], place: str
) -> None:
    answer = administrator.put(f"{ROOT}/warehouse", json=body)
    assert (answer.status_code, place in answer.json()["message"]) == (400, True), answer.text
    assert administrator.get(f"{ROOT}/warehouse").status_code == 404


@pytest.mark.parametrize(
    "body",
    [{}, {"offset": 1}, {"offset": -1, "previousOffset": 0}, {"offset": "1", "previousOffset": 0}, {"offset": 2**63}],
)
def test_a_position_that_is_none_is_refused(administrator: httpx.Client, body: dict[str, object]) -> None:
    register(administrator, start="start")
    assert administrator.put(f"{ROOT}/warehouse/position", json=body).status_code == 400
    assert commit(administrator, 2**40, 0).status_code == 400, "behind the end of the log"
    assert administrator.put(f"{ROOT}/a b", json={}).status_code == 400


def test_retention_and_lag_know_a_consumer(administrator: httpx.Client, sqlite_engine: Engine) -> None:
    register(administrator, start="start")
    commit(administrator, 2, 0)
    with reading(sqlite_engine) as connection:
        offsets = {reader.name: reader.log_offset for reader in readers_on(connection, needs_lake=False)}
    assert offsets["consumer warehouse"] == 2
    lag = {one["reader"]: one for one in administrator.get("/events/lag").json()["readers"]}
    measured = lag["consumer warehouse"]
    assert (measured["kind"], measured["logOffset"], measured["lagEvents"] > 0) == ("consumer", 2, True)
    events = administrator.get("/events", params={"entityType": "team", "format": "default"}).json()["data"]
    assert '"consumer": "warehouse"' in json.dumps(events[-1]["changeDescription"])
