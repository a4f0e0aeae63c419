"""Store fixture for slow tests: SQLite, and PostgreSQL as well where a test is marked with ``ON_BOTH_STORES``.

A module that imports ``store_url`` overrides the fixture of ``tests/conftest.py``, which runs every test on both.
"""

from __future__ import annotations

import pytest

ON_BOTH_STORES = pytest.mark.parametrize(
    "store_url", ["sqlite_url", pytest.param("postgres_url", marks=pytest.mark.postgres)], indirect=True
)


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    """Address of a migrated, empty store of this test's own."""
    return str(request.getfixturevalue(getattr(request, "param", "sqlite_url")))
