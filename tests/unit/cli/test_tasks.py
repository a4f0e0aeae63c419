"""Tests of ``tocsin tasks``."""

from __future__ import annotations

from typing import Any

from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1/tasks"
TASK: dict[str, Any] = {
    "id": "t",
    "taskId": "TASK-00007",
    "status": "Open",
    "priority": "High",
    "type": "DescriptionUpdate",
    "description": "Please describe it.",
    "about": {"id": "e", "type": "table", "fullyQualifiedName": "pg.shop.public.orders"},
    "createdBy": {"name": "ana"},
    "assignees": [{"name": "ben", "displayName": "Ben"}],
    "payload": {"newDescription": "Every order."},
    "availableTransitions": [{"id": "approve"}, {"id": "reject"}],
    "comments": [{"author": {"name": "ben"}, "message": "Really?"}],
    "commentCount": 1,
    "createdAt": 1_796_810_400_000,
    "updatedAt": 1_796_810_400_000,
}


def test_tasks_are_listed_open_ones_by_default(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", API, {"data": [TASK], "paging": {"total": 1}})
    out = run("tasks", "list", "--assignee", "ben").out
    assert all(text in out for text in ("TASK-00007", "Open", "High", "pg.shop.public.orders", "Ben"))
    assert {"statusGroup": "open", "assignee": "ben"}.items() <= small_server.requests[-1].query.items()
    assert run("tasks", "list", "--mine", "--assignee", "ben").code != 0


def test_a_filter_that_names_nobody_and_nothing_is_an_error(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", API, {"data": [], "paging": {"total": 0}})
    for option, noun in (("--assignee", "user or team"), ("--about", "entity")):
        answer = run("tasks", "list", option, "nope")
        assert (answer.code, f"{noun} nope not found" in answer.err) == (3, True), answer
    small_server.answer("GET", "/api/v1/teams/name/ben", {"id": "b", "name": "ben"})
    assert run("tasks", "list", "--assignee", "ben").code == 0


def test_tasks_of_ones_teams_are_ones_own(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/assigned", {"data": [TASK], "paging": {"total": 1}})
    assert "TASK-00007" in run("tasks", "list", "--mine").out
    assert "assignee" not in small_server.requests[-1].query


def test_a_task_is_shown_with_what_it_suggests_and_what_may_be_done(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/TASK-00007", TASK)
    out = run("tasks", "show", "TASK-00007").out
    assert all(text in out for text in ("Every order.", "approve, reject", "Really?", "ana"))


def test_a_description_is_asked_for(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", "/api/v1/tables/name/pg.shop.public.orders", {"id": "e", "name": "orders"})
    small_server.answer("POST", API, TASK)
    command = ("tasks", "create", "pg.shop.public.orders", "--column", "email", "--assignee", "ben")
    assert run(*command, "--suggest", "Every order.").out == "TASK-00007 is for Ben.\n"
    assert small_server.requests[-1].body == {
        "category": "MetadataUpdate",
        "type": "DescriptionUpdate",
        "about": "<#E::table::pg.shop.public.orders::columns::email>",
        "description": "Please describe it.",
        "assignees": ["ben"],
        "priority": "Medium",
        "payload": {"newDescription": "Every order."},
    }


def test_a_task_is_decided_and_commented_by_its_number(run: Run, small_server: SmallServer) -> None:
    small_server.answer("GET", f"{API}/name/TASK-00007", TASK)
    for command, status in (("approve", "Approved"), ("reject", "Rejected"), ("complete", "Completed")):
        small_server.answer("POST", f"{API}/t/resolve", TASK | {"status": status})
        assert run("tasks", command, "TASK-00007", "--comment", "so").out == f"TASK-00007 is {status.lower()}.\n"
        assert small_server.requests[-1].body == {"transitionId": command, "comment": "so"}
    small_server.answer("POST", f"{API}/t/comments", TASK)
    assert run("tasks", "comment", "TASK-00007", "Why?").out == "TASK-00007 has 1 comment.\n"
    assert small_server.requests[-1].body == {"message": "Why?"}
