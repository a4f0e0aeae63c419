"""Tests of the states of an inbox by HTTP: tabs, marks, what brings earlier states back, and who may."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

import httpx
import pytest
from tests.contract.test_inbox import ALL_ZERO, CatalogueWriter, Listener, alice, teller  # noqa: F401  fixtures
from tests.serving import Json, Served

Person = tuple[str, httpx.Client]


def mark(client: httpx.Client, user_id: str, body: Mapping[str, object], *, status: int = 200) -> Json:
    response = client.post(f"/users/{user_id}/notifications/marks", json=body)
    assert response.status_code == status, response.text
    return dict(response.json())


def page(client: httpx.Client, user_id: str, tab: str = "all") -> Json:
    return dict(client.get(f"/users/{user_id}/notifications", params={"tab": tab}).json())


def tab_ids(client: httpx.Client, user_id: str, tab: str) -> list[str]:
    return [one["id"] for one in page(client, user_id, tab)["data"]]


def test_entries_move_between_tabs_and_an_answer_brings_them_back(alice: Person, teller: CatalogueWriter) -> None:  # noqa: F811
    user_id, client = alice
    first, second, third = (teller.tell(user_id, name) for name in ("a", "b", "c"))
    answer = mark(client, user_id, {"as": "done", "ids": [first, second]})
    assert (answer["marked"], answer["notificationCount"], answer["missing"]) == (2, 2, [])
    assert answer["counts"] == ALL_ZERO | {"unread": 1, "unseen": 1, "total": 1, "done": 2}
    assert (tab_ids(client, user_id, "done"), tab_ids(client, user_id, "all")) == ([second, first], [third])
    assert page(client, user_id, "done")["paging"]["total"] == 2
    undone = mark(client, user_id, answer["undo"])
    assert (undone["marked"], undone["counts"]["unread"], tab_ids(client, user_id, "done")) == (2, 3, [])
    mark(client, user_id, {"as": "saved", "ids": [first]})
    assert page(client, user_id, "saved")["data"][0]["state"] == {
        "read": False,
        "seen": False,
        "done": False,
        "saved": True,
    }
    assert client.put(f"/users/{user_id}/notifications/seen").json() == {"marked": 3}
    assert page(client, user_id)["counts"] == ALL_ZERO | {"unread": 3, "total": 3, "saved": 1}


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def test_a_snoozed_entry_says_until_when_and_comes_back_by_itself_in_open_streams(
    served: Served,
    alice: Person,  # noqa: F811
    teller: CatalogueWriter,  # noqa: F811
) -> None:
    user_id, client = alice
    entry_id = teller.tell(user_id, "a")
    listener = Listener(served, user_id)
    until = now_ms() + 3_600_000
    mark(client, user_id, {"as": "snoozed", "ids": [entry_id], "until": until})
    (entry,) = page(client, user_id, "snoozed")["data"]
    assert (entry["state"]["snoozedUntil"], entry["read"]) == (until, False)
    assert listener.wait_for(1)[0]["counts"]["snoozed"] == 1
    mark(client, user_id, {"as": "snoozed", "ids": [entry_id], "until": now_ms() + 500})
    with listener.arrived:
        assert listener.arrived.wait_for(lambda: '"snoozed": 0' in listener.events[-1]["data"], 60), listener.events
    assert json.loads(listener.events[-1]["data"])["counts"]["unread"] == 1
    assert tab_ids(client, user_id, "unread") == [entry_id]


def test_a_mark_reaches_every_open_stream_of_the_person_and_nobody_else(
    served: Served,
    alice: Person,  # noqa: F811
    teller: CatalogueWriter,  # noqa: F811
) -> None:
    user_id, client = alice
    bob_id, bob = served.person("bob")
    with bob:
        first, bobs = teller.tell(user_id, "a"), teller.tell(bob_id, "b")
        tabs, bobs_tab = [Listener(served, user_id) for _ in range(2)], Listener(served, bob_id, name="bob")
        client.put(f"/users/{user_id}/notifications/{first}/read")
        for tab in tabs:
            (heard,) = tab.wait_for(1)
            assert heard == {"counts": ALL_ZERO | {"total": 1}}
            assert tab.events[0]["event"] == "states"
        mark(bob, bob_id, {"as": "done", "ids": [bobs]})
        assert bobs_tab.wait_for(1) == [{"counts": ALL_ZERO | {"done": 1}}]


def test_notifications_of_others_are_not_there(served: Served, alice: Person, teller: CatalogueWriter) -> None:  # noqa: F811
    user_id, client = alice
    entry_id = teller.tell(user_id, "secret")
    bob_id, bob = served.person("bob")
    undo = {"states": [{"read": True, "ids": [entry_id]}]}
    with bob:
        for body in ({"as": "done", "ids": [entry_id]}, undo):
            mark(bob, user_id, body, status=403)
            answered = mark(bob, bob_id, body)
            assert (answered["marked"], set(answered["missing"])) == (0, {entry_id})
        assert bob.put(f"/users/{user_id}/notifications/seen").status_code == 403
    assert tab_ids(client, user_id, "unread") == [entry_id]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"as": "done"},
        {"as": "done", "ids": []},
        {"as": "gone", "ids": ["0199c6f2-7c00-7000-8000-000000000009"]},
        {"as": "done", "ids": ["1; DROP TABLE notification"]},
        {"as": "done", "ids": ["0199c6f2-7c00-7000-8000-000000000009"], "until": 9_000_000_000_000},
        {"as": "snoozed", "ids": ["0199c6f2-7c00-7000-8000-000000000009"]},
        {"as": "snoozed", "ids": ["0199c6f2-7c00-7000-8000-000000000009"], "until": 1},
        {"as": "snoozed", "ids": ["0199c6f2-7c00-7000-8000-000000000009"], "until": "someday"},
        {"as": "done", "ids": ["0199c6f2-7c00-7000-8000-000000000009"], "states": [{"read": True}]},
        {"as": "done", "ids": [f"0199c6f2-7c00-7000-8000-{number:012}" for number in range(1_001)]},
        {"states": [{"read": True, "ids": ["0199c6f2-7c00-7000-8000-000000000009"] * 2}]},
        {"states": [{"read": True, "done": True, "snoozedUntil": "changed", "ids": []}]},
        {"states": [{"read": is_read, "ids": ["0199c6f2-7c00-7000-8000-000000000009"]} for is_read in (True, False)]},
    ],
)
def test_a_broken_request_is_refused(alice: Person, body: dict[str, object]) -> None:  # noqa: F811
    user_id, client = alice
    mark(client, user_id, body, status=400)


_ID = "0199c6f2-7c00-7000-8000-000000000009"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"as": "snoozed", "ids": [_ID], "until": "someday"},
            "until: must be an integer, or must be 'changed' or 'resolved'",
        ),
        ({"as": "done", "ids": ["x"]}, "ids[0]: must be a UUID"),
        ({"mark": "done", "ids": [_ID]}, "mark: unknown key"),
        ({"states": [{"is_read": True, "ids": [_ID]}]}, "states[0].read: is missing"),
    ],
)
def test_a_refusal_speaks_of_what_was_sent_and_of_nothing_else(
    alice: Person,  # noqa: F811
    body: dict[str, object],
    message: str,
) -> None:
    user_id, client = alice
    answer = client.post(f"/users/{user_id}/notifications/marks", json=body).json()["message"]
    assert answer.startswith(message)
    assert not [word for word in ("SnoozeEnd", "enum", "must not be empty", "members") if word in answer], answer


def test_a_tab_that_is_none_is_refused(alice: Person) -> None:  # noqa: F811
    user_id, client = alice
    assert client.get(f"/users/{user_id}/notifications?tab=gone").status_code == 400
