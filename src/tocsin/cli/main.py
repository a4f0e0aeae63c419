"""Command line: one command or group per file, registered here, with shared error handling.

Next: ``cli/up.py``, which starts everything.
"""

from __future__ import annotations

import os
import sys
from inspect import cleandoc
from typing import Annotated

import typer
from typer.main import get_command

from tocsin.cli import (
    admin,
    alerts,
    conditions,
    deliveries,
    erasure,
    events,
    explain,
    health,
    history,
    impact,
    incidents,
    lag,
    lake,
    loading,
    maintenance,
    personal,
    processes,
    queue,
    retention,
    search,
    settings,
    source,
    templates,
    up,
)
from tocsin.cli.exit_codes import EXITS
from tocsin.cli.failure import ending_unread, known_failure, report, report_surprise
from tocsin.cli.parent_pipe import hold_lifeline
from tocsin.errors import TocsinError

_ABOUT = "Notifies the right people of every change of a data asset, once, and says why."

_EXAMPLES = f"""[bold]To begin[/bold]

[cyan]tocsin up[/cyan] — start everything on this machine, with a sample company

[cyan]export TOCSIN_TOKEN=$(tocsin login admin@tocsin.example.org)[/cyan] — log in for the commands below

[cyan]tocsin follow postgres_prod.ecommerce.public.orders[/cyan] — be notified when that table changes

[cyan]tocsin events tail[/cyan] — watch changes as they happen

[cyan]tocsin alerts apply alerts.toml[/cyan] — create alerts from a file

Settings come from TOCSIN_* variables and tocsin.toml; [cyan]tocsin settings[/cyan] shows them.

Exit codes: {"; ".join(f"{row.code} {row.meaning}" for row in EXITS)}"""

_OURS_ALONE = 0o077
"""The umask of every process: what it makes is for its own account alone."""

_RUN, _USE, _TEND = "Run", "Follow and watch", "Maintain"

app = typer.Typer(
    name="tocsin",
    help=_ABOUT,
    epilog=_EXAMPLES,
    rich_markup_mode="rich",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for _panel, _commands in {
    _RUN: (
        up.up,
        processes.serve,
        processes.pipeline,
        processes.deliver,
        processes.relay,
        processes.ingest,
        processes.receive,
        processes.broker,
    ),
    _USE: (
        personal.login,
        personal.follow,
        personal.unfollow,
        personal.mute,
        personal.unmute,
        personal.mutes,
        personal.preferences,
        impact.impact,
        explain.explain,
        history.history,
        history.diff,
        history.rollback,
    ),
    _TEND: (
        health.health,
        lag.lag,
        maintenance.backup,
        maintenance.restore,
        loading.replay,
        maintenance.fsck,
        maintenance.audit,
        erasure.erase,
        settings.settings,
    ),
}.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(_command)
for _panel, _groups in {
    _USE: {
        "events": events.app,
        "alerts": alerts.app,
        "deliveries": deliveries.app,
        "incidents": incidents.app,
        "queue": queue.app,
        "conditions": conditions.app,
        "templates": templates.app,
    },
    _TEND: {
        "admin": admin.app,
        "sample": loading.app,
        "lake": lake.app,
        "search": search.app,
        "retention": retention.app,
        "source": source.app,
    },
}.items():
    for _name, _group in _groups.items():
        app.add_typer(_group, name=_name, rich_help_panel=_panel)


def _reflow(text: str) -> str:
    """Return a help text with one line per paragraph, for the terminal to wrap; lists of examples stay."""
    paragraphs = (one if one.startswith("Examples\n") else " ".join(one.split()) for one in text.split("\n\n"))
    return "\n\n".join(paragraphs)


for _app in (app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)):
    for _info in _app.registered_commands:
        if _info.callback is not None:
            _info.help = _reflow(cleandoc(_info.callback.__doc__ or ""))


def _print_version(is_requested: bool) -> None:  # Typer calls it with the option's value
    if is_requested:
        from importlib.metadata import version

        typer.echo(version("tocsin"))
        raise typer.Exit


@app.callback()
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


def main() -> None:
    """Run the command line and exit with the code that ``cli/exit_codes.py`` gives."""
    hold_lifeline()
    os.umask(_OURS_ALONE)
    try:
        with ending_unread():
            get_command(app)(prog_name="tocsin")
    except TocsinError as error:
        sys.exit(report(error))
    except Exception as error:
        failure = known_failure(error)
        if failure is None:
            raise
        sys.exit(report(failure))
