"""Tests of ``tocsin changes announce -f`` and of the files that ``--output yaml`` prints."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commandline import Run
from tests.unit.cli.test_changes import API, CONSUMERS, ONE
from tests.unit.small_server import SmallServer

from tocsin.cli.yaml_documents import read_yaml

NEW = ONE | {"id": "n", "column": "id", "firstConsumers": CONSUMERS}
FILE = """changes:
  - entity: {type: table, fullyQualifiedName: pg.shop.public.orders}
    kind: type
    column: email
    newValue: INT
    date: 2026-12-09T10:00
    why: unused
  - entity: {type: table, fullyQualifiedName: pg.shop.public.orders}
    kind: type
    column: id
    newValue: INT
    date: 2026-12-09T10:00
    why: unused
"""


@pytest.fixture
def change_file(tmp_path: Path, small_server: SmallServer) -> str:
    (tmp_path / "changes.yaml").write_text(FILE)
    small_server.answer("GET", API, {"data": [], "paging": {}})
    return "changes.yaml"


def test_what_is_announced_already_is_not_sent(run: Run, small_server: SmallServer, change_file: str) -> None:
    small_server.answer("POST", API, ONE, NEW, NEW | {"name": "CR-13"})
    ended = run("changes", "announce", "-f", change_file)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "1 announced, 1 unchanged, 0 withdrawn."
    assert [word in ended.out for word in ("changes.yaml:2:5", "CR-12", "changes.yaml:8:5", "CR-13")] == [True] * 4
    posts = [one for one in small_server.requests if one.method == "POST"]
    assert [(one.body["column"], one.query) for one in posts] == [
        ("email", {"dryRun": "true"}),
        ("id", {"dryRun": "true"}),
        ("id", {}),
    ]


def test_a_dry_run_of_a_file_announces_nothing_and_has_no_number_yet(
    run: Run, small_server: SmallServer, change_file: str
) -> None:
    small_server.answer("POST", API, ONE, NEW, ONE, NEW)
    ended = run("changes", "announce", "--file", change_file, "--dry-run")
    assert ended.out.splitlines()[-1] == "1 to announce, 1 unchanged, 0 withdrawn. Nothing was written."
    assert ended.out.count("CR-12") == 1
    printed = json.loads(run("changes", "announce", "--file", change_file, "--dry-run", "--json").out)
    assert [(one["file"], one["outcome"]) for one in printed] == [
        ("changes.yaml:2:5", "unchanged"),
        ("changes.yaml:8:5", "announce"),
    ]
    assert {one.query.get("dryRun") for one in small_server.requests if one.method == "POST"} == {"true"}


def test_what_was_withdrawn_is_not_announced_again(run: Run, small_server: SmallServer, change_file: str) -> None:
    small_server.answer("POST", API, ONE, NEW)
    withdrawn = {**ONE, "name": "CR-3", "status": "withdrawn", "column": "id"}
    small_server.answer("GET", API, {"data": [withdrawn], "paging": {}})
    ended = run("changes", "announce", "-f", change_file)
    assert ended.out.splitlines()[-1] == "0 announced, 1 unchanged, 1 withdrawn."
    assert "CR-3" in ended.out


def test_each_mistake_has_a_line_with_its_place(run: Run, small_server: SmallServer, change_file: str) -> None:
    message = "date: must be in the future; column: orders has no column emial; did you mean email?"
    small_server.answer("POST", API, {"code": 400, "message": message}, status=400)
    ended = run("changes", "announce", "-f", change_file)
    places = ["changes.yaml:4:5", "changes.yaml:6:5", "changes.yaml:10:5", "changes.yaml:12:5"]
    lines = ended.err.splitlines()
    assert (ended.code, lines[0]) == (2, "tocsin: 2 changes are refused, so nothing was announced:")
    assert [line.split(": ")[0] for line in lines[1:]] == places, ended.err
    assert lines[1].endswith("orders, column email: column: orders has no column emial; did you mean email?")


def test_two_changes_of_a_column_in_a_file_are_refused(run: Run, small_server: SmallServer, change_file: str) -> None:
    small_server.answer("POST", API, NEW)
    ended = run("changes", "announce", "-f", change_file)
    assert (ended.code, "changes.yaml:2:5 announces a change of it, too" in ended.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "changes.yaml announces no changes."),
        ("changes: []", "changes.yaml announces no changes."),
        ("changes: []\nalerts: []", "changes.yaml:2:1: unknown key alerts beside changes."),
        ("- {", "changes.yaml:1:4"),
        ("- 5", "changes.yaml:1:3: an asset: must be a change: entity, kind, date and why"),
    ],
)
def test_what_is_no_file_of_changes_is_refused(run: Run, change_file: str, text: str, message: str) -> None:
    Path(change_file).write_text(text)
    ended = run("changes", "announce", "-f", change_file)
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_a_file_says_all_itself(run: Run, change_file: str) -> None:
    for options in (("pg.shop.public.orders",), ("--why", "x"), ("--remind-every", "0")):
        ended = run("changes", "announce", "-f", change_file, *options)
        assert (ended.code, "--file says what changes" in ended.err) == (2, True)


def test_requests_are_printed_as_a_file(run: Run, small_server: SmallServer) -> None:
    nameless = ONE | {"entity": {"id": "e", "type": "table"}, "column": None, "replacement": None}
    small_server.answer("GET", API, {"data": [ONE, nameless], "paging": {}})
    small_server.answer("GET", f"{API}/CR-12", ONE)
    expected_change = {
        "entity": {"type": "table", "fullyQualifiedName": "pg.shop.public.orders"},
        "kind": "type",
        "column": "email",
        "newValue": "INT",
        "replacement": "customers.email",
        "date": "2026-12-09T10:00:00Z",
        "why": "unused",
        "remindEveryDays": 7,
    }
    (listed_document,) = read_yaml(run("changes", "list", "--output", "yaml").out)
    assert listed_document.value["changes"][0] == expected_change
    assert listed_document.value["changes"][1]["entity"] == {"type": "table", "id": "e"}
    (shown_document,) = read_yaml(run("changes", "show", "CR-12", "--output", "yaml").out)
    assert shown_document.value == {"changes": [expected_change]}
    assert json.loads(run("changes", "list", "--output", "json").out) == [ONE, nameless]
