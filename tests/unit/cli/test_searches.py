"""Tests of the commands for saved searches."""

from __future__ import annotations

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

API = "/api/v1"
SEARCH = {"id": "s", "name": "Finance", "query": "domain:Finance", "index": "all", "follows": True}
COUNTED = {"search": SEARCH, "found": 3}


@pytest.fixture
def server(small_server: SmallServer) -> SmallServer:
    small_server.answer("GET", f"{API}/users/loggedInUser", {"id": "u", "name": "dana"})
    small_server.answer("POST", f"{API}/users/u/searches", COUNTED)
    small_server.answer("GET", f"{API}/users/u/searches", {"data": [SEARCH]})
    small_server.answer("GET", f"{API}/searches/s", COUNTED)
    small_server.answer("PUT", f"{API}/searches/s/follow", COUNTED)
    small_server.answer("DELETE", f"{API}/searches/s", SEARCH)
    return small_server


@pytest.mark.parametrize(
    ("arguments", "body"),
    [
        (("save", "domain:Finance"), {"query": "domain:Finance", "index": "all", "follows": False}),
        (
            ("save", "x", "--name", "X", "--type", "table", "--follow"),
            {"query": "x", "name": "X", "index": "table", "follows": True},
        ),
        (("copy", "s"), {"original": "s", "follows": True}),
        (("follow", "s"), {"follows": True}),
        (("unfollow", "s"), {"follows": False}),
        (("show", "s"), None),
    ],
)
def test_a_search_is_shown_with_what_it_finds(
    run: Run, server: SmallServer, arguments: tuple[str, ...], body: object
) -> None:
    ended = run("searches", *arguments)
    assert (ended.code, ended.out) == (0, "s: Finance (domain:Finance) finds 3 assets, is followed.\n")
    assert server.requests[-1].body == body


def test_searches_are_listed_and_deleted(run: Run, server: SmallServer) -> None:
    lines = [line.split() for line in run("searches", "list").out.splitlines()]
    assert lines == [["id", "name", "query", "index", "followed"], ["s", "Finance", "domain:Finance", "all", "yes"]]
    assert run("searches", "delete", "s").out == "Deleted saved search Finance.\n"
    assert server.requests[-1].method == "DELETE"
