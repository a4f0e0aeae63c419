"""Tests of the output of commands that use a server, as text and as JSON."""

from __future__ import annotations

import io
import json
import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

from tocsin.cli.alertfiles import parse_alerts
from tocsin.cli.app import app_of
from tocsin.delivery.wording.event_formats import as_tocsin
from tocsin.errors import InvalidInput

app = app_of()

API = "/api/v1"
CHANGE = {"eventType": "entityUpdated"}
ORDERS = {"id": "t", "name": "orders", "fullyQualifiedName": "a.orders"}
ALERT: dict[str, Any] = {
    "name": "owners",
    "alertType": "Notification",
    "destinations": [{"category": "Owners", "type": "Email"}],
}


def test_help_leaves_line_breaks_to_the_terminal() -> None:
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    texts = [command.help or "" for group in groups for command in group.registered_commands]
    paragraphs = [paragraph for text in texts for paragraph in text.split("\n\n")]
    assert "Requires Java 17 or newer." in "".join(paragraphs)
    assert [one for one in paragraphs if "\n" in one and not one.startswith("Examples\n")] == []


def test_help_teaches_with_examples_and_names_every_command(run: Run) -> None:
    help_text = run("--help")
    assert help_text.code == 0
    for word in ("tocsin follow", "Run", "Follow and watch", "Maintain", "Exit codes"):
        assert word in help_text.out
    assert app.registered_commands
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        assert run(name, "--help").code == 0
    for group in app.registered_groups:
        assert run(str(group.name), "--help").code == 0


def test_the_version_is_printed(run: Run) -> None:
    if not list(metadata.distributions(name="tocsin")):
        pytest.skip("tocsin is not installed: pip install -e .")
    ended = run("--version")
    assert ended.code == 0
    assert ended.out.strip().count(".") == 2


def test_wrong_usage_ends_with_two(run: Run) -> None:
    assert run("follow").code == 2
    assert run("no-such-command").code == 2


def test_an_asset_is_found_whatever_its_type_and_followed_by_oneself(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/dashboards/name/a.orders", ORDERS)
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "dana"})
    small_server.answer("PUT", f"{API}/dashboards/t/followers/u", CHANGE)
    assert run("follow", "a.orders").out == "dana now follows dashboard a.orders.\n"


def test_somebody_else_can_be_named_and_the_answer_is_json_if_asked(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/tables/name/a.orders", ORDERS)
    small_server.answer("GET", f"{API}/users/name/dana", {"id": "u", "name": "dana"})
    small_server.answer("DELETE", f"{API}/tables/t/followers/u", CHANGE)
    ended = run("unfollow", "a.orders", "--as", "dana", "--type", "table", "--json")
    assert json.loads(ended.out) == {"user": "dana", "asset": "a.orders", "type": "table", "follows": False}


def test_an_unknown_asset_ends_with_three_and_one_line(run: Run) -> None:
    ended = run("follow", "nothing")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == (
        "tocsin: asset nothing not found; give the fully qualified name, as shown on the asset's page.\n"
    )


def test_a_missing_login_ends_with_four(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/tables/name/a", {"code": 401, "message": "Log in first."}, status=401)
    ended = run("follow", "a")
    assert (ended.code, ended.err) == (4, "tocsin: Log in first.\n")


def test_a_login_prints_the_token_and_nothing_else(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_server.answer("POST", f"{API}/users/login", {"accessToken": "token"})
    monkeypatch.setattr("sys.stdin", io.StringIO("pässword\n"))
    assert run("login", "a@example.com", "--password-stdin").out == "token\n"


def event(name: str) -> dict[str, object]:
    return {
        "id": f"id-of-{name}",
        "eventType": "entityUpdated",
        "entityType": "table",
        "entityFullyQualifiedName": name,
        "timestamp": 1714564800000,
        "userName": "dana",
        "changeDescription": {"fieldsAdded": [{"name": "tags"}]},
    }


def test_a_misspelt_name_is_answered_with_what_the_server_takes_it_for(run: Run, small_server: SmallServer) -> None:
    message = "dashboard bi.revenu not found; did you mean bi.revenue?"
    small_server.answer("GET", f"{API}/tables/name/bi.revenu", {"code": 404, "message": "no"}, status=404)
    small_server.answer("GET", f"{API}/dashboards/name/bi.revenu", {"code": 404, "message": message}, status=404)
    ended = run("history", "bi.revenu")
    assert (ended.code, ended.err) == (3, f"tocsin: {message}\n")


def test_a_name_without_its_parents_is_answered_with_what_search_finds(run: Run, small_server: SmallServer) -> None:
    fqns = {"a.b.orders": "table", "c.orders": "dashboard", "orders_team": "team"}
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    hits = [{"_source": {"entityType": kind, "name": fqn, "fullyQualifiedName": fqn}} for fqn, kind in fqns.items()]
    small_server.answer("GET", f"{API}/search/query", {"hits": {"hits": hits}})
    for command in (("follow", "orders"), ("mute", "orders"), ("impact", "orders"), ("explain", "--asset", "orders")):
        ended = run(*command)
        assert (ended.code, "orders not found; did you mean a.b.orders or c.orders" in ended.err) == (3, True), ended
    assert "did you mean c.orders?" in run("follow", "orders", "--type", "dashboard").err
    small_server.answer("GET", f"{API}/search/query", {"code": 503, "message": "no index"}, status=503)
    assert "give the fully qualified name" in run("follow", "orders").err


@pytest.mark.parametrize(
    "command",
    [
        ("history", "orders"),
        ("diff", "orders", "0.1", "0.2"),
        ("explain", "--asset", "orders"),
        ("impact", "orders"),
        ("alerts", "watching", "orders"),
    ],
)
def test_a_bare_name_is_answered_with_the_asset_that_search_finds_before_a_like_name_of_another_type(
    run: Run, small_server: SmallServer, command: tuple[str, ...]
) -> None:
    hits = [
        {"_source": {"entityType": kind, "name": "orders", "fullyQualifiedName": fqn}}
        for kind, fqn in (("team", "orders"), ("table", "a.b.orders"))
    ]
    small_server.answer("GET", f"{API}/search/query", {"hits": {"hits": hits}})
    for path, kind in (("events/subscriptions", "eventsubscription"), ("domains", "domain")):
        message = f"{kind} orders not found; did you mean OrdersTable?"
        small_server.answer("GET", f"{API}/{path}/name/orders", {"code": 404, "message": message}, status=404)
    ended = run(*command)
    assert (ended.code, "orders not found; did you mean a.b.orders?\n" in ended.err) == (3, True), ended


def test_a_misspelt_bare_name_is_answered_with_the_nearest_of_those_that_begin_as_it_does(
    run: Run, small_server: SmallServer
) -> None:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "ann"})
    hits = [
        {"_source": {"entityType": "table", "name": name, "fullyQualifiedName": f"a.b.{name}"}}
        for name in ("order_items_archive", "orders")
    ]
    small_server.answer("GET", f"{API}/search/query", {"hits": {"hits": []}}, {"hits": {"hits": hits}})
    assert run("follow", "ordrs").err == "tocsin: asset ordrs not found; did you mean a.b.orders?\n"
    searches = [one.query["q"] for one in small_server.requests if one.path == f"{API}/search/query"]
    assert searches == ["ordrs", "name:ord*"]


def test_a_bare_name_that_search_does_not_find_is_answered_with_a_like_name_without_a_guessed_type(
    run: Run, small_server: SmallServer
) -> None:
    small_server.answer("GET", f"{API}/search/query", {"hits": {"hits": []}})
    message = "domain retial not found; did you mean Retail?"
    small_server.answer("GET", f"{API}/domains/name/retial", {"code": 404, "message": message}, status=404)
    assert run("history", "retial").err == "tocsin: entity retial not found; did you mean Retail?\n"
    assert run("history", "retial", "--type", "domain").err == f"tocsin: {message}\n"


def test_the_log_is_followed_from_an_offset_to_its_end(run: Run, small_server: SmallServer) -> None:
    small_server.answer(
        "GET",
        f"{API}/events",
        {"data": [event("a.b")], "paging": {"offset": 8}},
        {"data": [event("a.c")], "paging": {"offset": 9}},
        {"data": [], "paging": {"offset": 9}},
    )
    command = run("events", "tail", "--since", "7", "--once")
    assert command.out.splitlines() == [
        "2024-05-01 12:00:00 UTC  table a.b  tags added  by dana  id-of-a.b",
        "2024-05-01 12:00:00 UTC  table a.c  tags added  by dana  id-of-a.c",
    ]
    assert [asked.query["offset"] for asked in small_server.requests if asked.path.endswith("/events")] == [
        "7",
        "8",
        "9",
    ]


def test_events_say_what_happened_as_messages_do(run: Run, small_server: SmallServer) -> None:
    deletions = [{"name": "columns", "oldValue": [{"name": "cart_id", "dataType": "BIGINT"}]}]
    change = {"fieldsDeleted": deletions, "fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b"}]}
    plain_event = event("a.b") | {"entityId": "t", "entity": {"name": "b"}, "changeDescription": change}
    reason = {"kind": "fieldRemoved", "field": "columns.cart_id", "before": "BIGINT"}
    breaking_event = plain_event | {"breakingReasons": [reason], "announcements": []}
    answers = [as_tocsin(one) for one in (plain_event, breaking_event)]
    small_server.answer(
        "GET", f"{API}/events", {"data": answers, "paging": {"offset": 9}}, {"data": [], "paging": {"offset": 9}}
    )
    lines = run("events", "tail", "--since", "7", "--once").out.splitlines()
    words = "column cart_id BIGINT removed … and 1 more  by dana  id-of-a.b"
    assert lines == [
        f"2024-05-01 12:00:00 UTC  table a.b  {mark}: {words}" for mark in ("breaking", "breaking, not announced")
    ]
    description_change = {"fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b"}]}
    worded_event = as_tocsin(plain_event | {"changeDescription": description_change}) | {
        "title": "b: worded once, by the server"
    }
    small_server.answer(
        "GET", f"{API}/events", {"data": [worded_event], "paging": {"offset": 9}}, {"data": [], "paging": {"offset": 9}}
    )
    assert "table a.b  worded once, by the server  by dana" in run("events", "tail", "--since", "7", "--once").out


def test_events_call_people_by_their_display_names_and_read_each_once(run: Run, small_server: SmallServer) -> None:
    owners = [{"id": "u2", "type": "user", "name": "ben.ito"}, {"id": "t1", "type": "team", "name": "shop"}]
    change = {"fieldsAdded": [{"name": "owners", "newValue": owners}]}
    assignment = event("a.b") | {"entityId": "t", "entity": {"name": "b"}, "changeDescription": change, "userId": "u1"}
    small_server.answer("GET", f"{API}/users/u1", {"id": "u1", "name": "dana", "displayName": "Dana Whitlock"})
    small_server.answer("GET", f"{API}/users/u2", {"id": "u2", "name": "ben.ito"})
    small_server.answer("GET", f"{API}/teams/t1", {"code": 403, "message": "no"}, status=403)
    answers = [{"data": [as_tocsin(assignment)] * 2, "paging": {"offset": 9}}, {"data": [], "paging": {"offset": 9}}]
    small_server.answer("GET", f"{API}/events", *answers)
    lines = run("events", "tail", "--since", "7", "--once").out.splitlines()
    words = "owner ben.ito added … and 1 more  by Dana Whitlock"
    assert lines == [f"2024-05-01 12:00:00 UTC  table a.b  {words}  id-of-a.b"] * 2
    of_tocsin = event("a.b") | {"userId": "system", "userName": "system"}
    invalid = {"code": 400, "message": "entity_id: must be a UUID"}
    small_server.answer("GET", f"{API}/users/system", invalid, status=400)
    small_server.answer("GET", f"{API}/events", {"data": [of_tocsin], "paging": {"offset": 9}}, answers[1])
    assert "by system" in run("events", "tail", "--since", "7", "--once").out
    read_paths = [one.path for one in small_server.requests if one.path.endswith(("/u1", "/u2", "/t1"))]
    assert len(read_paths) == 3
    small_server.answer("GET", f"{API}/events", *answers)
    first, _ = run("events", "tail", "--since", "7", "--once", "--json").out.splitlines()
    assert json.loads(first)["userName"] == "dana"


def test_nobody_has_changed_a_result(run: Run, small_server: SmallServer) -> None:
    change = {"fieldsAdded": [{"name": "testCaseResult", "newValue": {"testCaseStatus": "Failed"}}]}
    test = {"entityType": "testCase", "entityId": "t", "entity": {"name": "not_null"}}
    failed = event("a.b") | test | {"changeDescription": change}
    small_server.answer(
        "GET", f"{API}/events", {"data": [failed], "paging": {"offset": 9}}, {"data": [], "paging": {"offset": 9}}
    )
    ended = run("events", "tail", "--since", "7", "--once")
    assert ended.out.splitlines() == ["2024-05-01 12:00:00 UTC  testCase a.b  test failed  id-of-a.b"]


def test_tailing_says_why_and_finds_by_it(run: Run, small_server: SmallServer) -> None:
    why = {"data": [event("a.b") | {"reason": "the auditors asked"}], "paging": {"offset": 8}}
    small_server.answer("GET", f"{API}/events", why, {"data": [], "paging": {"offset": 8}})
    ended = run("events", "tail", "--since", "7", "--once", "--reason", "auditors")
    assert "  because: the auditors asked  by dana" in ended.out
    assert small_server.requests[-1].query["reason"] == "auditors"
    assert run("events", "tail", "--format", "turtle", "--reason", "auditors").code == 2


def test_events_are_one_json_a_line(run: Run, small_server: SmallServer) -> None:
    small_server.answer(
        "GET",
        f"{API}/events",
        {"data": [event("a.b"), event("a.c")], "paging": {"offset": 2}},
        {"data": [], "paging": {"offset": 2}},
    )
    ended = run("events", "tail", "--since", "start", "--once", "--json")
    assert [json.loads(line)["entityFullyQualifiedName"] for line in ended.out.splitlines()] == ["a.b", "a.c"]


def test_from_now_on_means_from_the_end_of_the_log(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events", {"data": [], "paging": {"offset": 5}})
    assert run("events", "tail", "--once").code == 0
    assert [asked.query["offset"] for asked in small_server.requests if asked.path.endswith("/events")] == [
        "latest",
        "5",
    ]


def test_the_log_is_followed_from_a_moment(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events", {"data": [], "paging": {"offset": 5}})
    now_ms = time.time_ns() // 1_000_000
    for since, earliest_ms, leeway_ms in (("2h", now_ms - 7_200_000, 60_000), ("2026-01-31", 1_769_817_600_000, 0)):
        small_server.requests.clear()
        assert run("events", "tail", "--since", since, "--once").code == 0
        first, *further = [one.query for one in small_server.requests if one.path.endswith("/events")]
        assert first["offset"] == "0"
        assert earliest_ms <= int(first["timestamp"]) <= earliest_ms + leeway_ms
        assert [one["timestamp"] for one in further] == [first["timestamp"]]


def test_a_start_that_is_none_is_refused(run: Run) -> None:
    ended = run("events", "tail", "--since", "yesterday")
    assert (ended.code, "a duration back from now" in ended.err) == (2, True)


def test_alerts_of_a_file_are_created_updated_or_left(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    path = f"{API}/events/subscriptions"
    small_server.answer("GET", f"{path}/name/old", {"id": "1", "version": 0.1})
    small_server.answer("GET", f"{path}/name/same", {"id": "2", "version": 0.2})
    after = [{"id": "1", "version": 0.2}, {"id": "2", "version": 0.2}, {"id": "?", "version": 0.1}]
    small_server.answer("PUT", path, *after, {"id": "1", "version": 0.2}, {"id": "3", "version": 0.1})
    file = tmp_path / "alerts.json"
    file.write_text(json.dumps([{**ALERT, "name": name} for name in ("old", "same", "new")]))
    ended = run("alerts", "apply", str(file), "--json")
    outcomes = {row["name"]: (row["outcome"], row["id"]) for row in json.loads(ended.out)}
    assert outcomes == {"old": ("updated", "1"), "same": ("unchanged", "2"), "new": ("created", "3")}
    puts = [(asked.body["name"], asked.query) for asked in small_server.requests if asked.method == "PUT"]
    assert puts == [(name, {"dryRun": "true"}) for name in ("old", "same", "new")] + [("old", {}), ("new", {})]


def test_alerts_come_from_standard_input_too(
    run: Run, small_server: SmallServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_server.answer("PUT", f"{API}/events/subscriptions", {"id": "1", "version": 0.1})
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(ALERT)))
    assert "created" in run("alerts", "apply", "-").out
    assert small_server.requests[-1].body == ALERT


def test_what_is_worth_knowing_about_an_alert_is_printed(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    never = {"kind": "neverTrue", "message": "This condition is never true", "field": "filteringRules.rules[0]"}
    small_server.answer("PUT", f"{API}/events/subscriptions", {"id": "1", "version": 0.1})
    small_server.headers["X-Tocsin-Remarks"] = json.dumps([never])
    file = tmp_path / "alert.json"
    file.write_text(json.dumps(ALERT))
    output = run("alerts", "apply", str(file)).out.splitlines()
    place = f"{file}:1:1"  # the alert has no rules: the nearest around them
    assert f"{place}: warning: {ALERT['name']}: filteringRules.rules[0]: This condition is never true" in output
    assert json.loads(run("alerts", "apply", str(file), "--json").out)[0]["remarks"] == [never]


def test_a_file_that_is_not_there_ends_with_three(run: Run) -> None:
    assert run("alerts", "apply", "nowhere.json").code == 3


TOML = """
[[alerts]]
name = "owners"
alertType = "Notification"

[[alerts.destinations]]
category = "Owners"
type = "Email"
"""

YAML = """
name: owners
alertType: Notification
destinations:
- {category: Owners, type: Email}
"""
NEWLINE = "\n"


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (json.dumps(ALERT), "a.json"),
        (json.dumps([ALERT]), "a.json"),
        (json.dumps({"alerts": [ALERT]}), "-"),
        (TOML, "a.toml"),
        (TOML, "-"),
        (TOML.replace("[[alerts]]", "").replace("alerts.", ""), "-"),
        (YAML, "a.yaml"),
        (YAML, "-"),
        (f"---\n{YAML}---\n", "a.yml"),
        (f"# ours\nalerts:\n  - {YAML.strip().replace(NEWLINE, NEWLINE + '    ')}", "-"),
    ],
)
def test_an_alert_reads_the_same_in_every_form(text: str, source: str) -> None:
    assert [alert.document for alert in parse_alerts(text, source)] == [ALERT]


@pytest.mark.parametrize("text", ["{", "[]", "[1]", '{"alertType": "Custom"}', "7"])
def test_what_holds_no_alerts_is_refused_with_the_files_name(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"a\.json"):
        parse_alerts(text, "a.json")
    with pytest.raises(InvalidInput, match="contains no alerts"):
        parse_alerts("", "a.toml")


def test_alerts_are_listed_with_whom_they_tell(run: Run, small_server: SmallServer) -> None:
    (to_owners,) = ALERT["destinations"]
    destinations = [
        {**to_owners, "statusDetails": {"status": "active", "lastSuccessfulAt": 1714564800000}},
        {**to_owners, "category": "Followers", "statusDetails": {"status": "failed"}},
    ]
    row = {**ALERT, "id": "1", "filteringRules": {"resources": ["table"]}, "destinations": destinations}
    small_server.answer("GET", f"{API}/events/subscriptions", {"data": [row], "paging": {}})
    (row,) = json.loads(run("alerts", "list", "--json").out)
    assert row == {
        "name": "owners",
        "enabled": True,
        "type": "Notification",
        "resources": ["table"],
        "destinations": ["Owners by Email", "Followers by Email"],
        "status": "failed",
        "last sent": "2024-05-01 12:00:00",
    }


def test_the_status_of_an_alert_says_how_each_destination_fares(run: Run, small_server: SmallServer) -> None:
    path = f"{API}/events/subscriptions"
    details = {"status": "awaitingRetry", "lastFailedAt": 1714564800000, "lastFailedReason": "timeout"}
    small_server.answer("GET", f"{path}/name/owners", {**ALERT, "id": "1"})
    row = {**ALERT["destinations"][0], "statusDetails": details, "breaker": {"state": "closed"}}
    small_server.answer("GET", f"{path}/1/status", {"data": [row]})
    output = run("alerts", "status", "owners").out.splitlines()
    assert output[1].split() == ["Owners", "by", "Email", "awaitingRetry", "2024-05-01", "12:00:00", "UTC", "timeout"]


def test_the_alerts_that_watch_an_asset_are_listed_with_whom_they_tell(run: Run, small_server: SmallServer) -> None:
    way = {"category": "Owners", "type": "Email", "relation": "owner", "people": [], "total": 0, "addresses": []}
    tells = [
        way | {"people": [{"name": "dana"}, {"name": "DataEngineering"}], "total": 3},
        way | {"category": "External", "relation": "external", "type": "Webhook", "addresses": ["https://x/***"]},
        way | {"category": "Admins", "relation": "admin"},
        way | {"category": "Assignees", "relation": "asked"},
    ]
    small_server.answer("GET", f"{API}/tables/name/a.orders", ORDERS)
    small_server.answer("GET", f"{API}/tables/t/alerts", {"data": [{"id": "1", "name": "Schema", "tells": tells}]})
    lines = run("alerts", "watching", "a.orders").out.splitlines()
    assert " ".join(" ".join(lines[1:]).split()) == (
        "Schema owners (dana, DataEngineering, 1 more) by Email; external (https://x/***) by Webhook; admins by Email;"
        " people asked in change requests by Email"
    )
    assert json.loads(run("alerts", "watching", "a.orders", "--json").out)[0]["tells"] == tells


def test_destinations_that_are_paused_or_stopped_are_resumed(run: Run, small_server: SmallServer) -> None:
    path = f"{API}/events/subscriptions"
    by_state = {"a": "closed", "b": "open", "c": "stopped"}
    destinations = [
        {**ALERT["destinations"][0], "id": key, "statusDetails": {"status": "failed"}, "breaker": {"state": state}}
        for key, state in by_state.items()
    ]
    small_server.answer("GET", f"{path}/name/owners", {**ALERT, "id": "1"})
    small_server.answer("GET", f"{path}/1/status", {"data": destinations})
    for key in by_state:
        small_server.answer("PUT", f"{path}/1/status/{key}", {"status": "awaitingRetry"})

    def run_resume(*options: str) -> tuple[str, list[str]]:
        small_server.requests.clear()
        ended = run("alerts", "resume", "owners", *options)
        assert ended.code == 0, ended.err
        return ended.out, [one.path.removeprefix(f"{path}/1/status/") for one in small_server.requests if one.body]

    assert run_resume() == ("Resumed Owners by Email, Owners by Email of alert owners.\n", ["b", "c"])
    assert run_resume("--destination", "c")[1] == ["c"]
    assert run_resume("--destination", "a") == ("No destination of alert owners is paused or stopped.\n", [])
    destinations[0]["name"] = "#data-alerts"
    small_server.answer("GET", f"{path}/1/status", {"data": destinations})
    refusal = run("alerts", "resume", "owners", "--destination", "#data-alert")
    assert refusal.code != 0
    assert "alert owners has no destination '#data-alert'; did you mean #data-alerts?" in refusal.err


def test_an_alert_is_switched_off_and_on_and_deleted_by_its_name(run: Run, small_server: SmallServer) -> None:
    path = f"{API}/events/subscriptions"
    small_server.answer("GET", f"{path}/name/owners", {**ALERT, "id": "1"})
    small_server.answer("PATCH", f"{path}/1", {**ALERT, "id": "1"})
    small_server.answer("DELETE", f"{path}/1", {**ALERT, "id": "1"})
    messages = {"disable": "Alert owners is disabled.", "enable": "Alert owners is enabled."}
    for command, is_on in (("disable", False), ("enable", True)):
        assert run("alerts", command, "owners").out == f"{messages[command]}\n"
        assert small_server.requests[-1].body == [{"op": "add", "path": "/enabled", "value": is_on}]
    assert run("alerts", "delete", "owners").out == "Deleted alert owners.\n"
    assert (small_server.requests[-1].method, small_server.requests[-1].path) == ("DELETE", f"{path}/1")


@pytest.mark.parametrize(
    ("before", "enables"),
    [
        ({"enabled": True, "expires": 1}, False),
        ({"enabled": False, "expires": 1}, True),
        ({"enabled": False, "expires": 32_000_000_000_000}, False),
        ({"enabled": False}, False),
    ],
)
def test_an_alert_is_extended_and_enabled_if_it_has_expired(
    run: Run, small_server: SmallServer, before: dict[str, object], enables: bool
) -> None:
    path = f"{API}/events/subscriptions"
    extended = {**ALERT, "id": "1", "expires": 1_798_675_200_000}
    small_server.answer("GET", f"{path}/name/owners", {**ALERT, "id": "1", **before})
    small_server.answer("PATCH", f"{path}/1", extended)
    ended = run("alerts", "extend", "owners", "2026-12-31", "--why", "still needed")
    assert ended.out.startswith("Alert owners expires 2026-12-31"), ended.err
    assert ("is enabled" in ended.out) is enables
    request = small_server.requests[-1]
    later = {"op": "add", "path": "/expires", "value": "2026-12-31"}
    assert request.body == [later, *([{"op": "add", "path": "/enabled", "value": True}] if enables else [])]
    assert request.headers["X-Tocsin-Why"] == "still needed"
    assert json.loads(run("alerts", "extend", "owners", "2026-12-31", "--json").out) == extended


def test_every_setting_is_shown_and_secrets_are_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SMTP_PASSWORD", "hush")
    monkeypatch.setenv("TOCSIN_PORT", "4711")
    ended = run("settings", "--json")
    values = {row["variable"]: row["value"] for row in json.loads(ended.out)}
    assert values["TOCSIN_PORT"] == 4711
    assert "hush" not in ended.out


def test_a_history_that_is_not_there_ends_with_three(run: Run) -> None:
    assert run("replay", "nothing.jsonl").code == 3


def test_an_alert_that_is_not_there_is_named_with_the_nearest(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/events/subscriptions", {"data": [{**ALERT, "id": "1"}], "paging": {}})
    for arguments in (
        ("status", "ownres"),
        ("noise", "ownres"),
        ("history", "ownres"),
        ("delete", "ownres"),
        ("disable", "ownres"),
    ):
        ended = run("alerts", *arguments)
        assert (ended.code, ended.err) == (3, "tocsin: alert ownres not found; did you mean owners?\n")


def test_an_alert_that_is_refused_is_named(run: Run, small_server: SmallServer, tmp_path: Path) -> None:
    refused = {"code": 400, "message": "alertTyp: unknown key"}
    small_server.answer("PUT", f"{API}/events/subscriptions", refused, status=400)
    file = tmp_path / "alert.json"
    file.write_text(json.dumps(ALERT))
    ended = run("alerts", "apply", str(file))
    assert (ended.code, ended.err) == (2, f"tocsin: {file}:1:1: owners: alertTyp: unknown key\n")


def test_a_misspelt_type_gets_only_the_nearest_as_suggestion(run: Run) -> None:
    ended = run("follow", "a.b", "--type", "tabel")
    assert (ended.code, ended.err) == (2, "tocsin: unknown entity type 'tabel'; did you mean table?\n")
    assert "valid values: databaseService, " in run("follow", "a.b", "--type", "xxxxxx").err


def test_a_server_that_is_not_there_is_named_with_the_way_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SERVER", "http://127.0.0.1:1")
    ended = run("mutes")
    assert ended.code == 6
    assert ended.err.startswith("tocsin: http://127.0.0.1:1 cannot be reached (")
    assert ended.err.endswith("Check that Tocsin is running there and that TOCSIN_SERVER is right.\n")


def test_names_in_a_table_are_not_broken(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert "TOCSIN_PIPELINE_EVENTS_PER_PARTITION\n" in run("settings").out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'[[alert]]\nname = "a"\n', "contains no alerts: unknown key alert; did you mean alerts?"),
        (b'name = "a"\nname = "b"\n', "is not valid TOML: Cannot overwrite a value (at line 2, column 11)."),
        (
            b'name = "a"\ncondition = "tags == "a""\n',
            "is not valid TOML: Expected newline or end of document after a statement (at line 2, column 23)."
            " Within double quotes, write the quotes of a condition as '.",
        ),
        (b"\xff\xfe", "cannot be read: byte 1 is not UTF-8."),
        (None, "contains no files of alerts (.yaml, .yml, .json, .toml)."),
    ],
)
def test_a_file_without_alerts_is_refused_with_a_reason(
    run: Run, tmp_path: Path, content: bytes | None, says: str
) -> None:
    file = tmp_path / "alerts.toml"
    file.mkdir() if content is None else file.write_bytes(content)
    ended = run("alerts", "apply", str(file))
    subject = f"folder {file}" if content is None else file
    assert (ended.code, ended.err) == (2, f"tocsin: {subject} {says}\n")


@pytest.mark.parametrize(("command", "method", "path"), [("apply", "PUT", ""), ("backtest", "POST", "/backtest")])
@pytest.mark.parametrize("rule", ["", "Rule 'ours': "])
def test_a_condition_that_a_server_refuses_is_shown_with_a_caret(
    run: Run, small_server: SmallServer, tmp_path: Path, command: str, method: str, path: str, rule: str
) -> None:
    message = f"filteringRules.rules[0].condition: {rule}Line 2, column 3: unknown field 'b'"
    small_server.answer(method, f"{API}/events/subscriptions{path}", {"code": 400, "message": message}, status=400)
    alert = {**ALERT, "filteringRules": {"resources": ["all"], "rules": [{"condition": "isBot() &&\n  b == 1"}]}}
    file = tmp_path / "alert.json"
    file.write_text(json.dumps(alert))
    refusal = run("alerts", command, str(file))
    assert refusal.code == 2
    column = json.dumps(alert).index("b == 1") + 1
    first_line, source, caret = refusal.err.splitlines()
    assert (
        first_line == f"tocsin: {file}:1:{column}: owners: filteringRules.rules[0].condition: {rule}unknown field 'b'"
    )
    assert source[caret.index("^") :].startswith("b == 1")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"name": "a", "input": ' + '{"a":' * 5000 + "1" + "}" * 5001, "is nested too deeply."),
        ('{"name": "a\\ud800"}', "contains '\\ud800', an incomplete character."),
        (
            '{"name": "a",\n "condition": "tags == "a""}',
            "is not valid JSON: Expecting ',' delimiter: line 2 column 25 (char 38). Within double quotes,"
            " write the quotes of a condition as '.",
        ),
    ],
    ids=["deep", "half", "quotes"],
)
def test_a_file_that_cannot_be_sent_is_refused_with_a_reason(run: Run, tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "alerts.json"
    file.write_text(text)
    for command in (("alerts", "apply"), ("conditions", "check")):
        ended = run(*command, str(file))
        assert (ended.code, ended.err) == (2, f"tocsin: {file} {says}\n")
