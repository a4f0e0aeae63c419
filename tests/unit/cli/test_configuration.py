"""Tests of suggestions for misspelt settings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commandline import Run

from tocsin.cli.configuration import unknown_variables


def test_a_variable_that_is_no_setting_is_named_with_the_nearest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOCSIN_DATABSE_URL", "TOCSIN_TOKEN", "TOCSIN_TEST_HISTORIES", "tocsin_port"):
        monkeypatch.setenv(name, "1")
    ended = run("settings", "--json")
    assert ended.code == 0
    (line,) = (one for one in ended.err.splitlines() if "DATABSE" in one)
    assert line == "tocsin: unknown setting TOCSIN_DATABSE_URL; did you mean TOCSIN_DATABASE_URL?"
    assert "TOCSIN_DATABSE_URL" in unknown_variables()
    assert not {"TOCSIN_TOKEN", "TOCSIN_TEST_HISTORIES", "tocsin_port"}.intersection(unknown_variables())


def test_secrets_in_values_are_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_SPARK_CONF", '{"spark.authenticate.secret": "canary", "spark.ui.enabled": "true"}')
    monkeypatch.setenv("TOCSIN_DATABASE_URL", "postgresql+psycopg://tocsin:can/ary@db.example.org/tocsin")
    value_by_variable = {row["variable"]: row["value"] for row in json.loads(run("settings", "--json").out)}
    assert value_by_variable["TOCSIN_SPARK_CONF"] == {
        "spark.authenticate.secret": "*********",
        "spark.ui.enabled": "true",
    }
    assert value_by_variable["TOCSIN_DATABASE_URL"] == "postgresql+psycopg://tocsin:*********@db.example.org/tocsin"


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("EGRESS_ALLOW", "10.0.0.0/8", 'must be JSON, such as ["10.0.0.0/8"].'),
        ("SPARK_CONF", "a=b", 'must be JSON, such as {"name": "value"}.'),
    ],
)
def test_a_list_or_an_object_that_is_no_json_is_refused_with_an_example(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(f"TOCSIN_{variable}", value)
    ended = run("settings")
    assert (ended.code, ended.err) == (2, f"tocsin: Setting {variable.lower()} (TOCSIN_{variable}): {message}\n")


@pytest.mark.parametrize("wrong", ["10.0.0.0/99", "localhost:80", "10.0.0.1:0", "10.0.0.1:65536", "[::1]"])
def test_a_range_of_addresses_that_is_none_is_refused_at_start(
    run: Run, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    monkeypatch.setenv("TOCSIN_EGRESS_ALLOW", json.dumps(["10.0.0.7:8080", wrong]))
    for command in ("settings", "serve", "deliver"):
        ended = run(command)
        assert (ended.code, ended.err.partition(":")[0]) == (2, "tocsin")
        assert f"Setting egress_allow (TOCSIN_EGRESS_ALLOW): {wrong!r} is not a range" in ended.err


def test_a_misspelt_name_in_the_file_gets_the_nearest_as_suggestion(run: Run, tmp_path: Path) -> None:
    (tmp_path / "tocsin.toml").write_text("prot = 9000")
    ended = run("settings")
    assert (ended.code, ended.err) == (2, "tocsin: tocsin.toml: unknown setting prot; did you mean port?\n")
    (tmp_path / "tocsin.toml").write_text("zzzzzz = 1")
    assert run("settings").err == "tocsin: tocsin.toml: unknown setting zzzzzz; docs/settings.md lists all settings.\n"


@pytest.mark.parametrize("address", ["postgres://ada:hush@127.0.0.1/x", "nonsense"])
def test_what_is_no_address_of_a_store_is_refused_and_not_repeated(
    run: Run, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("TOCSIN_DATABASE_URL", address)
    ended = run("fsck")
    assert ended.code == 2
    assert "Setting database_url (TOCSIN_DATABASE_URL): must be a database URL" in ended.err
    assert "hush" not in ended.err


def test_a_store_that_does_not_answer_is_named_without_its_password(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOCSIN_DATABASE_URL", "postgresql+psycopg://ada:hush@127.0.0.1:1/x")
    ended = run("fsck")
    assert ended.code == 6
    assert ended.err.startswith("tocsin: The store at postgresql+psycopg://ada:***@127.0.0.1:1/x cannot be used: ")
