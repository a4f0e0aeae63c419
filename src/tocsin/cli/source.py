"""``tocsin source``: sources of metadata. It opens the store directly and needs no running server."""

from __future__ import annotations

from typing import Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.extras import needing
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, moment_text, printable, show_facts, show_json, show_rows
from tocsin.cli.progress import progress_bar
from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

app = typer.Typer(help="Bring metadata from OpenMetadata or dbt.", no_args_is_help=True)

DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, without changing it.")]
KeepRunning = Annotated[bool, typer.Option("--keep-running", help="Run again and again, until it is stopped.")]
Deletions = Annotated[bool, typer.Option("--allow-deletions", help="Delete even if it is more than a fifth.")]
_MOST_NAMED = 20
"""Recipients that a dry run names."""

Full = Annotated[bool, typer.Option("--full", help="Compare all lists, however recently that was done.")]


@app.command()
def openmetadata(
    *,
    dry_run: DryRun = False,
    keep_running: KeepRunning = False,
    allow_deletions: Deletions = False,
    full: Full = False,
    as_json: AsJson = False,
) -> None:
    """Mirror an OpenMetadata server: its entities and, from then on, its changes.

    TOCSIN_OPENMETADATA_URL is its address; `tocsin admin secret openmetadata_token` stores a token. The first run
    notifies nobody. What TOCSIN_OPENMETADATA_MAPPED does not name is for administrators only.
    """
    if keep_running and dry_run:
        raise InvalidInput("--dry-run is one run: leave out --keep-running", field="--dry-run")
    settings = settings_of()
    with needing("server"):
        from tocsin.logs import set_up_logs
        from tocsin.sources.openmetadata.mirror import RunOptions
        from tocsin.sources.process.build import keep_running as run_for_ever
        from tocsin.sources.process.build import run_once
    options = RunOptions(is_dry=dry_run, may_delete=allow_deletions, is_full=full)
    if keep_running:
        set_up_logs(settings)
        run_for_ever(settings, options)
        return
    with existing_store(settings), progress_bar("Mirroring OpenMetadata") as progress:
        report = run_once(settings, options, progress=progress)
    _show(report, as_json=as_json)
    if report["errorCount"]:
        raise typer.Exit(1)


@app.command()
def dbt(
    target: Annotated[
        str, typer.Argument(help="The folder that dbt wrote into, usually target/, or its https address.")
    ],
    *,
    service: Annotated[str, typer.Option(help="Name of the database service that holds the project's tables.")],
    dry_run: DryRun = False,
    allow_deletions: Deletions = False,
    as_json: AsJson = False,
) -> None:
    """Bring a dbt project: tables, columns, owners, tags, lineage, tests and their results, freshness, the run.

    Reads manifest.json and, if they are there, catalog.json (`dbt docs generate`), run_results.json and sources.json
    (`dbt source freshness`). The first run notifies nobody. Tables that another connector brought keep their columns.
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.sources.process.dbt import ProjectOptions, run_project
    options = ProjectOptions(target, service, is_dry=dry_run, may_delete=allow_deletions)
    with existing_store(settings) as engine, progress_bar("Reading the dbt project") as progress:
        report = run_project(engine, settings, options, progress=progress)
    _show(report, as_json=as_json)
    if report["errorCount"]:
        raise typer.Exit(1)


@app.command("list")
def list_sources(*, as_json: AsJson = False) -> None:
    """List the sources that have run, with what their last runs did."""
    with existing_store(settings_of()) as engine:
        from tocsin.store.upkeep.source_records import last_runs

        reports = last_runs(engine)
    if as_json:
        show_json(reports)
    elif not reports:
        typer.echo("No source has run. See `tocsin source openmetadata --help` and `tocsin source dbt --help`.")
    else:
        show_rows([_summary_of(source, report) for source, report in reports.items()], as_json=False)


def _summary_of(source: str, report: Document) -> Document:
    counts = ", ".join(f"{count} {result}" for result, count in report.get("counts", {}).items() if count)
    ended_at = moment_text(report["endedAt"]) if "endedAt" in report else ""
    errors = report.get("errorCount", 0)
    return {"source": source, "last run": ended_at, "result": counts or "nothing changed", "errors": errors}


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show how far the mirror is: watermark, last run, counts, errors with their places."""
    with existing_store(settings_of()) as engine:
        from tocsin.sources.process.build import read_status

        answer = read_status(engine)
    if as_json:
        show_json(answer)
        return
    last_run = answer.pop("lastRun")
    moments = {key: moment_text(answer[key]) for key in ("watermark", "reconciledAt") if answer[key]}
    show_facts(answer | moments, as_json=False)
    if last_run:
        typer.echo(f"\nLast run, {moment_text(last_run['startedAt'])}:")
        _show(last_run, as_json=False)


def _show(report: Document, *, as_json: bool) -> None:
    if as_json:
        show_json(report)
        return
    show_facts({**report["counts"], "errors": report["errorCount"]}, as_json=False)
    if report.get("would"):
        show_rows(report["would"], as_json=False)
    if report.get("dryRun"):
        _show_audience(report["wouldTell"])
    for remark in report["leftOut"][:_MOST_NAMED]:
        typer.echo(printable(f"Left out: {remark}"), err=True)
    if len(report["leftOut"]) > _MOST_NAMED:
        typer.echo(f"and {len(report['leftOut']) - _MOST_NAMED} more (--json names all)", err=True)
    for error in report["errors"]:
        typer.echo(printable(f"Error: {error}"), err=True)


def _show_audience(audience: Document) -> None:
    """Show whom a dry run would notify: the first people by name."""
    people, addresses = audience["people"], audience["addresses"]
    if not people and not addresses:
        why = "" if audience["events"] else ": all of it is history, or nothing changed"
        typer.echo(f"\nWould be told: nobody{why}.")
        return
    typer.echo(f"\nWould be told of {audience['events']} changes:")
    show_rows([_as_row(recipient) for recipient in (*people[:_MOST_NAMED], *addresses[:_MOST_NAMED])], as_json=False)
    left_out_count = max(0, len(people) - _MOST_NAMED) + max(0, len(addresses) - _MOST_NAMED)
    if left_out_count:
        typer.echo(f"and {left_out_count} more (--json names all)")


def _as_row(recipient: Document) -> Document:
    if "alert" in recipient:
        who, alerts, reasons = f"{recipient['channel']} of an alert", recipient["alert"], ""
    else:
        who = recipient["name"]
        alerts, reasons = ", ".join(recipient["alerts"]), ", ".join(recipient["reasons"])
    return {"who": who, "changes": recipient["events"], "alerts": alerts, "why": reasons}
