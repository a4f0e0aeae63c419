"""Command line: one command or group per file, listed in ``cli/commands.py``, with shared error handling.

Next: ``cli/up.py``, which starts everything.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.main import get_command

from tocsin.cli.commands import COMMANDS
from tocsin.cli.exit_codes import EXITS
from tocsin.cli.failure import ending_unread, report, report_surprise
from tocsin.cli.parent_pipe import hold_lifeline
from tocsin.errors import TocsinError
from tocsin.store.database.faults import known_failure

_ABOUT = "Notifies the right people of every change of a data asset, once, and says why."

_EXAMPLES = f"""[bold]To begin[/bold]

[cyan]tocsin up[/cyan] — start everything on this machine, with a sample company

[cyan]export TOCSIN_TOKEN=$(tocsin login admin@tocsin.example.org)[/cyan] — log in for the commands below

[cyan]tocsin follow postgres_prod.ecommerce.public.orders[/cyan] — be notified when that table changes

[cyan]tocsin events tail[/cyan] — watch changes as they happen

[cyan]tocsin alerts apply alerts.toml[/cyan] — create alerts from a file

Settings come from TOCSIN_* variables and tocsin.toml; [cyan]tocsin settings[/cyan] shows them.

Exit codes: {"; ".join(f"{row.code} {row.meaning}" for row in EXITS)}"""

_COMPLETION = "_TOCSIN_COMPLETE"
"""Set by the shell when it wants to know what may follow."""

_OURS_ALONE = 0o077
"""The umask of every process: what it makes is for its own account alone."""


def _print_version(is_requested: bool) -> None:  # Typer calls it with the option's value
    if is_requested:
        from importlib.metadata import version

        typer.echo(version("tocsin"))
        raise typer.Exit


def tocsin(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
    _wants_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that all commands share."""
    if not debug:
        sys.excepthook = report_surprise


def app_of(arguments: Sequence[str] | None = None) -> typer.Typer:
    """Return the command line with what ``arguments`` name, and the others as names; without arguments, with all."""
    app = typer.Typer(
        name="tocsin",
        help=_ABOUT,
        epilog=_EXAMPLES,
        rich_markup_mode="rich",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(tocsin)
    for command in COMMANDS:
        if arguments is None or command.name in arguments:
            command.add_to(app)
        else:
            command.announce_in(app)
    return app


def main() -> None:
    """Run the command line and exit with the code that ``cli/exit_codes.py`` gives."""
    hold_lifeline()
    os.umask(_OURS_ALONE)
    try:
        with ending_unread():
            # The shell asks for completions without arguments.
            arguments = None if _COMPLETION in os.environ else sys.argv[1:]
            get_command(app_of(arguments))(prog_name="tocsin")
    except TocsinError as error:
        sys.exit(report(error))
    except Exception as error:
        failure = known_failure(error)
        if failure is None:
            raise
        sys.exit(report(failure))
