"""The OpenAPI document: valid, and true about bodies, tokens and errors."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from tests.serving import Json

_WITHOUT_BODY = {
    "post /api/v1/unsubscribe/{token}",
    "post /api/v1/users/logout",
    "put /api/v1/users/{user_id}/notifications/read",
    "put /api/v1/users/{user_id}/notifications/{notification_id}/read",
    "post /api/v1/usage/compute.percentile/{entity_type}/{date}",
    "put /api/v1/{collection}/{entity_id}/followers/{user_id}",
}
"""Operations that change something and read no body."""


@pytest.fixture
def document(administrator: httpx.Client) -> Json:
    return administrator.get("/openapi.json").json()


def test_the_document_is_valid(document: Json) -> None:
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_operation_that_reads_a_body_describes_it(document: Json) -> None:
    changing = {name for name, method, _ in _operations(document) if method in ("put", "post", "patch")}
    described = {name for name, _, operation in _operations(document) if "requestBody" in operation}
    assert changing - described == _WITHOUT_BODY


def test_errors_are_those_that_are_sent(document: Json, administrator: httpx.Client) -> None:
    for name, _, operation in _operations(document):
        assert "422" not in operation["responses"], name
        shape = operation["responses"]["400"]["content"]["application/json"]["schema"]
        assert shape == {"$ref": "#/components/schemas/Error"}, name
    refused = administrator.get("/tables", params={"limit": "many"})
    assert (refused.status_code, set(refused.json())) == (400, {"code", "message"})


def test_a_token_is_required_where_the_document_says_so(document: Json, administrator: httpx.Client) -> None:
    assert document["security"] == [{"token": []}]
    is_open = {name for name, _, operation in _operations(document) if operation.get("security") == []}
    assert {"get /api/v1/system/version", "post /api/v1/users/login"} <= is_open
    with httpx.Client(base_url=administrator.base_url) as stranger:
        for name in sorted(is_open):
            method, path = name.split(" ")
            if "{" not in path and "/auth/" not in path:
                assert stranger.request(method, path.removeprefix("/api/v1")).status_code != 401 or "login" in path
        assert stranger.get("/tables").status_code == 401


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", method, operation
