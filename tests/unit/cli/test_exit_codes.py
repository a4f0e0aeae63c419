"""Tests of exit codes against the table and the documentation."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from tocsin import errors
from tocsin.cli.exit_codes import EXITS, exit_code
from tocsin.errors import InternalError, MissingExtra, PreconditionFailed, TocsinError

DOCUMENT = Path(__file__).parents[3] / "docs" / "cli.md"


def every_error() -> list[type[TocsinError]]:
    error_types = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, TocsinError)
    ]
    return sorted(error_types, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", every_error())
def test_every_error_has_a_code_even_after_travelling(kind: type[TocsinError]) -> None:
    error = pickle.loads(pickle.dumps(kind("x")))
    expected = 1 if kind in (TocsinError, InternalError) else exit_code(kind("x"))
    assert exit_code(error) == expected
    assert (expected == 1) == (kind in (TocsinError, InternalError))


def test_a_subclass_ends_as_its_family() -> None:
    assert exit_code(PreconditionFailed()) == 5
    assert exit_code(MissingExtra(extra="spark")) == 6


def test_no_code_is_given_twice() -> None:
    codes = [row.code for row in EXITS]
    assert codes == sorted(set(codes))


def test_the_document_has_the_same_table() -> None:
    cells = re.findall(r"^\| `(\d+)` \| (.+?) \|$", DOCUMENT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [(int(code), meaning) for code, meaning in cells] == [(row.code, row.meaning) for row in EXITS]
