"""Which commands are imported, and what the overview says of the others."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.commandline import Run
from typer.main import get_command
from typer.testing import CliRunner

from tocsin.cli.app import app_of
from tocsin.cli.app import run as run_commands
from tocsin.cli.commands import COMMANDS
from tocsin.cli.overview import OPTIONS, lines_of, print_overview

_IMPORTED = """
import sys
from tocsin.cli.main import main
sys.argv = ["tocsin", "--help"]
try:
    main()
finally:
    print(*sorted({"typer", "rich", "httpx", "pydantic", "sqlalchemy", "tocsin.settings"} & set(sys.modules)), "end",
          file=sys.stderr)
"""


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def test_the_overview_says_of_each_command_how_its_own_help_begins() -> None:
    commands: dict[str, object] = get_command(app_of()).commands  # type: ignore[attr-defined]  # a group
    helps = {name: _first_paragraph(getattr(command, "help", None)) for name, command in commands.items()}
    assert helps == {command.name: command.summary for command in COMMANDS}


def test_the_overview_lists_the_options_that_there_are() -> None:
    context = get_command(app_of([])).make_context("tocsin", ["up"])
    options = [
        (", ".join(sorted(option.opts, key=len)), getattr(option, "help", None))
        for option in context.command.get_params(context)
    ]
    assert options == list(OPTIONS)


@pytest.mark.parametrize("width", [44, 80, 120])
def test_the_overview_names_everything_within_the_width_of_the_terminal(width: int) -> None:
    lines = list(lines_of(width))
    entries = {line.split()[0] for line in lines if line.startswith("  ")}
    assert {command.name for command in COMMANDS} <= entries
    assert [line for line in lines if len(line) > width and not line.strip().startswith(("tocsin ", "export "))] == []


def test_a_missing_command_is_answered_with_the_overview(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        get_command(app_of([]))(args=[])
    print_overview()
    answer = capsys.readouterr().out
    assert ended.value.code == 2
    assert answer == answer[: len(answer) // 2] * 2


def test_the_overview_imports_neither_commands_nor_libraries() -> None:
    ended = subprocess.run([sys.executable, "-c", _IMPORTED], check=True, capture_output=True, text=True)
    assert ended.stderr.split() == ["end"]


@pytest.mark.parametrize("variable", ["COMP_WORDS", "_TYPER_COMPLETE_ARGS"])
def test_a_completion_knows_the_command_that_is_being_typed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str
) -> None:
    shell = "bash" if variable == "COMP_WORDS" else "zsh"
    monkeypatch.setenv("_TOCSIN_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv(variable, "tocsin serve --p")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit):
        run_commands([])
    assert "--processes" in capsys.readouterr().out
    assert app_of(["serve"]).registered_commands


def test_a_command_that_is_named_is_the_command_itself() -> None:
    commands = get_command(app_of(["--debug", "mute", "--help"])).commands  # type: ignore[attr-defined]  # a group
    assert commands["mute"].params
    assert not commands["follow"].params


def test_a_name_that_is_misspelt_is_answered_with_the_like() -> None:
    answer = CliRunner().invoke(app_of(["folow"]), ["folow"])
    assert answer.exit_code == 2
    assert "follow" in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("follows", "--review", "wrong"), "'--review': 'wrong' is not one of 'stale', 'noisy', 'gone', 'expiring'."),
        (("follows", "--limit", "many"), "'--limit': must be a valid integer"),
        (("follows", "--limit", "0"), "'--limit': must be greater than or equal to 1"),
    ],
)
def test_a_wrong_value_of_an_option_is_named_in_our_own_words(
    arguments: tuple[str, ...], message: str, run: Run
) -> None:
    refusal = run(*arguments)
    assert (refusal.code, "".join(refusal.out.split())) == (2, "")
    error_text = " ".join(line.strip("│ ") for line in refusal.err.splitlines())
    assert f"Invalid value for {message}" in error_text
    assert "Value error" not in error_text
