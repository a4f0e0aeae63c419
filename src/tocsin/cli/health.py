"""``tocsin health``: whether everything runs that notifies people, and what to do if not."""

from __future__ import annotations

import typer

from tocsin.cli.exit_codes import DAMAGED, UNAVAILABLE
from tocsin.cli.output import AsJson, console, show_json
from tocsin.client import Client
from tocsin.model.entity import Document


def health(*, as_json: AsJson = False) -> None:
    """Show the health of server, pipeline, worker and disk; the exit code is 0 only if all is well.

    Examples
    tocsin health
    """
    with Client() as client:
        answer = client.health()
    if as_json:
        show_json(answer)
    else:
        for line in _lines(answer):
            console().print(line, soft_wrap=True, markup=False, highlight=False)
    if answer["status"] == "eventsLost":
        raise typer.Exit(DAMAGED)
    if answer["status"] != "ok":
        raise typer.Exit(UNAVAILABLE)


def _lines(answer: Document) -> list[str]:
    problems = [f"{one['name']}: {one['message']}" for one in answer["problems"]]
    lost_line = (
        ["eventsLost: The store has lost events. Run `tocsin fsck`."] if answer["status"] == "eventsLost" else []
    )
    findings = answer["alertsWithFindings"]
    findings_line = [f"Alerts with findings in the last 24 hours: {findings} (docs/audit.md)."] if findings else []
    return [*(lost_line + problems or ["Everything runs."]), *findings_line]
