"""Tests of the list of tests that ask PostgreSQL only in ``make soak``."""

from __future__ import annotations

from pathlib import Path

from tests.soak import function_of, names_in_list


def test_every_test_in_the_list_is_there(root: Path) -> None:
    functions = {function_of(name).partition("::")[::2] for name in names_in_list()}
    texts = {path: (root / path).read_text() for path, _ in functions if (root / path).exists()}
    missing = [(path, name) for path, name in functions if f"def {name}(" not in texts.get(path, "")]
    assert missing == [], "write the list anew: tests/statements.py"
