"""Tests of ``tocsin changes``."""

from __future__ import annotations

import json
from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/changes"
_AT_MS = 1_796_810_400_000
ONE: dict[str, Any] = {
    "id": "i",
    "name": "CR-12",
    "status": "announced",
    "kind": "type",
    "entity": {"id": "e", "type": "table", "fullyQualifiedName": "pg.shop.public.orders"},
    "column": "email",
    "newValue": "INT",
    "date": _AT_MS,
    "why": "unused",
    "remindEveryDays": 7,
    "replacement": "customers.email",
    "author": {"name": "ana"},
    "answers": {"total": 3, "open": 1, "ready": 1, "notAffected": 0, "needsTime": 1, "objects": 0},
    "consumers": {"hidden": 2, "nobody": 1, "yours": 0, "yoursOpen": 0},
}
CONSUMERS: list[dict[str, Any]] = [
    {"entity": {"id": "a", "fullyQualifiedName": "pg.a"}, "level": 1, "answeredBy": [], "answer": None},
    {
        "entity": {"id": "b", "fullyQualifiedName": "pg.b"},
        "level": 2,
        "answeredBy": [{"name": "ben"}],
        "answer": {"answer": "needsTime", "until": _AT_MS},
    },
]
TIMELINE = [{"kind": "answered", "timestamp": _AT_MS}, {"kind": "commented", "timestamp": _AT_MS, "comment": "why?"}]


def test_a_change_is_announced_for_a_date_in_utc(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/tables/name/pg.shop.public.orders", {"id": "e", "name": "orders"})
    small_server.answer("POST", API, ONE | {"firstConsumers": CONSUMERS})
    command = ("changes", "announce", "pg.shop.public.orders", "--column", "email", "--kind", "type", "--to", "INT")
    options = ("--on", "2026-12-09T10:00", "--why", "unused")
    assert run(*command, *options).out == "CR-12 is announced; 3 consumers are asked.\n"
    assert small_server.requests[-1].body == {
        "entity": {"type": "table", "id": "e"},
        "kind": "type",
        "date": _AT_MS,
        "why": "unused",
        "column": "email",
        "newValue": "INT",
    }
    output = run(*command, *options, "--dry-run").out
    assert (small_server.requests[-1].query, "nobody" in output) == ({"dryRun": "true"}, True)
    small_server.answer("POST", API, ONE | {"status": "done"}, ONE)
    again = "CR-12 announces this already: done, 3 consumers.\n"
    assert run(*command, *options).out == again
    assert run(*command, *options, "--dry-run").out == again.replace("done", "announced")
    refusal = run(*command, "--on", "tomorrow", "--why", "unused")
    assert (refusal.code != 0, "must be a date such as" in refusal.err) == (True, True)
    assert "Name an asset with --on and --why, or a --file." in run("changes", "announce", "pg.shop.public.orders").err


def test_requests_are_listed_and_shown(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", API, {"data": [ONE], "paging": {}})
    listed = run("changes", "list").out
    assert [listed.count(word) for word in ("CR-12", "email", "2 of 3", "type to INT")] == [1, 1, 1, 1]
    assert small_server.requests[-1].query == {"status": "announced", "limit": "100"}
    small_server.answer("GET", f"{API}/CR-12", ONE)
    small_server.answer("GET", f"{API}/CR-12/consumers", {"data": CONSUMERS, "paging": {}})
    small_server.answer("GET", f"{API}/CR-12/timeline", {"data": TIMELINE, "paging": {}})
    output = run("changes", "show", "CR-12").out
    for word in ("You may not see 2 of its consumers.", "nobody", "needs time until 2026-12-09 10:00:00 UTC", "why?"):
        assert word in output
    assert json.loads(run("changes", "show", "CR-12", "--json").out)["consumerAnswers"] == CONSUMERS


def test_people_are_shown_by_their_names(run: Run, small_server: SmallServer) -> None:
    dana = {"id": "d", "type": "user", "name": "dana.whitlock", "fullyQualifiedName": '"dana.whitlock"'}
    timeline = [{"kind": "answered", "timestamp": _AT_MS, "answer": "ready", "entity": dana}]
    small_server.answer("GET", f"{API}/CR-12", ONE)
    small_server.answer(
        "GET", f"{API}/CR-12/consumers", {"data": [CONSUMERS[1] | {"entity": dana}, CONSUMERS[0]], "paging": {}}
    )
    small_server.answer("GET", f"{API}/CR-12/timeline", {"data": timeline, "paging": {}})
    output = run("changes", "show", "CR-12").out
    assert (output.count("dana.whitlock"), '"' in output) == (2, False)
    assert output.index("pg.a") < output.index("dana.whitlock"), "assets first, as in a dry run"


def test_the_timeline_says_answers_in_words_with_their_days(run: Run, small_server: SmallServer) -> None:
    dana = {"id": "d", "type": "user", "name": "dana.whitlock", "fullyQualifiedName": '"dana.whitlock"'}
    by_ben = {"timestamp": _AT_MS, "until": _AT_MS, "user": {"name": "ben"}}
    answer = by_ben | {"kind": "answered", "answer": "needsTime", "entity": dana, "way": "link"}
    timeline = [answer, by_ben | {"kind": "moved"}]
    small_server.answer("GET", f"{API}/CR-12", ONE)
    small_server.answer("GET", f"{API}/CR-12/consumers", {"data": [], "paging": {}})
    small_server.answer("GET", f"{API}/CR-12/timeline", {"data": timeline, "paging": {}})
    output = run("changes", "show", "CR-12").out
    day = "2026-12-09 10:00 UTC"
    answer_text = f"ben answered for dana.whitlock by the link in a mail: it needs time until {day}"
    for text in (answer_text, f"ben moved it to {day}"):
        assert text in " ".join(output.split()), output


def test_a_request_is_answered_discussed_moved_and_withdrawn(run: Run, small_server: SmallServer) -> None:
    for method, path in (("PUT", "answer"), ("POST", "comments"), ("PUT", "move"), ("PUT", "withdraw")):
        small_server.answer(method, f"{API}/CR-12/{path}", ONE)
    answer = run("changes", "answer", "CR-12", "needsTime", "--until", "2026-12-09T11:00+01:00", "--consumer", "b")
    assert answer.out == "2 of 3 consumers of CR-12 have answered.\n"
    assert small_server.requests[-1].body == {"answer": "needsTime", "consumers": ["b"], "until": _AT_MS}
    assert run("changes", "comment", "CR-12", "why?").out == "Added to CR-12.\n"
    assert (
        run("changes", "move", "CR-12", "--on", "2026-12-09T10:00").out
        == "CR-12 is moved to 2026-12-09 10:00:00 UTC.\n"
    )
    assert small_server.requests[-1].body == {"date": _AT_MS}
    assert json.loads(run("changes", "withdraw", "CR-12", "--comment", "kept", "--json").out) == ONE
    assert small_server.requests[-1].body == {"comment": "kept"}


def test_requests_of_an_asset_are_listed_with_how_they_ended(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", API, {"data": [ONE | {"status": "done"}], "paging": {}})
    output = run("changes", "list", "--asset", "pg.shop.public.orders", "--status", "all").out
    assert "done" in output
    query = {"asset": "pg.shop.public.orders", "limit": "100"}
    assert small_server.requests[-1].query == query
    assert run("changes", "list", "--asset", "pg.shop.public.orders", "--type", "table", "--status", "all").code == 0
    assert small_server.requests[-1].query == {**query, "type": "table"}
    ended = ONE | {"status": "done", "outcome": "early", "doneAt": _AT_MS}
    small_server.answer("GET", f"{API}/CR-12", ended)
    small_server.answer("GET", f"{API}/CR-12/consumers", {"data": [], "paging": {}})
    small_server.answer("GET", f"{API}/CR-12/timeline", {"data": [], "paging": {}})
    assert "earlier than CR-12 announced" in run("changes", "show", "CR-12").out
