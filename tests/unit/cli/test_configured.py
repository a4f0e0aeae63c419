"""Is what was probably meant as a setting named, when it is none?"""

from __future__ import annotations

import pytest
from tests.unit.cli.conftest import Run

from tocsin.cli.configured import unknown_variables


def test_a_variable_that_is_no_setting_is_named_with_the_nearest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOCSIN_DATABSE_URL", "TOCSIN_TOKEN", "TOCSIN_TEST_HISTORIES", "tocsin_port"):
        monkeypatch.setenv(name, "1")
    ended = run("settings", "--json")
    assert ended.code == 0
    (line,) = (one for one in ended.err.splitlines() if "DATABSE" in one)
    assert line == "tocsin: TOCSIN_DATABSE_URL is no setting; did you mean TOCSIN_DATABASE_URL?"
    assert "TOCSIN_DATABSE_URL" in unknown_variables()
    assert not {"TOCSIN_TOKEN", "TOCSIN_TEST_HISTORIES", "tocsin_port"}.intersection(unknown_variables())
