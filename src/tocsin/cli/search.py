"""``tocsin search``: rebuild of the search index, which the pipeline otherwise keeps up to date."""

from __future__ import annotations

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_facts
from tocsin.cli.progress import progress_bar

app = typer.Typer(help="Rebuild the search index.", no_args_is_help=True)


@app.callback()
def search() -> None:
    """Take the options that all of these commands share: none yet."""


@app.command()
def rebuild(*, as_json: AsJson = False) -> None:
    """Rebuild the search index from the catalogue, while everything keeps running.

    Only needed if the index is damaged or lost; the pipeline keeps it up to date. Requires Java 17 or newer.
    """
    check_java()
    settings = settings_of()
    with needing("spark"):
        from tocsin.jobs.search_rebuild import main
    with existing_store(settings) as engine, progress_bar("Indexing the catalogue") as report:
        outcome = main(settings, engine, report)
    show_facts({"written": outcome.written, "removed": outcome.removed, "entries": outcome.entries}, as_json=as_json)
