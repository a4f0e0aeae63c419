"""Tests that a command in a process that has imported Tocsin prints and ends as one that is started does."""

from __future__ import annotations

import stat
import subprocess

import pytest
from tests.acceptance.cli.conftest import WITHIN_S, Shell, command


@pytest.mark.parametrize(
    ("arguments", "text", "code"),
    [
        (("settings", "--json"), "", 0),
        (("--help",), "", 0),
        (("alerts", "apply", "-"), "[[alerts]]\nname = 1\n", 2),
        (("follow", "a.b"), "", 6),
        (("spoon",), "", 2),
    ],
)
def test_it_prints_and_ends_as_one_that_is_started(
    shell: Shell, arguments: tuple[str, ...], text: str, code: int
) -> None:
    started_run = subprocess.run(
        command(*arguments),
        cwd=shell.folder,
        env=shell.environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    forked_run = shell.run(*arguments, input_text=text)
    assert (forked_run.returncode, forked_run.stdout, forked_run.stderr) == (
        code,
        started_run.stdout,
        started_run.stderr,
    )
    assert started_run.returncode == code


def test_what_one_command_takes_over_the_next_has_not(shell: Shell) -> None:
    folder = shell.folder / "elsewhere"
    assert shell.beside(TOCSIN_DATA_DIR=str(folder)).run("admin", "migrate").returncode == 0
    assert stat.S_IMODE((folder / "tocsin.db").stat().st_mode) == 0o600
    values = {row["variable"]: row["value"] for row in shell.json("settings")}
    assert values["TOCSIN_DATA_DIR"] == str(shell.folder / "data")
