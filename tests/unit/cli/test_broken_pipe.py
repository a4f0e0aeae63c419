"""Tests of the quiet exit when standard output is closed early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "src"
ANY_LENGTH = ["--help", "settings", "settings --json"]


@pytest.mark.parametrize("words", ANY_LENGTH)
@pytest.mark.parametrize("buffered", [True, False])
def test_a_command_nobody_reads_ends_well(words: str, buffered: bool) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), **({} if buffered else {"PYTHONUNBUFFERED": "1"})}
    command = [sys.executable, "-m", "tocsin", *words.split()]
    ended = subprocess.run(command, env=environment, stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_failure_stays_a_failure() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCES), "TOCSIN_PORT": "many"}
    ended = subprocess.run(
        [sys.executable, "-m", "tocsin", "settings"], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "tocsin: Setting port (TOCSIN_PORT): must be an integer.\n"
