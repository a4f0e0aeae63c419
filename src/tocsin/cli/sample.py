"""``tocsin sample``: the sample company with its catalogue. Next: ``sample/load.py``."""

from __future__ import annotations

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import opened_store
from tocsin.cli.output import AsJson, show_facts
from tocsin.cli.progress import progress_bar
from tocsin.clock import SystemClock

app = typer.Typer(help="Load the sample company.", no_args_is_help=True)


@app.callback()
def sample() -> None:
    """Load the sample company, for trying Tocsin."""


@app.command()
def load(*, as_json: AsJson = False) -> None:
    """Load the sample company into the store: 300 assets, people, lineage, tests and a year of changes.

    Prints a log-in. Loading it again only sets a new password.
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.sample.load import load as load_sample
    with opened_store(settings) as engine, progress_bar("Loading the sample company") as report:
        login = load_sample(engine, settings, now_ms=SystemClock().now_ms(), progress=report)
    show_facts({"name": login.name, "email": login.email, "password": login.password}, as_json=as_json)
