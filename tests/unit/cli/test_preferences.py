"""Tests of ``tocsin preferences``: what is shown, and what is sent."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

PATH = "/api/v1/users/u/preferences"
DEFAULTS = {"timezone": "UTC", "digestAt": "09:00", "digestDay": "monday", "categories": {}, "kinds": {}}
DEFAULTS |= {"roles": {}}
SET = {
    "timezone": "Europe/Berlin",
    "quietHours": {"start": "20:00", "end": "08:00"},
    "digestAt": "09:00",
    "frequency": "daily",
    "categories": {"schema": "immediate"},
}


EFFECTIVE = {
    "timezone": "Europe/Berlin",
    "quietHours": {"start": "20:00", "end": "08:00"},
    "digestAt": "09:00",
    "digestDay": "monday",
    "teams": [{"id": "t", "type": "team", "name": "shop"}],
}


def cell(frequency: str | None, source: str = "nobody", **fields: object) -> dict[str, object]:
    return {"frequency": frequency, "from": source, **fields}


def row_of(kind: str, mail: dict[str, object], app: dict[str, object], **fields: object) -> dict[str, object]:
    direct = dict.fromkeys(("Slack", "MsTeams", "GChat", "Webhook"), cell("immediate"))
    return {"kind": kind, "isMandatory": False, "channels": {"ActivityFeed": app, "Email": mail, **direct}, **fields}


def test_the_matrix_is_shown_with_whose_choice_each_cell_is(run: Run, small_server: SmallServer) -> None:
    of_team = cell("daily", "team", at="09:00", team={"id": "t", "type": "team", "name": "shop"})
    of_hidden_team = cell("weekly", "team", at="monday 09:00")
    kinds = [
        row_of("deletion", cell("immediate", "mandatory"), cell("immediate"), isMandatory=True),
        row_of("description", of_team, cell("never", "own")),
        row_of("tag", of_hidden_team, cell("hourly", "recommended")),
        row_of("bot", cell(None), cell(None)),
    ]
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", f"{PATH}/effective", EFFECTIVE | {"kinds": kinds})
    assert [" ".join(line.split()) for line in run("preferences").out.splitlines()] == [
        "time zone: Europe/Berlin",
        "quiet hours: 20:00 to 08:00",
        "teams with defaults: shop",
        "kinds with !: mandatory, never off",
        "kind in the app mail Slack, Teams, Chat, webhook",
        "deletion! at once at once (mandatory) at once",
        "description never (you) daily 09:00 (team shop) at once",
        "tag hourly (recommended) weekly monday 09:00 (a team) at once",
        "bot as its kinds as its kinds at once",
    ]
    assert json.loads(run("preferences", "--json").out) == EFFECTIVE | {"kinds": kinds}


def test_the_matrix_says_where_nothing_comes_and_claims_nothing_there_that_nobody_chose(
    run: Run, small_server: SmallServer
) -> None:
    kinds = [row_of("tag", cell("immediate"), cell("immediate")), row_of("owner", cell("daily", "own"), cell("never"))]
    missing = {"Email": "no mail server"} | dict.fromkeys(("Slack", "MsTeams", "GChat"), "no verified address")
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", f"{PATH}/effective", EFFECTIVE | {"kinds": kinds, "unreached": missing})
    assert [" ".join(line.split()) for line in run("preferences").out.splitlines()[3:]] == [
        "kind in the app mail (no mail server) Slack, Teams, Chat (no verified address) webhook",
        "tag at once - - at once",
        "owner never daily (you) - at once",
    ]


TEAM_PATH = "/api/v1/teams/t/preferences"


def test_the_defaults_of_a_team_and_of_the_server_are_shown_and_changed(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/teams/name/shop", {"id": "t", "name": "shop"})
    small_server.answer("GET", TEAM_PATH, {"kinds": {"tag": {"Email": "daily"}}})
    small_server.answer("PUT", TEAM_PATH, {"frequency": "weekly"})
    small_server.answer("GET", "/api/v1/system/preferences", DEFAULTS | {"mandatory": []})
    small_server.answer("PUT", "/api/v1/system/preferences", DEFAULTS | {"mandatory": ["deletion"]})
    assert run("defaults", "--team", "shop").out.splitlines() == ["changes: as the server sets", "tag, mail: daily"]
    assert run("defaults", "--team", "shop", "--notify", "owner=never").code == 0
    body = {"kinds": {"tag": {"Email": "daily"}}, "categories": {"owner": "never"}}
    assert small_server.requests[-1].body == body
    assert run("kinds", "tag", "--channel", "email", "--frequency", "default", "--team", "shop").code == 0
    assert small_server.requests[-1].body == {"kinds": {}}
    assert "mandatory: deletion" in run("defaults", "--notify", "deletion=mandatory").out
    assert small_server.requests[-1].body == DEFAULTS | {"mandatory": ["deletion"], "mandatoryRoles": {}}
    by_role = {"mandatory": [], "mandatoryRoles": {"owned": ["deletion"]}}
    small_server.answer("PUT", "/api/v1/system/preferences", DEFAULTS | by_role)
    assert "mandatory of owned assets: deletion" in run("defaults", "--notify", "owned/deletion=mandatory").out
    assert small_server.requests[-1].body == DEFAULTS | by_role
    assert run("defaults", "--preset", "recommended").code == 0
    assert small_server.requests[-1].body == {"preset": "recommended"}
    assert run("kinds", "tag", "--channel", "email", "--frequency", "weekly", "--server").code == 0
    assert small_server.requests[-1].body["kinds"] == {"tag": {"Email": "weekly"}}
    for wrong in (
        ("defaults", "--team", "shop", "--notify", "tag=mandatory"),
        ("defaults", "--preset", "best"),
        ("kinds", "tag", "--frequency", "daily", "--team", "shop", "--server"),
    ):
        assert run(*wrong).code == 2


def test_what_is_changed_meanwhile_is_kept(run: Run, small_server: SmallServer) -> None:
    small_server.headers["ETag"] = '"1"'
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET, SET | {"timezone": "Asia/Tokyo"})

    def is_changed_by_then() -> object:
        if sum(request.method == "PUT" for request in small_server.requests) == 2:
            small_server.answer("PUT", PATH, DEFAULTS)
        return {"code": 412, "message": "The preferences have changed since they were read."}

    small_server.answer("PUT", PATH, is_changed_by_then, status=412)
    assert run("preferences", "--digest-at", "07:30").code == 0
    last = small_server.requests[-1]
    assert (last.body, last.headers["If-Match"]) == (SET | {"timezone": "Asia/Tokyo", "digestAt": "07:30"}, '"1"')
    small_server.answer("PUT", PATH, {"code": 412, "message": "The preferences have changed."}, status=412)
    refusal = run("preferences", "--digest-at", "08:30")
    assert (refusal.code, "have changed" in refusal.err) == (5, True)
    assert sum(request.method == "PUT" for request in small_server.requests) == 3 + 3


def test_options_change_what_they_name_and_keep_the_rest(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET)
    small_server.answer("PUT", PATH, DEFAULTS)

    def request_of(*options: str) -> Any:
        assert run("preferences", *options).code == 0
        return small_server.requests[-1].body

    assert request_of("--notify", "tag=weekly") == SET | {"categories": {"schema": "immediate", "tag": "weekly"}}
    assert request_of("--notify", "all=weekly") == SET | {"frequency": "weekly", "categories": {}}
    assert request_of("--quiet", "22:00-07:00")["quietHours"] == {"start": "22:00", "end": "07:00"}
    assert request_of("--working-days", "saturday-monday, thursday")["workingDays"] == [
        *("monday", "thursday", "saturday", "sunday")
    ]
    assert request_of("--working-days", "all")["workingDays"] is None
    assert request_of("--digest-at", "unread 07:30") == SET | {"leaveOutRead": True, "digestAt": "07:30"}
    assert request_of("--digest-at", "all")["leaveOutRead"] is False
    absence = request_of("--away-until", "2026-12-07")["away"]
    assert (absence["until"], absence["start"] > 0) == (1_796_598_000_000, True)  # midnight in Berlin
    assert request_of("--away-until", "none")["away"] is None
    assert [request_of("--inbox-days", days)["inboxDays"] for days in ("30", "all")] == [30, None]
    assert request_of("--quiet", "none") == SET | {"quietHours": None}
    assert request_of("--timezone", "UTC", "--digest-at", "07:30") == SET | {"timezone": "UTC", "digestAt": "07:30"}
    assert request_of("--reset") == {}


def test_what_is_no_preference_is_refused_before_anything_is_sent(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET)
    for wrong in (
        ("--quiet", "night"),
        ("--notify", "daily"),
        ("--working-days", "mon-fri"),
        ("--away-until", "soon"),
        ("--inbox-days", "0"),
    ):
        ended = run("preferences", *wrong)
        assert (ended.code, wrong[0] in ended.err) == (2, True)
    assert "PUT" not in [one.method for one in small_server.requests]


def test_kinds_of_change_are_listed(run: Run, small_server: SmallServer) -> None:
    tag = {"name": "tag", "label": "Tags", "group": "metadata", "frequency": "daily", "hasEvents": True}
    small_server.answer("GET", "/api/v1/changeKinds", {"data": [tag], "paging": {"total": 1}})
    head, line = run("kinds").out.splitlines()
    assert head.split() == ["kind", "group", "about", "recommended", "events"]
    assert line.split()[:4] == ["tag", "metadata", "Tags", "daily"]
    assert json.loads(run("kinds", "--json").out) == [tag]


def test_kinds_are_chosen_by_channel_and_taken_back(run: Run, small_server: SmallServer) -> None:
    kinds = {"tag": {"Email": "weekly"}, "owner": {"Email": "never"}}
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET | {"kinds": kinds, "digestDay": "friday"})
    small_server.answer("PUT", PATH, SET | {"kinds": kinds, "digestDay": "friday"})
    lines = run("preferences", "--digest-at", "friday").out.splitlines()
    assert lines[2] == "digests: at 09:00; weekly ones on Fridays"
    assert lines[-2:] == ["owner, mail: never", "tag, mail: weekly"]
    assert run("kinds", "tag", "--channel", "inApp", "--frequency", "never").code == 0
    assert small_server.requests[-1].body["kinds"] == kinds | {"tag": {"Email": "weekly", "ActivityFeed": "never"}}
    assert run("kinds", "tag", "--frequency", "default").code == 0
    assert small_server.requests[-1].body["kinds"] == {"owner": {"Email": "never"}}
    for wrong in (["tag"], ["--frequency", "daily"], ["--channel", "email"], ["tag", "--channel", "fax"]):
        assert run("kinds", *wrong).code == 2
    assert run("preferences", "--digest-at", "Friday 08:00").code == 0
    body = small_server.requests[-1].body
    assert (body["digestDay"], body["digestAt"]) == ("friday", "08:00")


def test_the_next_digest_is_shown_as_it_would_be_sent(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET)
    mail = {"subject": "s", "text": "2 changes: orders\n\norders: description changed\n", "html": "<p>"}
    slack = {"blocks": [{"type": "header", "text": {"type": "plain_text", "text": "1 change: orders"}}]}
    digests = [
        {"channel": "Email", "dueAt": 1_760_000_000_000, "notificationCount": 2, "message": mail},
        {"channel": "Slack", "dueAt": 1_760_000_000_000, "notificationCount": 1, "message": slack},
    ]
    small_server.answer("GET", "/api/v1/users/u/digest", {"data": digests})
    text = run("digest").out
    assert "Email, 2025-10-09 10:53:20 CEST: 2 notifications\n\n2 changes: orders\n\norders: description" in text
    assert "Slack, 2025-10-09 10:53:20 CEST: 1 notification\n\n1 change: orders" in text
    assert json.loads(run("digest", "--json").out) == digests
    small_server.answer("GET", "/api/v1/users/u/digest", {"data": []})
    assert run("digest").out == "Nothing waits for a digest.\n"


def test_a_role_has_frequencies_of_its_own(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "dana"})
    roles = {"owned": {"tag": {"Email": "daily"}}}
    small_server.answer("GET", "/api/v1/users/u/preferences", DEFAULTS | {"roles": roles})
    small_server.answer("PUT", "/api/v1/users/u/preferences", DEFAULTS | {"roles": roles})
    options = ("--channel", "email", "--frequency", "immediate")
    outcome = run("kinds", "breaking", "--role", "owned", "--role", "aboveOwned", *options)
    breaking = {"breaking": {"Email": "immediate"}}
    assert small_server.requests[-1].body == DEFAULTS | {
        "roles": {"owned": roles["owned"] | breaking, "aboveOwned": breaking}
    }
    assert "tag (owned), mail" in outcome.out
    run("kinds", "tag", "--role", "owned", "--channel", "email", "--frequency", "default")
    assert small_server.requests[-1].body == DEFAULTS
    assert run("kinds", "--role", "owned").code != 0


def test_the_health_summary_is_shown_and_chosen(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/users/loggedInUser", {"id": "u", "name": "ann"})
    small_server.answer("GET", PATH, SET)
    small_server.answer("PUT", PATH, DEFAULTS)
    message = {"subject": "Your week: 1 test fails", "text": "Tests that fail now: 1\n", "html": "<p>"}
    preview = {"dueAt": 1_760_000_000_000, "summary": {}, "message": message}
    small_server.answer("GET", "/api/v1/users/u/healthSummary", preview)
    assert run("summary").out == (
        "Your week: 1 test fails\n\nTests that fail now: 1\n\nSent next: 2025-10-09 10:53:20 CEST\n"
    )
    assert json.loads(run("summary", "--json").out) == preview
    small_server.answer("GET", "/api/v1/users/u/healthSummary", {"summary": {}})
    assert run("summary").out == "Nothing happened to what you own and follow.\n\nIt is not sent to you.\n"
    for text, schedule in (("friday 16:00", {"day": "friday", "at": "16:00"}), ("none", None)):
        assert run("preferences", "--health-summary", text).code == 0
        assert small_server.requests[-1].body["healthSummary"] == schedule
