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
    """Check that each match led to exactly one notification per recipient. The pipeline also does this regularly.

    Each finding is recorded once, as an event of its alert. Exits with 7 if there are findings. Requires Java 17 or
    newer.
    """
    check_java()
    settings = settings_of(audit_window_hours=window_hours)
    with needing("spark"):
        from tocsin.jobs import audit as job
        from tocsin.jobs.lake import open_lake
        from tocsin.logs import set_up_logs
    set_up_logs(settings)  # to standard error: standard output is the result's
    with (
        waiting_for("Comparing matches with notifications"),
        existing_store(settings) as engine,
        open_lake(settings, engine) as history,
    ):
        audited = job.audit(job.build(settings, history, engine))
    findings = [{**one.to_wire(), "alert": one.subscription_id} for one in audited.findings]
    facts = {"after": audited.after, "through": audited.through, "judged": audited.judged, "unjudged": audited.unjudged}
    if as_json:
        show_json({**facts, "notified": audited.notified, "findings": findings})
    else:
        typer.echo(f"Checked {audited.judged:,} matches of events {audited.after:,} to {audited.through:,}.")
        if audited.unjudged:
            typer.echo(
                f"Not checked: {audited.unjudged:,} matches of alerts that have changed since or are not due yet."
            )
        if findings:
            show_rows(findings, as_json=False)
        else:
            typer.echo("No findings: each match has exactly one result.")
    if findings:
        raise typer.Exit(DAMAGED)
