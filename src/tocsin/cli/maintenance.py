"""Commands that keep the store sound: ``backup``, ``restore``, ``fsck`` and ``audit``.

``fsck`` opens the store directly, also while a server writes. Next: ``jobs/audit.py``.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.checkpoint_lock import alone
from tocsin.cli.configuration import settings_of
from tocsin.cli.exit_codes import DAMAGED
from tocsin.cli.extras import needing
from tocsin.cli.java import check_java
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_facts, show_json, show_rows
from tocsin.cli.progress import progress_bar, waiting_for
from tocsin.clock import SystemClock
from tocsin.model.entity import Document

if TYPE_CHECKING:  # the store's library is an extra
    from tocsin.store.upkeep.fsck.inspection import Inspection


def backup(
    folder: Annotated[Path, typer.Argument(help="Folder for the backup; must be empty or not exist.")],
    *,
    key: Annotated[bool, typer.Option(help="Include secrets.key, which decrypts the secrets in the store.")] = True,
    lake: Annotated[
        bool, typer.Option(help="Include the lake; otherwise it is rebuilt from the log after a restore.")
    ] = True,
    as_json: AsJson = False,
) -> None:
    """Back up database, lake and key as of one moment, without stopping anything.

    Keep the backup safe: anyone who can read it can read the store, and with the key also its secrets.

    Example: tocsin backup /backups/monday
    """
    settings = settings_of()
    with existing_store(settings) as engine:
        from tocsin.store.upkeep.backup.making import BackupContents, back_up

        with progress_bar("Backup") as report:
            contents = BackupContents(with_key=key, with_lake=lake)
            manifest = back_up(engine, settings, folder, contents=contents, clock=SystemClock(), report=report)
    facts = {"folder": str(folder.absolute()), "events": manifest.log.offset, "key": manifest.key.value}
    show_facts({**facts, "segments": len(manifest.segments), "files": len(manifest.files)}, as_json=as_json)


def restore(
    folder: Annotated[Path, typer.Argument(help="Folder with the backup.")],
    *,
    force: Annotated[bool, typer.Option("--force", help="Replace a store that already has data.")] = False,
    as_json: AsJson = False,
) -> None:
    """Replace the store with a backup. Stop server, pipeline and worker first.

    All files are verified before anything changes. Events without notifications at the time of the backup get them now;
    messages sent after the backup may be repeated, with the same webhook-id. Example: tocsin restore /backups/monday
    """
    settings = settings_of()
    with needing("server"):
        from tocsin.store.upkeep.backup.restoring import restore as put_back
    with alone(settings.checkpoint_dir()), progress_bar("Restore") as report:
        restored = put_back(folder, settings, force=force, clock=SystemClock(), report=report)
    manifest = restored.manifest
    facts = {"store": manifest.dialect, "events": manifest.log.offset, "key": manifest.key.value}
    show_facts({**facts, "kept": ", ".join(map(str, restored.previous)) or "nothing"}, as_json=as_json)


def fsck(
    *,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also read every value, and rebuild every version from its events.")
    ] = False,
    mend: Annotated[bool, typer.Option("--repair", help="Rebuild rows that are derived from documents.")] = False,
    accept_loss: Annotated[
        bool,
        typer.Option("--accept-loss", help="Continue although the log has lost events that were processed already."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the store: events, versions, references, names, derived rows and offsets.

    Also compares the store with the position mark, the checkpoints and the lake, to find lost events. Exits with 7 if
    it finds damage.

    Example: tocsin fsck --deep
    """
    settings = settings_of()
    with existing_store(settings) as engine:
        from tocsin.store.upkeep.fsck.inspection import inspect, repair
        from tocsin.store.upkeep.high_water_marks import accept_loss as accept
        from tocsin.store.upkeep.high_water_marks import traces

        if accept_loss:
            accept(engine, settings)
        known_traces = traces(settings)
        with progress_bar("fsck") as report:
            inspection = inspect(engine, report, deep=deep, traces=known_traces)
        repair_count = repair(engine, inspection.repairable) if mend else 0
        if repair_count:
            with progress_bar("fsck, second pass") as report:
                inspection = inspect(engine, report, deep=deep, traces=known_traces)
    _show_inspection(inspection, repair_count, as_json=as_json)
    if inspection.counts:
        raise typer.Exit(DAMAGED)


def _show_inspection(inspection: Inspection, repaired: int, *, as_json: bool) -> None:
    findings = [_finding(inspection, number) for number in range(len(inspection.findings))]
    if as_json:
        counts = {damage.value: count for damage, count in inspection.counts.items()}
        show_json({"rows": inspection.row_counts, "damages": counts, "repaired": repaired, "findings": findings})
        return
    row_counts = ", ".join(f"{count:,} of {name}" for name, count in inspection.row_counts.items())
    typer.echo(f"Checked {row_counts}.")
    if repaired:
        typer.echo(f"Rebuilt the rows of {repaired:,} entities.")
    if not inspection.counts:
        typer.echo("No damage found.")
        return
    show_rows(findings, as_json=False)
    for damage, count in inspection.counts.items():
        typer.echo(f"{damage.value}: {count:,}")


def _finding(inspection: Inspection, number: int) -> Document:
    finding = inspection.findings[number]
    damage = finding.damage
    return {"damage": damage.value, "where": finding.where, "what": finding.problem, "mend": damage.mend}


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
        result = job.audit(job.build(settings, history, engine))
    findings = [{**one.to_wire(), "alert": one.subscription_id} for one in result.findings]
    facts = {"after": result.after, "through": result.through, "judged": result.judged, "unjudged": result.unjudged}
    if as_json:
        show_json({**facts, "notified": result.notified, "findings": findings})
    else:
        typer.echo(f"Checked {result.judged:,} matches of events {result.after:,} to {result.through:,}.")
        if result.unjudged:
            typer.echo(
                f"Not checked: {result.unjudged:,} matches of alerts that have changed since or are not due yet."
            )
        if findings:
            show_rows(findings, as_json=False)
        else:
            typer.echo("No findings: each match has exactly one result.")
    if findings:
        raise typer.Exit(DAMAGED)
