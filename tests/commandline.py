"""The command line in the process of a test: the arguments, the output and the exit code of one command.

``tests/acceptance/cli/conftest.py`` runs commands as processes, for tests of how a process starts and ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tocsin.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Ended]


def runner(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs ``tocsin`` with arguments, in the folder and the environment that the test has set."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # the command sets it; put back afterwards

    def run(*arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["tocsin", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        code = ended.value.code
        return Ended(code if isinstance(code, int) else int(code is not None), printed.out, printed.err)

    return run
