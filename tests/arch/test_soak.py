"""Tests of the list of tests that ask PostgreSQL only in ``make soak``."""

from __future__ import annotations

from pathlib import Path

from tests.soak import function_of, names_in_list

MOST_MISSING = 40
"""Functions that have gone or are called otherwise since the list was written; they run on both stores."""


def test_most_tests_in_the_list_are_there(root: Path) -> None:
    functions = {function_of(name).partition("::")[::2] for name in names_in_list()}
    texts = {path: (root / path).read_text() for path, _ in functions if (root / path).exists()}
    missing = [(path, name) for path, name in functions if f"def {name}(" not in texts.get(path, "")]
    assert len(missing) <= MOST_MISSING, f"write the list anew, see tests/statements.py: {missing}"
