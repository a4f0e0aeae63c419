"""Tests of content negotiation: what the API does not serve is refused in the shape of all errors."""

from __future__ import annotations

import httpx
import pytest

REFUSED = [
    "application/ld+json",
    "text/turtle, application/rdf+xml",
    "image/*",
    "application/json;q=0",
    "application/xml;q=0.9, application/json; q=0.0",
]
SERVED = ["*/*", "application/*", "application/json", "APPLICATION/JSON", "text/html,*/*;q=0.8", "", "*"]
SERVED += ["application/ld+json, application/json;q=0.5", "application/json;charset=utf-8", "application/json;q=x"]


@pytest.mark.parametrize("accept", REFUSED)
@pytest.mark.parametrize("path", ["/tables", "/events", "/system/version"])
def test_a_type_that_is_not_served_is_406(administrator: httpx.Client, path: str, accept: str) -> None:
    answer = administrator.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["content-type"]) == (406, "application/json")
    assert answer.json()["code"] == 406
    assert "application/json" in answer.json()["message"]


@pytest.mark.parametrize("accept", SERVED)
def test_a_type_that_is_served_is_answered(administrator: httpx.Client, accept: str) -> None:
    assert administrator.get("/tables", headers={"Accept": accept}).status_code == 200


def test_nothing_is_written_for_a_refused_request(administrator: httpx.Client) -> None:
    request = {"name": "wiki", "serviceType": "Mysql"}
    response = administrator.post("/services/databaseServices", json=request, headers={"Accept": "application/ld+json"})
    assert response.status_code == 406
    assert administrator.get("/services/databaseServices/name/wiki").status_code == 404
