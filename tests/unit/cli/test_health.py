"""Tests of ``tocsin health``: what is wrong is shown with the way out, and in the exit code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.commandline import Run
from tests.unit.small_server import SmallServer

STOPPED = {"name": "pipelineStopped", "message": "No pipeline runs, so nobody is notified. Start `tocsin pipeline`."}


def health_answer(status: str, *problems: dict[str, str], findings: int = 0) -> dict[str, Any]:
    progress = {"logOffset": 7, "pipeline": [], "alertsWithFindings": findings}
    return {"status": status, "problems": list(problems), **progress}


@pytest.mark.parametrize(
    ("answer", "code", "lines"),
    [
        (health_answer("ok"), 0, ["Everything runs."]),
        (health_answer("degraded", STOPPED), 6, [f"pipelineStopped: {STOPPED['message']}"]),
        (health_answer("eventsLost"), 7, ["eventsLost: The store has lost events. Run `tocsin fsck`."]),
        (
            health_answer("ok", findings=2),
            0,
            ["Everything runs.", "Alerts with findings in the last 24 hours: 2 (docs/audit.md)."],
        ),
    ],
)
def test_health_is_shown_and_is_the_exit_code(
    run: Run, small_server: SmallServer, answer: dict[str, Any], code: int, lines: list[str]
) -> None:
    small_server.answer("GET", "/api/v1/healthcheck", answer)
    ended = run("health")
    assert (ended.code, ended.out.splitlines()) == (code, lines)
    as_json = run("health", "--json")
    assert (as_json.code, json.loads(as_json.out)) == (code, answer)
