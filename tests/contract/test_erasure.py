"""Tests of the routes of erasures: who may request one, how it is confirmed, and what their certificate says."""

from __future__ import annotations

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.test_explain import Person, assign_owners, person
from tests.serving import Json

from tocsin.store.upkeep.erasure.requests import Erasures

__all__ = ["person"]  # a fixture


@pytest.fixture
def ann(person: Person, administrator: httpx.Client, orders: Json) -> str:
    ann, _ = person("ann")
    assign_owners(administrator, orders, ann)
    return ann


def test_an_erasure_is_requested_confirmed_and_certified(
    administrator: httpx.Client, ann: str, sqlite_engine: Engine
) -> None:
    path = f"/users/{ann}/erase"
    assert administrator.get(path).status_code == 404
    refusal = administrator.post(path, json={"confirm": "anne"})
    assert (refusal.status_code, refusal.json()["code"]) == (400, 400)
    assert "the name of the user" in refusal.json()["message"]
    request_answer = administrator.post(path, json={"confirm": "ann"})
    assert request_answer.status_code == 202, request_answer.text
    assert request_answer.headers["location"].endswith(f"/api/v1{path}")
    erasure = request_answer.json()
    assert (erasure["state"], erasure["dryRun"], erasure["userId"]) == ("waiting", False, ann)
    assert "tocsin pipeline" in erasure["message"]
    assert administrator.post(path, json={"dryRun": True}).status_code == 409
    erasures = Erasures(sqlite_engine)
    claimed_erasure = erasures.claim("a pipeline", now_ms=1, lost_after_ms=1)
    assert (
        claimed_erasure is not None
        and claimed_erasure.identity is not None
        and claimed_erasure.identity.names == {"ann"}
    )
    assert erasures.finish(claimed_erasure, "a pipeline", {"pseudonym": claimed_erasure.identity.pseudonym}, now_ms=2)
    ended_erasure = administrator.get(path).json()
    assert (ended_erasure["state"], ended_erasure["result"]) == ("done", {"pseudonym": f"erased-{ann[-12:]}"})


@pytest.mark.parametrize(
    "body", [{"confirm": 1}, {"dryRun": "yes"}, {"confirm": "ann", "all": True}, {"dryRun": None}, []]
)
def test_what_is_no_request_is_refused(administrator: httpx.Client, ann: str, body: object) -> None:
    answer = administrator.post(f"/users/{ann}/erase", json=body)
    assert answer.status_code == 400, answer.text
    assert administrator.get(f"/users/{ann}/erase").status_code == 404


def test_only_administrators_erase_and_nobody_themselves(administrator: httpx.Client, person: Person, ann: str) -> None:
    _, ben = person("ben")
    for answer in (ben.post(f"/users/{ann}/erase", json={"confirm": "ann"}), ben.get(f"/users/{ann}/erase")):
        assert answer.status_code == 403
    own_id = administrator.get("/users/loggedInUser").json()["id"]
    assert administrator.post(f"/users/{own_id}/erase", json={"confirm": "admin"}).status_code == 400
    unknown = "0190d3f0-1111-7000-8000-00000000abcd"
    assert administrator.post(f"/users/{unknown}/erase", json={"confirm": unknown}).status_code == 404


def test_only_users_are_erased(administrator: httpx.Client, orders: Json) -> None:
    for body in ({"confirm": orders["id"]}, {"dryRun": True}):
        assert administrator.post(f"/users/{orders['id']}/erase", json=body).status_code == 404


def test_who_is_deleted_already_is_erased_by_their_id(administrator: httpx.Client, ann: str) -> None:
    assert administrator.delete(f"/users/{ann}?hardDelete=true").status_code == 200
    assert administrator.post(f"/users/{ann}/erase", json={"confirm": "ann"}).status_code == 400
    assert administrator.post(f"/users/{ann}/erase", json={"confirm": ann}).status_code == 202


def test_a_legal_hold_keeps_everything(administrator: httpx.Client, ann: str) -> None:
    hold = administrator.post("/system/retention/holds", json={"reason": "a lawsuit", "userName": "ann"})
    assert hold.status_code == 201, hold.text
    refused = administrator.post(f"/users/{ann}/erase", json={"confirm": "ann"})
    assert refused.status_code == 409
    assert hold.json()["id"] in refused.json()["message"]
    assert administrator.post(f"/users/{ann}/erase", json={"dryRun": True}).status_code == 202
