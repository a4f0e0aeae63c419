"""Command line as Typer parses it: the commands that the arguments name, the others as names.

Next: the module of each command, as ``cli/commands.py`` lists them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from tocsin.cli.commands import COMMANDS, Command
from tocsin.cli.failure import report_surprise
from tocsin.cli.overview import ABOUT, DEBUG, VERSION, print_overview

_PREFIX = "Value error, "
"""What pydantic, by which Typer reads values, puts before the messages of others."""

_CAUSE = ", unable to parse"
"""What begins pydantic's explanation why a value is none of its type."""

_COMPLETION = "_TOCSIN_COMPLETE"
"""Set by the shell when it wants to know what may follow."""

_TYPED = ("COMP_WORDS", "_TYPER_COMPLETE_ARGS")
"""Where shells leave the line that is to be completed: the first of Bash, the second of the others."""


class _CommandGroup(TyperGroup):
    """All commands, with the overview as their help."""

    def format_help(self, *_: object) -> None:
        """Print the overview."""
        print_overview()

    def invoke(self, ctx: Any) -> Any:  # Any: Typer's own types, which have moved between its versions
        """Run the command that the arguments name; a wrong value of an option is named without pydantic's words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            plain_message, _, _ = error.message.removeprefix(_PREFIX).partition(_CAUSE)
            error.message = plain_message.replace("Input should be", "must be", 1)
            raise


def _print_version(is_requested: bool) -> None:  # Typer calls it with the option's value
    if is_requested:
        from importlib.metadata import version

        typer.echo(version("tocsin"))
        raise typer.Exit


def tocsin(
    *,
    debug: Annotated[bool, typer.Option("--debug", help=DEBUG)] = False,
    _wants_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help=VERSION)
    ] = False,
) -> None:
    """Take the options that all commands share."""
    if not debug:
        sys.excepthook = report_surprise


def app_of(arguments: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line with what ``arguments`` name, and the others as names; without arguments, with all."""
    app = typer.Typer(
        name="tocsin",
        cls=_CommandGroup,
        help=ABOUT,
        rich_markup_mode="rich",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(tocsin)
    for command in COMMANDS:
        if arguments is None or command.name in arguments:
            _add(command, app)
        else:
            app.command(command.name, help=command.summary)(_do_nothing)
    return app


def run(arguments: Sequence[str]) -> None:
    """Run the command that ``arguments`` name, or answer a shell that completes one."""
    if _COMPLETION in os.environ:
        arguments = next((os.environ[name] for name in _TYPED if name in os.environ), "").split()
    get_command(app_of(arguments))(prog_name="tocsin")


def _add(command: Command, app: typer.Typer) -> None:
    """Add a command or group itself to ``app``."""
    module = import_module(f"tocsin.cli.{command.module}")
    if command.is_group:
        _reflow_helps(module.app)
        app.add_typer(module.app, name=command.name)
    else:
        function = getattr(module, command.name)
        app.command(help=_reflow(cleandoc(function.__doc__ or "")))(function)


def _do_nothing() -> None:
    """Stand in for a command that is only named."""


def _reflow_helps(app: typer.Typer) -> None:
    for command in app.registered_commands:
        if command.callback is not None:
            command.help = _reflow(cleandoc(command.callback.__doc__ or ""))


def _reflow(text: str) -> str:
    """Return a help text with one line per paragraph, for the terminal to wrap; lists of examples stay."""
    paragraphs = (one if one.startswith("Examples\n") else " ".join(one.split()) for one in text.split("\n\n"))
    return "\n\n".join(paragraphs)
