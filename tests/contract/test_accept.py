"""Tests of content negotiation: what the API does not serve is refused in the shape of all errors."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from tests.startedserver import lasting_administrator
from tests.startedstore import StartedStore

REFUSED = [
    "application/rdf+xml",
    "text/turtle;q=0, application/rdf+xml",
    "image/*",
    "application/json;q=0",
    "application/xml;q=0.9, application/json; q=0.0",
]
SERVED = ["*/*", "application/*", "application/json", "APPLICATION/JSON", "text/html,*/*;q=0.8", "", "*"]
SERVED += ["application/ld+json, application/json;q=0.5", "application/json;charset=utf-8", "application/json;q=x"]


@pytest.fixture(scope="module")
def administrator(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with lasting_administrator(started_store, tmp_path_factory.mktemp("accept")) as client:
        yield client


@pytest.mark.parametrize("accept", REFUSED)
@pytest.mark.parametrize("path", ["/tables", "/events", "/system/version"])
def test_a_type_that_is_not_served_is_406(administrator: httpx.Client, path: str, accept: str) -> None:
    answer = administrator.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/json")
    assert answer.json()["code"] == 406
    assert "application/json" in answer.json()["message"]
    assert "text/turtle" in answer.json()["message"]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/ld+json", "application/ld+json"),
        ('application/ld+json;profile="http://www.w3.org/ns/json-ld#compacted"', "application/ld+json"),
        ("text/turtle, application/rdf+xml", "text/turtle"),
        ("application/n-triples", "application/n-triples"),
        ("text/turtle;q=0.5, application/ld+json;q=0.4", "text/turtle"),
        ("text/turtle;q=0.5, application/json;q=0.6", "application/json"),
        ("text/turtle, application/json", "application/json"),
        ("text/*", "text/turtle"),
        ("application/json;q=0, */*", "application/ld+json"),
        ("application/json;q=0, */*;q=0.5, text/turtle;q=0.6", "text/turtle"),
        ("text/turtle;q=nan", "text/turtle"),
    ],
)
@pytest.mark.parametrize("path", ["/tables", "/events"])
def test_the_type_that_is_liked_best_is_answered(
    administrator: httpx.Client, path: str, accept: str, media_type: str
) -> None:
    answer = administrator.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, media_type)
    json_answer = administrator.get(path, headers={"Accept": accept}, params={"format": "json"})
    assert (json_answer.status_code, json_answer.headers["content-type"]) == (200, "application/json")


@pytest.mark.parametrize("path", ["/system/version", "/permissions", "/policies/name/nobody"])
def test_linked_data_is_refused_where_there_is_none(administrator: httpx.Client, path: str) -> None:
    answer = administrator.get(path, headers={"Accept": "application/ld+json"})
    expected = 404 if "nobody" in path else 406
    assert (answer.status_code, answer.headers["content-type"]) == (expected, "application/json")


@pytest.mark.parametrize("accept", SERVED)
def test_a_type_that_is_served_is_answered(administrator: httpx.Client, accept: str) -> None:
    assert administrator.get("/tables", headers={"Accept": accept}).status_code == 200


def test_nothing_is_written_for_a_refused_request(administrator: httpx.Client) -> None:
    request = {"name": "wiki", "serviceType": "Mysql"}
    response = administrator.post("/services/databaseServices", json=request, headers={"Accept": "application/ld+json"})
    assert response.status_code == 406
    assert administrator.get("/services/databaseServices/name/wiki").status_code == 404
