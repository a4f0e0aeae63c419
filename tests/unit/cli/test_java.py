"""Tests of the check for Java: one line, before anything else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.cli.java import check_java, parse_version
from tocsin.errors import Unavailable

SOURCE = Path(__file__).parents[3] / "src"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('java version "1.8.0_302"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25-ea" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_the_version_is_read_from_what_java_prints(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def java_home(folder: Path, script: str) -> Path:
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder


def test_java_home_wins_and_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = java_home(tmp_path, """echo 'openjdk version "99.1"' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert check_java() == 99


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("""echo 'java version "1.8.0"' >&2""", "is Java 8"),
        ("exit 1", "does not start"),
        ("echo hello", "does not start"),
    ],
)
def test_an_unfit_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str, words: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_home(tmp_path, script)))
    with pytest.raises(Unavailable, match=words):
        check_java()


def test_no_java_at_all_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"was not found; on Debian or Ubuntu: apt-get install"):
        check_java()


def test_the_check_runs_on_a_bare_python(tmp_path: Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(java_home(tmp_path, "exit 1")), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-S", "-m", "tocsin.cli.java"]  # -S: no installed libraries
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_asks_for_java_before_it_installs_anything(tmp_path: Path) -> None:
    environment = {**os.environ, "JAVA_HOME": str(java_home(tmp_path, "exit 1"))}
    repository = SOURCE.parent
    command = ["make", "-s", "-C", str(repository), "up", f"VENV={tmp_path}/venv"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "Java 17 or newer is required" in ended.stderr.splitlines()[0]
    assert not (tmp_path / "venv").exists()
