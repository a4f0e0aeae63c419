"""``tocsin fsck``: inspection of the store. It opens the store directly, also while a server writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.configuration import settings_of
from tocsin.cli.exit_codes import DAMAGED
from tocsin.cli.local_store import existing_store
from tocsin.cli.output import AsJson, show_json, show_rows
from tocsin.cli.progress import progress_bar
from tocsin.model.entity import Document

if TYPE_CHECKING:  # the store's library is an extra
    from tocsin.store.upkeep.fsck.inspection import Inspection


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
        repaired = repair(engine, inspection.repairable) if mend else 0
        if repaired:
            with progress_bar("fsck, second pass") as report:
                inspection = inspect(engine, report, deep=deep, traces=known_traces)
    _show(inspection, repaired, as_json=as_json)
    if inspection.counts:
        raise typer.Exit(DAMAGED)


def _show(inspection: Inspection, repaired: int, *, as_json: bool) -> None:
    findings = [_finding(inspection, number) for number in range(len(inspection.findings))]
    if as_json:
        counts = {damage.value: count for damage, count in inspection.counts.items()}
        show_json({"rows": inspection.row_counts, "damages": counts, "repaired": repaired, "findings": findings})
        return
    looked_at = ", ".join(f"{count:,} of {name}" for name, count in inspection.row_counts.items())
    typer.echo(f"Checked {looked_at}.")
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
