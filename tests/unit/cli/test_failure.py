"""Tests of error output: one line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.failure import report, report_surprise
from tocsin.errors import InvalidInput, InvalidSetting, MissingExtra, NotFound


def test_an_expected_error_is_one_line_and_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(NotFound("There is no\n table x.")) == 3
    assert capsys.readouterr().err == "tocsin: There is no table x.\n"


def test_a_surprise_is_one_line_and_its_traceback_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        report_surprise(type(error), error, error.__traceback__)
    (line,) = capsys.readouterr().err.splitlines()
    log_path = re.search(r"See the log (\S+\.log),", line)
    assert log_path is not None
    log = Path(log_path[1])
    assert "test_a_surprise_is_one_line" in log.read_text(encoding="utf-8")
    log.unlink()


def test_a_missing_library_names_the_extra_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"needs no_such_library.*tocsin\[server\]"), needing("server"):
        import no_such_library  # type: ignore[import-not-found]  # noqa: F401


def test_a_missing_module_of_our_own_is_no_missing_extra() -> None:
    with pytest.raises(ModuleNotFoundError), needing("server"):
        import tocsin.no_such_module  # type: ignore[import-untyped]  # noqa: F401


def test_a_wrong_setting_names_its_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_PORT", "many")
    with pytest.raises(InvalidSetting, match="TOCSIN_PORT"):
        settings_of()


def test_a_broken_settings_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tocsin.toml").write_text("port = ")
    with pytest.raises(InvalidSetting, match=r"tocsin\.toml"):
        settings_of()


def test_an_option_wins_over_the_environment_and_none_does_not(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_PORT", "1")
    assert settings_of(port=2).port == 2
    assert settings_of(port=None).port == 1


def test_what_the_client_reads_from_the_environment_is_no_wrong_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOCSIN_TOKEN", "x")
    monkeypatch.setenv("TOCSIN_SERVER", "http://x")
    assert settings_of().port == 8585


def test_the_place_is_named_where_the_message_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    report(InvalidInput("must be an offset", field="--at"))
    report(InvalidInput("--from must be now", field="from"))
    assert capsys.readouterr().err == "tocsin: --at: must be an offset\ntocsin: --from must be now\n"
