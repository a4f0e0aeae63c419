"""``tocsin audit``: check that every match has exactly one result. Next: ``jobs/audit.py``."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.exit_codes import DAMAGED
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.cli.progress import waiting_for


def audit(
    *,
    window_hours: Annotated[float | None, typer.Option(help="Hours to look back.", min=0.001)] = None,
    as_json: AsJson = False,
) -> None:
    """Prove that everybody was told exactly once of what the pipeline is done with; the pipeline does so by itself.

    What is wrong becomes an event on the alert it concerns, once, whoever finds it. Ends with 7 when something is
    wrong. It needs Java 17.
    """
    check_java()
    settings = settings_of(audit_window_hours=window_hours)
    with needing("spark"):
        from tocsin.jobs import audit as job
        from tocsin.jobs.lake import opened
    with (
        waiting_for("Comparing what matched with what was told"),
        existing_store(settings) as engine,
        opened(settings, engine) as history,
    ):
        audited = job.audit(job.build(settings, history, engine))
    rows = [{**one.to_wire(), "alert": one.subscription_id} for one in audited.findings]
    facts = {"after": audited.after, "through": audited.through, "judged": audited.judged, "unjudged": audited.unjudged}
    if as_json:
        show_json({**facts, "told": audited.told, "findings": rows})
    else:
        typer.echo(f"Judged {audited.judged:,} matches of the events after {audited.after:,}, to {audited.through:,}.")
        if audited.unjudged:
            typer.echo(
                f"Not judged: {audited.unjudged:,} matches of alerts that have changed since, or are told of later."
            )
        if rows:
            show_rows(rows, as_json=False)
        else:
            typer.echo("Each came to exactly one end.")
    if rows:
        raise typer.Exit(DAMAGED)
