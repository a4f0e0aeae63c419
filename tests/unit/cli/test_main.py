"""Which commands are imported, and what the overview says of the others."""

from __future__ import annotations

import subprocess
import sys

from typer.main import get_command
from typer.testing import CliRunner

from tocsin.cli.commands import COMMANDS
from tocsin.cli.main import app_of

_IMPORTED = """
import sys
from typer.main import get_command
from tocsin.cli.main import app_of
get_command(app_of(["--help"]))(args=["--help"], standalone_mode=False)
print(*sorted({"httpx", "pydantic", "sqlalchemy", "tocsin.settings"} & set(sys.modules)), "end", file=sys.stderr)
"""


def test_the_overview_of_all_commands_is_that_of_their_own_helps() -> None:
    own_helps = CliRunner().invoke(app_of(), ["--help"], env={"COLUMNS": "200"})
    overview = CliRunner().invoke(app_of([]), ["--help"], env={"COLUMNS": "200"})
    assert overview.output == own_helps.output
    assert [command.name for command in COMMANDS if command.name not in overview.output] == []


def test_the_overview_imports_no_command() -> None:
    ended = subprocess.run([sys.executable, "-c", _IMPORTED], check=True, capture_output=True, text=True)
    assert ended.stderr.split() == ["end"]


def test_a_command_that_is_named_is_the_command_itself() -> None:
    commands = get_command(app_of(["--debug", "mute", "--help"])).commands  # type: ignore[attr-defined]  # a group
    assert commands["mute"].params
    assert not commands["follow"].params


def test_a_name_that_is_misspelt_is_answered_with_the_like() -> None:
    answer = CliRunner().invoke(app_of(["folow"]), ["folow"])
    assert answer.exit_code == 2
    assert "follow" in answer.output
