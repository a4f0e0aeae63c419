"""Tests of following many assets by the command line, and of the list of what one follows."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
DANA = {"id": "u", "name": "dana"}


def asset(name: str) -> dict[str, str]:
    return {"id": name, "type": "table", "name": name, "fullyQualifiedName": f"a.{name}"}


def result(*names: str, refused: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    return {
        "dryRun": False,
        "numberOfRowsPassed": len(names),
        "numberOfRowsFailed": len(refused),
        "successRequest": [{"request": asset(one), "status": 200, "message": "followed"} for one in names],
        "failedRequest": [{"request": one, "status": 404, "message": f"{one} not found"} for one in refused],
        "followCount": 7,
        **fields,
    }


def test_several_names_are_followed_in_portions(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("POST", f"{API}/users/u/follows", result("orders"), result("customers"))
    names = [f"a.t{number}" for number in range(101)]
    ended = run("follow", *names, "--type", "table")
    bodies = [one.body for one in small_server.requests if one.method == "POST"]
    assert bodies == [{"names": names[:100], "type": "table"}, {"names": names[100:], "type": "table"}]
    assert [line.split() for line in ended.out.splitlines()] == [
        ["type", "asset", "result"],
        ["table", "a.orders", "followed"],
        ["table", "a.customers", "followed"],
    ]
    assert (ended.code, ended.err) == (0, "2 passed, 0 refused; dana follows 7.\n")


def test_what_is_refused_says_why_and_ends_with_one(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("POST", f"{API}/users/u/unfollow", result("orders", refused=("a.none",)))
    ended = run("unfollow", "a.orders", "a.none")
    assert (ended.code, "a.none not found" in ended.out) == (1, True)
    assert ended.err == "1 passed, 1 refused; dana follows 7.\n"


def test_a_search_is_tried_before_it_is_followed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/name/dana", DANA)
    small_server.answer("POST", f"{API}/users/u/follows", result("orders", dryRun=True, advice="Follow less."))
    query = ("--query", "tag:PII.Sensitive", "--type", "table", "--dry-run", "--as", "dana")
    ended = run("follow", *query)
    assert small_server.requests[-1].body == {"query": "tag:PII.Sensitive", "index": "table", "dryRun": True}
    assert ended.err == "1 passed, 0 refused; dana follows 7 (dry run: nothing is changed).\nFollow less.\n"
    (answer,) = json.loads(run("follow", *query, "--json").out)
    assert answer["successRequest"][0]["request"] == asset("orders")


def test_what_is_worth_a_review_is_unfollowed_at_once(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("POST", f"{API}/users/u/unfollow", result())
    assert run("unfollow", "--review", "gone").code == 0
    assert small_server.requests[-1].body == {"review": "gone"}


def test_names_are_filtered_as_in_the_list_and_a_column_is_one_of_each_asset(
    run: Run, small_server: SmallServer
) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("POST", f"{API}/users/u/unfollow", result())
    assert run("unfollow", "--containing", "old", "--review", "stale", "--dry-run").code == 0
    assert small_server.requests[-1].body == {"q": "old", "review": "stale", "dryRun": True}
    assert run("unfollow", "--query", "orders", "--column", "email").code == 0
    assert small_server.requests[-1].body == {"query": "orders", "column": "email"}
    assert run("unfollow", "--review", "stale", "--column", "email").code == 2


def test_what_made_no_difference_is_not_claimed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("GET", f"{API}/tables/name/a.orders", asset("orders") | {"version": 0.1})
    answers = {"eventType": "entityUpdated"}, {"eventType": "entityNoChange"}
    for method in ("DELETE", "PUT"):
        small_server.answer(method, f"{API}/tables/orders/followers/u", *answers)
    commands = ("unfollow", "unfollow", "follow", "follow")
    texts = [run(command, "a.orders", "--type", "table").out for command in commands]
    assert texts == [
        "dana no longer follows table a.orders.\n",
        "dana does not follow table a.orders.\n",
        "dana now follows table a.orders.\n",
        "dana follows already: table a.orders.\n",
    ]


def test_one_way_of_selecting_is_needed_and_no_more(run: Run) -> None:
    for arguments in (("follow",), ("follow", "a", "--query", "b"), ("unfollow", "a", "--review", "gone")):
        ended = run(*arguments)
        assert (ended.code, "Give names of assets, or one option" in ended.err) == (2, True)


def test_the_list_shows_since_when_and_how_often_it_told(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    day_ms = 86_400_000
    entries = [
        {
            "asset": asset("orders"),
            "since": day_ms,
            "lastChange": {"timestamp": 2 * day_ms, "version": 0.3},
            "told": {"count": 12, "unread": 3, "last": 2 * day_ms},
            "deleted": False,
        },
        {
            "asset": asset("old"),
            "lastChange": {"timestamp": day_ms, "version": 0.1},
            "told": {"count": 0, "unread": 0},
            "deleted": True,
        },
    ]
    small_server.answer("GET", f"{API}/users/u/following", {"data": entries, "paging": {"total": 2}})
    small_server.answer("GET", f"{API}/users/u/preferences", {"timezone": "America/New_York"})
    listing = run("follows", "--sort", "told", "--containing", "o", "--review", "stale", "--type", "table")
    (request,) = [one for one in small_server.requests if one.path.endswith("/following")]
    assert request.query == {
        "limit": "100",
        "sortField": "told",
        "review": "stale",
        "type": "table",
        "q": "o",
    }
    assert [line.split() for line in listing.out.splitlines()] == [
        ["type", "asset", "since", "last", "change", "told", "unread", "last", "read"],
        ["table", "a.orders", "1970-01-01", "EST", "1970-01-02", "EST", "(version", "0.3)", "12", "3"],
        ["table", "a.old", "(deleted)", "1970-01-01", "EST", "(version", "0.1)", "0", "0"],
    ]
    assert json.loads(run("follows", "--json").out) == entries


def test_what_a_follow_tells_of_is_sent_with_it(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("POST", f"{API}/users/u/follows", result("orders"))
    channels = ("ActivityFeed", "Email", "Slack", "MsTeams", "GChat", "Webhook", "Push")
    mail = dict.fromkeys(channels, "never") | {"Email": "daily 08:30"}
    options = ("--kinds", "columns,testFailure", "--channel", "email", "--frequency", "daily 08:30")
    assert run("follow", "a.orders", *options).code == 0
    assert small_server.requests[-1].body == {
        "names": ["a.orders"],
        "preferences": {
            "kinds": {"columns": mail, "testFailure": mail},
            "channels": dict.fromkeys(channels, "never"),
        },
    }
    assert run("follow", "a.orders", "--frequency", "immediate").code == 0
    everything = {"channels": dict.fromkeys(channels, "immediate")}
    assert small_server.requests[-1].body["preferences"] == everything
    assert run("follow", "a.orders", "--frequency", "never", "--channel", "slack").code == 0
    assert small_server.requests[-1].body["preferences"] == {"channels": {"Slack": "never"}}
    assert run("follow", "a.orders", "--frequency", "default").code == 0
    assert small_server.requests[-1].body["preferences"] == {}


def test_what_no_follow_can_tell_of_is_refused_before_anything_is_sent(run: Run, small_server: SmallServer) -> None:
    for options, says in (
        (("--frequency", "monthly"), "must be immediate, hourly"),
        (("--channel", "fax"), "--channel must be inApp"),
        (("--frequency", "default", "--kinds", "tag"), "takes back"),
        (("--team", "shop", "--frequency", "daily"), "--team goes with none of"),
    ):
        ended = run("follow", "a.orders", *options)
        assert (ended.code != 0, says in ended.err) == (True, True), ended.err
    assert not small_server.requests


def test_the_list_says_what_each_follow_tells_of(run: Run, small_server: SmallServer) -> None:
    channels = ("ActivityFeed", "Email", "Slack", "MsTeams", "GChat", "Webhook")
    entry = {"lastChange": {"timestamp": 0, "version": 0.1}, "told": {"count": 0, "unread": 0}, "deleted": False}
    never = dict.fromkeys(channels, "never")
    choices = {"kinds": {"columns": never | {"Email": "daily"}, "tag": never | {"Email": "daily"}}, "channels": never}
    everything = {"channels": dict.fromkeys(channels, "immediate")}
    choices_by_name: list[tuple[str, dict[str, Any]]] = [
        ("orders", {"preferences": choices}),
        ("refunds", {"preferences": everything}),
        ("returns", {}),
    ]
    entries = [{"asset": asset(name), **entry, **more} for name, more in choices_by_name]
    small_server.answer("GET", f"{API}/users/loggedInUser", DANA)
    small_server.answer("GET", f"{API}/users/u/following", {"data": entries, "paging": {"total": 3}})
    small_server.answer("GET", f"{API}/users/u/preferences", {"timezone": "UTC"})
    lines = run("follows").out.splitlines()
    assert "tells of" in lines[0]
    assert "columns, tag daily (mail); else never" in lines[1]
    assert "all kinds at once" in lines[2]
