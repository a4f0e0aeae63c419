"""Output of ``tocsin lake query``: a table for people, or CSV, JSON or Parquet, to standard output or a file.

A file is replaced as a whole, once the answer is complete.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import typer

from tocsin.catalogue.sheets.rows import safe_cell
from tocsin.cli.extras import needing
from tocsin.cli.output import show_rows
from tocsin.errors import InvalidInput
from tocsin.model.phrases import count_text
from tocsin.model.query_answer import QueryAnswer


class OutputFormat(StrEnum):
    """Format of an answer for other programs."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def check_target(output: Path | None, output_format: OutputFormat | None, *, as_json: bool) -> OutputFormat | None:
    """Return the format of the output, None for a table on the screen; refuse what cannot be written.

    Raises
    ------
    InvalidInput : the options contradict each other, or there is no such folder
    """
    if as_json and output_format not in (None, OutputFormat.JSON):
        raise InvalidInput(f"--json and --format {output_format} contradict each other; give one of them.")
    target_format = OutputFormat.JSON if as_json else output_format or _format_of(output)
    if output is None:
        if target_format is OutputFormat.PARQUET:
            raise InvalidInput("Parquet is binary; name a file with --output.")
        return target_format
    if not output.parent.is_dir():
        raise InvalidInput(f"There is no folder {output.parent}; create it, or name another file with --output.")
    if output.exists() and not output.is_file():
        raise InvalidInput(f"{output} is not a file; name another one with --output.")
    if target_format is OutputFormat.PARQUET:
        with needing("spark"):
            import pyarrow.parquet  # noqa: F401  before the query runs, not after
    return target_format


def show_answer(answer: QueryAnswer, output_format: OutputFormat | None, output: Path | None) -> None:
    """Print the answer, or write it to ``output`` and say so."""
    if output is None:
        if output_format is OutputFormat.CSV:
            typer.echo(_csv_text(answer), nl=False)
        else:
            show_rows(answer.records, as_json=output_format is OutputFormat.JSON)
        return
    match output_format:
        case OutputFormat.PARQUET:
            content, count = _parquet(answer)
        case OutputFormat.CSV:
            content, count = _csv_text(answer).encode(), len(answer.records)
        case _:
            content, count = (
                json.dumps(answer.records, ensure_ascii=False, indent=2).encode() + b"\n",
                len(answer.records),
            )
    _replace(output, content)
    typer.echo(f"Wrote {count_text(count, 'row')} to {output}", err=True)


def _format_of(output: Path | None) -> OutputFormat | None:
    if output is None:
        return None
    try:
        return OutputFormat(output.suffix.lower().removeprefix("."))
    except ValueError as error:
        raise InvalidInput(f"Give the format of {output} with --format: csv, json or parquet.") from error


def _csv_text(answer: QueryAnswer) -> str:
    names = [column["name"] for column in answer.columns]
    lines = [_csv_line(map(safe_cell, names))]
    lines += [_csv_line(_cell(row.get(name)) for name in names) for row in answer.records]
    return "".join(lines)


def _csv_line(cells: Iterable[object]) -> str:
    """Return a row that ends in a line feed; a cell with either sign that ends lines is quoted."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(cells)  # quotes the signs of its own end alone
    return text.getvalue().removesuffix("\r\n") + "\n"


def _cell(value: object) -> object:
    if isinstance(value, str):
        return safe_cell(value)
    return value if value is None or type(value) in (int, float) else json.dumps(value, ensure_ascii=False)


def _parquet(answer: QueryAnswer) -> tuple[bytes, int]:
    with needing("spark"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    with pa.ipc.open_stream(answer.arrow) as stream:
        table = stream.read_all()
    sink = pa.BufferOutputStream()
    try:
        pq.write_table(table, sink, compression="zstd")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise InvalidInput(f"Parquet cannot hold a column of the answer ({error}); cast it, e.g. to STRING.") from error
    return sink.getvalue().to_pybytes(), table.num_rows


def _replace(output: Path, content: bytes) -> None:
    """Write the file with these bytes, readable by its owner only, or leave the one that is there."""
    temporary = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        temporary.touch(mode=0o600, exist_ok=False)
        temporary.write_bytes(content)
        temporary.replace(output)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise InvalidInput(f"{output} cannot be written: {error.strerror or error}.") from error
