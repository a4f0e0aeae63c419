"""Query parameters that a route does not know are refused, with the nearest that it knows."""

from __future__ import annotations

import httpx
import pytest
from tests.serving import Json


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/tables?limt=5", "did you mean limit?"),
        ("/tables?databaseSchem=a.b.c", "did you mean databaseSchema?"),
        ("/tables?spoon=x", "valid values: after"),
        ("/tables/name/warehouse.shop.public.orders?field=owners", "did you mean fields?"),
        ("/events?entity_type=table", "did you mean entityType"),
        ("/search/query?q=x&siz=3", "did you mean size?"),
        ("/system/version?verbose=true", "unknown query parameter; this route takes none"),
    ],
)
def test_an_unknown_parameter_is_refused(administrator: httpx.Client, orders: Json, path: str, message: str) -> None:
    answer = administrator.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, 400)
    assert message in answer.json()["message"]
    assert path.split("?")[1].split("&")[-1].split("=")[0] in answer.json()["message"]


def test_a_misspelt_dry_run_writes_nothing(administrator: httpx.Client) -> None:
    body = [{"name": "till", "serviceType": "Postgres"}]
    for path in ("/services/databaseServices/bulk?dryrun=true", "/services/databaseServices/bulk?dry_run=true"):
        answer = administrator.put(path, json=body)
        assert (answer.status_code, "did you mean dryRun?" in answer.json()["message"]) == (400, True)
    assert administrator.get("/services/databaseServices/name/till").status_code == 404


def test_what_openmetadatas_clients_send_to_many_routes_is_accepted(administrator: httpx.Client, orders: Json) -> None:
    path = f"/tables/{orders['id']}"
    patch = [{"op": "add", "path": "/description", "value": "x"}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(f"{path}?overrideMetadata=true", json=patch, headers=headers).status_code == 200
    assert administrator.get("/metadata/types/name/table?category=entity").status_code == 200
