"""Tests of the own addresses of people and teams: checked and sealed when they are saved, shown to nobody else."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_access import send_patch
from tests.contract.test_explain import Person, person
from tests.serving import Json, Served

from tocsin.model.address import MASK

__all__ = ["person"]  # a fixture

TOKEN = "b1Rd-own-address-token"
SLACK = f"https://hooks.slack.com/services/T01/B02/{TOKEN}"
ADDRESSES = {
    "slack": {"endpoint": SLACK},
    "generic": {
        "endpoint": f"https://example.org/hook/{TOKEN}?key={TOKEN}",
        "headers": {"X-Key": TOKEN},
        "queryParams": {"token": TOKEN},
        "authType": {"type": "bearer", "secretKey": TOKEN},
    },
}
IMAGE = "https://example.org/ann.png"


def put(client: httpx.Client, path: str, addresses: Json) -> httpx.Response:
    profile = {"images": {"image": IMAGE}, "subscription": addresses}
    return send_patch(client, path, {"op": "add", "path": "/profile", "value": profile})


@pytest.mark.parametrize("kind", ["user", "team"])
def test_addresses_are_sealed_and_shown_to_editors_with_masks(
    served: Served, administrator: httpx.Client, person: Person, sqlite_engine: Engine, kind: str
) -> None:
    ann, _ = person("ann")
    path = f"/users/{ann}"
    if kind == "team":
        team = administrator.post("/teams", json={"name": "crew", "teamType": "Group"}).json()
        path = f"/teams/{team['id']}"
    write_answer = put(administrator, path, ADDRESSES)
    assert write_answer.status_code == 200, write_answer.text
    profile = administrator.get(path, params={"fields": "profile"}).json()["profile"]
    assert profile["images"] == {"image": IMAGE}
    assert profile["subscription"]["slack"] == {"endpoint": f"https://hooks.slack.com/services/{MASK}"}
    assert profile["subscription"]["generic"]["headers"] == {"X-Key": MASK}
    ben = person("ben")[1]
    profile_for_others = ben.get(path, params={"fields": "profile"}).json()["profile"]
    assert MASK not in str(profile_for_others["subscription"])
    assert profile_for_others["images"] == {"image": IMAGE}
    texts = [
        *(one.get(f"{path}{more}").text for one in (administrator, ben) for more in ("", "/versions", "/versions/0.2")),
        *(one.get("/events", params={"limit": 1_000}).text for one in (administrator, ben)),
    ]
    assert not any(TOKEN in text for text in texts)
    database = sqlite_engine.url.database
    assert database is not None
    with sqlite_engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    assert TOKEN.encode() not in Path(database).read_bytes()
    unchanged_answer = put(administrator, path, profile["subscription"])
    assert (unchanged_answer.status_code, unchanged_answer.json()["version"]) == (200, write_answer.json()["version"])


@pytest.mark.parametrize(
    ("key", "config", "says"),
    [
        ("slack", {"endpoint": "ftp://example.org"}, "must be an http or https URL"),
        ("msTeams", {"endpoint": "http://169.254.169.254/latest"}, "metadata service"),
        ("gChat", {}, ""),
        ("generic", {"endpoint": "https://example.org", "headers": {"Host": "x"}}, "is set by Tocsin"),
        ("generic", {"endpoint": "https://example.org", "authType": {"type": "bearer"}}, "secretKey"),
        ("generic", {"endpoint": f"https://example.org/{MASK}"}, "does not match the stored value"),
        ("slack", {"headers": {"a": "b"}}, "needs an endpoint"),
    ],
)
def test_an_address_is_checked_like_the_endpoint_of_a_destination(
    person: Person, key: str, config: Json, says: str
) -> None:
    ann, client = person("ann")
    answer = put(client, f"/users/{ann}", {key: config})
    assert answer.status_code == (400 if says else 200), answer.text
    assert says in answer.text


def test_masks_keep_secrets_only_for_the_same_address(person: Person) -> None:
    ann, client = person("ann")
    assert put(client, f"/users/{ann}", ADDRESSES).status_code == 200
    masked = client.get(f"/users/{ann}", params={"fields": "profile"}).json()["profile"]["subscription"]
    moved = masked | {"slack": {"endpoint": "https://hooks.slack.com/services/T01/B02/other"}}
    assert put(client, f"/users/{ann}", moved).status_code == 200, "each address is for itself"
    moved["generic"] = masked["generic"] | {"endpoint": "https://example.com/hook"}
    refused = put(client, f"/users/{ann}", moved)
    assert (refused.status_code, "send the secret again" in refused.json()["message"]) == (400, True)


def test_bots_do_not_read_the_addresses_of_people(administrator: httpx.Client, served: Served, person: Person) -> None:
    ann, _ = person("ann")
    assert put(administrator, f"/users/{ann}", ADDRESSES).status_code == 200
    request = {"name": "connector", "email": "connector@example.org", "isBot": True}
    bot = administrator.put("/users", json=request).json()
    token = administrator.put(f"/users/generateToken/{bot['id']}").json()["JWTToken"]
    with served.client(token) as client:
        assert TOKEN not in client.get(f"/users/{ann}", params={"fields": "profile"}).text
