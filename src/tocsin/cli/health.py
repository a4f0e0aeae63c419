"""``tocsin health``: whether everything runs that notifies people, and what to do if not."""

from __future__ import annotations

import typer
from rich.text import Text

from tocsin.cli.exit_codes import DAMAGED, UNAVAILABLE
from tocsin.cli.output import AsJson, show_lines
from tocsin.client import Client
from tocsin.model.entity import Document


def health(*, as_json: AsJson = False) -> None:
    """Show the health of server, pipeline, worker and disk; the exit code is 0 only if all is well.

    Examples
    tocsin health
    """
    with Client() as client:
        answer = client.health()
    show_lines(map(Text, _lines(answer)), answer=answer, as_json=as_json)
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
