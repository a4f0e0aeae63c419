"""Tests of tables of commands: at any width, for other programs, and of values that are no text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.output import console, show_facts, show_json, show_lines, show_rows, show_text

UUID = "01a212a0-7d2d-74f6-aece-661eccb4c4c5"
ROWS = [
    {"message": UUID, "alert": "NightlyTests", "about": f"orders: column discount_percent removed ({n})"}
    for n in (1, 2)
]
WORDS = st.text("abc-_.", min_size=1, max_size=40)
CELLS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


def printed_rows(records: Sequence[Mapping[str, object]], capsys: pytest.CaptureFixture[str]) -> str:
    show_rows(records, as_json=False)
    return capsys.readouterr().out


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=1, max_size=3), st.integers(40, 200))
def test_no_word_is_broken_at_any_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cells: list[list[str]], width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    records: Sequence[Mapping[str, object]] = [dict(zip("ABCD", row, strict=True)) for row in cells]
    printed = [word for word in printed_rows(records, capsys).split() if word not in records[0]]
    assert sorted(printed) == sorted(word for row in cells for text in row for word in text.split())


def test_where_a_table_has_no_room_each_row_is_a_block(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert printed_rows(ROWS, capsys).split("\n\n")[0].splitlines() == [
        f"message  {UUID}",
        "alert    NightlyTests",
        "about    orders: column discount_percent removed (1)",
    ]


def test_for_other_programs_each_row_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert [line.split()[0] for line in printed_rows(ROWS, capsys).splitlines()] == ["message", UUID, UUID]


def test_what_is_no_text_is_json_and_what_looks_like_markup_is_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    out = printed_rows(
        [{"struct": {"a": None}, "structs": [{"b": "ü"}], "list": ["x", "y"], "text": "[bold]loud[/bold]"}], capsys
    )
    for part in ('{"a": null}', '[{"b": "ü"}]', "x, y", "[bold]loud[/bold]"):
        assert part in out


@pytest.mark.parametrize("width", ["200", "20"])
def test_what_others_wrote_is_shown_and_never_obeyed_by_the_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    hostile = "a\x1b[2Jb\x9b31m\x07c\rd\u202edesrever\x7fe"
    show_facts({"why": hostile, "list": [hostile], "struct": {"a": hostile}}, as_json=False)
    show_text(hostile, answer=None, as_json=False)
    show_lines([Text(hostile)], answer=None, as_json=False)
    tree = Tree(hostile)
    tree.add(Text(hostile, style="bold"))
    console().print(tree)
    show_json(hostile)
    output = printed_rows([{"why": hostile, "note": f"first\n{hostile}"}] * 2, capsys)
    output += capsys.readouterr().out
    assert not [sign for sign in "\x1b\x9b\x07\r\u202e\x7f" if sign in output]
    assert "first" in output
    assert json.dumps(hostile) in output
