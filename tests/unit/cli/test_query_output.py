"""Tests of the output of lake queries: formats, files, and refusals that say what to do."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tocsin.cli.query_output import OutputFormat, check_target, show_answer
from tocsin.errors import InvalidInput
from tocsin.model.query_answer import QueryAnswer

ROWS: list[dict[str, Any]] = [
    {"name": "=cmd()", "count": -1, "is_new": True, "fields": [{"name": "a"}]},
    {"name": None, "count": 2.5, "is_new": False, "fields": None},
]
ANSWER = QueryAnswer([{"name": name, "type": "string"} for name in ROWS[0]], ROWS)
AS_CSV = 'name,count,is_new,fields\n\'=cmd(),-1,true,"[{""name"": ""a""}]"\n,2.5,false,\n'


def test_the_suffix_of_a_file_says_its_format_and_an_option_overrides_it(tmp_path: Path) -> None:
    assert check_target(None, None, as_json=False) is None
    assert check_target(None, None, as_json=True) is OutputFormat.JSON
    assert check_target(None, OutputFormat.CSV, as_json=False) is OutputFormat.CSV
    assert check_target(tmp_path / "a.CSV", None, as_json=False) is OutputFormat.CSV
    assert check_target(tmp_path / "a.csv", OutputFormat.PARQUET, as_json=False) is OutputFormat.PARQUET


@pytest.mark.parametrize(
    ("name", "output_format", "as_json", "says"),
    [
        (None, OutputFormat.PARQUET, False, "Parquet is binary; name a file with --output."),
        ("a.txt", None, False, "with --format: csv, json or parquet"),
        ("a", None, False, "with --format: csv, json or parquet"),
        ("missing/a.csv", None, False, "There is no folder"),
        ("folder.csv", None, False, "is not a file"),
        ("a.csv", OutputFormat.CSV, True, "contradict each other"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_query_runs(
    tmp_path: Path, name: str | None, output_format: OutputFormat | None, as_json: bool, says: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidInput, match=says):
        check_target(None if name is None else tmp_path / name, output_format, as_json=as_json)


def test_a_cell_with_signs_that_end_lines_stays_one_cell(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["a\r=cmd()", "a\n=cmd()", "a\r\n=cmd()", "a"]
    answer = QueryAnswer([{"name": "x\ry", "type": "string"}], [{"x\ry": text} for text in texts])
    show_answer(answer, OutputFormat.CSV, None)
    printed = capsys.readouterr().out
    assert list(csv.reader(io.StringIO(printed, newline=""))) == [["x\ry"], *([text] for text in texts)]
    assert printed.endswith('"\na\n'), "lines end as those of other programs here"


def test_rows_are_printed_as_csv_json_or_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(ANSWER, OutputFormat.CSV, None)
    assert capsys.readouterr().out == AS_CSV
    show_answer(ANSWER, OutputFormat.JSON, None)
    assert json.loads(capsys.readouterr().out) == ROWS
    show_answer(ANSWER, None, None)
    assert "=cmd()" in capsys.readouterr().out
    show_answer(QueryAnswer(ANSWER.columns), OutputFormat.CSV, None)
    assert capsys.readouterr().out == "name,count,is_new,fields\n"


def test_a_file_is_replaced_as_a_whole_and_is_its_owners_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("before")
    show_answer(ANSWER, OutputFormat.CSV, path)
    assert path.read_text() == AS_CSV
    assert path.stat().st_mode & 0o777 == 0o600
    assert capsys.readouterr().err == f"Wrote 2 rows to {path}\n"
    assert list(tmp_path.iterdir()) == [path]
    table = pa.table({"count": pa.array([1, 2], pa.int32()), "at": pa.array([0, 1], pa.timestamp("us", "UTC"))})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    show_answer(QueryAnswer([], arrow=sink.getvalue().to_pybytes()), OutputFormat.PARQUET, tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").equals(table)


def test_a_file_that_cannot_be_replaced_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.mkdir()
    with pytest.raises(InvalidInput, match="cannot be written"):
        show_answer(ANSWER, OutputFormat.CSV, path)
    assert list(tmp_path.iterdir()) == [path]
