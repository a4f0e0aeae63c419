"""Tests of ``tocsin mute``, ``unmute`` and ``mutes``: asset or alert, and duration."""

from __future__ import annotations

import json
import time

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
ME = {"id": "u", "name": "ann"}
MUTED = {"kind": "asset", "id": "t", "name": "orders", "fullyQualifiedName": "a.orders", "channel": None, "until": None}


def reference_to(identity: str, name: str) -> dict[str, str]:
    return {"id": identity, "name": name, "fullyQualifiedName": name}


def test_an_asset_is_muted_for_a_while(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer(
        "GET", f"{API}/tables/name/orders", {"id": "t", "name": "orders", "fullyQualifiedName": "orders"}
    )
    small_server.answer("PUT", f"{API}/users/u/mutes", MUTED)
    assert run("mute", "orders", "--for", "2h").out.startswith("ann has muted orders until ")
    body = small_server.requests[-1].body
    assert {**body, "until": 0} == {"kind": "asset", "type": "table", "id": "t", "channel": None, "until": 0}
    assert 0 < body["until"] - time.time() * 1000 <= 7_200_000
    assert json.loads(run("mute", "orders", "--json").out) == MUTED
    small_server.answer("PUT", f"{API}/users/u/mutes", MUTED | {"covers": "all that is in it"})
    assert run("mute", "orders").out == "ann has muted orders, with all that is in it, permanently.\n"
    for wrong in ("0d", "soon", "3y"):
        assert run("mute", "orders", "--for", wrong).code == 2
    assert run("mute").code == 2
    assert run("mute", "orders", "--alert", "A").code == 2


def test_an_alert_is_muted_by_mail_and_heard_again(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer(
        "GET", f"{API}/events/subscriptions/name/A", {"id": "s", "name": "A", "fullyQualifiedName": "A"}
    )
    small_server.answer("PUT", f"{API}/users/u/mutes", MUTED)
    small_server.answer("DELETE", f"{API}/users/u/mutes/s", {})
    assert run("mute", "--alert", "A", "--mail").out == "ann has muted A for mail permanently.\n"
    assert small_server.requests[-1].body == {"kind": "alert", "id": "s", "channel": "Email"}
    assert run("unmute", "--alert", "A").out == "ann has unmuted A.\n"


def test_what_is_not_muted_is_said_by_name(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer("GET", f"{API}/tables/name/a.orders", reference_to("t", "orders"))
    small_server.answer("DELETE", f"{API}/users/u/mutes/t", {"code": 404, "message": "none of t"}, status=404)
    ended = run("unmute", "a.orders")
    assert (ended.code, ended.err) == (3, "tocsin: ann has not muted orders.\n")


def test_kinds_actors_and_everything_are_muted_and_heard_again(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer("GET", f"{API}/users/name/bot", reference_to("b", "bot"))
    small_server.answer("PUT", f"{API}/users/u/mutes", MUTED)
    for subject in ("b", "usage", "everything"):
        small_server.answer("DELETE", f"{API}/users/u/mutes/{subject}", {})
    assert run("mute", "--kind", "usage").out == "ann has muted usage permanently.\n"
    assert small_server.requests[-1].body == {"kind": "kind", "name": "usage", "channel": None}
    assert run("mute", "--actor", "bot").out == "ann has muted bot permanently.\n"
    assert small_server.requests[-1].body == {"kind": "actor", "id": "b", "channel": None}
    assert run("mute", "--everything", "--mail").out == "ann has muted everything for mail permanently.\n"
    assert small_server.requests[-1].body == {"kind": "everything", "channel": "Email"}
    for options in (("--kind", "usage"), ("--actor", "bot"), ("--everything",)):
        assert run("unmute", *options).code == 0
    assert run("mute", "--everything", "--kind", "usage").code == 2


def test_what_is_muted_is_listed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer("GET", f"{API}/users/u/mutes", {"data": [MUTED], "paging": {"total": 1}})
    output = run("mutes").out.splitlines()
    assert [line.split() for line in output] == [
        ["what", "name", "over", "until"],
        ["asset", "a.orders", "all", "permanently"],
    ]
    assert json.loads(run("mutes", "--json").out) == [MUTED]


def test_a_mute_until_a_change_or_an_incident_says_its_end(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", ME)
    small_server.answer("GET", f"{API}/tables/name/orders", {"id": "t", "name": "orders"})
    small_server.answer("PUT", f"{API}/users/u/mutes", MUTED)
    assert run("mute", "orders", "--until-change").out == "ann has muted orders until it changes.\n"
    assert small_server.requests[-1].body["ends"] == "changed"
    small_server.answer("PUT", f"{API}/users/u/mutes", {**MUTED, "incident": "INC-7"})
    assert run("mute", "orders", "--incident", "INC-7").out == "ann has muted orders until INC-7 is resolved.\n"
    assert run("mute", "orders", "--until-change", "--until-resolved").code == 2
