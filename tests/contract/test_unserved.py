"""Tests of answers to what OpenMetadata serves and Tocsin does not."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Served

from tocsin.server.http.unserved import UNSERVED


@pytest.mark.parametrize("path", ["/apps", "/apps/name/SearchIndexingApplication", "/automations/workflows"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_what_is_not_served_is_404_with_what_to_use_instead(
    administrator: httpx.Client, method: str, path: str
) -> None:
    answer = administrator.request(method, path, json={} if method != "GET" else None)
    assert (answer.status_code, answer.json()["code"]) == (404, 404)
    message, word = answer.json()["message"], path.split("/")[1]
    assert message.startswith(f"/{word} of OpenMetadata is not served: ")
    assert message.endswith("See docs/openmetadata-client.md.")


def test_what_is_served_is_not_called_unserved(served: Served, administrator: httpx.Client) -> None:
    paths = administrator.get("/openapi.json").json()["paths"]
    words = {path.removeprefix("/api/v1/").split("/")[0] for path in paths}
    assert UNSERVED.keys().isdisjoint(words)
    unknown = httpx.get(f"{served.url}/v1/spoons").json()
    assert unknown == {"code": 404, "message": "Unknown path; see docs/api.md."}
    assert "is not served" in httpx.get(f"{served.url}/v1/dataContracts").json()["message"]
