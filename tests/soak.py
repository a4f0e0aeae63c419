"""Size of long tests: a part that proves the same, or everything under ``make soak``.

A test marked ``soak`` runs only there. One that repeats, kills or generates asks ``SOAK`` how often: there, it runs
without a mark as well. ``soak_on_postgresql.txt`` lists tests that ask PostgreSQL only there.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

SOAK = os.environ.get("TOCSIN_TEST_SOAK") == "1"
"""Whether this is ``make soak``."""
ON_POSTGRESQL = Path(__file__).with_name("soak_on_postgresql.txt")
"""The list that ``tests/statements.py`` writes, a test or a function of tests in each line."""


def names_in_list() -> frozenset[str]:
    """Return the lines of the list."""
    return frozenset(ON_POSTGRESQL.read_text().splitlines())


def is_in_list(node_id: str, names: Collection[str]) -> bool:
    """Return whether a test on PostgreSQL is in the list, by itself or with all of its function."""
    return name_of(node_id) in names or function_of(node_id) in names


def name_of(node_id: str) -> str:
    """Return a test's file, function and parameters, without the group that xdist appends."""
    return node_id.partition("@")[0]


def function_of(node_id: str) -> str:
    """Return a test's file and function."""
    return name_of(node_id).partition("[")[0]
