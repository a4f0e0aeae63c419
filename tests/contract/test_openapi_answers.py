"""Real answers of the server are what its OpenAPI document says, for every collection."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.described import Described
from tests.contract.every_type import ORDER, make_one_of_each, path_of, request
from tests.serving import Json, running_server

from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

pytestmark = pytest.mark.xdist_group("openapi_answers")


@pytest.fixture(scope="module")
def answers() -> list[httpx.Response]:
    """Every answer that the client of this module got."""
    return []


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, answers: list[httpx.Response]) -> Iterator[httpx.Client]:
    """The administrator of a server; what it answers is kept."""
    engine: Engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('described')}/tocsin.db", synchronous="OFF")
    migrate(engine)
    with running_server(engine) as served, served.administrator() as administrator:

        def keep(answer: httpx.Response) -> None:
            answer.read()
            answers.append(answer)

        administrator.event_hooks["response"] = [keep]
        yield administrator
    engine.dispose()


@pytest.fixture(scope="module")
def api_description(client: httpx.Client) -> Described:
    return Described(client.get("/openapi.json").json())


@pytest.fixture(scope="module")
def entities(client: httpx.Client) -> dict[str, Json]:
    """One entity of every type, by type."""
    return make_one_of_each(client)


@pytest.fixture(autouse=True)
def check_answers(
    answers: list[httpx.Response], api_description: Described, entities: dict[str, Json]
) -> Iterator[None]:
    """Check every answer that a test got."""
    yield
    problems = [
        problem
        for answer in answers
        if "openapi.json" not in str(answer.url)
        if (problem := api_description.problem(answer))
    ]
    answers.clear()
    assert problems == [], "\n".join(problems)


@pytest.mark.parametrize("name", ORDER)
def test_a_collection_answers_as_described(client: httpx.Client, entities: dict[str, Json], name: str) -> None:
    path, fqn = path_of(name), quote(entities[name]["fullyQualifiedName"], safe="")
    address_by_id = f"{path}/{entities[name]['id']}"
    assert client.put(path, json={**request(name, "base"), "displayName": "Base"}).status_code == 200
    for address in (path, address_by_id, f"{path}/name/{fqn}"):
        for fields in ("", "*"):
            assert client.get(address, params={"fields": fields} if fields else {}).status_code == 200
    patch = [{"op": "add", "path": "/description", "value": "Described."}]
    assert client.patch(address_by_id, json=patch).status_code == 200
    assert client.get(f"{address_by_id}/versions", params={"words": True}).status_code == 200
    assert client.get(f"{address_by_id}/versions/0.1").status_code == 200
    assert client.get(f"{address_by_id}/diff").status_code == 200
    assert client.get(f"{path}/history", params={"startTs": 0, "endTs": 2**42}).status_code == 200
    assert client.post(path, json=request(name, "base")).status_code == 409
    assert client.post(path, json=[]).status_code == 400
    assert client.get(f"{path}/name/nothing").status_code == 404
    if name != "eventsubscription":
        assert client.put(f"{path}/bulk", json=[request(name, "base")], params={"dryRun": True}).status_code == 200
        assert client.put(f"{path}/restore", json={"id": entities[name]["id"]}).status_code in (200, 400, 404, 409)


def test_what_one_reads_of_oneself_answers_as_described(client: httpx.Client, api_description: Described) -> None:
    own_id = client.get("/users/loggedInUser").json()["id"]
    addresses = [
        name.partition("/api/v1")[2].replace("{user_id}", own_id)
        for name, method, _ in api_description.operations()
        if method == "get" and re.fullmatch(r"[^{]+/users/\{user_id\}[^{]*", name) and not name.endswith("/stream")
    ]
    assert len(addresses) > 10
    for address in addresses:
        assert client.get(address).status_code < 500
